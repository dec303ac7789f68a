(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: arrays that fulfil the hypotheses of the theorems, and on which something is to be done

    A theorem whose hypotheses nothing fulfils says nothing.  The arrays are those of Instances.v. *)
From Coq Require Import ZArith Lia List Bool Sorted.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms Instances.
Local Open Scope Z_scope.

Lemma sorted_b_sound l : sorted_b l = true -> sorted_unique l.
Proof.
  unfold sorted_unique. induction l as [|x [|y l] IH]; intros H; [constructor|repeat constructor|].
  cbn [sorted_b] in H. apply andb_true_iff in H as [L H]. apply Z.ltb_lt in L. specialize (IH H).
  constructor; [exact IH|]. apply StronglySorted_inv in IH as [_ F]. constructor; [exact L|].
  eapply Forall_impl; [exact F|]. simpl. lia.
Qed.

Lemma normal_b_sound l : forallb normal_b l = true -> Forall normal l.
Proof.
  rewrite forallb_forall, List.Forall_forall. intros H x I. specialize (H x I). unfold normal_b in H.
  apply andb_true_iff in H as [A B]. apply Z.leb_le in A. apply Z.ltb_lt in B. unfold normal, FIRST_NORMAL, RING. lia.
Qed.

(** 200 XIDs across the wrap meet the hypotheses of the purges, and an xmin among them keeps some and drops others. *)
Theorem wrapped_array_is_purged :
  sorted_unique wrapped /\ Forall normal wrapped /\ length wrapped = 200%nat /\ array (laid wrapped) 0 wrapped /\
  exists xmin, normal xmin /\ length (kept xmin wrapped) = 150%nat.
Proof.
  split; [now apply sorted_b_sound|]. split; [now apply normal_b_sound|]. split; [reflexivity|].
  split; [apply allocate_array|]. exists (2 ^ 32 - 350). split; [unfold normal, FIRST_NORMAL, RING; lia|reflexivity].
Qed.

(** These 200 XIDs lie within half the ring. *)
Theorem wrapped_array_is_within_half_ring : within_half_ring (fun x => In x wrapped).
Proof.
  exists (2 ^ 32 - 700). intros x X.
  assert (H : forallb (fun x => (0 <=? x) && (x <? RING) && (distance (2 ^ 32 - 700) x <? HALF)) wrapped = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in H. specialize (H x X). rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt in H. unfold valid. tauto.
Qed.

(** FullTransactionIds of two epochs meet the hypotheses of their purge, and an xmin among them drops some. *)
Theorem full_array_is_purged :
  sorted_unique full /\ Forall (fun x => normal (xid_of x)) (full_kept (7 * 2 ^ 32 + 3) full) /\
  (length (full_kept (7 * 2 ^ 32 + 3) full) = 108)%nat /\ length full = 200%nat.
Proof.
  split; [now apply sorted_b_sound|]. split; [|split; reflexivity].
  assert (H : forallb normal_b (map xid_of (full_kept (7 * 2 ^ 32 + 3) full)) = true) by (vm_compute; reflexivity).
  apply normal_b_sound in H. now rewrite Forall_map in H.
Qed.

(** On these arrays the hypotheses and the conclusions of the theorems are true; both were computed. *)
Theorem instances_hold : Forall (fun i => hypothesis i = true /\ conclusion i = true) instances.
Proof.
  assert (H : forallb holds instances = true) by vm_cast_no_check (eq_refl true).
  rewrite forallb_forall in H. apply List.Forall_forall. intros i I. now apply andb_true_iff, H.
Qed.
