(* SPDX-License-Identifier: PostgreSQL *)
(** * The tree holds what it should, in order, and its walks find exactly the ranges that overlap *)
From Coq Require Import Sorted Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock.

(** Rotations keep what a tree holds, and its order. *)
Lemma elements_balance l x r : elements (balance l x r) = elements l ++ x :: elements r.
Proof.
  unfold balance. destruct (_ <? _).
  - destruct l as [|ll lx [|m mx n h1 m1] h m0]; cbn; rewrite <- ?app_assoc; try reflexivity.
    destruct (_ <? _); cbn; rewrite <- ?app_assoc; cbn; rewrite <- ?app_assoc; reflexivity.
  - destruct (_ <? _); [|reflexivity].
    destruct r as [|[|m mx n h1 m1] rx rr h m0]; cbn; rewrite <- ?app_assoc; try reflexivity.
    destruct (_ <? _); cbn; rewrite <- ?app_assoc; cbn; rewrite <- ?app_assoc; reflexivity.
Qed.

(** ** Ends *)

Lemma bounded_max t : bounded t -> Forall (fun y => hi (req y) <= max_hi t) (elements t).
Proof. destruct t; cbn; [constructor|tauto]. Qed.

Lemma bounded_node l x r : bounded l -> bounded r -> bounded (node l x r).
Proof.
  intros L R. split; [exact L|]. split; [exact R|]. cbn. apply Forall_app. split; [|constructor; [lia|]].
  - eapply Forall_impl; [|apply bounded_max, L]. cbn. lia.
  - eapply Forall_impl; [|apply bounded_max, R]. cbn. lia.
Qed.

Lemma bounded_balance l x r : bounded l -> bounded r -> bounded (balance l x r).
Proof.
  intros L R. unfold balance. destruct (_ <? _).
  - destruct l as [|ll lx [|m mx n h1 m1] h m0]; [now apply bounded_node| |].
    + destruct L as (A & B & _). repeat apply bounded_node; assumption.
    + destruct L as (A & B & _). destruct (_ <? _); [destruct B as (B & C & _)|]; repeat apply bounded_node; assumption.
  - destruct (_ <? _); [|now apply bounded_node].
    destruct r as [|[|m mx n h1 m1] rx rr h m0]; [now apply bounded_node| |].
    + destruct R as (A & B & _). repeat apply bounded_node; assumption.
    + destruct R as (A & B & _). destruct (_ <? _); [destruct A as (A & C & _)|]; repeat apply bounded_node; assumption.
Qed.

Lemma bounded_insert t x : bounded t -> bounded (insert t x).
Proof.
  induction t as [|l IL y r IR h m]; cbn [insert]; intros B; [now apply bounded_node|].
  destruct B as (L & R & _). destruct (precedes _ _); apply bounded_balance; auto.
Qed.

Lemma bounded_remove_first l : forall x r, bounded l -> bounded r -> bounded (fst (remove_first l x r)).
Proof.
  induction l as [|ll IL lx lr IR h m]; intros x r L R; [exact R|]. destruct L as (A & B & _). cbn.
  specialize (IL lx lr A B). destruct (remove_first ll lx lr). now apply bounded_balance.
Qed.

Lemma bounded_without_top l r : bounded l -> bounded r -> bounded (without_top l r).
Proof.
  intros L R. destruct l; [exact R|]. destruct r as [|rl rx rr h m]; [exact L|]. unfold without_top.
  destruct R as (A & B & _). pose proof (bounded_remove_first rl rx rr A B). destruct (remove_first rl rx rr).
  now apply bounded_balance.
Qed.

Lemma bounded_remove t x : bounded t -> bounded (remove t x).
Proof.
  induction t as [|l IL y r IR h m]; intros B; [exact B|]. destruct B as (L & R & _). cbn.
  destruct (_ =? _); [now apply bounded_without_top|]. destruct (precedes _ _); apply bounded_balance; auto.
Qed.

(** ** Order *)

Lemma sorted_app l x r : StronglySorted before (l ++ x :: r) <->
  StronglySorted before l /\ StronglySorted before r /\ Forall (fun y => before y x) l /\ Forall (before x) r /\
  Forall (fun y => Forall (before y) r) l.
Proof.
  induction l as [|a l IH]; cbn.
  - split; [|intros (_ & R & _ & X & _); now constructor].
    intros S. inversion S; subst. repeat split; auto; constructor.
  - split.
    + intros S. inversion S as [|? ? S' F]; subst. apply IH in S' as (L & R & LX & XR & LR).
      apply Forall_app in F as [F1 F2]. inversion F2; subst. repeat split; auto; constructor; auto.
    + intros (L & R & LX & XR & LR). inversion L; inversion LX; inversion LR; subst. constructor.
      * apply IH. auto.
      * apply Forall_app. split; [assumption|]. constructor; assumption.
Qed.

Lemma precedes_spec a b : precedes a b = true <-> lo a < lo b \/ (lo a = lo b /\ ticket a < ticket b).
Proof. unfold precedes. rewrite orb_true_iff, andb_true_iff, !Z.ltb_lt, Z.eqb_eq. reflexivity. Qed.

Lemma before_trans a b c : before a b -> before b c -> before a c.
Proof. unfold before. rewrite !precedes_spec. lia. Qed.

(** Insertion adds one, and keeps the order if its ticket is new. *)
Lemma elements_insert t x : StronglySorted before (elements t) -> ~ In (ticket (req x)) (map ticket (map req (elements t))) ->
  Permutation (elements (insert t x)) (x :: elements t) /\ StronglySorted before (elements (insert t x)).
Proof.
  induction t as [|l IL y r IR h m]; cbn [insert elements]; intros S N.
  - split; [reflexivity|]. repeat constructor.
  - pose proof S as S'. apply sorted_app in S' as (L & R & LY & YR & LR).
    rewrite !map_app in N. cbn in N. rewrite in_app_iff in N. cbn in N.
    destruct (precedes (req x) (req y)) eqn:P; rewrite elements_balance.
    + destruct IL as [I1 I2]; [assumption|tauto|]. split; [now rewrite I1|]. apply sorted_app. repeat split; try assumption.
      * rewrite I1. constructor; assumption.
      * eapply Permutation_Forall; [symmetry; exact I1|]. constructor; [|exact LR].
        eapply Forall_impl; [|exact YR]. intros z Z. eapply before_trans; [exact P|exact Z].
    + destruct IR as [I1 I2]; [assumption|tauto|]. split.
      * rewrite I1. transitivity (elements l ++ x :: y :: elements r); [apply Permutation_app_head, perm_swap|].
        symmetry. apply Permutation_middle.
      * assert (Q : before y x).
        { unfold before. apply precedes_spec. destruct (precedes (req x) (req y)) eqn:E; [discriminate|].
          apply not_true_iff_false in E. rewrite precedes_spec in E.
          assert (ticket (req y) <> ticket (req x)) by tauto. lia. }
        apply sorted_app. repeat split; try assumption.
        -- rewrite I1. constructor; assumption.
        -- rewrite Forall_forall in *. intros z Z. rewrite I1. constructor; [|now apply LR].
           eapply before_trans; [now apply LY|exact Q].
Qed.

Lemma elements_remove_first l : forall x r,
  let '(t, first) := remove_first l x r in elements l ++ x :: elements r = first :: elements t.
Proof.
  induction l as [|ll IL lx lr IR h m]; intros x r; [reflexivity|]. cbn. specialize (IL lx lr).
  destruct (remove_first ll lx lr) as [l' first]. rewrite elements_balance, IL. reflexivity.
Qed.

Lemma elements_without_top l r : elements (without_top l r) = elements l ++ elements r.
Proof.
  destruct l as [|ll lx lr h m]; [reflexivity|]. destruct r as [|rl rx rr h' m']; [now rewrite app_nil_r|].
  unfold without_top. pose proof (elements_remove_first rl rx rr) as E. destruct (remove_first rl rx rr) as [r' first].
  now rewrite elements_balance, <- E.
Qed.

(** All but x. *)
Definition others (x : request) (l : list entry) : list entry := filter (fun y => negb (ticket (req y) =? ticket x)) l.

Lemma others_all x l : ~ In (ticket x) (map ticket (map req l)) -> others x l = l.
Proof.
  induction l as [|y l IH]; intros N; [reflexivity|]. cbn in *. destruct (Z.eqb_spec (ticket (req y)) (ticket x)); [tauto|].
  cbn. f_equal. tauto.
Qed.

Lemma in_tickets x l : In x (map req l) -> In (ticket x) (map ticket (map req l)).
Proof. apply in_map. Qed.

Lemma nodup_app {A} (l r : list A) : NoDup (l ++ r) -> NoDup l /\ NoDup r /\ forall z, In z l -> In z r -> False.
Proof.
  induction l as [|a l IH]; cbn; intros N; [split; [constructor|]; split; [exact N|tauto]|].
  inversion N as [|? ? Na N']; subst. rewrite in_app_iff in Na. destruct (IH N') as (L & R & Z).
  split; [constructor; tauto|]. split; [exact R|]. intros z [<-|I] J; [tauto|eauto].
Qed.

(** Removal takes exactly one away. *)
Lemma elements_remove t x : StronglySorted before (elements t) -> NoDup (map ticket (map req (elements t))) ->
  In x (map req (elements t)) -> elements (remove t x) = others x (elements t).
Proof.
  induction t as [|l IL y r IR h m]; cbn [elements remove]; intros S D I; [destruct I|].
  apply sorted_app in S as (L & R & LY & YR & LR). rewrite !map_app in D. cbn in D.
  pose proof (NoDup_remove _ _ _ D) as [D' Y]. rewrite in_app_iff in Y.
  apply nodup_app in D' as (DL & DR & Apart).
  rewrite map_app, in_app_iff in I. cbn in I. unfold others at 1. rewrite filter_app. cbn. fold (others x (elements l)).
  fold (others x (elements r)). destruct (Z.eqb_spec (ticket (req y)) (ticket x)) as [E|E]; cbn.
  - rewrite elements_without_top. rewrite !others_all; [reflexivity| |]; rewrite <- E; tauto.
  - assert (C : forall z l, In z (map req l) -> exists e, In e l /\ req e = z).
    { intros z l' Z. apply in_map_iff in Z as (e & <- & Z). now exists e. }
    destruct (precedes x (req y)) eqn:P; rewrite elements_balance.
    + assert (In x (map req (elements l))).
      { destruct I as [I|[I|I]]; [assumption|now subst|]. apply C in I as (e & I & <-).
        rewrite Forall_forall in YR. apply YR in I. unfold before in I. rewrite precedes_spec in *. lia. }
      rewrite IL by assumption. do 2 f_equal. symmetry. apply others_all. intros B. eapply Apart; [|exact B]. now apply in_tickets.
    + assert (In x (map req (elements r))).
      { destruct I as [I|[I|I]]; [|now subst|assumption]. apply C in I as (e & I & <-).
        rewrite Forall_forall in LY. apply LY in I. unfold before in I. congruence. }
      rewrite IR by assumption. f_equal. symmetry. apply others_all. intros B. eapply Apart; [exact B|]. now apply in_tickets.
Qed.

Lemma sorted_filter f l : StronglySorted before l -> StronglySorted before (filter f l).
Proof.
  induction 1 as [|x l S IH F]; cbn; [constructor|]. destruct (f x); [|exact IH]. constructor; [exact IH|].
  rewrite Forall_forall in *. intros y Y. apply filter_In in Y. now apply F.
Qed.

(** ** The walks *)

Definition overlaps (x : request) (y : entry) : bool := overlap x (req y).

Lemma filter_none {A} (f : A -> bool) l : Forall (fun x => f x = false) l -> filter f l = [].
Proof. induction 1 as [|x l F _ IH]; cbn; [reflexivity|]. now rewrite F. Qed.

Lemma overlap_spec x y : overlap x y = true <-> lo x < hi y /\ lo y < hi x.
Proof. unfold overlap. now rewrite andb_true_iff, !Z.ltb_lt. Qed.

Lemma none_below t x : bounded t -> max_hi t <= lo x -> Forall (fun y => overlaps x y = false) (elements t).
Proof.
  intros B M. eapply Forall_impl; [|apply bounded_max, B]. cbn. intros y Y. apply not_true_iff_false.
  unfold overlaps. rewrite overlap_spec. lia.
Qed.

Lemma none_beyond l y x : Forall (before y) l -> hi x <= lo (req y) -> Forall (fun z => overlaps x z = false) l.
Proof.
  intros F H. eapply Forall_impl; [|exact F]. unfold before. intros z Z. apply precedes_spec in Z.
  apply not_true_iff_false. unfold overlaps. rewrite overlap_spec. lia.
Qed.

(** The search that stops early counts exactly the ranges that overlap. *)
Theorem count_counts t x : StronglySorted before (elements t) -> bounded t ->
  count t x = Z.of_nat (length (filter (overlaps x) (elements t))).
Proof.
  induction t as [|l IL y r IR h m]; intros S B; [reflexivity|].
  pose proof (none_below _ x B) as N. cbn [max_hi] in N. cbn [count].
  destruct (Z.ltb_spec (lo x) m) as [M|M].
  - cbn [elements] in *. apply sorted_app in S as (L & R & _ & YR & _). destruct B as (BL & BR & _).
    rewrite IL, filter_app, app_length by assumption. cbn [filter].
    destruct (Z.leb_spec (hi x) (lo (req y))) as [H|H].
    + rewrite (filter_none _ (elements r)) by (eapply none_beyond; eassumption).
      assert (E : overlaps x y = false) by (apply not_true_iff_false; unfold overlaps; rewrite overlap_spec; lia).
      rewrite E. cbn. lia.
    + rewrite IR by assumption. destruct (Z.ltb_spec (lo x) (hi (req y))) as [G|G].
      * assert (E : overlaps x y = true) by (unfold overlaps; rewrite overlap_spec; lia). rewrite E. cbn [length]. lia.
      * assert (E : overlaps x y = false) by (apply not_true_iff_false; unfold overlaps; rewrite overlap_spec; lia).
        rewrite E. lia.
  - now rewrite filter_none by (apply N; lia).
Qed.

(** x takes itself off the count of y, if y is later and overlaps. *)
Definition touches (x : request) (y : entry) : bool := overlaps x y && (ticket x <? ticket (req y)).
Definition less (x : request) (y : entry) : entry := if touches x y then Entry (req y) (blockers y - 1) else y.
Definition goes (x : request) (y : entry) : bool := touches x y && (blockers y - 1 =? 0).

Lemma less_none x l : Forall (fun y => overlaps x y = false) l -> map (less x) l = l /\ filter (goes x) l = [].
Proof.
  induction 1 as [|y l F _ [I J]]; [now split|]. cbn. unfold less at 1, goes at 1, touches. rewrite F. cbn. now rewrite I, J.
Qed.

(** The walk that stops early changes exactly the later ranges that overlap, and tells those that have no blocker left. *)
Theorem unblock_unblocks t x : StronglySorted before (elements t) -> bounded t ->
  elements (fst (unblock t x)) = map (less x) (elements t) /\
  snd (unblock t x) = map ticket (map req (filter (goes x) (elements t))).
Proof.
  induction t as [|l IL y r IR h m]; intros S B; [now split|].
  pose proof (none_below _ x B) as N. cbn [max_hi] in N. cbn [unblock].
  destruct (Z.ltb_spec (lo x) m) as [M|M].
  - cbn [elements] in *. apply sorted_app in S as (L & R & _ & YR & _). destruct B as (BL & BR & _).
    specialize (IL L BL). specialize (IR R BR). destruct (unblock l x) as [l' g1], (unblock r x) as [r' g3].
    cbn [fst snd] in *. destruct IL as [IL1 IL2], IR as [IR1 IR2].
    rewrite map_app, filter_app, !map_app. cbn [map filter].
    destruct (Z.leb_spec (hi x) (lo (req y))) as [H|H].
    + assert (E : overlaps x y = false) by (apply not_true_iff_false; unfold overlaps; rewrite overlap_spec; lia).
      destruct (less_none x (elements r)) as [R1 R2]; [eapply none_beyond; eassumption|].
      unfold less at 2, goes at 2, touches. rewrite E, R1, R2. cbn. now rewrite IL1, IL2, app_nil_r.
    + assert (E : touches x y = (lo x <? hi (req y)) && (ticket x <? ticket (req y))).
      { unfold touches, overlaps, overlap. destruct (Z.ltb_spec (lo (req y)) (hi x)); [|lia]. now rewrite andb_true_r. }
      unfold less at 2, goes at 2. rewrite E. destruct (_ && _); cbn; [|now rewrite IL1, IL2, IR1, IR2].
      destruct (_ =? _); cbn; now rewrite IL1, IL2, IR1, IR2.
  - destruct (less_none x (elements (Node l y r h m))) as [R1 R2]; [apply N; lia|]. cbn [fst snd]. now rewrite R1, R2.
Qed.

Lemma bounded_unblock t x : StronglySorted before (elements t) -> bounded t -> bounded (fst (unblock t x)).
Proof.
  intros S B. revert S. induction t as [|l IL y r IR h m]; intros S; [exact I|].
  pose proof (unblock_unblocks _ x S B) as [E _]. pose proof B as (BL & BR & BM).
  assert (G : Forall (fun z => hi (req z) <= m) (elements (fst (unblock (Node l y r h m) x)))).
  { rewrite E. apply Forall_map. eapply Forall_impl; [|exact BM]. cbn. intros z Z. unfold less. now destruct (touches x z). }
  cbn [elements] in S. apply sorted_app in S as (L & R & _). specialize (IL BL L). specialize (IR BR R). revert G. cbn [unblock].
  destruct (_ <? m); [|intros _; exact B]. destruct (unblock l x) as [l' g1], (unblock r x) as [r' g3]. cbn [fst] in *.
  destruct (_ <=? _); [intros G; now repeat split|]. destruct (_ && _); intros G; now repeat split.
Qed.
