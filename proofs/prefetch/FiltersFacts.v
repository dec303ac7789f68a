(* SPDX-License-Identifier: PostgreSQL *)
(** * The list of filters says what the history says *)
From Coq Require Import Sorted.
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Filters Prefetcher History.

Lemma relation_eqb_eq a b : relation_eqb a b = true <-> a = b.
Proof.
  destruct a, b. unfold relation_eqb. simpl. rewrite !andb_true_iff, !Z.eqb_eq. split; [intros [[-> ->] ->]; reflexivity|].
  intros [=]. auto.
Qed.
Lemma relation_eqb_refl a : relation_eqb a a = true.
Proof. now apply relation_eqb_eq. Qed.

Lemma find_other k k' fs : relation_eqb k k' = false ->
  find_filter k' (filter (fun f => negb (has_key k f)) fs) = find_filter k' fs.
Proof.
  intros N. unfold find_filter, has_key. induction fs as [|f fs IH]; [reflexivity|]. simpl.
  destruct (relation_eqb (key f) k) eqn:E; simpl; rewrite IH; [|reflexivity].
  apply relation_eqb_eq in E. rewrite E, N. reflexivity.
Qed.

Lemma find_app k l f : find_filter k (l ++ [f]) =
  match find_filter k l with Some g => Some g | None => if relation_eqb (key f) k then Some f else None end.
Proof.
  unfold find_filter, has_key. induction l as [|g l IH]; [reflexivity|]. simpl. now destruct (relation_eqb (key g) k).
Qed.

Lemma find_dropped k fs : find_filter k (filter (fun f => negb (has_key k f)) fs) = None.
Proof.
  unfold find_filter, has_key. induction fs as [|f fs IH]; [reflexivity|]. simpl.
  destruct (relation_eqb (key f) k) eqn:E; simpl; [exact IH|]. now rewrite E.
Qed.

Lemma find_add k k' b l fs : find_filter k' (add_filter k b l fs) =
  if relation_eqb k k' then Some (Hiding k l (lowest b (find_filter k fs))) else find_filter k' fs.
Proof.
  unfold add_filter. rewrite find_app. cbn [key]. destruct (relation_eqb k k') eqn:E.
  - apply relation_eqb_eq in E. subst k'. now rewrite find_dropped.
  - rewrite find_other by exact E. now destruct (find_filter k' fs).
Qed.

(** A list of filters that says what a history says. *)
Record faithful (fs : list hiding) (h : list told) : Prop := {
  each_once : NoDup (map key fs);
  in_order : StronglySorted (fun f g => until f <= until g) fs;
  says_the_same : forall k, option_map (fun f => (until f, from_block f)) (find_filter k fs) = hidden_by k h;
}.

Lemma hides_hidden fs h r b : faithful fs h -> hides fs r b = hidden h r b.
Proof.
  intros [_ _ S]. unfold hides, hidden. rewrite <- !S.
  destruct (find_filter r fs), (find_filter (whole_database (database r)) fs); reflexivity.
Qed.

Lemma sorted_app fs f : StronglySorted (fun f g => until f <= until g) fs -> Forall (fun g => until g <= until f) fs ->
  StronglySorted (fun f g => until f <= until g) (fs ++ [f]).
Proof.
  induction 1 as [|g fs S IH F]; intros B; simpl; [repeat constructor|]. inversion B; subst. constructor; [now apply IH|].
  apply Forall_app. auto.
Qed.

Lemma sorted_filter p fs : StronglySorted (fun f g => until f <= until g) fs ->
  StronglySorted (fun f g => until f <= until g) (filter p fs).
Proof.
  induction 1 as [|g fs S IH F]; simpl; [constructor|]. destruct (p g); [|exact IH]. constructor; [exact IH|].
  apply Forall_forall. intros x X. apply filter_In in X as [X _]. rewrite Forall_forall in F. auto.
Qed.

Lemma distinct_filter p fs : NoDup (map key fs) -> NoDup (map key (filter p fs)).
Proof.
  induction fs as [|g fs IH]; simpl; [auto|]. intros N. inversion N as [|? ? A B]; subst.
  destruct (p g); [|auto]. simpl. constructor; [|auto]. intros I. apply A. apply in_map_iff in I as (x & E & I).
  apply filter_In in I as [I _]. apply in_map_iff. eauto.
Qed.

Lemma faithful_add k b l fs h : faithful fs h -> Forall (fun f => until f <= l) fs ->
  faithful (add_filter k b l fs) (Caused k b l :: h).
Proof.
  intros [N O S] B. unfold add_filter. constructor.
  - rewrite map_app. simpl.
    assert (D : NoDup (map key (filter (fun f => negb (has_key k f)) fs))) by now apply distinct_filter.
    apply (NoDup_Add (a := k) (l := map key (filter (fun f => negb (has_key k f)) fs))).
    + rewrite <- (app_nil_r (map key _)) at 1. apply Add_app.
    + split; [exact D|]. intros I. apply in_map_iff in I as (f & E & I). apply filter_In in I as [_ I].
      unfold has_key in I. rewrite E, relation_eqb_refl in I. discriminate.
  - apply sorted_app; [now apply sorted_filter|]. cbn [until]. apply Forall_forall. intros f I.
    apply filter_In in I as [I _]. rewrite Forall_forall in B. auto.
  - intros k'. change (filter _ fs ++ _) with (add_filter k b l fs). rewrite find_add. simpl.
    destruct (relation_eqb k k') eqn:E; [|apply S]. apply relation_eqb_eq in E. subst k'. simpl. rewrite <- S.
    unfold lowest. now destruct (find_filter k fs).
Qed.

Lemma add_bounded k b l fs : Forall (fun f => until f <= l) fs -> Forall (fun f => until f <= l) (add_filter k b l fs).
Proof.
  intros B. apply Forall_app. split; [|repeat constructor; simpl; lia]. apply Forall_forall. intros f I.
  apply filter_In in I as [I _]. rewrite Forall_forall in B. auto.
Qed.

Lemma complete_is_filter x fs : StronglySorted (fun f g => until f <= until g) fs ->
  complete_filters x fs = filter (fun f => negb (until f <? x)) fs.
Proof.
  induction 1 as [|f fs S IH F]; [reflexivity|]. simpl. destruct (Z.ltb_spec (until f) x) as [L|L]; [exact IH|]. simpl.
  f_equal. clear IH S. induction F as [|g fs G F IH]; [reflexivity|]. simpl.
  destruct (Z.ltb_spec (until g) x); [lia|]. simpl. congruence.
Qed.

Lemma find_filtered p k fs : NoDup (map key fs) -> find_filter k (filter p fs) =
  match find_filter k fs with Some f => if p f then Some f else None | None => None end.
Proof.
  unfold find_filter, has_key. induction fs as [|f fs IH]; [reflexivity|]. simpl. intros N. inversion N as [|? ? A B]; subst.
  destruct (relation_eqb (key f) k) eqn:E.
  - destruct (p f) eqn:P; simpl; [now rewrite E|]. rewrite IH by exact B.
    destruct (find (fun f => relation_eqb (key f) k) fs) as [g|] eqn:F; [|reflexivity].
    apply find_some in F as [I G]. apply relation_eqb_eq in E, G. exfalso. apply A. apply in_map_iff. exists g. split; congruence.
  - destruct (p f) eqn:P; simpl; [rewrite E|]; auto.
Qed.

Lemma faithful_complete x fs h : faithful fs h -> faithful (complete_filters x fs) (Replayed x :: h).
Proof.
  intros [N O S]. rewrite complete_is_filter by exact O. constructor.
  - now apply distinct_filter.
  - now apply sorted_filter.
  - intros k. rewrite find_filtered by exact N. simpl. rewrite <- S. destruct (find_filter k fs) as [f|]; [|reflexivity]. simpl.
    now destruct (until f <? x).
Qed.

Lemma complete_bounded x l fs : Forall (fun f => until f <= l) fs -> Forall (fun f => until f <= l) (complete_filters x fs).
Proof. induction 1 as [|f fs B F IH]; simpl; [constructor|]. destruct (until f <? x); auto. Qed.
