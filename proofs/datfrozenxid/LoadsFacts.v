(* SPDX-License-Identifier: PostgreSQL *)
(** * The loops, load by load, give upstream's answer, and load nothing past the end *)
From Coq Require Import ZArith Lia List Arith Bool.
From stdpp Require Import base option.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Minimum Kernels Rows Loads.
Import ListNotations.
Local Open Scope Z_scope.

(** [l] stands in an array from place [length front] on. *)
Lemma load_at {A} (front : list A) x back : nth_error (front ++ x :: back) (length front) = Some x.
Proof. induction front; auto. Qed.

Lemma one_on {A} (front : list A) x l back : front ++ x :: l ++ back = (front ++ [x]) ++ l ++ back.
Proof. now rewrite <- app_assoc. Qed.

Lemma one_longer {A} (front : list A) x : S (length front) = length (front ++ [x]).
Proof. rewrite app_length. cbn. lia. Qed.

(** ** Arrays *)

Lemma scan_loads_scans s sane l : forall front back oldest,
  scan_loads s sane (front ++ l ++ back) (length front) (length l) oldest =
    Some (scan s sane l (Z.of_nat (length front) + 1) oldest).
Proof.
  induction l as [|x l IH]; intros front back oldest; [reflexivity|]. cbn [length scan_loads scan app].
  unfold load. rewrite load_at. cbn [mbind option_bind].
  replace (Z.of_nat (length front) + 1 + 1) with (Z.of_nat (S (length front)) + 1) by lia.
  rewrite one_on, (one_longer front x), !IH. destruct (x =? 0); [reflexivity|]. now destruct (before s sane x).
Qed.

Lemma chain_loads_finds s sane pairs : forall l front back even odd, length l = (2 * pairs)%nat -> 0 <= even ->
  exists e o, chain_loads s sane (front ++ l ++ back) (length front) pairs even odd = Some (e, o) /\
    Z.max e o = Z.max (Z.max even odd) (greatest (map (age s sane) l)).
Proof.
  induction pairs as [|pairs IH]; intros l front back even odd L E.
  - apply length_zero_iff_nil in L as ->. exists even, odd. split; [reflexivity|]. change (greatest (map _ [])) with 0. lia.
  - destruct l as [|x [|y l]]; cbn [length] in L; try lia. cbn [chain_loads app map]. unfold load. rewrite load_at.
    cbn [mbind option_bind]. change (front ++ x :: y :: l ++ back) with (front ++ x :: (y :: l) ++ back).
    rewrite one_on, (one_longer front x). cbn [app]. rewrite load_at. cbn [mbind option_bind].
    rewrite one_on, (one_longer (front ++ [x]) y).
    destruct (IH l ((front ++ [x]) ++ [y]) back (Z.max even (age s sane x)) (Z.max odd (age s sane y))) as (e & o & -> & G);
      [lia|lia|].
    exists e, o. split; [reflexivity|]. rewrite G, !greatest_cons. lia.
Qed.

Lemma greatest_loads_finds s sane l front back :
  greatest_loads s sane (front ++ l ++ back) (length front) (length l) = Some (greatest (map (age s sane) l)).
Proof.
  unfold greatest_loads. pose proof (greatest_nonnegative (map (age s sane) l)).
  destruct (Nat.Even_or_Odd (length l)) as [[k E]|[k E]].
  - assert (O : Nat.odd (length l) = false) by (rewrite <- Nat.negb_even; apply negb_false_iff, Nat.even_spec; now exists k).
    assert (D : (length l / 2)%nat = k) by (rewrite E, Nat.mul_comm; apply Nat.div_mul; lia).
    rewrite O, D. destruct (chain_loads_finds s sane k l front back 0 0 E ltac:(lia)) as (e & o & -> & G).
    cbn [mbind option_bind]. rewrite G. f_equal. lia.
  - assert (O : Nat.odd (length l) = true) by (apply Nat.odd_spec; now exists k).
    assert (D : (length l / 2)%nat = k) by (rewrite E, Nat.add_comm, Nat.mul_comm, Nat.div_add; reflexivity || lia).
    rewrite O, D. destruct (@exists_last _ l) as (most & x & ->); [intros ->; cbn in E; lia|].
    rewrite app_length in E |- *. cbn [length] in E |- *. rewrite <- (app_assoc most).
    destruct (chain_loads_finds s sane k most front ([x] ++ back) 0 0 ltac:(lia) ltac:(lia)) as (e & o & -> & G).
    cbn [mbind option_bind]. unfold load. cbn [app]. rewrite app_assoc.
    replace (length front + (length most + 1) - 1)%nat with (length (front ++ most)) by (rewrite app_length; lia).
    rewrite load_at. cbn [mbind option_bind]. f_equal. rewrite map_app, greatest_app in *. cbn [map] in *.
    rewrite greatest_cons in *. change (greatest []) with 0 in *. lia.
Qed.

(** A chunk of what is left. *)
Lemma cut_off {A} size (l : list A) : firstn size l ++ skipn size l = l /\ length (firstn size l) = Nat.min size (length l).
Proof. split; [apply firstn_skipn|apply firstn_length]. Qed.

Lemma walk_loads_walks s sane (find : list Z -> Z) : (forall l, find l = greatest (map (age s sane) l)) ->
  forall chunks l front oldest, (length l <= chunks)%nat ->
  walk_loads s sane (front ++ l) chunks (length front) (length (front ++ l)) oldest =
    Some (by_age s sane find (chunks_of chunks CHUNK l) (Z.of_nat (length front) + 1) oldest).
Proof.
  intros Find chunks. induction chunks as [|chunks IH]; intros l front oldest L.
  - destruct l; cbn in L; [|lia]. cbn [walk_loads chunks_of by_age]. rewrite app_nil_r, Nat.leb_refl. reflexivity.
  - cbn [walk_loads chunks_of]. rewrite app_length. destruct l as [|x l].
    { cbn [length]. rewrite Nat.add_0_r, Nat.leb_refl. reflexivity. }
    set (l' := x :: l) in *. assert (P : (0 < length l')%nat) by (cbn; lia). assert (C : (0 < CHUNK)%nat) by (unfold CHUNK; lia).
    replace (Nat.leb (length front + length l') (length front)) with false by (symmetry; apply Nat.leb_gt; lia).
    replace (length front + length l' - length front)%nat with (length l') by lia. cbn zeta.
    destruct (cut_off CHUNK l') as [A B]. rewrite <- B. cbn [by_age].
    assert (F : front ++ l' = front ++ firstn CHUNK l' ++ skipn CHUNK l') by now rewrite A.
    rewrite F, greatest_loads_finds, scan_loads_scans, Find. cbn [mbind option_bind].
    assert (N : (length front + length (firstn CHUNK l'))%nat = length (front ++ firstn CHUNK l')) by now rewrite app_length.
    assert (M : (length front + length l')%nat = length ((front ++ firstn CHUNK l') ++ skipn CHUNK l'))
      by (rewrite <- app_assoc, A, app_length; reflexivity).
    assert (R : (length (skipn CHUNK l') <= chunks)%nat) by (rewrite skipn_length; lia).
    assert (Next : Z.of_nat (length front) + 1 + Z.of_nat (length (firstn CHUNK l')) =
                   Z.of_nat (length (front ++ firstn CHUNK l')) + 1) by (rewrite app_length; lia).
    rewrite M, N, (app_assoc front), !Next.
    destruct (_ <? HALF); [now apply IH|].
    destruct (scan s sane (firstn CHUNK l') (Z.of_nat (length front) + 1) oldest); [now apply IH|reflexivity].
Qed.

(** Both kernels in plain C give upstream's answer on every array, and stay within it. *)
Theorem plain_kernels_are_the_scan : forall s start sane l, bounds s start sane -> Forall valid l ->
  scan_kernel s start sane (length l) l = Some (scan s sane l 1 start) /\
  scalar_kernel s start sane (length l) l = Some (scan s sane l 1 start).
Proof.
  intros s start sane l B V. split.
  - unfold scan_kernel. pose proof (scan_loads_scans s sane l [] [] start) as E. cbn [app length] in E.
    rewrite app_nil_r in E. exact E.
  - unfold scalar_kernel. set (find := fun c => greatest (map (age s sane) c)).
    pose proof (walk_loads_walks s sane find (fun _ => eq_refl) (length l) l [] start ltac:(lia)) as E.
    cbn [app length] in E. rewrite E. f_equal. change (Z.of_nat 0 + 1) with 1.
    assert (C : concat (chunks_of (length l) CHUNK l) = l) by (apply chunks_concat; auto; unfold CHUNK; lia).
    rewrite walk_by_age_is_the_scan; [now rewrite C|auto|reflexivity|now rewrite C].
Qed.

(** ** Rows *)

Lemma scan_row_loads_scans xs ms l : forall front back xid multi,
  scan_row_loads xs ms (front ++ l ++ back) (length front) (length l) xid multi =
    Some (scan_rows xs ms l (Z.of_nat (length front) + 1) xid multi).
Proof.
  induction l as [|r l IH]; intros front back xid multi; [reflexivity|]. cbn [length scan_row_loads scan_rows app].
  unfold load_relkind, load_ids. rewrite load_at. cbn [fmap option_fmap option_map mbind option_bind].
  replace (Z.of_nat (length front) + 1 + 1) with (Z.of_nat (S (length front)) + 1) by lia.
  rewrite one_on, (one_longer front r). destruct (negb (holds r)); [now rewrite IH|].
  destruct (scan Xids xs _ _ xid); [|reflexivity]. destruct (scan Multis ms _ _ multi); [|reflexivity]. now rewrite IH.
Qed.

Lemma greatest_row_loads_finds xs ms l : forall front back x m, 0 <= x -> 0 <= m ->
  greatest_row_loads xs ms (front ++ l ++ back) (length front) (length l) x m =
    Some (Z.max x (greatest (map (age Xids xs) (map xid_of_row l))),
          Z.max m (greatest (map (age Multis ms) (map multi_of_row l)))).
Proof.
  induction l as [|r l IH]; intros front back x m X M.
  - cbn [length greatest_row_loads map]. change (greatest []) with 0. do 2 f_equal; lia.
  - cbn [length greatest_row_loads app map]. unfold load_relkind, load_ids. rewrite load_at.
    cbn [fmap option_fmap option_map mbind option_bind]. rewrite one_on, (one_longer front r), IH by lia.
    rewrite !greatest_cons. unfold xid_of_row at 2, multi_of_row at 2. do 2 f_equal; lia.
Qed.

(* What a way to the greatest ages of rows must find. *)
Definition finds_rows (xs ms : Z) (greatest_of : table -> nat -> nat -> option (Z * Z)) : Prop :=
  forall l front back, greatest_of (front ++ l ++ back) (length front) (length l) =
    Some (greatest (map (age Xids xs) (map xid_of_row l)), greatest (map (age Multis ms) (map multi_of_row l))).

Lemma walk_row_loads_walks xs ms greatest_of find : finds_rows xs ms greatest_of ->
  (forall s sane l, find s sane l = greatest (map (age s sane) l)) ->
  forall chunks l front xid multi, (length l <= chunks)%nat ->
  walk_row_loads greatest_of xs ms (front ++ l) chunks (length front) (length (front ++ l)) xid multi =
    Some (rows_by_age xs ms find (chunks_of chunks ROW_CHUNK l) (Z.of_nat (length front) + 1) xid multi).
Proof.
  intros Finds Find chunks. induction chunks as [|chunks IH]; intros l front xid multi L.
  - destruct l; cbn in L; [|lia]. cbn [walk_row_loads chunks_of rows_by_age]. rewrite app_nil_r, Nat.leb_refl. reflexivity.
  - cbn [walk_row_loads chunks_of]. rewrite app_length. destruct l as [|x l].
    { cbn [length]. rewrite Nat.add_0_r, Nat.leb_refl. reflexivity. }
    set (l' := x :: l) in *. assert (P : (0 < length l')%nat) by (cbn; lia).
    assert (C : (0 < ROW_CHUNK)%nat) by (unfold ROW_CHUNK; lia).
    replace (Nat.leb (length front + length l') (length front)) with false by (symmetry; apply Nat.leb_gt; lia).
    replace (length front + length l' - length front)%nat with (length l') by lia. cbn zeta.
    destruct (cut_off ROW_CHUNK l') as [A B]. rewrite <- B. cbn [rows_by_age]. cbn zeta.
    assert (F : front ++ l' = front ++ firstn ROW_CHUNK l' ++ skipn ROW_CHUNK l') by now rewrite A.
    rewrite F, Finds, scan_row_loads_scans, !Find. cbn [mbind option_bind].
    assert (N : (length front + length (firstn ROW_CHUNK l'))%nat = length (front ++ firstn ROW_CHUNK l')) by now rewrite app_length.
    assert (M : (length front + length l')%nat = length ((front ++ firstn ROW_CHUNK l') ++ skipn ROW_CHUNK l'))
      by (rewrite <- app_assoc, A, app_length; reflexivity).
    assert (R : (length (skipn ROW_CHUNK l') <= chunks)%nat) by (rewrite skipn_length; lia).
    assert (Next : Z.of_nat (length front) + 1 + Z.of_nat (length (firstn ROW_CHUNK l')) =
                   Z.of_nat (length (front ++ firstn ROW_CHUNK l')) + 1) by (rewrite app_length; lia).
    rewrite M, N, (app_assoc front), !Next.
    destruct ((_ <? HALF) && (_ <? HALF)); [now apply IH|].
    destruct (scan_rows xs ms (firstn ROW_CHUNK l') _ xid multi); [now apply IH|reflexivity|reflexivity].
Qed.

(* A walk that finds the greatest ages gives upstream's answer. *)
Lemma walk_row_loads_is_the_scan greatest_of xid multi xs ms rows : finds_rows xs ms greatest_of ->
  bounds Xids xid xs -> bounds Multis multi ms -> Forall valid_row rows ->
  walk_row_loads greatest_of xs ms rows (length rows) 0 (length rows) xid multi = Some (scan_rows xs ms rows 1 xid multi).
Proof.
  intros Finds BX BM V. set (find := fun s sane c => greatest (map (age s sane) c)).
  pose proof (walk_row_loads_walks xs ms greatest_of find Finds (fun _ _ _ => eq_refl) (length rows) rows [] xid multi ltac:(lia)) as E.
  cbn [app length] in E. rewrite E. f_equal. change (Z.of_nat 0 + 1) with 1.
  assert (C : concat (chunks_of (length rows) ROW_CHUNK rows) = rows).
  { apply chunks_concat; auto. unfold ROW_CHUNK. lia. }
  rewrite walk_over_rows_is_the_scan; [now rewrite C|auto|auto|reflexivity|now rewrite C].
Qed.

(** The same over rows: both kernels in plain C, on every table. *)
Theorem plain_kernels_on_rows_are_the_scan : forall xid multi xs ms rows, bounds Xids xid xs -> bounds Multis multi ms ->
  Forall valid_row rows ->
  scan_rows_kernel xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi) /\
  scalar_rows_kernel xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi).
Proof.
  intros xid multi xs ms rows BX BM V. split.
  - unfold scan_rows_kernel. pose proof (scan_row_loads_scans xs ms rows [] [] xid multi) as E. cbn [app length] in E.
    rewrite app_nil_r in E. exact E.
  - apply walk_row_loads_is_the_scan; auto. intros l front back. rewrite greatest_row_loads_finds by lia.
    now rewrite !Z.max_r by apply greatest_nonnegative.
Qed.
