(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: arrays and tables that fulfil the hypotheses of the theorems, and on which there is something to find *)
From Coq Require Import ZArith Lia Bool List.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Minimum Kernels Rows Patch Instances.
Import ListNotations.
Local Open Scope Z_scope.

(** They meet the hypotheses of the scan; its minimum lies before the wrap, though plain comparison finds the number 4. *)
Theorem wrapped_array_has_a_minimum : bounds Xids 50 50 /\ Forall valid wrapped /\
  scan Xids 50 wrapped 1 50 = Oldest (2 ^ 32 - 59) /\ min_frozen avx512_age Xids 50 50 wrapped = Oldest (2 ^ 32 - 59) /\
  In 4 wrapped.
Proof.
  split; [repeat split; cbn; unfold RING; lia|]. split.
  - apply Forall_forall. intros x X.
    assert (H : forallb (fun x => (0 <=? x) && (x <? RING)) wrapped = true) by (vm_compute; reflexivity).
    rewrite forallb_forall in H. specialize (H x X). apply andb_true_iff in H as [A B].
    apply Z.leb_le in A. apply Z.ltb_lt in B. split; auto.
  - repeat split; try (vm_compute; reflexivity). vm_compute. tauto.
Qed.

(** With one value in the future behind them, each kernel gives up at its place. *)
Theorem future_value_is_found : forall find, In find [scalar_age; avx2_age; avx512_age] ->
  min_frozen find Xids 50 50 (wrapped ++ [51] ++ wrapped) = Future 100.
Proof. intros find [<-|[<-|[<-|[]]]]; vm_compute; reflexivity. Qed.

(** A permanent XID makes a chunk suspect, and is its minimum. *)
Theorem permanent_xid_is_found : min_frozen avx2_age Xids 50 50 (wrapped ++ [2] ++ wrapped) = Oldest 2.
Proof. vm_compute. reflexivity. Qed.

(** A table: rows of other kinds do not count, whatever they hold; the MultiXactId at fault is found. *)
Theorem rows_are_scanned :
  min_frozen_rows row_age 900 90 1000 100 [Row true 800 80; Row false 5000 5000; Row true 0 70; Row true 850 0] =
    OldestOf 800 70 /\
  min_frozen_rows row_age 900 90 1000 100 [Row true 800 80; Row false 5000 5000; Row true 1000 101; Row true 1001 0] =
    FutureMulti 3.
Proof. split; vm_compute; reflexivity. Qed.

(** A cache that lags behind what is stored, in XIDs and in MultiXactIds, meets all hypotheses of lagging_cache_skips_nothing:
    the lock is not taken. *)
Theorem lagging_cache_exists : exists c dat new sane,
  bounds Xids (xid new) (xid sane) /\ bounds Multis (multi new) (multi sane) /\
  survives Xids (xid sane) (xid c) /\ survives Xids (xid sane) (xid dat) /\ before Xids (xid c) (xid dat) = true /\
  before Xids (xid dat) (xid c) = false /\
  survives Multis (multi sane) (multi c) /\ survives Multis (multi sane) (multi dat) /\
  before Multis (multi c) (multi dat) = true /\ before Multis (multi dat) (multi c) = false /\
  locked (update_patched (Some c) dat new sane) = false.
Proof.
  exists (Pair 900 80), (Pair 950 90), (Pair 900 80), (Pair 1000 100).
  repeat split; cbn; try (unfold RING; lia); discriminate || reflexivity.
Qed.

(** On these instances the hypotheses and the conclusions of the theorems are true; both were computed. *)
Theorem instances_hold : Forall (fun i => hypothesis i = true /\ conclusion i = true) instances.
Proof.
  assert (H : forallb sound instances = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in H. apply Forall_forall. intros i I. now apply andb_true_iff, H.
Qed.
