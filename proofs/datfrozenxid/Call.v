(* SPDX-License-Identifier: PostgreSQL *)
(** * One call, from the rows of pg_class to what it stores *)
From Pgquern.common Require Import Integers Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Minimum Rows Patch.

(** What follows the scan. After a value in the future there is no minimum: nothing is locked, written or passed on. *)
Definition store (minima : rows_answer) (dat sane : pair) : outcome :=
  match minima with
  | OldestOf x m => update dat (Pair x m) sane
  | _ => Outcome dat None false false
  end.

(** vac_update_datfrozenxid: [start], as the scan begins with it. *)
Definition call (rows : list row) (start dat sane : pair) : outcome :=
  store (scan_rows (xid sane) (multi sane) rows 1 (xid start) (multi start)) dat sane.

(** By a kernel; [find] is its way to the greatest age of a chunk of rows. *)
Definition call_by (find : sort -> Z -> list Z -> Z) (rows : list row) (start dat sane : pair) : outcome :=
  store (min_frozen_rows find (xid start) (multi start) (xid sane) (multi sane) rows) dat sane.

Definition not_in_future (sane : pair) (r : row) : Prop :=
  in_future Xids (xid sane) (xid_of_row r) = false /\ in_future Multis (multi sane) (multi_of_row r) = false.

Lemma scan_that_ends_has_no_future xs ms rows : usual Xids xs -> usual Multis ms -> forall place x m x' m',
  Forall valid_row rows -> survives Xids xs x -> survives Multis ms m ->
  scan_rows xs ms rows place x m = OldestOf x' m' -> Forall (not_in_future (Pair xs ms)) rows.
Proof.
  intros UX UM. induction rows as [|r rows IH]; intros place x m x' m' V X M E; [constructor|]. cbn [scan_rows] in E.
  inversion_clear V as [|? ? [VX VM] V']. unfold not_in_future at 1, xid_of_row, multi_of_row. cbn [xid multi].
  destruct (holds r) eqn:H; cbn [negb] in E.
  - destruct (scan_one Xids xs (relfrozenxid r) place x UX VX X) as [[_ E1]|[FX (o1 & E1 & S1 & _)]]; rewrite E1 in E; [easy|].
    destruct (scan_one Multis ms (relminmxid r) place m UM VM M) as [[_ E2]|[FM (o2 & E2 & S2 & _)]]; rewrite E2 in E; [easy|].
    constructor; [unfold not_in_future, xid_of_row, multi_of_row; now rewrite H|eauto].
  - constructor; [unfold not_in_future, xid_of_row, multi_of_row; now rewrite H|eauto].
Qed.

(** Upstream's function and the kernels do the same. If no row has a value in the future, the new values are the oldest of the
    rows and of the start, and each field is stored by need_update's answer for it. Otherwise the call changes nothing. *)
Theorem a_call_stores_what_its_rows_say : forall rows start dat sane,
  bounds Xids (xid start) (xid sane) -> bounds Multis (multi start) (multi sane) -> Forall valid_row rows ->
  let after := call rows start dat sane in
  call_by scalar_row_age rows start dat sane = after /\ call_by row_age rows start dat sane = after /\
  (Forall (not_in_future sane) rows -> exists new,
     age Xids (xid sane) (xid new) =
       greatest (map (age Xids (xid sane)) (xid start :: map xid_of_row rows)) /\
     age Multis (multi sane) (multi new) =
       greatest (map (age Multis (multi sane)) (multi start :: map multi_of_row rows)) /\
     survives Xids (xid sane) (xid new) /\ survives Multis (multi sane) (multi new) /\
     xid (stored after) = (if need_update Xids (xid dat) (xid new) (xid sane) then xid new else xid dat) /\
     multi (stored after) = (if need_update Multis (multi dat) (multi new) (multi sane) then multi new else multi dat) /\
     passed after = Some (stored after)) /\
  (~ Forall (not_in_future sane) rows -> after = Outcome dat None false false).
Proof.
  intros rows start dat [xs ms] BX BM V. cbn [xid multi] in *. unfold call, call_by. cbn [xid multi].
  destruct (min_frozen_rows_is_the_scan _ _ _ _ rows BX BM V) as [-> ->].
  pose proof (start_survives _ _ _ BX) as X. pose proof (start_survives _ _ _ BM) as M.
  destruct BX as (_ & UX & _). destruct BM as (_ & UM & _). do 2 (split; [reflexivity|]). split.
  - intros F.
    destruct (scan_rows_without_future xs ms UX UM rows 1 (xid start) (multi start) V X M F)
      as (x & m & -> & SX & SM & AX & AM).
    exists (Pair x m). cbn [xid multi map]. rewrite !greatest_cons. do 4 (split; [assumption|]). cbn [store].
    pose proof (each_field_is_stored_by_its_own_answer dat (Pair x m) (Pair xs ms)) as (-> & -> & -> & _). auto.
  - intros F. destruct (scan_rows xs ms rows 1 (xid start) (multi start)) as [x m| |] eqn:E; [|reflexivity..].
    destruct F. eapply scan_that_ends_has_no_future; eassumption.
Qed.
