(* SPDX-License-Identifier: PostgreSQL *)
(** * PostgreSQL 13's sort: any one will do

    [pg13] sorts by insertion, and equal offsets keep item order.  C's quicksort may leave equal ones in any order: it is
    not stable.  So pg13.c sorts by lp_off, looks for overlap, and only if there is some sorts again, also by index.  That
    the quicksort sorts by any key is proved beside it: [quicksort_sorts] of the snapshot builder, whose C it shares. *)
From Coq Require Import Sorting.Permutation Sorting.Sorted.
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Copies Decode.

(** C's comparators of these names say that [a] may stand before [b]. *)
Definition by_falling_offset (a b : item) : Prop := off b <= off a.
Definition by_falling_offset_then_index (a b : item) : Prop := off b < off a \/ off a = off b /\ number a <= number b.

(** What a sort promises: the same items in an order. *)
Definition sort_of (order : item -> item -> Prop) (its sorted : list item) : Prop := Permutation sorted its /\ Sorted order sorted.

(** pgq_compaction_pg13; [sorted] and [again] are what its two sorts give. *)
Definition pg13_with (sorted again : list item) (m : mem) : list op :=
  if any_overlap sorted then save_area m (pd_special m) :: singles Restore again (pd_special m)
  else singles Move sorted (pd_special m).

Lemma then_index_trans a b c : by_falling_offset_then_index a b -> by_falling_offset_then_index b c ->
  by_falling_offset_then_index a c.
Proof. unfold by_falling_offset_then_index. lia. Qed.

Lemma in_sort_order its : NoDup (map number its) -> Sorted by_falling_offset_then_index its ->
  forall its', Permutation its' its -> Sorted by_falling_offset_then_index its' -> its' = its.
Proof.
  intros N S. apply Sorted_StronglySorted in S; [|exact then_index_trans].
  induction S as [|a r S IH F]; intros its' P S'; [now apply Permutation_sym, Permutation_nil in P|].
  apply Sorted_StronglySorted in S'; [|exact then_index_trans]. destruct its' as [|b r'].
  { apply Permutation_nil in P. discriminate. }
  inversion S' as [|? ? Sr' F']; subst. inversion N as [|? ? Na Nr]; subst.
  rewrite Forall_forall in F, F'. assert (b = a) as ->.
  { assert (In b (a :: r)) as [->|B] by (apply (Permutation_in _ P); now left); [reflexivity|].
    assert (In a (b :: r')) as [->|A] by (apply (Permutation_in _ (Permutation_sym P)); now left); [reflexivity|].
    specialize (F b B). specialize (F' a A). exfalso. apply Na.
    replace (number a) with (number b) by (unfold by_falling_offset_then_index in F, F'; lia). now apply in_map. }
  f_equal. apply IH; [exact Nr|now apply Permutation_cons_inv in P|now apply StronglySorted_Sorted].
Qed.

(** ** The proved sort is such a sort *)
Lemma insert_in_order it its : Forall (fun x => number it <= number x) its -> Sorted by_falling_offset_then_index its ->
  Sorted by_falling_offset_then_index (insert it its).
Proof.
  intros F S. induction S as [|x r S IH H]; cbn [insert]; [repeat constructor|]. inversion F as [|? ? Fx Fr]; subst.
  destruct (Z.leb_spec (off x) (off it)) as [L|L].
  - constructor; [now constructor|]. constructor. unfold by_falling_offset_then_index. lia.
  - constructor; [now apply IH|]. destruct r as [|y r]; cbn [insert].
    + constructor. left. lia.
    + destruct (off y <=? off it); constructor; [left; lia|now inversion H].
Qed.

Lemma sort_in_order its : StronglySorted (fun a b => number a < number b) its ->
  Sorted by_falling_offset_then_index (sort its).
Proof.
  induction 1 as [|it r S IH F]; cbn [sort fold_right]; [constructor|]. apply insert_in_order; [|exact IH].
  apply (Permutation_Forall (sort_permutation r)). eapply Forall_impl; [|exact F]. cbn. lia.
Qed.

Lemma in_order_falls its : Sorted by_falling_offset_then_index its -> Sorted by_falling_offset its.
Proof.
  induction 1 as [|a r S IH H]; [constructor|]. constructor; [exact IH|].
  destruct H as [|b r []]; constructor; unfold by_falling_offset; lia.
Qed.

(** ** Overlap *)
Lemma apart_falls its : Forall (fun it => 0 < len it) its -> Sorted by_falling_offset its -> any_overlap its = false ->
  StronglySorted (fun a b => off b < off a) its.
Proof.
  intros L S O. apply Sorted_StronglySorted; [intros a b c; lia|].
  induction S as [|a r S IH H]; [constructor|]. inversion L as [|? ? La Lr]; subst.
  destruct H as [|b r H]; [repeat constructor|]. cbn [any_overlap] in O. apply orb_false_iff in O as [O Or].
  constructor; [now apply IH|]. constructor. apply Z.ltb_ge in O. inversion Lr. unfold stop in O. lia.
Qed.

Lemma falls_in_order its : StronglySorted (fun a b => off b < off a) its -> Sorted by_falling_offset_then_index its.
Proof.
  intros S. apply StronglySorted_Sorted. induction S as [|a r S IH F]; constructor; [exact IH|].
  eapply Forall_impl; [|exact F]. intros b. now left.
Qed.

(** Where no two offsets are equal, an order by offset is one by offset and index. *)
Lemma distinct_in_order its : NoDup (map off its) -> Sorted by_falling_offset its -> Sorted by_falling_offset_then_index its.
Proof.
  intros N S. induction S as [|a r S IH H]; constructor; inversion N as [|? ? Na Nr]; subst; auto.
  destruct H as [|b r H]; constructor. left. unfold by_falling_offset in H.
  enough (off a <> off b) by lia. intros E. apply Na. rewrite E. now left.
Qed.

Lemma falls_distinct its : StronglySorted (fun a b => off b < off a) its -> NoDup (map off its).
Proof.
  induction 1 as [|a r S IH F]; cbn [map]; constructor; [|exact IH]. intros M. apply in_map_iff in M as (b & E & B).
  rewrite Forall_forall in F. specialize (F b B). lia.
Qed.

(** The line pointers stand in the order of their numbers. *)
Lemma numbers_rise m : StronglySorted (fun a b => number a < number b) (items m).
Proof.
  unfold items, line_pointers. generalize (Z.to_nat (nline m)) as count, 1 as first.
  assert (G : forall count first, StronglySorted (fun a b => number a < number b) (line_pointers_from m first count) /\
                Forall (fun x => first <= number x) (line_pointers_from m first count)).
  { induction count as [|count IH]; intros first; [split; constructor|]. cbn [line_pointers_from].
    destruct (IH (first + 1)) as [S F]. split.
    - constructor; [exact S|]. eapply Forall_impl; [|exact F]. cbn. lia.
    - constructor; [cbn; lia|]. eapply Forall_impl; [|exact F]. cbn. lia. }
  intros count first. destruct (G count first) as [S _]. induction S as [|a r S IH F]; [constructor|]. cbn [filter].
  destruct (has_storage (word a)); [|exact IH]. constructor; [exact IH|]. rewrite Forall_forall in *.
  intros x X. apply filter_In in X as [X _]. auto.
Qed.

(** PostgreSQL 13's algorithm does the same by any two sorts as by that of the proof: a sort that is not stable will do. *)
Theorem pg13_by_any_sort : forall m sorted again, is_page m -> header_ok m ->
  sort_of by_falling_offset (items m) sorted -> sort_of by_falling_offset_then_index (items m) again ->
  pg13_with sorted again m = pg13 m.
Proof.
  intros m sorted again Pm H [Pf Sf] [Pg Sg]. unfold pg13_with, pg13.
  assert (N : NoDup (map number (sort (items m)))).
  { eapply Permutation_NoDup; [apply Permutation_map, sort_permutation|now apply items_distinct]. }
  pose proof (sort_in_order _ (numbers_rise m)) as S. pose proof (in_sort_order _ N S) as Unique.
  assert (L : forall its, Permutation its (items m) -> Forall (fun it => 0 < len it) its).
  { intros its P. rewrite Forall_forall. intros it I. apply (Permutation_in _ P) in I. eapply item_facts; eassumption. }
  destruct (any_overlap sorted) eqn:O.
  - assert (any_overlap (sort (items m)) = true) as ->; [|rewrite (Unique again); [reflexivity|rewrite Pg; apply sort_permutation|exact Sg]].
    destruct (any_overlap (sort (items m))) eqn:O'; [reflexivity|]. exfalso.
    pose proof (in_order_falls _ S).
    assert (D : NoDup (map off sorted)).
    { apply (Permutation_NoDup (l := map off (sort (items m)))).
      - apply Permutation_map. rewrite Pf. apply Permutation_sym, sort_permutation.
      - apply falls_distinct, apart_falls; auto. apply L, Permutation_sym, sort_permutation. }
    rewrite (Unique sorted) in O; [congruence|rewrite Pf; apply sort_permutation|now apply distinct_in_order].
  - assert (sorted = sort (items m)) as E.
    { apply Unique; [rewrite Pf; apply sort_permutation|]. now apply falls_in_order, apart_falls; auto. }
    now rewrite <- E, O.
Qed.
