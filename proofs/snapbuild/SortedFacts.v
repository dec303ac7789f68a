(* SPDX-License-Identifier: PostgreSQL *)
(** * Facts about sorted arrays without duplicates *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base list.
From Pgquern.snapbuild Require Import Spec.
Local Open Scope Z_scope.

Lemma sorted_unique_app l1 l2 : sorted_unique (l1 ++ l2) <->
  sorted_unique l1 /\ sorted_unique l2 /\ Forall (fun x => Forall (fun y => x < y) l2) l1.
Proof.
  unfold sorted_unique. induction l1 as [|x l1 IH]; simpl.
  - split; [intros; repeat constructor; auto|tauto].
  - rewrite Forall_cons. split.
    + intros H. apply StronglySorted_inv in H. destruct H as [H F]. apply IH in H. apply Forall_app in F.
      split; [constructor|]; tauto.
    + intros (H1 & H2 & F1 & F2). apply StronglySorted_inv in H1. constructor; [tauto|]. apply Forall_app. tauto.
Qed.

Lemma sorted_split x l : sorted_unique l ->
  exists below rest, l = below ++ rest /\ Forall (fun v => v < x) below /\ Forall (fun v => x <= v) rest.
Proof.
  induction l as [|y l IH]; intros H.
  - exists [], []. auto.
  - apply StronglySorted_inv in H. destruct H as [H F]. destruct (Z.lt_ge_cases y x).
    + destruct (IH H) as (below & rest & -> & B & R). exists (y :: below), rest. auto.
    + exists [], (y :: l). split; [auto|]. split; [auto|]. constructor; [lia|].
      eapply Forall_impl; [exact F|]. simpl. lia.
Qed.

Lemma sorted_cut l1 l2 x y : sorted_unique (l1 ++ l2) -> In x l1 -> In y l2 -> x < y.
Proof.
  intros S X Y. apply sorted_unique_app in S. destruct S as (_ & _ & F).
  rewrite List.Forall_forall in F. specialize (F x X). rewrite List.Forall_forall in F. auto.
Qed.

(* An element in between keeps the order. *)
Lemma sorted_insert below x rest : sorted_unique (below ++ rest) -> Forall (fun v => v < x) below ->
  Forall (fun v => x < v) rest -> sorted_unique (below ++ x :: rest).
Proof.
  intros S B R. apply sorted_unique_app in S. destruct S as (S1 & S2 & F). apply sorted_unique_app.
  split; [auto|]. split; [constructor; auto|]. rewrite Forall_forall in *. intros v V. constructor; auto.
Qed.

Lemma sorted_map f l : sorted_unique l -> (forall x y, In x l -> In y l -> x < y -> f x < f y) ->
  sorted_unique (map f l).
Proof.
  unfold sorted_unique. intros S. induction S as [|x l S IH F]; intros M; simpl; constructor.
  - apply IH. intros. apply M; simpl; auto.
  - rewrite List.Forall_forall in *. intros y Y. apply in_map_iff in Y. destruct Y as (z & <- & Z).
    apply M; simpl; auto.
Qed.

(** A sorted array without duplicates is determined by its elements. *)
Theorem sorted_unique_ext : forall l1 l2, sorted_unique l1 -> sorted_unique l2 ->
  (forall x, In x l1 <-> In x l2) -> l1 = l2.
Proof.
  induction l1 as [|x l1 IH]; intros l2 S1 S2 E.
  - destruct l2 as [|y l2]; [auto|]. destruct (proj2 (E y)). now left.
  - destruct l2 as [|y l2]; [destruct (proj1 (E x)); now left|].
    apply StronglySorted_inv in S1, S2. destruct S1 as [S1 F1], S2 as [S2 F2]. rewrite List.Forall_forall in F1, F2.
    assert (x = y).
    { destruct (proj1 (E x) (or_introl eq_refl)) as [|X]; [auto|].
      destruct (proj2 (E y) (or_introl eq_refl)) as [|Y]; [auto|]. specialize (F1 y Y). specialize (F2 x X). lia. }
    subst y. f_equal. apply IH; auto. intros z. split; intros Z.
    + destruct (proj1 (E z) (or_intror Z)) as [->|]; [|auto]. specialize (F1 z Z). lia.
    + destruct (proj2 (E z) (or_intror Z)) as [->|]; [|auto]. specialize (F2 z Z). lia.
Qed.

(** There is at most one sorted union of two arrays. *)
Theorem sorted_union_unique : forall a b u u', sorted_union a b u -> sorted_union a b u' -> u = u'.
Proof.
  intros a b u u' [S E] [S' E']. apply sorted_unique_ext; auto. intros x. now rewrite E, E'.
Qed.
