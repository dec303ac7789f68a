(* SPDX-License-Identifier: PostgreSQL *)
(** * What the intrinsics of AVX-512's scan of few line pointers make of sixteen lanes of 32 bits, and of masks *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts ProgramFacts
  LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey.
From Pgquern.compaction Require ScanAvx512Few.

Lemma set1_says c : ScanAvx512Few.set1 c = spread 16 (bytes_of 4 c).
Proof. reflexivity. Qed.
Lemma setzero_says : ScanAvx512Few.setzero = zeros 64.
Proof. reflexivity. Qed.
Lemma and_says a b : ScanAvx512Few.and a b = Logic.and a b.
Proof. reflexivity. Qed.
Lemma or_says a b : ScanAvx512Few.or a b = Logic.or a b.
Proof. reflexivity. Qed.
Lemma add_says a b : ScanAvx512Few.add a b = Arithmetic.add 4 a b.
Proof. reflexivity. Qed.
Lemma sub_says a b : ScanAvx512Few.sub a b = Arithmetic.sub 4 a b.
Proof. reflexivity. Qed.
Lemma narrow_says a : ScanAvx512Few.narrow a = Permute.narrow 4 2 a.
Proof. reflexivity. Qed.
Lemma pack_says k a : ScanAvx512Few.pack_dwords k a = compress 4 k a.
Proof. reflexivity. Qed.
Lemma test_under_says k a b : Table.intrinsic "_mm512_mask_test_epi32_mask" [k; a; b] = under_mask k (mask_test 4 a b).
Proof. reflexivity. Qed.
Lemma test_says a b : Table.intrinsic "_mm512_test_epi32_mask" [a; b] = mask_test 4 a b.
Proof. reflexivity. Qed.
Lemma greater_unsigned_says k a b : Table.intrinsic "_mm512_mask_cmpgt_epu32_mask" [k; a; b] = under_mask k (mask_compare 4 Z.gtb a b).
Proof. reflexivity. Qed.
Lemma greater_says k a b :
  Table.intrinsic "_mm512_mask_cmpgt_epi32_mask" [k; a; b] = under_mask k (mask_compare 4 (on_signed 4 Z.gtb) a b).
Proof. reflexivity. Qed.
Lemma less_says k a b :
  Table.intrinsic "_mm512_mask_cmplt_epi32_mask" [k; a; b] = under_mask k (mask_compare 4 (on_signed 4 Z.ltb) a b).
Proof. reflexivity. Qed.
Lemma masked_and_says k a b : Table.intrinsic "_mm512_maskz_and_epi32" [k; a; b] = masked_zero 4 k (Logic.and a b).
Proof. reflexivity. Qed.
Lemma masked_add_says k a b : Table.intrinsic "_mm512_maskz_add_epi32" [k; a; b] = masked_zero 4 k (Arithmetic.add 4 a b).
Proof. reflexivity. Qed.
Lemma shift_17_says a : Table.intrinsic "_mm512_srli_epi32 17" [a] = shift_right 4 17 a.
Proof. reflexivity. Qed.
Lemma shift_16_says a : Table.intrinsic "_mm512_srli_epi32 16" [a] = shift_right 4 16 a.
Proof. reflexivity. Qed.
Lemma shift_left_16_says a : Table.intrinsic "_mm512_slli_epi32 16" [a] = shift_left 4 16 a.
Proof. reflexivity. Qed.
Lemma masked_ternary_says a k b c :
  Table.intrinsic "_mm512_mask_ternarylogic_epi32 216" [a; k; b; c] = masked 4 a k (ternary 216 a b c).
Proof. reflexivity. Qed.
Lemma masked_mov_says a k b : Table.intrinsic "_mm512_mask_mov_epi32" [a; k; b] = masked 4 a k b.
Proof. reflexivity. Qed.
Lemma masked_zero_mov_says k a : Table.intrinsic "_mm512_maskz_mov_epi32" [k; a] = masked_zero 4 k a.
Proof. reflexivity. Qed.
Lemma align_says a b : Table.intrinsic "_mm512_alignr_epi32 15" [a; b] = align 4 15 a b.
Proof. reflexivity. Qed.
Lemma reduce_says a : Table.intrinsic "_mm512_reduce_max_epu32" [a] = reduce_max 4 a.
Proof. reflexivity. Qed.

(** ** Masks *)
Lemma bits_of_mask ts : length ts = 16%nat -> bits (register_of_bits ts) = ts.
Proof. intros L. apply (bits_of_register 2). exact L. Qed.

Lemma number_of_mask ts : length ts = 16%nat -> Lanes.number (register_of_bits ts) = number_of_bits ts.
Proof. intros L. apply (number_register_of_bits 2). exact L. Qed.

Lemma ternary_216 a b c : length a = length b -> length b = length c ->
  ternary 216 a b c = Logic.or (Logic.andnot c a) (Logic.and b c).
Proof.
  intros L M. unfold ternary, Logic.or, Logic.andnot, Logic.and, bitwise. cbv zeta.
  rewrite !(bits_of_register (length a)) by (rewrite ProgramFacts.map2_length, !bits_length; lia). f_equal.
  generalize (bits a) (bits b) (bits c). intros l.
  induction l as [|x l IH]; intros [|y m] [|z n]; cbn [map2]; auto. rewrite IH. f_equal. now destruct x, y, z.
Qed.

(** Lanes that belong to a list of sixteen. *)
Section Masks.
  Context {A : Type} (l : list A).
  Hypothesis sixteen_lanes : length l = 16%nat.
  Notation reg f := (register_of 4 (map f l)).
  Notation mask t := (register_of_bits (map t l)).

  Lemma mask_bits (t : A -> bool) : bits (mask t) = map t l.
  Proof. apply bits_of_mask. now rewrite map_length. Qed.

  Lemma same_mask (s t : A -> bool) : (forall x, In x l -> s x = t x) -> mask s = mask t.
  Proof. intros E. f_equal. now apply map_ext_in. Qed.

  Lemma set1_lanes c : ScanAvx512Few.set1 c = reg (fun _ => c).
  Proof. rewrite set1_says. now apply constant_lanes. Qed.
  Lemma setzero_lanes : ScanAvx512Few.setzero = reg (fun _ => 0).
  Proof. rewrite setzero_says. change 64%nat with (16 * 4)%nat. now apply zero_lanes. Qed.

  Lemma compare_mask op f g : mask_compare 4 op (reg f) (reg g) = mask (fun x => op (f x mod span 4) (g x mod span 4)).
  Proof. unfold mask_compare, compared. rewrite !lanes_reg, map2_maps by lia. reflexivity. Qed.

  Lemma under_mask_lanes s t : under_mask (mask s) (mask t) = mask (fun x => s x && t x).
  Proof. unfold under_mask, Logic.and, bitwise. rewrite !mask_bits, map2_maps. reflexivity. Qed.

  Lemma test_mask f g : mask_test 4 (reg f) (reg g) = mask (fun x => negb (Z.land (f x) (g x) mod span 4 =? 0)).
  Proof. unfold mask_test. rewrite and_lanes, lanes_reg, map_map by lia. reflexivity. Qed.

  Lemma masked_lanes f g t : masked 4 (reg g) (mask t) (reg f) = reg (fun x => if t x then f x else g x).
  Proof.
    unfold masked. rewrite mask_bits, !pieces_reg by lia. unfold register_of. clear.
    induction l as [|x r IH]; [reflexivity|]. cbn [map choose concat]. rewrite IH. now destruct (t x).
  Qed.

  Lemma masked_zero_lanes f t : masked_zero 4 (mask t) (reg f) = reg (fun x => if t x then f x else 0).
  Proof. unfold masked_zero. rewrite lanes_length, map_length, (zero_lanes 4 l (length l) eq_refl). apply masked_lanes. Qed.

  Lemma ternary_lanes f g h : ternary 216 (reg f) (reg g) (reg h) = reg (fun x => Z.lor (Z.ldiff (f x) (h x)) (Z.land (g x) (h x))).
  Proof. rewrite ternary_216 by now rewrite !lanes_length, !map_length. rewrite andnot_lanes, and_lanes, or_lanes. reflexivity. Qed.

  (** Packed: the lanes of the mask, and zeros. *)
  Lemma pack_lanes t f : ScanAvx512Few.pack_dwords (mask t) (reg f) =
    register_of 4 (map f (filter t l) ++ repeat 0 (16 - length (filter t l))).
  Proof.
    rewrite pack_says, compress_words, mask_bits, selected_filter, !map_length, sixteen_lanes, words_app, words_zeros. reflexivity.
  Qed.
End Masks.

(** The first lanes, as a mask. *)
Lemma first_lanes_are k : (k <= 16)%nat ->
  ScanAvx512Few.mask16 (ScanAvx512Few.first_lanes (Z.of_nat k)) = register_of_bits (repeat true k ++ repeat false (16 - k)).
Proof. intros K. do 17 (destruct k as [|k]; [reflexivity|]). lia. Qed.

Lemma first_numbers k : (k <= 16)%nat -> repeat true k ++ repeat false (16 - k) = map (fun i => Z.of_nat i <? Z.of_nat k) (seq 0 16).
Proof. intros K. do 17 (destruct k as [|k]; [reflexivity|]). lia. Qed.

(** ** Lanes that change places *)

(** Prefix sums of sixteen lanes. *)
Lemma prefix_sums_are xs : length xs = 16%nat -> ScanAvx512Few.prefix_sums_of_dwords (reg4 xs) = reg4 (sums_from 0 xs).
Proof.
  intros L.
  assert (S : forall n l, length l = 16%nat -> (n = 1 \/ n = 2)%nat -> shift_bytes_left (4 * n) (reg4 l) =
    reg4 (repeat 0 n ++ firstn (4 - n) l ++ repeat 0 n ++ firstn (4 - n) (skipn 4 l) ++ repeat 0 n ++ firstn (4 - n) (skipn 8 l) ++
          repeat 0 n ++ firstn (4 - n) (skipn 12 l))).
  { intros n l Ll [->| ->]; destruct (sixteen l Ll) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ->); reflexivity. }
  assert (T : forall l, length l = 16%nat -> shuffle 255 (reg4 l) =
    reg4 (repeat (nth 3 l 0) 4 ++ repeat (nth 7 l 0) 4 ++ repeat (nth 11 l 0) 4 ++ repeat (nth 15 l 0) 4)).
  { intros l Ll. destruct (sixteen l Ll) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ->). reflexivity. }
  assert (Al : forall l, length l = 16%nat -> align 8 6 (reg4 l) (zeros 64) = reg4 (repeat 0 4 ++ firstn 12 l) /\
    align 8 4 (reg4 l) (zeros 64) = reg4 (repeat 0 8 ++ firstn 8 l) /\ align 8 2 (reg4 l) (zeros 64) = reg4 (repeat 0 12 ++ firstn 4 l)).
  { intros l Ll. destruct (sixteen l Ll) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ->). repeat split; reflexivity. }
  destruct (sixteen xs L) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ->).
  match goal with |- ScanAvx512Few.prefix_sums_of_dwords ?v = _ => transitivity
    (let sums := Arithmetic.add 4 v (shift_bytes_left (4 * 1) v) in
     let sums := Arithmetic.add 4 sums (shift_bytes_left (4 * 2) sums) in
     let below := shuffle 255 sums in
     let sums := Arithmetic.add 4 sums (align 8 6 below (zeros 64)) in
     Arithmetic.add 4 sums (Arithmetic.add 4 (align 8 4 below (zeros 64)) (align 8 2 below (zeros 64)))); [reflexivity|] end.
  cbv zeta.
  rewrite (S 1%nat) by auto. rewrite add_dwords. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite (S 2%nat) by auto. rewrite add_dwords. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite T by reflexivity. cbn [repeat app nth].
  match goal with |- context [align 8 6 (reg4 ?v) (zeros 64)] => destruct (Al v eq_refl) as (-> & -> & ->) end. cbn [repeat app firstn].
  rewrite !add_dwords. cbn [map2 sums_from].
  f_equal. repeat (apply f_equal2; [ring|]). reflexivity.
Qed.

(** The lane before each, and zero before the first. *)
Lemma before_is xs : length xs = 16%nat -> align 4 15 (reg4 xs) (zeros 64) = reg4 (0 :: firstn 15 xs).
Proof. intros L. destruct (sixteen xs L) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ->). reflexivity. Qed.

Lemma last_dword xs d : length xs = 16%nat ->
  Lanes.number (Table.intrinsic "_mm_extract_epi32 3" [Table.intrinsic "_mm512_extracti32x4_epi32 3" [reg4 xs]]) =
  last xs d mod 4294967296.
Proof.
  intros L. destruct (sixteen xs L) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & z & ->).
  transitivity (Lanes.number (bytes_of 4 z)); [reflexivity|]. apply number_bytes_of.
Qed.

(** The lower halves of the lanes. *)
Lemma narrow_is xs : ScanAvx512Few.narrow (reg4 xs) = reg2 xs.
Proof. rewrite narrow_says. unfold Permute.narrow. rewrite lanes_pieces, map_map by lia. reflexivity. Qed.

Lemma sub_dwords xs ys : Arithmetic.sub 4 (reg4 xs) (reg4 ys) = reg4 (map2 Z.sub xs ys).
Proof.
  unfold Arithmetic.sub, lanewise. rewrite !lanes_of_register by lia. rewrite <- register_of_mod, <- (register_of_mod 4 (map2 Z.sub xs ys)).
  f_equal. revert ys. induction xs as [|x xs IH]; intros [|y ys]; cbn [map map2]; try reflexivity. rewrite IH. f_equal.
  now rewrite <- Zminus_mod.
Qed.

(** ** Lists of lanes *)

Lemma masked_words ks a b : length ks = 16%nat -> masked 4 (reg4 b) (register_of_bits ks) (reg4 a) = reg4 (choose ks a b).
Proof. intros L. unfold masked. rewrite bits_of_mask, !lanes_pieces, choose_map by (exact L || lia). reflexivity. Qed.

Lemma choose_first {A} (a : list A) u : forall others,
  choose (repeat true (length a) ++ repeat false (length others)) (a ++ others) (repeat u (length a + length others)) =
  a ++ repeat u (length others).
Proof.
  induction a as [|x a IH]; intros others; cbn [length repeat app choose Nat.add].
  - induction others as [|y r IH]; cbn [length repeat choose]; [reflexivity|now rewrite IH].
  - now rewrite IH.
Qed.

(** A signed comparison of lanes, under a mask. *)
Definition above (x y : Z) : bool := signed 4 (x mod span 4) >? signed 4 (y mod span 4).

Lemma map2_both {A B C D E} (f : A -> B) (g : C -> D) (h : B -> D -> E) : forall l m,
  map2 h (map f l) (map g m) = map2 (fun x y => h (f x) (g y)) l m.
Proof. induction l as [|x l IH]; intros [|y m]; cbn [map map2]; auto. now rewrite IH. Qed.
Lemma map2_swap {A B C} (h : A -> B -> C) : forall l m, map2 h l m = map2 (fun y x => h x y) m l.
Proof. induction l as [|x l IH]; intros [|y m]; cbn [map2]; auto. now rewrite IH. Qed.
Lemma map2_pairs {A B C} (h : A -> B -> C) : forall l m, map2 h l m = map (fun p => h (fst p) (snd p)) (combine l m).
Proof. induction l as [|x l IH]; intros [|y m]; cbn [map map2 combine fst snd]; auto. now rewrite IH. Qed.

Lemma greater_words ks xs ys : length ks = 16%nat -> length xs = 16%nat -> length ys = 16%nat ->
  Table.intrinsic "_mm512_mask_cmpgt_epi32_mask" [register_of_bits ks; reg4 xs; reg4 ys] = register_of_bits (map2 andb ks (map2 above xs ys)).
Proof.
  intros Lk Lx Ly. rewrite greater_says. unfold under_mask, Logic.and, bitwise, mask_compare, compared.
  rewrite !lanes_of_register, map2_both by lia. rewrite !bits_of_mask by (rewrite ?ProgramFacts.map2_length; lia). reflexivity.
Qed.

Lemma map2_andb_first ks : forall others,
  map2 andb (repeat true (length ks) ++ repeat false (length others)) (ks ++ others) = ks ++ repeat false (length others).
Proof.
  induction ks as [|t ks IH]; intros others; cbn [length repeat app map2].
  - induction others as [|y r IH]; cbn [length repeat map2 andb]; [reflexivity|now rewrite IH].
  - now rewrite IH.
Qed.

Lemma selected_first {A} : forall ks (ts us : list A) n, length ks = length ts ->
  selected (ks ++ repeat false n) (ts ++ us) = selected ks ts.
Proof.
  induction ks as [|t ks IH]; intros [|x ts] us n L; try discriminate; cbn [app selected].
  - revert us. induction n as [|n IH]; intros [|u us]; cbn [repeat selected app]; auto.
  - rewrite IH by (cbn in L; lia). reflexivity.
Qed.

(** ** Counting and finding *)
Lemma count_filter {A} (f : A -> bool) l : Scalar.count (map f l) = Z.of_nat (length (filter f l)).
Proof.
  unfold Scalar.count. induction l as [|x l IH]; [reflexivity|]. cbn [map fold_right filter]. rewrite IH.
  destruct (f x); cbn [Z.b2z length]; lia.
Qed.

Lemma popcnt_says us : (length us <= 32)%nat -> ScanAvx512Few.popcnt (number_of_bits us) = Scalar.count us.
Proof. exact (popcnt_is us). Qed.

Lemma lzcnt_says us : (length us <= 32)%nat -> 32 - ScanAvx512Few.lzcnt (number_of_bits us) = last_set us.
Proof.
  intros L. destruct (Z.eqb_spec (number_of_bits us) 0) as [E|E]; [|exact (lzcnt_is us L E)].
  rewrite E. pose proof (last_set_none us) as N. rewrite E in N. apply Z.eqb_eq in N. rewrite N. reflexivity.
Qed.

Lemma tzcnt_says us : (length us <= 32)%nat -> existsb (fun t => t) us = true -> ScanAvx512Few.tzcnt (number_of_bits us) = clear_before us.
Proof.
  intros L E. change (ScanAvx512Few.tzcnt (number_of_bits us)) with (Lanes.number (trailing (bytes_of 4 (number_of_bits us)))).
  unfold trailing. rewrite bits_of_number, number_bytes_of, clear_before_found by assumption. apply Z.mod_small.
  pose proof (clear_before_bounds us). change (span 4) with 4294967296. lia.
Qed.

Lemma nonzero_bits us : negb (number_of_bits us =? 0) = existsb (fun t => t) us.
Proof.
  induction us as [|t us IH]; [reflexivity|]. cbn [number_of_bits existsb]. rewrite <- IH. pose proof (number_of_bits_bound us).
  destruct t; cbn [Z.b2z orb]; [apply negb_true_iff, Z.eqb_neq; lia|]. f_equal.
  destruct (Z.eqb_spec (0 + 2 * number_of_bits us) 0), (Z.eqb_spec (number_of_bits us) 0); try reflexivity; lia.
Qed.

Lemma lor_bits : forall us vs, length us = length vs -> Z.lor (number_of_bits us) (number_of_bits vs) = number_of_bits (map2 orb us vs).
Proof.
  assert (E : forall t x, Z.b2z t + 2 * x = 2 * x + Z.b2z t) by (intros; lia).
  induction us as [|t us IH]; intros [|u vs] L; try discriminate; [reflexivity|]. cbn [number_of_bits map2].
  rewrite <- IH by (cbn in L; lia). rewrite !E. apply Z.bits_inj'. intros i I. rewrite Z.lor_spec.
  destruct (Z.eq_dec i 0) as [->|N]; [now rewrite !Z.testbit_0_r|].
  replace i with (Z.succ (Z.pred i)) by lia. rewrite !Z.testbit_succ_r by lia. symmetry. apply Z.lor_spec.
Qed.

Lemma map2_orb_first us vs n : length us = length vs ->
  map2 orb (us ++ repeat false n) (vs ++ repeat false n) = map2 orb us vs ++ repeat false n.
Proof.
  intros L. rewrite map2_app by exact L. f_equal. induction n as [|n IH]; [reflexivity|]. cbn [repeat map2 orb]. now rewrite IH.
Qed.

Lemma existsb_none us n : existsb (fun t => t) (us ++ repeat false n) = existsb (fun t => t) us.
Proof. rewrite existsb_app. induction n as [|n IH]; cbn [repeat existsb orb]; [apply orb_false_r|exact IH]. Qed.
