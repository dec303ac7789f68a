(* SPDX-License-Identifier: PostgreSQL *)
(** * The decision to replace a stored value, on the whole ring *)
From Coq Require Import ZArith Lia Bool.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order.
Local Open Scope Z_scope.

(** "No": the stored value is the new one already, or the new one precedes it and it does not lie in the future. *)
Theorem kept_value_is_newer : forall s dat new sane, bounds s new sane -> valid dat ->
  need_update s dat new sane = false ->
  dat = new \/ (before s new dat = true /\ before s sane dat = false).
Proof.
  intros s dat new sane (UN & US & F) V E. pose proof (usual_valid _ _ UN). pose proof (usual_valid _ _ US).
  unfold need_update in *. rewrite !before_is in * by auto. destruct s; ids.
Qed.

(** "Yes": the new value follows the stored one, or the stored one lies in the future. *)
Theorem replaced_value_was_older_or_in_the_future : forall s dat new sane,
  need_update s dat new sane = true -> dat <> new /\ (before s dat new = true \/ before s sane dat = true).
Proof.
  intros s dat new sane E. unfold need_update in E. apply andb_prop in E as [N E]. apply orb_prop in E.
  split; [|auto]. intros ->. now rewrite Z.eqb_refl in N.
Qed.

(** Whatever was stored: the value that is stored afterwards does not lie in the future, and does not precede the new one. *)
Theorem stored_value_is_sane_afterwards : forall s dat new sane, bounds s new sane -> valid dat ->
  let after := if need_update s dat new sane then new else dat in
  before s sane after = false /\ before s after new = false.
Proof.
  intros s dat new sane B V. cbn zeta. destruct (need_update s dat new sane) eqn:E.
  - split; [apply B|]. destruct s; [apply precedes_irreflexive|]. cbn. now rewrite Z.sub_diag.
  - pose proof (kept_value_is_newer s dat new sane B V E) as [->|[_ F]].
    + split; [apply B|]. destruct s; [apply precedes_irreflexive|]. cbn. now rewrite Z.sub_diag.
    + split; [auto|]. unfold need_update in E. destruct (Z.eqb_spec dat new) as [->|N].
      * destruct s; [apply precedes_irreflexive|]. cbn. now rewrite Z.sub_diag.
      * cbn in E. now apply orb_false_elim in E.
Qed.

(** One unsigned comparison of ages decides the same: the stored value must change if and only if it lies farther behind the
    next id to be assigned than the new one. *)
Theorem one_comparison_decides : forall s dat new sane, bounds s new sane -> valid dat ->
  need_update_by_age s dat new sane = need_update s dat new sane.
Proof.
  intros s dat new sane (UN & US & F) V. pose proof (usual_valid _ _ UN). pose proof (usual_valid _ _ US).
  unfold need_update_by_age, need_update. rewrite !before_is in * by auto. unfold valid in *.
  rewrite !small_mod by lia. destruct s; ids.
Qed.
