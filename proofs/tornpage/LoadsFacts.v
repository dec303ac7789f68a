(* SPDX-License-Identifier: PostgreSQL *)
(** * The checksums in plain C, load by load, are PostgreSQL's, and load nothing past the page *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option.
From Pgquern.tornpage Require Import Checksum ChecksumFacts Loads.
Import ListNotations.
Local Open Scope Z_scope.

Lemma load_at (front : list Z) x back : load (front ++ x :: back) (length front) = Some x.
Proof. induction front; auto. Qed.

Lemma one_on (front : list Z) x l back : front ++ x :: l ++ back = (front ++ [x]) ++ l ++ back.
Proof. now rewrite <- app_assoc. Qed.

Lemma one_longer (front : list Z) x : S (length front) = length (front ++ [x]).
Proof. rewrite app_length. cbn. lia. Qed.

(** [l] stands in a page from word [length front] on. *)
Lemma copy_loads_copies l : forall front back, copy_loads (front ++ l ++ back) (length front) (length l) = Some l.
Proof.
  induction l as [|x l IH]; intros front back; [reflexivity|]. cbn [length copy_loads app]. rewrite load_at.
  cbn [mbind option_bind]. now rewrite one_on, (one_longer front x), IH.
Qed.

Lemma row_loads_step step row : forall front back sums, length sums = length row ->
  row_loads step (front ++ row ++ back) (length front) sums = Some (map2 step sums row).
Proof.
  induction row as [|w row IH]; intros front back [|sum sums] L; try discriminate; [reflexivity|].
  cbn [row_loads map2 app]. rewrite load_at. cbn [mbind option_bind].
  now rewrite one_on, (one_longer front w), IH by (cbn in L; lia).
Qed.

Lemma rows_loads_step step rows : forall l front sums, length l = (rows * LANES)%nat -> length sums = LANES ->
  rows_loads step (front ++ l) (length front) rows sums = Some (fold_left (map2 step) (in_rows rows l) sums) /\
  length (fold_left (map2 step) (in_rows rows l) sums) = LANES.
Proof.
  induction rows as [|rows IH]; intros l front sums L S; [auto|]. cbn [rows_loads in_rows fold_left].
  change (length base_offsets) with LANES. cbn [Nat.mul] in L.
  assert (F : length (firstn LANES l) = LANES) by (rewrite firstn_length; lia).
  assert (R : length (skipn LANES l) = (rows * LANES)%nat) by (rewrite skipn_length; lia).
  rewrite <- (firstn_skipn LANES l) at 1. rewrite row_loads_step by congruence. cbn [mbind option_bind].
  assert (N : (length front + LANES)%nat = length (front ++ firstn LANES l)) by (rewrite app_length; lia).
  rewrite N. rewrite <- (firstn_skipn LANES l) at 1. rewrite app_assoc. apply IH; [exact R|].
  rewrite map2_length; congruence.
Qed.

(** ** The first row *)

Lemma without_checksum_length l : length (without_checksum l) = length l.
Proof. now destruct l as [|a [|b [|w l]]]. Qed.

Lemma without_checksum_app first rest : (3 <= length first)%nat ->
  without_checksum (first ++ rest) = without_checksum first ++ rest.
Proof. destruct first as [|a [|b [|w l]]]; cbn [length]; intros; try lia. reflexivity. Qed.

Lemma cut_after (front back : list Z) : length front = LANES ->
  firstn LANES (front ++ back) = front /\ skipn LANES (front ++ back) = back.
Proof.
  intros <-. now rewrite firstn_app, skipn_app, firstn_all, skipn_all, Nat.sub_diag, firstn_O, app_nil_r.
Qed.

(** A page of at least one row: its first row, and the others. *)
Lemma rows_of_page rows page : length page = (S rows * LANES)%nat -> exists first rest,
  page = first ++ rest /\ length first = LANES /\ length rest = (rows * LANES)%nat /\
  in_rows (length page / length base_offsets) (without_checksum page) = without_checksum first :: in_rows rows rest.
Proof.
  intros L. exists (firstn LANES page), (skipn LANES page).
  assert (F : length (firstn LANES page) = LANES) by (rewrite firstn_length; lia).
  split; [symmetry; apply firstn_skipn|]. split; [exact F|]. split; [rewrite skipn_length; lia|].
  change (length base_offsets) with LANES. rewrite L, Nat.div_mul by (unfold LANES; lia). cbn [in_rows].
  change (length base_offsets) with LANES. rewrite <- (firstn_skipn LANES page) at 1 2.
  rewrite without_checksum_app by (rewrite F; unfold LANES; lia).
  destruct (cut_after (without_checksum (firstn LANES page)) (skipn LANES page)) as [-> ->]; [|reflexivity].
  now rewrite without_checksum_length.
Qed.

(** ** The chain that keeps sum xor word, row by row *)

Lemma map2_ext f g a : (forall x y, f x y = g x y) -> forall b, map2 f a b = map2 g a b.
Proof. intros E. induction a as [|x a IH]; intros [|y b]; cbn; [..|rewrite E, IH]; reflexivity. Qed.

Lemma map2_zeroes f a : forall b, length a = length b -> map2 f a (zeroes b) = map (fun x => f x 0) a.
Proof. induction a as [|x a IH]; intros [|y b] E; try discriminate; [reflexivity|]. cbn. f_equal. apply IH. cbn in E. lia. Qed.

Lemma mix_then_xor_row sums : forall row row', length row = length sums -> length row' = length sums ->
  map2 Z.lxor (map2 mix sums row) row' = map2 next (map2 Z.lxor sums row) row'.
Proof.
  induction sums as [|s sums IH]; intros [|w row] [|w' row'] E E'; try discriminate; [reflexivity|]. cbn [map2].
  f_equal; [apply mix_then_xor|]. cbn in E, E'. apply IH; lia.
Qed.

Lemma mix_is_xor_then_next sums : forall row, length row = length sums ->
  map2 mix sums row = map (fun m => next m 0) (map2 Z.lxor sums row).
Proof.
  induction sums as [|s sums IH]; intros [|w row] E; try discriminate; [reflexivity|]. cbn [map2 map].
  f_equal; [unfold mix, next; now rewrite Z.lxor_0_r|]. cbn in E. apply IH. lia.
Qed.

Lemma rows_ahead rows : forall sums row, Forall (fun row => length row = length sums) (row :: rows) ->
  fold_left (map2 mix) (row :: rows) sums =
    map (fun m => next m 0) (fold_left (map2 next) rows (map2 Z.lxor sums row)).
Proof.
  induction rows as [|row' rows IH]; intros sums row F; inversion_clear F as [|? ? E F'].
  - cbn [fold_left]. now apply mix_is_xor_then_next.
  - change (fold_left (map2 mix) (row :: row' :: rows) sums) with (fold_left (map2 mix) (row' :: rows) (map2 mix sums row)).
    assert (L : length (map2 mix sums row) = length sums) by now apply map2_length.
    rewrite IH by now rewrite L. inversion_clear F' as [|? ? E' _]. cbn [fold_left]. now rewrite mix_then_xor_row.
Qed.

Lemma in_rows_length rows : forall l, length l = (rows * LANES)%nat ->
  Forall (fun row => length row = length base_offsets) (in_rows rows l).
Proof.
  induction rows as [|rows IH]; intros l L; cbn [in_rows]; constructor; cbn [Nat.mul] in L.
  - rewrite firstn_length. change (length base_offsets) with LANES. lia.
  - apply IH. rewrite skipn_length. change (length base_offsets) with LANES. lia.
Qed.

(** Both kernels in plain C give pg_checksum_page's answer on every page of whole rows, and stay within it. *)
Theorem plain_kernels_are_pg_checksum_page : forall rows page block, length page = (S rows * LANES)%nat ->
  (sum ← upstream_fold (S rows) page; Some (finish sum block)) = Some (page_checksum page block) /\
  (sum ← scalar_fold (S rows) page; Some (finish sum block)) = Some (page_checksum page block).
Proof.
  intros rows page block L. destruct (rows_of_page rows page L) as (first & rest & -> & F & R & E).
  unfold page_checksum, checksum, block_sum. rewrite E. clear E. unfold upstream_fold, scalar_fold.
  pose proof (copy_loads_copies first [] rest) as C. cbn [app length] in C. rewrite F in C. rewrite C.
  cbn [mbind option_bind]. replace (S rows - 1)%nat with rows by lia.
  assert (W : length (without_checksum first) = length base_offsets) by now rewrite without_checksum_length.
  assert (Loaded : forall step start, length start = LANES ->
    rows_loads step (first ++ rest) LANES rows start = Some (fold_left (map2 step) (in_rows rows rest) start) /\
    length (fold_left (map2 step) (in_rows rows rest) start) = LANES).
  { intros step start S. rewrite <- F at 1. now apply rows_loads_step. }
  assert (L1 : length (map2 mix base_offsets (without_checksum first)) = LANES) by now apply map2_length.
  assert (L2 : length (map2 Z.lxor base_offsets (without_checksum first)) = LANES) by now apply map2_length.
  destruct (Loaded mix _ L1) as [-> S1]. destruct (Loaded next_split _ L2) as [-> S2]. cbn [mbind option_bind].
  cbn [app]. change (without_checksum first :: in_rows rows rest ++ ?z) with ((without_checksum first :: in_rows rows rest) ++ z).
  split.
  - do 3 f_equal. rewrite fold_left_app. cbn [fold_left]. unfold zeroes.
    set (sums := fold_left (map2 mix) (in_rows rows rest) (map2 mix base_offsets (without_checksum first))) in *.
    assert (Z : map (fun _ => 0) sums = map (fun _ : Z => 0) base_offsets).
    { clear - S1. change LANES with (length base_offsets) in S1. revert S1. generalize base_offsets as b.
      induction sums as [|s sums IH]; intros [|x b] E; try discriminate; [reflexivity|]. cbn. f_equal. apply IH. cbn in E. lia. }
    now rewrite Z.
  - do 3 f_equal. rewrite fold_left_app.
    assert (A : Forall (fun row => length row = length base_offsets) (without_checksum first :: in_rows rows rest)).
    { constructor; [exact W|now apply in_rows_length]. }
    rewrite (rows_ahead (in_rows rows rest) base_offsets (without_checksum first) A).
    assert (Split : fold_left (map2 next_split) (in_rows rows rest) (map2 Z.lxor base_offsets (without_checksum first)) =
                    fold_left (map2 next) (in_rows rows rest) (map2 Z.lxor base_offsets (without_checksum first))).
    { clear. generalize (map2 Z.lxor base_offsets (without_checksum first)), (in_rows rows rest). intros start l.
      revert start. induction l as [|row l IH]; intros start; [reflexivity|]. cbn [fold_left].
      rewrite IH. f_equal. apply map2_ext. exact split_prime. }
    rewrite Split in *. set (mixed := fold_left (map2 next) _ _) in *. clearbody mixed. cbn [fold_left].
    assert (Once : forall l : list Z, map (fun m => next_split m 0) l = map (fun m => next m 0) l)
      by (intros; apply map_ext; intros; apply split_prime).
    rewrite !Once. assert (Mix : forall l, length l = LANES -> map2 mix l (zeroes base_offsets) = map (fun m => next m 0) l).
    { intros l E. rewrite map2_zeroes by (rewrite E; reflexivity). apply map_ext. intros m. unfold mix, next.
      now rewrite !Z.lxor_0_r. }
    rewrite (Mix (map (fun m => next m 0) mixed)), Mix; rewrite ?map_length; auto.
Qed.
