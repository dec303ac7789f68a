(* SPDX-License-Identifier: PostgreSQL *)
(** * The checksums by vector registers, load by load, are PostgreSQL's, and load nothing past the pages *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option.
From Pgquern.instructions Require Import Lanes.
From Pgquern.tornpage Require Import Checksum ChecksumFacts Loads LoadsFacts VectorsFacts.
Import ListNotations.
Local Open Scope Z_scope.

Lemma copy_loads_at l n i : (i + n <= length l)%nat -> copy_loads l i n = Some (firstn n (skipn i l)).
Proof.
  intros L. pose proof (copy_loads_copies (firstn n (skipn i l)) (firstn i l) (skipn n (skipn i l))) as C.
  rewrite !firstn_skipn, !firstn_length, skipn_length, !Nat.min_l in C by lia. exact C.
Qed.

Lemma map2_no_longer f a : forall b, (length (map2 f a b) <= length a)%nat.
Proof. induction a as [|x a IH]; intros [|y b]; cbn [map2 length]; try lia. specialize (IH b). lia. Qed.

Lemma pieces_of_map (f : Z -> Z) n k : forall l, map (map f) (pieces_of k n l) = pieces_of k n (map f l).
Proof.
  induction k as [|k IH]; intros l; cbn [pieces_of map]; [reflexivity|]. now rewrite IH, firstn_map, skipn_map.
Qed.

Lemma pieces_of_all (n k : nat) : forall l : list Z, (length l <= k * n)%nat -> concat (pieces_of k n l) = l.
Proof.
  induction k as [|k IH]; intros l L; cbn [pieces_of concat]; [now destruct l|].
  rewrite IH by (rewrite skipn_length; lia). apply firstn_skipn.
Qed.

(** pd_checksum is in the first three words. *)
Lemma without_checksum_cut n l : (3 <= n)%nat ->
  firstn n (without_checksum l) = without_checksum (firstn n l) /\ skipn n (without_checksum l) = skipn n l.
Proof.
  destruct n as [|[|[|n]]]; try lia. intros _. destruct l as [|a [|b [|w l]]]; split; reflexivity.
Qed.

Lemma in_rows_of_more rows : forall l c, (rows * LANES <= c)%nat -> in_rows rows (firstn c l) = in_rows rows l.
Proof.
  induction rows as [|rows IH]; intros l c C; [reflexivity|]. cbn [in_rows]. change (length base_offsets) with LANES.
  cbn [Nat.mul] in C. rewrite firstn_firstn, Nat.min_l, skipn_firstn_comm, IH by lia. reflexivity.
Qed.

(** A page's checksum by the chain that keeps sum xor word. *)
Definition zero_round (m : list Z) : list Z := map (fun m => next m 0) m.
Definition chain_sum (rows : nat) (page : words) : Z :=
  fold_xor (zero_round (zero_round (zero_round
    (fold_left (map2 next) (in_rows rows (skipn LANES page)) (map2 Z.lxor base_offsets (without_checksum (firstn LANES page))))))).

Lemma chain_sum_is rows page block : length page = (S rows * LANES)%nat ->
  finish (chain_sum rows page) block = page_checksum page block.
Proof.
  intros L. destruct (rows_of_page rows page L) as (first & rest & -> & F & R & E).
  unfold page_checksum, checksum, block_sum. rewrite E. clear E L. unfold chain_sum.
  destruct (cut_after first rest F) as [-> ->]. f_equal. f_equal. rewrite fold_left_app.
  assert (A : Forall (fun row => length row = length base_offsets) (without_checksum first :: in_rows rows rest)).
  { constructor; [now rewrite without_checksum_length|now apply in_rows_length]. }
  rewrite (rows_ahead (in_rows rows rest) base_offsets (without_checksum first) A).
  assert (N : length (fold_left (map2 next) (in_rows rows rest) (map2 Z.lxor base_offsets (without_checksum first))) = LANES).
  { rewrite rows_length; inversion_clear A as [|? ? W A']; rewrite ?map2_length by (now rewrite W); [reflexivity|exact A']. }
  revert N. generalize (fold_left (map2 next) (in_rows rows rest) (map2 Z.lxor base_offsets (without_checksum first))).
  intros mixed N. cbn [fold_left].
  assert (Mix : forall l, length l = LANES -> map2 mix l (zeroes base_offsets) = zero_round l).
  { intros l Ll. rewrite map2_zeroes by (rewrite Ll; reflexivity). apply map_ext. intros m. unfold mix, next.
    now rewrite !Z.lxor_0_r. }
  change (map (fun m => next m 0) mixed) with (zero_round mixed). unfold zero_round in *.
  rewrite (Mix (map (fun m => next m 0) mixed)), Mix; rewrite ?map_length; auto.
Qed.

Section pages.
  (* A row is k registers of n words each. *)
  Context (n k rows : nat) (pages : words) (Wide : (3 <= n)%nat) (Row : (k * n)%nat = LANES).
  Let size : nat := (S rows * LANES)%nat.
  Let cut : list Z -> list (list Z) := pieces_of k n.
  Let row (i : nat) : list Z := firstn LANES (skipn i pages).
  Let full (m : list Z) : Prop := length m = LANES.

  Lemma row_full i : (i + LANES <= length pages)%nat -> full (row i).
  Proof. intros L. unfold full, row. rewrite firstn_length, skipn_length. lia. Qed.

  (* Registers r and later, of a row that begins at word i. *)
  Lemma registers_loads_are f g i : forall c r m, (forall s m ws, (r <= s)%nat -> f s m ws = map2 g m ws) ->
    length m = (c * n)%nat -> (i + n * r + c * n <= length pages)%nat ->
    registers_loads f n pages i r (pieces_of c n m) =
      Some (pieces_of c n (map2 g m (firstn (c * n) (skipn (i + n * r) pages)))).
  Proof.
    induction c as [|c IH]; intros r m G L B; [reflexivity|]. cbn [Nat.mul] in *. cbn [pieces_of registers_loads].
    rewrite copy_loads_at by lia. cbn [mbind option_bind].
    rewrite IH; [|intros s m' ws S; apply G; lia|rewrite skipn_length; lia|nia]. cbn [mbind option_bind].
    rewrite G by lia. rewrite firstn_of_two, firstn_firstn, Nat.min_l by lia.
    rewrite skipn_of_two by (rewrite firstn_length, skipn_length; lia). rewrite skipn_firstn_comm.
    replace (n + c * n - n)%nat with (c * n)%nat by lia.
    replace (i + n * S r)%nat with (i + n * r + n)%nat by lia. now rewrite <- skipn_twice.
  Qed.

  Lemma next_row_loads i m : (i + LANES <= length pages)%nat -> full m ->
    registers_loads (fun _ => map2 next) n pages i 0 (cut m) = Some (cut (map2 next m (row i))).
  Proof.
    intros B M. unfold cut. rewrite (registers_loads_are _ next i k 0 m); [|reflexivity|unfold full in M; congruence|lia].
    now rewrite Nat.mul_0_r, Nat.add_0_r, Row.
  Qed.

  Lemma first_row_loads i : (i + LANES <= length pages)%nat ->
    registers_loads first_register n pages i 0 (cut base_offsets) =
      Some (cut (map2 Z.lxor base_offsets (without_checksum (row i)))).
  Proof.
    intros B. unfold cut. pose proof Row as Row'.
    assert (K : exists c, k = S c) by (destruct k as [|c]; [discriminate|now exists c]). destruct K as (c & K).
    rewrite K in Row' |- *. cbn [Nat.mul] in Row'.
    cbn [pieces_of registers_loads]. rewrite Nat.mul_0_r, Nat.add_0_r, copy_loads_at by lia. cbn [mbind option_bind].
    assert (Lb : length base_offsets = (n + c * n)%nat) by (rewrite Row'; reflexivity).
    rewrite (registers_loads_are _ Z.lxor i c 1); cycle 1.
    { intros [|s] m ws S; [lia|reflexivity]. }
    { rewrite skipn_length. lia. }
    { lia. }
    cbn [mbind option_bind]. unfold first_register. cbn [Nat.eqb].
    assert (Lr : length (row i) = (n + c * n)%nat) by (rewrite Row'; now apply row_full).
    destruct (without_checksum_cut n (row i) Wide) as [C1 C2].
    rewrite firstn_of_two, skipn_of_two by (rewrite without_checksum_length; congruence). rewrite C1, C2. unfold row.
    rewrite firstn_firstn, Nat.min_l by lia. rewrite skipn_firstn_comm. rewrite <- Row'.
    replace (n + c * n - n)%nat with (c * n)%nat by lia. now rewrite Nat.mul_1_r, <- skipn_twice.
  Qed.

  (** What happens to each page of a group: F is told where its row begins. *)
  Fixpoint each_page (F : nat -> list Z -> list Z) (i : nat) (ms : list (list Z)) : list (list Z) :=
    match ms with
    | [] => []
    | m :: ms => F i m :: each_page F (i + size) ms
    end.

  (* The rows from i on, i + size on and so forth are within the pages. *)
  Definition within (i count : nat) : Prop := (i + LANES + count * size <= length pages + size)%nat.

  Lemma within_one i count : within i (S count) -> (i + LANES <= length pages)%nat /\ within (i + size) count.
  Proof. unfold within. cbn [Nat.mul]. lia. Qed.

  Lemma each_page_length F ms : forall i, length (each_page F i ms) = length ms.
  Proof. induction ms as [|m ms IH]; intros i; cbn [each_page length]; auto. Qed.

  Lemma each_page_full F : (forall i m, (i + LANES <= length pages)%nat -> full m -> full (F i m)) ->
    forall ms i, within i (length ms) -> Forall full ms -> Forall full (each_page F i ms).
  Proof.
    intros H. induction ms as [|m ms IH]; intros i B A; cbn [each_page]; constructor; inversion_clear A;
      cbn [length] in B; apply within_one in B as [B1 B2]; auto.
  Qed.

  Lemma each_page_twice F G ms : forall i,
    each_page G (LANES + i) (each_page F i ms) = each_page (fun i m => G (LANES + i)%nat (F i m)) i ms.
  Proof.
    induction ms as [|m ms IH]; intros i; cbn [each_page]; [reflexivity|].
    replace (LANES + i + size)%nat with (LANES + (i + size))%nat by lia. now rewrite IH.
  Qed.

  Lemma pages_loads_are f F : (forall i m, (i + LANES <= length pages)%nat -> full m ->
      registers_loads f n pages i 0 (cut m) = Some (cut (F i m))) ->
    forall ms i, within i (length ms) -> Forall full ms ->
    pages_loads f n size pages i (map cut ms) = Some (map cut (each_page F i ms)).
  Proof.
    intros H. induction ms as [|m ms IH]; intros i B A; [reflexivity|]. inversion_clear A as [|? ? M A'].
    cbn [length] in B. apply within_one in B as [B1 B2]. cbn [map pages_loads each_page]. rewrite H by auto.
    cbn [mbind option_bind]. rewrite IH by auto. reflexivity.
  Qed.

  (** The rows of a page from word i on. *)
  Fixpoint rows_of (more i : nat) (m : list Z) : list Z :=
    match more with
    | O => m
    | S more => rows_of more (LANES + i) (map2 next m (row i))
    end.

  Lemma each_page_same ms : forall i, each_page (fun _ m => m) i ms = ms.
  Proof. induction ms as [|m ms IH]; intros i; cbn [each_page]; [|rewrite IH]; reflexivity. Qed.

  Lemma group_loads_are : forall more ms i, (i + more * LANES + length ms * size <= length pages + size)%nat ->
    Forall full ms -> group_loads n size pages i more (map cut ms) = Some (map cut (each_page (rows_of more) i ms)).
  Proof.
    induction more as [|more IH]; intros ms i B A; cbn [group_loads].
    - change (rows_of 0) with (fun (_ : nat) (m : list Z) => m). now rewrite each_page_same.
    - cbn [Nat.mul] in B. assert (B' : within i (length ms)) by (unfold within; lia).
      rewrite (pages_loads_are _ (fun i m => map2 next m (row i)) next_row_loads ms i B' A). cbn [mbind option_bind].
      rewrite IH.
      + now rewrite each_page_twice.
      + rewrite each_page_length. lia.
      + apply each_page_full; auto. intros j m J M. unfold full in *. rewrite map2_length; [auto|].
        rewrite M. symmetry. now apply row_full.
  Qed.

  (** ** The sums of pages that follow each other *)
  Definition sum_at (i : nat) : Z :=
    fold_xor (zero_round (zero_round (zero_round
      (rows_of rows (LANES + i) (map2 Z.lxor base_offsets (without_checksum (row i))))))).
  Fixpoint sums_at (i count : nat) : list Z :=
    match count with
    | O => []
    | S count => sum_at i :: sums_at (i + size) count
    end.

  Lemma sums_at_app a b : forall i, sums_at i a ++ sums_at (i + a * size) b = sums_at i (a + b).
  Proof.
    induction a as [|a IH]; intros i; cbn [Nat.mul sums_at app Nat.add]; [now rewrite Nat.add_0_r|].
    now rewrite Nat.add_assoc, IH.
  Qed.

  Lemma rows_of_no_longer more : forall i m, (length (rows_of more i m) <= length m)%nat.
  Proof.
    induction more as [|more IH]; intros i m; cbn [rows_of]; [lia|]. specialize (IH (LANES + i)%nat (map2 next m (row i))).
    pose proof (map2_no_longer next m (row i)). lia.
  Qed.

  Lemma fold_pages_are i count : (i + count * size <= length pages)%nat ->
    fold_pages n (S rows) pages i count = Some (sums_at i count).
  Proof.
    intros B. unfold fold_pages. fold size.
    assert (K : (LANES / n)%nat = k) by (rewrite <- Row; apply Nat.div_mul; lia).
    assert (Start : repeat (pieces_of (LANES / n) n base_offsets) count = map cut (repeat base_offsets count)).
    { rewrite K. unfold cut. clear. induction count as [|count IH]; cbn [repeat map]; [|rewrite IH]; reflexivity. }
    rewrite Start. clear K Start.
    assert (A : Forall full (repeat base_offsets count)).
    { apply Forall_forall. intros m M. apply repeat_spec in M. now subst m. }
    assert (Lc : length (repeat base_offsets count) = count) by apply repeat_length.
    set (F := fun (i : nat) (m : list Z) => map2 Z.lxor m (without_checksum (row i))).
    assert (First : pages_loads first_register n size pages i (map cut (repeat base_offsets count)) =
                    Some (map cut (each_page F i (repeat base_offsets count)))).
    { clear A Lc. revert i B. induction count as [|count IH]; intros i B; [reflexivity|]. cbn [repeat map pages_loads each_page].
      cbn [Nat.mul] in B. assert (LANES <= size)%nat by (unfold size; cbn [Nat.mul]; lia).
      rewrite first_row_loads by lia. cbn [mbind option_bind]. rewrite IH by lia. reflexivity. }
    rewrite First. cbn [mbind option_bind]. replace (S rows - 1)%nat with rows by lia. rewrite group_loads_are.
    - cbn [mbind option_bind]. rewrite each_page_twice. rewrite !map_map. f_equal. clear First A Lc.
      revert i B. induction count as [|count IH]; intros i B; cbn [repeat each_page map sums_at]; [reflexivity|].
      cbn [Nat.mul] in B. rewrite IH by lia. f_equal. unfold cut. rewrite !pieces_of_map. rewrite pieces_of_all; [reflexivity|].
      rewrite !map_length. etransitivity; [apply rows_of_no_longer|]. etransitivity; [apply map2_no_longer|].
      rewrite Row. reflexivity.
    - rewrite each_page_length, Lc. unfold size in *. cbn [Nat.mul] in *. lia.
    - apply each_page_full; [|unfold within, size in *; rewrite Lc; cbn [Nat.mul] in *; lia|exact A].
      intros j m J M. unfold F, full in *. rewrite map2_length; [exact M|]. rewrite without_checksum_length, M. symmetry.
      now apply row_full.
  Qed.

  Lemma groups_loads_are group groups : forall i, (i + groups * group * size <= length pages)%nat ->
    groups_loads n (S rows) group pages i groups = Some (sums_at i (groups * group)).
  Proof.
    induction groups as [|groups IH]; intros i B; [reflexivity|]. cbn [groups_loads Nat.mul] in *. fold size.
    rewrite Nat.mul_add_distr_r in B. rewrite fold_pages_are by lia. cbn [mbind option_bind].
    rewrite IH by lia. cbn [mbind option_bind]. now rewrite sums_at_app.
  Qed.

  Lemma vector_sums_are group count : (0 < group)%nat -> length pages = (count * size)%nat ->
    vector_sums n group (S rows) count pages = Some (sums_at 0 count).
  Proof.
    intros G L. unfold vector_sums. cbn zeta. fold size.
    pose proof (Nat.div_mod count group ltac:(lia)) as D. set (q := (count / group)%nat) in *. set (r := (count mod group)%nat) in *.
    assert (C : count = (q * group + r)%nat) by lia.
    rewrite (groups_loads_are group q) by (rewrite L, C; nia). cbn [mbind option_bind].
    rewrite (groups_loads_are 1 r) by (rewrite L, C; nia). cbn [mbind option_bind].
    pose proof (sums_at_app (q * group) r 0) as E. cbn [Nat.add] in E. now rewrite Nat.mul_1_r, E, C.
  Qed.

  (** ** They are the pages' checksums *)
  Lemma rows_of_are more : forall i m, rows_of more i m = fold_left (map2 next) (in_rows more (skipn i pages)) m.
  Proof.
    induction more as [|more IH]; intros i m; [reflexivity|]. cbn [rows_of in_rows fold_left].
    change (length base_offsets) with LANES. rewrite IH, (Nat.add_comm LANES i), skipn_twice. reflexivity.
  Qed.

  Lemma sum_at_is i block : (i + size <= length pages)%nat ->
    finish (sum_at i) block = page_checksum (firstn size (skipn i pages)) block.
  Proof.
    intros B. rewrite <- (chain_sum_is rows) by (rewrite firstn_length, skipn_length; fold size; lia).
    unfold chain_sum, sum_at. rewrite rows_of_are, skipn_firstn_comm, in_rows_of_more by (unfold size; cbn [Nat.mul]; lia).
    rewrite firstn_firstn, Nat.min_l by (unfold size; cbn [Nat.mul]; lia).
    now rewrite (Nat.add_comm LANES i), skipn_twice.
  Qed.

  Lemma sums_at_are count : forall i block, (i + count * size <= length pages)%nat ->
    finish_all (sums_at i count) block = page_checksums size count (skipn i pages) block.
  Proof.
    induction count as [|count IH]; intros i block B; [reflexivity|]. cbn [Nat.mul] in B.
    cbn [sums_at finish_all page_checksums]. rewrite sum_at_is, IH, skipn_twice by lia. reflexivity.
  Qed.

  Lemma vector_kernel_is group count block : (0 < group)%nat -> length pages = (count * size)%nat ->
    (sums ← vector_sums n group (S rows) count pages; Some (finish_all sums block)) =
      Some (page_checksums size count pages block).
  Proof.
    intros G L. rewrite vector_sums_are by assumption. cbn [mbind option_bind]. f_equal.
    rewrite sums_at_are by lia. reflexivity.
  Qed.
End pages.

(** The AVX2, the AVX-512 and the NEON kernel, which take pages side by side, give each of any number of pages
    pg_checksum_page's answer for its block, and stay within the pages. *)
Theorem vector_kernels_are_pg_checksum_page : forall rows count pages block,
  length pages = (count * (S rows * LANES))%nat ->
  (sums ← avx2_sums (S rows) count pages; Some (finish_all sums block)) =
    Some (page_checksums (S rows * LANES) count pages block) /\
  (sums ← avx512_sums (S rows) count pages; Some (finish_all sums block)) =
    Some (page_checksums (S rows * LANES) count pages block) /\
  (sums ← neon_sums (S rows) count pages; Some (finish_all sums block)) =
    Some (page_checksums (S rows * LANES) count pages block).
Proof.
  intros rows count pages block L. repeat split;
    [apply (vector_kernel_is 8 4 rows pages)|apply (vector_kernel_is 16 2 rows pages)|apply (vector_kernel_is 4 8 rows pages)];
    reflexivity || lia || exact L.
Qed.
