(* SPDX-License-Identifier: PostgreSQL *)
(** * What a purge keeps is an arc of the ring *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Spec SortedFacts Purge.
Local Open Scope Z_scope.

(** Among normal XIDs, those that do not precede xmin are those in the arc [xmin, xmin + 2^31).  At a distance of
    exactly 2^31 each XID precedes the other, so that end is outside. *)
Theorem keeps_is_arc : forall xmin x, normal xmin -> normal x -> keeps xmin x = in_arc xmin x.
Proof.
  intros. unfold keeps, in_arc. rewrite precedes_distance by auto. now rewrite <- Z.ltb_antisym.
Qed.

(** The exact ends of the arc: xmin and xmin + 2^31 - 1 are kept; xmin + 2^31 and xmin - 1 are not. *)
Theorem arc_ends : forall xmin, in_arc xmin xmin = true /\ in_arc xmin ((xmin + (HALF - 1)) mod RING) = true /\
  in_arc xmin ((xmin + HALF) mod RING) = false /\ in_arc xmin ((xmin - 1) mod RING) = false.
Proof.
  intros xmin. unfold in_arc, distance. rewrite !Zminus_mod_idemp_l, Z.sub_diag.
  replace (xmin + (HALF - 1) - xmin) with (HALF - 1) by lia. replace (xmin + HALF - xmin) with HALF by lia.
  replace (xmin - 1 - xmin) with (-1) by lia. repeat split; reflexivity.
Qed.

(** In raw order the arc is an interval unless it crosses 0, and then a prefix and a suffix.  Where it ends at 0,
    exactly at xmin = 2^31, the prefix is empty. *)
Theorem arc_in_raw_order : forall xmin x, normal xmin -> normal x ->
  let arc_end := (xmin + HALF) mod RING in
  keeps xmin x = if xmin <? arc_end then (xmin <=? x) && (x <? arc_end) else (x <? arc_end) || (xmin <=? x).
Proof.
  intros xmin x N X arc_end. subst arc_end. rewrite keeps_is_arc by auto. unfold in_arc, distance, normal in *.
  change FIRST_NORMAL with 3 in *. ring_mods. unfold RING, HALF in *.
  repeat match goal with
  | |- context [?p <=? ?q] => destruct (Z.leb_spec p q)
  | |- context [?p <? ?q] => destruct (Z.ltb_spec p q)
  end; cbn [andb orb]; reflexivity || lia.
Qed.

Lemma kept_all xmin l : Forall (fun x => keeps xmin x = true) l -> kept xmin l = l.
Proof. unfold kept. induction 1 as [|x l E _ IH]; simpl; [auto|]. now rewrite E, IH. Qed.

Lemma kept_none xmin l : Forall (fun x => keeps xmin x = false) l -> kept xmin l = [].
Proof. unfold kept. induction 1 as [|x l E _ IH]; simpl; [auto|]. now rewrite E. Qed.

(* How a sorted array is cut by the borders of the arc. *)
Lemma arc_cut l xmin : sorted_unique l -> Forall normal l -> normal xmin ->
  let arc_end := (xmin + HALF) mod RING in
  (xmin < arc_end /\ exists before survivors after, l = before ++ survivors ++ after /\ kept xmin l = survivors /\
    Forall (fun v => v < xmin) before /\ Forall (fun v => xmin <= v) survivors /\
    Forall (fun v => v < arc_end) survivors /\ Forall (fun v => arc_end <= v) after) \/
  (arc_end < xmin /\ exists front gap back, l = front ++ gap ++ back /\ kept xmin l = front ++ back /\
    Forall (fun v => v < arc_end) front /\ Forall (fun v => arc_end <= v) gap /\
    Forall (fun v => v < xmin) gap /\ Forall (fun v => xmin <= v) back).
Proof.
  intros S N X arc_end.
  pose proof (fun x => arc_in_raw_order xmin x X) as K. fold arc_end in K. simpl in K.
  assert (Ne : arc_end <> xmin).
  { subst arc_end. unfold normal in X. change FIRST_NORMAL with 3 in X. ring_mods. unfold RING, HALF in *. lia. }
  destruct (Z.lt_ge_cases xmin arc_end) as [O|O].
  - left. split; [auto|]. rewrite (proj2 (Z.ltb_lt _ _) O) in K.
    destruct (sorted_split xmin l S) as (before & l' & -> & B & R).
    apply sorted_unique_app in S. destruct S as (_ & S & _).
    destruct (sorted_split arc_end l' S) as (survivors & after & -> & M & R').
    exists before, survivors, after. apply Forall_app in R. destruct R as [R _].
    apply Forall_app in N. destruct N as [N1 N]. apply Forall_app in N. destruct N as [N2 N3].
    split; [auto|]. split; [|auto].
    rewrite !kept_app, (kept_none xmin before), (kept_none xmin after), (kept_all xmin survivors), app_nil_r;
      [auto| | |]; rewrite Forall_forall in *; intros x I; rewrite K by auto.
    + rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)); auto.
    + rewrite (proj2 (Z.ltb_ge x arc_end)) by auto. apply andb_false_r.
    + rewrite (proj2 (Z.leb_gt _ _)) by auto. reflexivity.
  - right. split; [lia|]. rewrite (proj2 (Z.ltb_ge _ _) O) in K.
    destruct (sorted_split arc_end l S) as (front & l' & -> & B & R).
    apply sorted_unique_app in S. destruct S as (_ & S & _).
    destruct (sorted_split xmin l' S) as (gap & back & -> & M & R').
    exists front, gap, back. apply Forall_app in R. destruct R as [R _].
    apply Forall_app in N. destruct N as [N1 N]. apply Forall_app in N. destruct N as [N2 N3].
    split; [auto|]. split; [|auto].
    rewrite !kept_app, (kept_none xmin gap), (kept_all xmin front), (kept_all xmin back); [auto| | |];
      rewrite Forall_forall in *; intros x I; rewrite K by auto.
    + rewrite (proj2 (Z.leb_le _ _)) by auto. apply orb_true_r.
    + rewrite (proj2 (Z.ltb_lt _ _)) by auto. reflexivity.
    + rewrite (proj2 (Z.ltb_ge _ _)), (proj2 (Z.leb_gt _ _)) by auto. reflexivity.
Qed.

(** In a raw-sorted array of normal XIDs the survivors of a purge are one interval, or a prefix and a suffix. *)
Theorem kept_is_interval_or_ends : forall l xmin, sorted_unique l -> Forall normal l -> normal xmin ->
  (exists before after, l = before ++ kept xmin l ++ after) \/
  (exists front gap back, l = front ++ gap ++ back /\ kept xmin l = front ++ back).
Proof.
  intros l xmin S N X. destruct (arc_cut l xmin S N X) as
    [(_ & before & survivors & after & E & K & _)|(_ & front & gap & back & E & K & _)].
  - left. exists before, after. now rewrite K.
  - right. eauto.
Qed.
