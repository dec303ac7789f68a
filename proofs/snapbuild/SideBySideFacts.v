(* SPDX-License-Identifier: PostgreSQL *)
(** * Side by side, and in the order of C, the same is found and the same is inserted

    Where the functions of Algorithms.v have a result, those of SideBySide.v have it, too. *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory Spec Algorithms UpstreamFacts Insert SideBySide.
Local Open Scope Z_scope.

Lemma while_refines {S} test (body body' : S -> option S) : (forall s s', body s = Some s' -> body' s = Some s') ->
  forall fuel s r, while fuel test body s = Some r -> while fuel test body' s = Some r.
Proof.
  intros R. induction fuel as [|fuel IH]; intros s r; cbn [while]; destruct (test s) as [[]|]; cbn [mbind option_bind]; auto.
  destruct (body s) as [s1|] eqn:E; cbn [mbind option_bind]; [|discriminate]. rewrite (R _ _ E). cbn [mbind option_bind]. apply IH.
Qed.

(** ** Halving side by side *)

(* What a lane's XID finds by itself. *)
Definition ends (a : memory) (fuel : nat) (w : Z) (e e' : Z * Z * Z) : Prop :=
  let '(lane, key, p) := e in let '(lane', key', p') := e' in
  lane' = lane /\ key' = key /\ exists w', while fuel halve_test (halve_body a key) (p, w) = Some (p', w').

Lemma ended a fuel w g g' : (1 <? w) = false -> Forall2 (ends a fuel w) g g' -> g' = g.
Proof.
  intros W. induction 1 as [|[[l k] p] [[l' k'] p'] g g' E _ IH]; [reflexivity|]. destruct E as (-> & -> & w' & E).
  destruct fuel; cbn [while halve_test mbind option_bind] in E; rewrite W in E; injection E as -> _; now rewrite IH.
Qed.

Lemma halved a fuel w g g' : (1 <? w) = true -> Forall2 (ends a (S fuel) w) g g' ->
  exists g1, halve_lanes a (w / 2) g = Some g1 /\ Forall2 (ends a fuel (w - w / 2)) g1 g'.
Proof.
  intros W. induction 1 as [|[[l k] p] [[l' k'] p'] g g' E _ (g1 & G & F)]; [exists []; now split|].
  destruct E as (-> & -> & w' & E). cbn [while halve_test mbind option_bind] in E. rewrite W in E.
  cbn [halve_body] in E. cbn [halve_lanes]. destruct (load a (p + w / 2 - 1)) as [v|]; [|discriminate].
  cbn [mbind option_bind] in *. rewrite G. cbn [mbind option_bind]. eexists. split; [reflexivity|]. constructor; [|exact F].
  unfold ends. eauto.
Qed.

Lemma lanes_while a : forall fuel w (g g' : lanes), g <> [] -> Forall2 (ends a fuel w) g g' ->
  exists w', while fuel lanes_test (lanes_body a) (g, w) = Some (g', w').
Proof.
  induction fuel as [|fuel IH]; intros w g g' N F; cbn [while lanes_test mbind option_bind];
    destruct (1 <? w) eqn:W; try (exists w; now rewrite (ended _ _ _ _ _ W F)).
  - exfalso. destruct F as [|[[l k] p] [[l' k'] p'] g g' E _]; [congruence|]. destruct E as (_ & _ & w' & E).
    cbn [while halve_test mbind option_bind] in E. rewrite W in E. discriminate.
  - destruct (halved a fuel w g g' W F) as (g1 & G & F1). cbn [lanes_body]. rewrite G. cbn [mbind option_bind].
    apply IH; [|exact F1]. intros ->. inversion F1; subst. inversion F; subst. congruence.
Qed.

(** ** A group of lanes leaves what its XIDs, one by one, leave *)

Definition settles (a : memory) (n key p : Z) : option Z :=
  if p <? n then v ← load a p; Some (if v <? key then p + 1 else p) else Some p.

Lemma put_lanes_is a n (goal : memory) : forall g at_,
  Forall (fun '(lane, key, p) => 0 <= lane < CHUNK /\ exists q, settles a n key p = Some q /\ goal !! lane = Some q) g ->
  (forall k, at_ !! k = goal !! k \/ In k (map (fun e => fst (fst e)) g)) -> put_lanes a n g at_ = Some goal.
Proof.
  induction g as [|[[lane key] p] g IH]; intros at_ F A; cbn [put_lanes].
  - f_equal. apply map_eq. intros k. now destruct (A k).
  - inversion_clear F as [|? ? H F']. cbn beta iota in H. destruct H as ((L & L') & q & Q & G). unfold settles in Q. rewrite Q. cbn [mbind option_bind].
    unfold put. rewrite (proj2 (Z.leb_le _ _) L), (proj2 (Z.ltb_lt _ _) L'). cbn [andb mbind option_bind].
    apply IH; [exact F'|]. intros k. destruct (Z.eq_dec lane k) as [<-|Ne].
    + left. rewrite G. apply lookup_insert.
    + assert (Same : <[lane := q]> at_ !! k = at_ !! k) by now apply lookup_insert_ne.
      rewrite Same. destruct (A k) as [E|[E|E]]; [now left|now destruct Ne|now right].
Qed.

Section search.
  Context (a b : memory) (low from n m : Z) (Below : (from =? n) = false).

  (* The place of the chunk's k-th XID, found by itself. *)
  Definition answer (k q : Z) : Prop :=
    0 <= k < CHUNK /\ exists x, load b (low + k) = Some x /\ halve a x from n = Some q.

  Lemma one_by_one : forall c fuel i at_ r, i + Z.of_nat c <= m ->
    while fuel (search_test m) (search_body a b low from n) (i, at_) = Some r ->
    exists fuel2 at2, fuel = (fuel2 + c)%nat /\
      while fuel2 (search_test m) (search_body a b low from n) (i + Z.of_nat c, at2) = Some r /\
      (forall k, i <= k < i + Z.of_nat c -> exists q, answer k q /\ at2 !! k = Some q) /\
      (forall k, ~ i <= k < i + Z.of_nat c -> at2 !! k = at_ !! k).
  Proof.
    induction c as [|c IH]; intros fuel i at_ r M E.
    - exists fuel, at_. rewrite Nat.add_0_r, Z.add_0_r. repeat split; auto. intros k K. lia.
    - destruct fuel as [|fuel]; cbn [while search_test mbind option_bind] in E; rewrite (proj2 (Z.ltb_lt i m)) in E by lia;
        [discriminate|]. cbn [search_body] in E.
      destruct (load b (low + i)) as [x|] eqn:X; [|discriminate]. cbn [mbind option_bind] in E. rewrite Below in E.
      destruct (halve a x from n) as [q|] eqn:H; [|discriminate]. cbn [mbind option_bind] in E.
      unfold put in E at 1. destruct ((0 <=? i) && (i <? CHUNK)) eqn:P; [|discriminate]. cbn [mbind option_bind] in E.
      apply andb_prop in P as [P1 P2]. apply Z.leb_le in P1. apply Z.ltb_lt in P2.
      destruct (IH fuel (i + 1) _ r ltac:(lia) E) as (fuel2 & at2 & -> & E2 & K & O). exists fuel2, at2.
      split; [lia|]. replace (i + Z.of_nat (S c)) with (i + 1 + Z.of_nat c) by lia. split; [exact E2|]. split.
      + intros k B. destruct (Z.eq_dec k i) as [->|Ne]; [|apply K; lia]. exists q. split.
        * split; [lia|]. eauto.
        * rewrite O by lia. apply lookup_insert.
      + intros k B. rewrite O by lia. apply lookup_insert_ne. lia.
  Qed.

  Lemma halve_is x q : halve a x from n = Some q -> exists p w,
    while (Z.to_nat (n - from)) halve_test (halve_body a x) (from, n - from) = Some (p, w) /\ settles a n x p = Some q.
  Proof.
    unfold halve. intros H. destruct (while _ halve_test _ _) as [[p w]|]; [|discriminate]. cbn [mbind option_bind] in H. eauto.
  Qed.

  (* The lanes of a group, and what they find. *)
  Lemma lanes_start (goal : memory) i numbers : (forall l, In l numbers -> let lane := if i + l <? m then i + l else i in
      exists q, answer lane q /\ goal !! lane = Some q) ->
    exists g g' : lanes, start_lanes b low i m from numbers = Some g /\
      Forall2 (ends a (Z.to_nat (n - from)) (n - from)) g g' /\ length g = length numbers /\
      Forall (fun '(lane, key, p) => 0 <= lane < CHUNK /\ exists q, settles a n key p = Some q /\ goal !! lane = Some q) g' /\
      map (fun e => fst (fst e)) g' = map (fun l => if i + l <? m then i + l else i) numbers.
  Proof.
    induction numbers as [|l numbers IH]; intros A; [exists [], []; repeat split; constructor|].
    destruct IH as (g & g' & E & F & L & P & M); [intros k K; apply A; now right|].
    destruct (A l ltac:(now left)) as (q & (C & x & X & H) & G). cbn [start_lanes]. rewrite X, E. cbn [mbind option_bind].
    destruct (halve_is x q H) as (p & w & W & S). eexists _, ((_, x, p) :: g'). split; [reflexivity|].
    split; [constructor; [unfold ends; eauto|exact F]|]. split; [cbn [length]; auto|].
    split; [constructor; [eauto|exact P]|]. cbn [map fst]. now rewrite M.
  Qed.

  Lemma side_by_side : forall fuel fuel' i at_ i' goal, (fuel <= fuel')%nat ->
    while fuel (search_test m) (search_body a b low from n) (i, at_) = Some (i', goal) ->
    exists i2, while fuel' (search_test m) (group_body a b low from n m) (i, at_) = Some (i2, goal).
  Proof.
    induction fuel as [fuel IH] using lt_wf_ind. intros fuel' i at_ i' goal L E. destruct (Z.ltb_spec i m) as [I|I].
    - set (c := Z.to_nat (Z.min 8 (m - i))).
      destruct (one_by_one c fuel i at_ _ ltac:(lia) E) as (fuel2 & at2 & -> & E2 & K & O).
      destruct fuel' as [|fuel']; [lia|]. cbn [while search_test mbind option_bind]. rewrite (proj2 (Z.ltb_lt i m) I).
      cbn [group_body].
      destruct (lanes_start at2 i [0; 1; 2; 3; 4; 5; 6; 7]) as (g & g' & S & F & Lg & P & M).
      { intros l In8 lane. apply K. subst lane. assert (0 <= l < 8) by (cbn in In8; lia). destruct (Z.ltb_spec (i + l) m); lia. }
      rewrite S. cbn [mbind option_bind].
      destruct (lanes_while a _ _ g g' ltac:(intros ->; discriminate) F) as (w & ->). cbn [mbind option_bind].
      rewrite (put_lanes_is a n at2 g' at_ P).
      2: { intros k. rewrite M. destruct (Z.ltb_spec k i); [left; symmetry; apply O; lia|].
           destruct (Z.ltb_spec k (i + Z.of_nat c)); [|left; symmetry; apply O; lia]. right. apply in_map_iff.
           exists (k - i). split; [rewrite (proj2 (Z.ltb_lt _ _)); lia|].
           assert (k - i = 0 \/ k - i = 1 \/ k - i = 2 \/ k - i = 3 \/ k - i = 4 \/ k - i = 5 \/ k - i = 6 \/ k - i = 7) by lia.
           cbn. intuition. }
      cbn [mbind option_bind]. destruct (Z.leb_spec 8 (m - i)) as [W|W].
      + replace (i + Z.of_nat c) with (i + 8) in E2 by lia. apply (IH fuel2 ltac:(lia) fuel' _ _ i' goal ltac:(lia) E2).
      + replace (i + Z.of_nat c) with m in E2 by lia.
        destruct fuel2; cbn [while search_test mbind option_bind] in E2; rewrite Z.ltb_irrefl in E2; injection E2 as _ <-;
          exists (i + 8); destruct fuel'; cbn [while search_test mbind option_bind]; now rewrite (proj2 (Z.ltb_ge (i + 8) m)) by lia.
    - exists i. destruct fuel; cbn [while search_test mbind option_bind] in E; rewrite (proj2 (Z.ltb_ge i m) I) in E;
        injection E as _ <-; destruct fuel'; cbn [while search_test mbind option_bind]; now rewrite (proj2 (Z.ltb_ge i m) I).
  Qed.
End search.

Lemma search_refines a b low n m at_ : search_chunk a b low n m = Some at_ -> search_side_by_side a b low n m = Some at_.
Proof.
  unfold search_chunk, search_side_by_side, nothing. destruct (load b low) as [x|]; [|discriminate].
  cbn [mbind option_bind]. destruct (gallop a x n) as [from|]; [|discriminate]. cbn [mbind option_bind].
  destruct (put ∅ 0 from) as [at0|]; [|discriminate]. cbn [mbind option_bind]. intros E.
  destruct (while (Z.to_nat m) (search_test m) (search_body a b low from n) (1, at0)) as [[i found]|] eqn:W; [|discriminate].
  cbn [mbind option_bind] in E. injection E as ->. destruct (from =? n) eqn:F.
  - assert (W' : while (Z.to_nat m) (search_test m) (end_body n) (1, at0) = Some (i, at_)).
    { revert W. apply while_refines. intros [j at1] s' B. cbn [search_body end_body] in *. rewrite F in B.
      destruct (load b (low + j)); [exact B|discriminate]. }
    now rewrite W'.
  - destruct (side_by_side a b low from n m F _ _ _ _ _ _ (Nat.le_refl _) W) as (i2 & ->). reflexivity.
Qed.

(** ** The merge, the sort and the insertion *)

Lemma merge_body_refines m s s' : merge_body m s = Some s' -> merge_body_in_order m s = Some s'.
Proof.
  destruct s as [[[[[[top j] low] at_] holes] b] a]. cbn [merge_body merge_body_in_order]. cbn zeta.
  destruct (j - 1 <? low).
  - destruct (search_chunk _ _ _ _ _) as [found|] eqn:S; [|discriminate]. cbn [mbind option_bind].
    destruct (load b (j - 1)) as [x|]; [|discriminate]. cbn [mbind option_bind].
    rewrite (search_refines _ _ _ _ _ _ S). cbn [mbind option_bind]. exact (fun E => E).
  - cbn [mbind option_bind]. destruct (load b (j - 1)); [|discriminate]. exact (fun E => E).
Qed.

Lemma merge_refines n m b a r : merge_batch n m b a = Some r -> merge_in_order n m b a = Some r.
Proof.
  unfold merge_batch, merge_in_order, nothing.
  destruct (while (Z.to_nat m) merge_test (merge_body m) (n, m, m, ∅, 0, b, a)) as [s|] eqn:W; [|discriminate].
  rewrite (while_refines _ _ (merge_body_in_order m) (merge_body_refines m) _ _ _ W). exact (fun E => E).
Qed.

Lemma chunk_refines m s s' : chunks_body m s = Some s' -> chunk_in_order m s = Some s'.
Proof.
  destruct s as [[i n] b]. cbn [chunks_body chunk_in_order]. unfold nothing.
  destruct (read b i _) as [l|]; [|discriminate]. cbn [mbind option_bind].
  destruct (sort_chunk _ _) as [[k next]|]; [|discriminate]. cbn [mbind option_bind].
  destruct (merge_batch n k next b) as [r|] eqn:M; [|discriminate]. now rewrite (merge_refines _ _ _ _ _ M).
Qed.

Lemma sort_refines m b r : sort_batch m b = Some r -> sort_in_order m b = Some r.
Proof.
  unfold sort_batch, sort_in_order, nothing. destruct (while _ (rising_test m b) _ _) as [n|]; [|discriminate].
  cbn [mbind option_bind]. destruct (n =? m); [auto|]. destruct (n + 1 =? m).
  - destruct (load b n) as [top|]; [|discriminate]. cbn [mbind option_bind]. apply merge_refines.
  - destruct (sort_chunk _ b) as [[k b']|]; [|discriminate]. cbn [mbind option_bind].
    destruct (while _ (chunks_test m) (chunks_body m) _) as [s|] eqn:W; [|discriminate].
    rewrite (while_refines _ _ (chunk_in_order m) (chunk_refines m) _ _ _ W). exact (fun E => E).
Qed.

(** The insertion of a commit's XIDs into a sorted array, load by load in the order of C, makes it the sorted union in place,
    and stays within the array, its space and the batch; if an XID is permanent, nothing changes. *)
Theorem insert_sorted_is_union : forall l batch space a b, sorted_unique l -> array a 0 (l ++ space) ->
  length space = length batch -> array b 0 batch ->
  exists n a', insert_sorted (zlength l) (zlength batch) b a = Some (n, a') /\
    if forallb (fun x => 3 <=? x) batch
    then exists u, n = zlength u /\ sorted_union l batch u /\ array a' 0 u /\
           unchanged_outside 0 (zlength l + zlength batch) a a'
    else n = zlength l /\ a' = a.
Proof.
  intros l batch space a b S A L B. unfold insert_sorted. destruct (permanent_is_found batch b B) as (i & ->).
  cbn [mbind option_bind]. destruct (forallb (fun x => 3 <=? x) batch) eqn:N; cbn [negb]; [|eauto].
  assert (N0 : Forall (fun x => x <> 0) batch).
  { rewrite forallb_forall in N. apply List.Forall_forall. intros x X. specialize (N x X). apply Z.leb_le in N. lia. }
  destruct (insert_is_union l batch space a b S A L B N0) as (u & a' & E & U & A' & O). unfold insert in E.
  destruct (sort_batch (zlength batch) b) as [[m b']|] eqn:Sb; [|discriminate]. cbn [mbind option_bind] in E.
  rewrite (sort_refines _ _ _ Sb). cbn [mbind option_bind]. rewrite (merge_refines _ _ _ _ _ E). exists (zlength u), a'.
  split; [reflexivity|]. eauto.
Qed.
