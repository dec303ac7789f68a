(* SPDX-License-Identifier: PostgreSQL *)
(** * The merge of a batch into the array, from the back and in place, is the sorted union *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts Algorithms Search.
Local Open Scope Z_scope.

(** Above the lowest run, the merged part of the array is a list of holes, each with the run above it. *)
Definition holes_and_runs : Type := list (Z * list Z).
Fixpoint cells (t : holes_and_runs) : list Z := match t with [] => [] | (hole, run) :: t => hole :: run ++ cells t end.
Fixpoint contents (t : holes_and_runs) : list Z := match t with [] => [] | (_, run) :: t => run ++ contents t end.
Fixpoint positions (lowest : Z) (t : holes_and_runs) : list Z :=
  match t with [] => [] | (_, run) :: t => lowest :: positions (lowest + 1 + zlength run) t end.

Lemma positions_length t : forall lowest, length (positions lowest t) = length t.
Proof. induction t as [|[h r] t IH]; simpl; intros; f_equal; auto. Qed.

(** What holds each time round: [A1] and [B1] are still to be merged and stand untouched at the front of their arrays;
    [stale], as many cells as [B1] has XIDs, is what keeps writing from overtaking reading; above are the merged XIDs,
    sorted but for the holes, which are noted at the end of the batch.  Of [B1], those from [low] on have been searched
    for. *)
Definition merge_invariant (l batch : list Z) (b0 a0 : memory) (s : merging) : Prop :=
  let '(top, j, low, at_, holes, b, a) := s in
  exists A1 A2 B1 B2 stale run used tail, l = A1 ++ A2 /\ batch = B1 ++ B2 /\
    top = zlength A1 /\ j = zlength B1 /\ holes = zlength tail /\ length stale = length B1 /\
    0 <= low /\ array at_ 0 (map (place l) (drop (Z.to_nat low) B1)) /\
    array a 0 (A1 ++ stale ++ run ++ cells tail) /\
    (length (A1 ++ stale ++ run ++ cells tail) = length l + length batch)%nat /\
    array b 0 (B1 ++ used ++ positions (top + j + zlength run) tail) /\
    (length used + length tail = length B2)%nat /\
    sorted_unique (A1 ++ run ++ contents tail) /\
    (forall x y, In x B1 -> In y (run ++ contents tail) -> x < y) /\
    (forall x, In x (run ++ contents tail) <-> In x A2 \/ In x B2) /\
    unchanged_outside 0 (zlength l + zlength batch) a0 a /\ unchanged_outside 0 (zlength batch) b0 b.

Ltac lengths :=
  rewrite ?app_length, ?positions_length in *; simpl length in *; rewrite ?app_length in *; simpl length in *.

Lemma merge_step l batch b0 a0 top j start at_ holes b a : sorted_unique l -> sorted_unique batch ->
  merge_invariant l batch b0 a0 (top, j, start, at_, holes, b, a) -> 0 < j ->
  exists s', merge_body (zlength batch) (top, j, start, at_, holes, b, a) = Some s' /\ merge_invariant l batch b0 a0 s' /\
    (let '(_, j', _, _, _, _, _) := s' in j' = j - 1).
Proof.
  intros SL SB (A1 & A2 & B1 & B2 & stale & run & used & tail & -> & -> & T & J & H & LS & Nl & At & A & LA & B & LB & S &
    Lt & E & UA & UB) P.
  destruct (exists_last (l := B1)) as (B1' & x & ->). { intros ->. simpl in J. lia. }
  assert (J' : zlength B1' = j - 1) by (lengths; lia).
  (* what was searched for is where it belongs in the part that is left, too *)
  assert (Place : forall y, In y (B1' ++ [x]) -> place (A1 ++ A2) y = place A1 y).
  { intros y Y. rewrite place_app, (place_none A2); [lia|]. apply List.Forall_forall. intros z Z.
    apply Z.lt_le_incl, Lt; [auto|]. apply E. auto. }
  cbn [merge_body].
  set (new := if j - 1 <? CHUNK then 0 else j - 1 - CHUNK + 1).
  assert (Searched : exists start' at', (
      if j - 1 <? start then at_ ← search_chunk a b new top (j - 1 - new + 1); Some (new, at_) else Some (start, at_)) =
      Some (start', at') /\ 0 <= start' <= j - 1 /\
    array at' 0 (map (place (A1 ++ A2)) (drop (Z.to_nat start') (B1' ++ [x])))).
  { destruct (Z.ltb_spec (j - 1) start) as [New|]; [|exists start, at_; auto with lia].
    assert (Low : 0 <= new <= j - 1 /\ j - new <= CHUNK).
    { subst new. unfold CHUNK. destruct (Z.ltb_spec (j - 1) 64); lia. }
    clearbody new. pose proof A as A'. apply array_app in A'. destruct A' as [A' _].
    rewrite <- (take_drop (Z.to_nat new) (B1' ++ [x])) in B, SB. rewrite <- !app_assoc in B, SB.
    apply sorted_unique_app in SB. destruct SB as (_ & SB & _). apply sorted_unique_app in SB. destruct SB as (SC & _ & _).
    assert (LC : zlength (drop (Z.to_nat new) (B1' ++ [x])) = j - new) by (rewrite skipn_length; lia).
    destruct (search_chunk_spec a b A1 _ _ _ (proj1 (proj1 (sorted_unique_app A1 A2) SL)) SC A' B) as (at' & Se & At').
    { rewrite LC. lia. }
    rewrite firstn_length_le in Se by lia. rewrite Z2Nat.id, LC, <- T in Se by lia.
    replace (j - 1 - new + 1) with (j - new) by lia. rewrite Se. exists new, at'. split; [auto|]. split; [lia|].
    erewrite map_ext_in; [exact At'|]. intros y Y. apply Place. rewrite <- (take_drop (Z.to_nat new) (B1' ++ [x])).
    apply in_or_app. auto. }
  clear At Nl. destruct Searched as (start' & at' & -> & Nl & At). cbn [mbind option_bind].
  rewrite drop_app_le in At by lia. rewrite map_app in At. simpl in At.
  assert (Here : load at' (j - 1 - start') = Some (place A1 x)).
  { rewrite <- Place by (apply in_or_app; right; now left). apply load_in_array in At. rewrite <- At. f_equal.
    rewrite map_length, skipn_length. lia. }
  apply array_app in At. destruct At as [At _].
  assert (X : load b (j - 1) = Some x).
  { rewrite <- app_assoc in B. apply load_in_array in B. rewrite <- B. f_equal. lia. }
  rewrite X. cbn [mbind option_bind].
  destruct (sorted_split x A1) as (low & high & -> & Low & High). { apply sorted_unique_app in S. apply S. }
  rewrite Here, place_app, (place_all low), (place_none high) by auto. rewrite Z.add_0_r. cbn [mbind option_bind].
  replace (if zlength low <? top then zlength low else top) with (zlength low)
    by (destruct (Z.ltb_spec (zlength low) top); lengths; lia).
  assert (There : exists there : bool,
    (if zlength low <? top then v ← load a (zlength low); Some (v =? x) else Some false) = Some there /\
    (if there then exists high', high = x :: high' else Forall (fun v => x < v) high)).
  { destruct high as [|v high'].
    - rewrite (proj2 (Z.ltb_ge _ _)) by (lengths; lia). exists false. auto.
    - rewrite (proj2 (Z.ltb_lt _ _)) by (lengths; lia). rewrite <- app_assoc in A.
      pose proof (load_in_array a 0 low v _ A) as V. rewrite Z.add_0_l in V. rewrite V. cbn [mbind option_bind].
      exists (v =? x). split; [auto|]. inversion High as [|? ? Xv _]; subst.
      destruct (Z.eqb_spec v x) as [->|Ne]; [eauto|].
      constructor; [lia|]. apply sorted_unique_app in S. destruct S as (S & _ & _). apply sorted_unique_app in S.
      destruct S as (_ & S & _). apply StronglySorted_inv in S. eapply Forall_impl; [apply S|]. simpl. lia. }
  destruct There as (there & -> & There). cbn [mbind option_bind].
  rewrite <- app_assoc in A. destruct (move_up a low high stale _ A) as (a1 & stale' & M & A1' & LS' & U1).
  replace (zlength low + (j - 1) + 1) with (zlength low + zlength stale) by lia.
  replace (top - zlength low) with (zlength high) by (lengths; lia).
  rewrite M. cbn [mbind option_bind].
  destruct (exists_last (l := stale')) as (stale1 & g & ->). { intros ->. simpl in LS'. lengths. lia. }
  assert (LG : zlength stale1 = j - 1) by (lengths; lia).
  rewrite <- app_assoc in A1'. simpl in A1'.
  assert (SB1 : forall y, In y B1' -> y < x).
  { intros y Y. rewrite <- !app_assoc in SB. apply (sorted_cut B1' ([x] ++ B2)); simpl; auto. }
  rewrite <- !app_assoc in *. destruct there.
  - destruct There as [high' ->].
    (* the batch cell in which the hole is noted *)
    destruct (exists_last (l := x :: used)) as (used' & c & EU). { discriminate. }
    assert (LU : length used' = length used) by (apply (f_equal (@length Z)) in EU; lengths; lia).
    change ([x] ++ used ++ positions (top + j + zlength run) tail) with
      ((x :: used) ++ positions (top + j + zlength run) tail) in B.
    rewrite EU, <- app_assoc, app_assoc in B. simpl in B.
    destruct (store_in_array _ _ _ _ _ (zlength low + (j - 1)) B) as (b' & W & B' & U2).
    replace (zlength (B1' ++ [x] ++ B2) - (holes + 1)) with (0 + zlength (B1' ++ used')) by (lengths; lia).
    rewrite W. eexists. split; [reflexivity|]. split; [|auto].
    exists low, ((x :: high') ++ A2), B1', (x :: B2), stale1, [], used', ((g, (x :: high') ++ run) :: tail).
    split; [auto|]. split; [auto|]. split; [auto|]. split; [lia|]. split; [simpl length; lia|]. split; [lia|].
    split; [lia|]. split; [auto|].
    split; [simpl; rewrite <- app_assoc; exact A1'|]. split; [lengths; lia|]. split.
    { simpl. rewrite <- app_assoc in B'. simpl in B'. change (Z.of_nat 0) with 0.
      rewrite Z.add_0_r.
      replace (zlength low + (j - 1) + 1 + Z.of_nat (Datatypes.S (length (high' ++ run)))) with (top + j + zlength run)
        by (lengths; lia). exact B'. }
    split; [lengths; lia|]. simpl in *. rewrite <- !app_assoc in *. split; [auto|]. split.
    { intros y z Y [<-|Z]; [auto|]. rewrite in_app_iff in Z. destruct Z as [Z|Z].
      - apply Z.lt_trans with x; [auto|]. apply sorted_unique_app in S. destruct S as (_ & S & _).
        apply StronglySorted_inv in S. destruct S as [_ F]. rewrite List.Forall_forall in F. apply F.
        rewrite in_app_iff. auto.
      - apply Lt; [apply in_or_app; auto|auto]. }
    split.
    { intros z. specialize (E z). simpl. rewrite !in_app_iff in *. simpl. intuition. }
    split.
    { intros k K. rewrite U1, UA; auto; lengths; lia. }
    { intros k K. rewrite U2, UB; auto; lengths; lia. }
  - destruct (store_in_array a1 0 (low ++ stale1) g (high ++ run ++ cells tail) x) as (a2 & W & A2' & U2).
    { now rewrite <- app_assoc. }
    replace (zlength low + (j - 1)) with (0 + zlength (low ++ stale1)) by (lengths; lia). rewrite W.
    eexists. split; [reflexivity|]. split; [|auto].
    exists low, (high ++ A2), B1', (x :: B2), stale1, (x :: high ++ run), (x :: used), tail.
    split; [auto|]. split; [auto|]. split; [auto|]. split; [lia|]. split; [auto|]. split; [lia|].
    split; [lia|]. split; [auto|].
    split. { rewrite <- app_assoc in A2'. simpl. rewrite <- app_assoc. exact A2'. }
    split; [lengths; lia|]. split.
    { simpl. replace (zlength low + (j - 1) + Z.of_nat (Datatypes.S (length (high ++ run)))) with
        (top + j + zlength run) by (lengths; lia). exact B. }
    split; [lengths; lia|].
    assert (Above : forall z, In z (run ++ contents tail) -> x < z).
    { intros z Z. apply Lt; [|auto]. apply in_or_app. right. now left. }
    split. { simpl. rewrite <- app_assoc. apply sorted_insert; auto. apply Forall_app. split; [auto|].
      now apply List.Forall_forall. }
    split.
    { intros y z Y [<-|Z]; [auto|]. rewrite <- app_assoc, in_app_iff in Z. destruct Z as [Z|Z].
      - rewrite List.Forall_forall in There. specialize (There z Z). specialize (SB1 y Y). simpl in There. lia.
      - apply Lt; [apply in_or_app; auto|auto]. }
    split.
    { intros z. specialize (E z). simpl. rewrite !in_app_iff in *. simpl. intuition. }
    split.
    { intros k K. rewrite U2, U1, UA; auto; lengths; lia. }
    { intros k K. rewrite UB; auto. }
Qed.

Lemma merge_start l batch space a b : sorted_unique l -> array a 0 (l ++ space) -> length space = length batch ->
  array b 0 batch -> merge_invariant l batch b a (zlength l, zlength batch, zlength batch, ∅, 0, b, a).
Proof.
  intros S A LS B. exists l, [], batch, [], space, [], [], []. rewrite drop_ge by lia. simpl. rewrite !app_nil_r.
  rewrite app_length. repeat split; auto using unchanged_refl; try lia; tauto.
Qed.

(** At every moment of the merge, the XIDs of the array and of the batch that are not read yet are the original ones,
    and the places of the holes are stored in the used part of the batch. So the merge in place overwrites nothing
    unread. *)
Theorem merge_batch_in_place : forall l batch space a b top j low at_ holes a' b', sorted_unique l -> sorted_unique batch ->
  array a 0 (l ++ space) -> length space = length batch -> array b 0 batch ->
  passes_through merge_test (merge_body (zlength batch)) (zlength l, zlength batch, zlength batch, ∅, 0, b, a)
    (top, j, low, at_, holes, b', a') ->
  array a' 0 (List.firstn (Z.to_nat top) l) /\ array b' 0 (List.firstn (Z.to_nat j) batch) /\
  0 <= top <= zlength l /\ 0 <= holes <= zlength batch - j.
Proof.
  intros l batch space a b top j low at_ holes a' b' S SB A LS B P.
  assert (I : merge_invariant l batch b a (top, j, low, at_, holes, b', a')).
  { eapply (passes_through_keeps (merge_invariant l batch b a)); eauto using merge_start.
    intros [[[[[[t1 j1] w1] p1] h1] b1] a1] s2 I T E. injection T as T. apply Z.ltb_lt in T.
    destruct (merge_step _ _ _ _ _ _ _ _ _ _ _ S SB I T) as (s3 & E3 & I3 & _). congruence. }
  destruct I as (A1 & A2 & B1 & B2 & stale & run & used & tail & -> & -> & -> & -> & -> & _ & _ & _ & A' & _ & B' & LB & _).
  rewrite !Nat2Z.id, !firstn_app, !firstn_all, !Nat.sub_diag. simpl. rewrite !app_nil_r.
  apply array_app in A', B'. destruct A', B'. rewrite !app_length. repeat split; auto; lia.
Qed.

(* While the holes are being closed: [done] is closed up, [gap] is what was gained. *)
Definition close_invariant (u : list Z) (total m holes : Z) (b a0 : memory) (s : Z * Z * memory) : Prop :=
  let '(k, to, a) := s in
  exists done gap tail, u = done ++ contents tail /\ k = zlength tail /\ to = zlength done /\ zlength gap + k = holes /\
    array a 0 (done ++ gap ++ cells tail) /\ zlength (done ++ gap ++ cells tail) = total /\
    array b (m - k) (positions (to + zlength gap) tail) /\ unchanged_outside 0 total a0 a.

Lemma close_step u n m holes b a0 k to a : close_invariant u (n + m) m holes b a0 (k, to, a) -> 0 < k ->
  exists to' a', close_body n m b (k, to, a) = Some (k - 1, to', a') /\
    close_invariant u (n + m) m holes b a0 (k - 1, to', a').
Proof.
  intros (done & gap & tail & -> & K & T & G & A & L & B & U) P.
  destruct tail as [|[h r] tail]; [simpl in K; lia|]. destruct B as [Bh B]. cbn [close_body].
  assert (Hole : load b (m - k) = Some (to + zlength gap)) by exact Bh.
  rewrite Hole. cbn [mbind option_bind].
  assert (End : (if 1 <? k then load b (m - k + 1) else Some (n + m)) = Some (to + zlength gap + 1 + zlength r)).
  { simpl in K, L. destruct tail as [|[h2 r2] tail].
    - rewrite (proj2 (Z.ltb_ge 1 k)) by (simpl in K; lia). f_equal. rewrite <- L. lengths. lia.
    - rewrite (proj2 (Z.ltb_lt 1 k)) by (simpl in K; lia). apply B. }
  rewrite End. cbn [mbind option_bind].
  replace (to + zlength gap + 1 + zlength r - (to + zlength gap + 1)) with (zlength r) by lia.
  simpl in A. assert (A2 : array a 0 (done ++ (gap ++ [h]) ++ r ++ cells tail)).
  { rewrite <- app_assoc. exact A. }
  destruct (move_down a done (gap ++ [h]) r (cells tail) A2) as (a' & gap' & M & A' & LG & U').
  replace (to + zlength gap + 1) with (to + zlength (gap ++ [h])) by (lengths; lia).
  rewrite <- T in M, U'. rewrite M. cbn [mbind option_bind]. eexists _, a'. split; [reflexivity|].
  exists (done ++ r), gap', tail. rewrite <- !app_assoc. simpl in *. lengths.
  split; [auto|]. split; [lia|]. split; [lia|]. split; [lia|]. split; [auto|]. split; [lia|]. split.
  - replace (m - (k - 1)) with (m - k + 1) by lia.
    replace (to + zlength r + Z.of_nat (length gap')) with (to + zlength gap + 1 + zlength r) by lia. exact B.
  - intros i I. rewrite U', U; auto; lia.
Qed.

(** The array and the batch are sorted and have no duplicates, and the array has space for the batch behind it. Merging
    in place then gives their sorted union, each XID once. It ends, stays in bounds, and writes nothing outside the
    array and its space. *)
Theorem merge_batch_is_union : forall l batch space a b, sorted_unique l -> sorted_unique batch ->
  array a 0 (l ++ space) -> length space = length batch -> array b 0 batch ->
  exists u stale a', merge_batch (zlength l) (zlength batch) b a = Some (zlength u, a') /\ sorted_union l batch u /\
    array a' 0 (u ++ stale) /\ (length (u ++ stale) = length l + length batch)%nat /\
    unchanged_outside 0 (zlength l + zlength batch) a a'.
Proof.
  intros l batch space a b S SB A LS B. unfold merge_batch. set (m := zlength batch). set (n := zlength l).
  destruct (while_total (merge_invariant l batch b a) (fun '(_, j, _, _, _, _, _) => j) merge_test (merge_body m)
    (Z.to_nat m) (n, m, m, ∅, 0, b, a)) as ([[[[[[top j] low] at_] holes] b'] a'] & E & I & T).
  - eapply merge_start; eauto.
  - lia.
  - intros [[[[[[top j] low] at_] holes] b1] a1] I. eexists. split; [reflexivity|]. intros P. apply Z.ltb_lt in P.
    split; [auto|]. destruct (merge_step _ _ _ _ _ _ _ _ _ _ _ S SB I P) as ([[[[[[t2 j2] w2] p2] h2] b2] a2] & E & I' & J).
    eexists. split; [exact E|]. split; [auto|]. lia.
  - rewrite E. cbn [mbind option_bind]. clear E. injection T as T. apply Z.ltb_ge in T.
    destruct I as (A1 & A2 & B1 & B2 & stale & run & used & tail & El & Eb & Top & J & H & LSt & _ & _ & A' & LA & B' & LB &
      S' & _ & In' & UA & UB).
    destruct B1; [|simpl in J; lia]. destruct stale; [|simpl in LSt; lia]. simpl in *. subst batch.
    set (u := A1 ++ run ++ contents tail).
    assert (Union : sorted_union l B2 u).
    { split; [auto|]. intros x. subst u l. specialize (In' x). rewrite !in_app_iff in *. intuition. }
    assert (LB2 : m = zlength used + zlength tail) by (subst m; lia). assert (Ln : n = zlength A1 + zlength A2).
    { subst n l. rewrite app_length. lia. }
    destruct (Z.eqb_spec holes 0) as [Z0|NZ].
    + destruct tail; [|simpl in H; lia]. simpl in *. rewrite app_nil_r in *. exists u, [], a'.
      assert (Lu : n + m = zlength u) by (subst n m u; lengths; lia). split; [now rewrite Lu|]. split; [auto|].
      rewrite !app_nil_r. split; [subst u; now rewrite app_nil_r|]. split; [lia|auto].
    + apply array_app in B'. destruct B' as [_ B'].
      destruct tail as [|[h r] tail]; [simpl in H; lia|]. set (tail0 := (h, r) :: tail) in *.
      assert (Low : load b' (m - holes) = Some (top + j + zlength run)).
      { simpl in B'. destruct B' as [B' _]. replace (m - holes) with (0 + zlength used) by lia. exact B'. }
      rewrite Low. cbn [mbind option_bind].
      destruct (while_total (close_invariant u (n + m) m holes b' a) (fun '(k, _, _) => k) close_test
        (close_body n m b') (Z.to_nat holes) (holes, top + j + zlength run, a')) as ([[k to] a2] & E & I & T2).
      * assert (j = 0) by lia. exists (A1 ++ run), [], tail0. change (zlength []) with 0.
        rewrite (app_nil_l (cells tail0)), Z.add_0_l, <- (app_assoc A1 run (cells tail0)), LA.
        split; [subst u; now rewrite app_assoc|]. split; [auto|]. split; [rewrite app_length; lia|]. split; [auto|].
        split; [auto|]. split; [subst n m; lia|]. split; [|auto].
        replace (m - holes) with (0 + zlength used) by lia. rewrite Z.add_0_r. exact B'.
      * lia.
      * intros [[k to] a1] I. eexists. split; [reflexivity|]. intros P. apply Z.ltb_lt in P. split; [auto|].
        destruct (close_step _ _ _ _ _ _ _ _ _ I P) as (to' & a2 & E & I').
        eexists. split; [exact E|]. split; [auto|]. lia.
      * rewrite E. cbn [mbind option_bind]. injection T2 as T2. apply Z.ltb_ge in T2.
        destruct I as (done & gap & rest & Eu & K & To & G & A2' & L2 & _ & U2).
        destruct rest; [|simpl in K; lia]. simpl in Eu. rewrite app_nil_r in Eu. subst done.
        exists u, gap, a2. subst to. simpl in *. rewrite app_nil_r in *. repeat split; auto; try apply Union. lia.
Qed.
