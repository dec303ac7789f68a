(* SPDX-License-Identifier: PostgreSQL *)
(** * The kernels on rows give what upstream's scan of pg_class gives *)
From Pgquern.common Require Import Integers Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Minimum Kernels.

Definition valid_row (r : row) : Prop := valid (relfrozenxid r) /\ valid (relminmxid r).

Lemma scan_one s sane x place oldest : usual s sane -> valid x -> survives s sane oldest ->
  (in_future s sane x = true /\ scan s sane [x] place oldest = Future place) \/
  (in_future s sane x = false /\ exists o, scan s sane [x] place oldest = Oldest o /\ survives s sane o /\
    age s sane o = Z.max (age s sane oldest) (age s sane x)).
Proof.
  intros U V S. destruct (in_future s sane x) eqn:E.
  - left. split; [auto|]. unfold in_future in E. cbn [scan]. destruct (x =? 0); [easy|]. cbn in E. now rewrite E.
  - right. split; [auto|]. destruct (scan_without_future s sane U [x] place oldest) as (o & E' & SO & _ & A); auto.
    exists o. repeat split; try apply SO; auto. rewrite A. cbn [map]. rewrite greatest_cons. change (greatest []) with 0.
    pose proof (age_range s sane x). lia.
Qed.

Section rows.
  Context (xs ms : Z) (UX : usual Xids xs) (UM : usual Multis ms).

  Lemma scan_rows_app c : forall rest place x m, scan_rows xs ms (c ++ rest) place x m =
    match scan_rows xs ms c place x m with
    | OldestOf x m => scan_rows xs ms rest (place + Z.of_nat (length c)) x m
    | future => future
    end.
  Proof.
    induction c as [|r c IH]; intros; cbn [app scan_rows length]; [now rewrite Z.add_0_r|].
    assert (P : place + 1 + Z.of_nat (length c) = place + Z.of_nat (S (length c))) by lia.
    destruct (negb (holds r)); [now rewrite IH, P|].
    destruct (scan Xids xs [relfrozenxid r] place x); [|reflexivity].
    destruct (scan Multis ms [relminmxid r] place m); [|reflexivity]. now rewrite IH, P.
  Qed.

  (* What a scan that does not give up leaves behind. *)
  Lemma scan_rows_survives rows : forall place x m x' m', Forall valid_row rows ->
    survives Xids xs x -> survives Multis ms m -> scan_rows xs ms rows place x m = OldestOf x' m' ->
    survives Xids xs x' /\ survives Multis ms m'.
  Proof.
    induction rows as [|r rows IH]; intros place x m x' m' V X M E; cbn [scan_rows] in E; [injection E as <- <-; auto|].
    inversion_clear V as [|? ? [VX VM] V']. destruct (negb (holds r)); [eauto|].
    destruct (scan_one Xids xs (relfrozenxid r) place x UX VX X) as [[_ E1]|[_ (o1 & E1 & S1 & _)]]; rewrite E1 in E; [easy|].
    destruct (scan_one Multis ms (relminmxid r) place m UM VM M) as [[_ E2]|[_ (o2 & E2 & S2 & _)]]; rewrite E2 in E; [easy|].
    eauto.
  Qed.

  Lemma scan_rows_without_future rows : forall place x m, Forall valid_row rows ->
    survives Xids xs x -> survives Multis ms m ->
    Forall (fun r => in_future Xids xs (xid_of_row r) = false /\ in_future Multis ms (multi_of_row r) = false) rows ->
    exists x' m', scan_rows xs ms rows place x m = OldestOf x' m' /\ survives Xids xs x' /\ survives Multis ms m' /\
      age Xids xs x' = Z.max (age Xids xs x) (greatest (map (age Xids xs) (map xid_of_row rows))) /\
      age Multis ms m' = Z.max (age Multis ms m) (greatest (map (age Multis ms) (map multi_of_row rows))).
  Proof.
    induction rows as [|r rows IH]; intros place x m V X M F; cbn [map]; rewrite ?greatest_cons; cbn [scan_rows].
    - exists x, m. change (greatest []) with 0. pose proof (age_range Xids xs x). pose proof (age_range Multis ms m).
      repeat split; try apply X; try apply M; lia.
    - inversion_clear V as [|? ? [VX VM] V']. inversion_clear F as [|? ? [FX FM] F'].
      unfold xid_of_row at 1, multi_of_row at 1. unfold xid_of_row in FX. unfold multi_of_row in FM.
      destruct (holds r); cbn [negb].
      + destruct (scan_one Xids xs (relfrozenxid r) place x UX VX X) as [[? _]|[_ (o1 & -> & S1 & A1)]]; [congruence|].
        destruct (scan_one Multis ms (relminmxid r) place m UM VM M) as [[? _]|[_ (o2 & -> & S2 & A2)]]; [congruence|].
        destruct (IH (place + 1) o1 o2 V' S1 S2 F') as (x' & m' & E & SX & SM & AX & AM). exists x', m'.
        rewrite A1 in AX. rewrite A2 in AM. repeat split; try apply SX; try apply SM; auto; lia.
      + destruct (IH (place + 1) x m V' X M F') as (x' & m' & E & SX & SM & AX & AM). exists x', m'.
        rewrite (age_invalid Xids xs UX), (age_invalid Multis ms UM).
        pose proof (greatest_nonnegative (map (age Xids xs) (map xid_of_row rows))).
        pose proof (greatest_nonnegative (map (age Multis ms) (map multi_of_row rows))).
        repeat split; try apply SX; try apply SM; auto; lia.
  Qed.
End rows.

Lemma not_suspect s sane l : usual s sane -> Forall valid l -> greatest (map (age s sane) l) < HALF ->
  Forall (fun x => in_future s sane x = false) l.
Proof.
  intros U V H. rewrite Forall_forall in *. intros x X. destruct (in_future s sane x) eqn:E; [|auto].
  assert (HALF <= age s sane x) by (apply suspect_age; auto).
  pose proof (greatest_bounds _ _ (in_map (age s sane) _ _ X)). lia.
Qed.

Lemma reached s sane l : usual s sane -> Forall valid l -> Forall (fun x => in_future s sane x = false) l ->
  greatest (map (age s sane) l) = 0 \/ exists x, survives s sane x /\ age s sane x = greatest (map (age s sane) l).
Proof.
  intros U V F. destruct (greatest_in (map (age s sane) l)) as [Z|I]; [auto|]. apply in_map_iff in I as (x & E & X).
  destruct (Z.eq_dec x 0) as [->|N]; [left; rewrite <- E; now apply age_invalid|right]. exists x. split; [|auto].
  rewrite Forall_forall in *. apply survives_iff; auto.
Qed.

Lemma valid_columns rows : Forall valid_row rows ->
  Forall valid (map xid_of_row rows) /\ Forall valid (map multi_of_row rows).
Proof.
  intros V. rewrite !Forall_map. split; eapply Forall_impl; try exact V; intros r [X M];
    unfold xid_of_row, multi_of_row; destruct (holds r); auto; easy.
Qed.

(** Chunk by chunk over rows: the answer is upstream's, be it the two minima or the first row at fault and which of its values
    it is. *)
Theorem walk_over_rows_is_the_scan : forall find chunks xid multi xs ms, bounds Xids xid xs -> bounds Multis multi ms ->
  (forall s sane l, usual s sane -> find s sane l = greatest (map (age s sane) l)) ->
  Forall valid_row (concat chunks) ->
  rows_by_age xs ms find chunks 1 xid multi = scan_rows xs ms (concat chunks) 1 xid multi.
Proof.
  intros find chunks xid multi xs ms BX BM Find V.
  pose proof (start_survives _ _ _ BX) as X. pose proof (start_survives _ _ _ BM) as M.
  destruct BX as (_ & UX & _). destruct BM as (_ & UM & _).
  generalize 1 as place. revert xid multi X M V. induction chunks as [|c chunks IH]; intros xid multi X M V place; [reflexivity|].
  cbn [rows_by_age concat] in *. cbn zeta. apply Forall_app in V as [VC V]. rewrite scan_rows_app, !Find by auto.
  destruct (valid_columns c VC) as [VX VM].
  set (gx := greatest (map (age Xids xs) (map xid_of_row c))). set (gm := greatest (map (age Multis ms) (map multi_of_row c))).
  destruct (Z.ltb_spec gx HALF) as [HX|HX]; [destruct (Z.ltb_spec gm HALF) as [HM|HM]|]; cbn [andb].
  - pose proof (not_suspect _ _ _ UX VX HX) as FX. pose proof (not_suspect _ _ _ UM VM HM) as FM.
    destruct (scan_rows_without_future xs ms UX UM c place xid multi VC X M) as (x' & m' & -> & SX & SM & AX & AM).
    { rewrite Forall_map in FX, FM. rewrite Forall_forall in *. auto. }
    destruct (lower_spec Xids xs xid gx UX X HX (reached _ _ _ UX VX FX)) as [LX EX].
    destruct (lower_spec Multis ms multi gm UM M HM (reached _ _ _ UM VM FM)) as [LM EM].
    rewrite (same_age Xids xs UX _ x' LX SX) by (rewrite EX, AX; reflexivity).
    rewrite (same_age Multis ms UM _ m' LM SM) by (rewrite EM, AM; reflexivity). apply IH; auto.
  - destruct (scan_rows xs ms c place xid multi) as [x' m'| |] eqn:E; try reflexivity.
    destruct (scan_rows_survives xs ms UX UM c place xid multi x' m' VC X M E). apply IH; auto.
  - destruct (scan_rows xs ms c place xid multi) as [x' m'| |] eqn:E; try reflexivity.
    destruct (scan_rows_survives xs ms UX UM c place xid multi x' m' VC X M E). apply IH; auto.
Qed.

(** The kernels on records, scalar and avx2, give upstream's answer on every table. *)
Theorem min_frozen_rows_is_the_scan : forall xid multi xs ms rows, bounds Xids xid xs -> bounds Multis multi ms ->
  Forall valid_row rows ->
  min_frozen_rows scalar_row_age xid multi xs ms rows = scan_rows xs ms rows 1 xid multi /\
  min_frozen_rows row_age xid multi xs ms rows = scan_rows xs ms rows 1 xid multi.
Proof.
  intros xid multi xs ms rows BX BM V. unfold min_frozen_rows.
  assert (C : concat (chunks_of (length rows) ROW_CHUNK rows) = rows).
  { apply chunks_concat; auto. unfold ROW_CHUNK. lia. }
  split; (rewrite walk_over_rows_is_the_scan; [now rewrite C|auto|auto| |now rewrite C]); intros s sane l U;
    destruct (each_kernel_finds_the_greatest_age s sane l U) as (_ & _ & _ & E1 & E2); auto.
Qed.
