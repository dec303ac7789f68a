(* SPDX-License-Identifier: PostgreSQL *)
(** * What the helpers of avx512vbmi2.c make of registers *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts ProgramFacts
  LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round.
From Pgquern.compaction Require ScanAvx512.

Ltac in_32_lanes xs L := do 32 (destruct xs as [|? xs]; [discriminate L|]); destruct xs; [clear L|discriminate L].

(** ** Masks: one bit a lane *)
Lemma mask_bits us : length us = 32%nat -> bits (bytes_of 4 (number_of_bits us)) = us.
Proof. intros L. rewrite bits_of_number by lia. rewrite L. apply app_nil_r. Qed.

Lemma number_mask us : length us = 32%nat -> Lanes.number (register_of_bits us) = number_of_bits us.
Proof. intros L. apply (number_register_of_bits 4). exact L. Qed.

Lemma testbit_mask us : forall k, Z.testbit (number_of_bits us) (Z.of_nat k) = nth k us false.
Proof.
  induction us as [|t us IH]; intros k; [destruct k; apply Z.bits_0|]. cbn [number_of_bits]. rewrite Z.add_comm. destruct k as [|k].
  - apply Z.testbit_0_r.
  - rewrite Nat2Z.inj_succ, Z.testbit_succ_r by lia. apply IH.
Qed.

Lemma nth_map2 (f : bool -> bool -> bool) : f false false = false -> forall us vs k, length us = length vs ->
  nth k (map2 f us vs) false = f (nth k us false) (nth k vs false).
Proof.
  intros F. induction us as [|u us IH]; intros [|v vs] [|k] L; try discriminate; try (symmetry; exact F); [reflexivity|].
  cbn [map2 nth]. apply IH. now injection L.
Qed.

Lemma land_masks us vs : length us = length vs -> Z.land (number_of_bits us) (number_of_bits vs) = number_of_bits (map2 andb us vs).
Proof.
  intros L. apply Z.bits_inj'. intros i I. rewrite Z.land_spec, <- (Z2Nat.id i) by exact I. rewrite !testbit_mask. symmetry.
  now apply nth_map2.
Qed.
Lemma lor_masks us vs : length us = length vs -> Z.lor (number_of_bits us) (number_of_bits vs) = number_of_bits (map2 orb us vs).
Proof.
  intros L. apply Z.bits_inj'. intros i I. rewrite Z.lor_spec, <- (Z2Nat.id i) by exact I. rewrite !testbit_mask. symmetry.
  now apply nth_map2.
Qed.
Lemma mask_is_zero us : (number_of_bits us =? 0) = negb (existsb (fun t => t) us).
Proof.
  induction us as [|t us IH]; [reflexivity|]. cbn [number_of_bits existsb]. pose proof (number_of_bits_bound us) as B. rewrite negb_orb, <- IH.
  destruct t; cbn [Z.b2z negb andb].
  - apply Z.eqb_neq. lia.
  - destruct (Z.eqb_spec (number_of_bits us) 0), (Z.eqb_spec (0 + 2 * number_of_bits us) 0); try reflexivity; lia.
Qed.
Lemma lor_is_zero a b : (Z.lor a b =? 0) = (a =? 0) && (b =? 0).
Proof.
  destruct (Z.eqb_spec a 0) as [A|A], (Z.eqb_spec b 0) as [B|B], (Z.eqb_spec (Z.lor a b) 0) as [C|C]; try reflexivity; exfalso;
    rewrite Z.lor_eq_0_iff in C; tauto.
Qed.

(** [first_lanes]. *)
Lemma first_lanes_are n : 0 <= n -> ScanAvx512.first_lanes n = number_of_bits (map (fun k => Z.of_nat k <? n) (seq 0 32)).
Proof.
  intros N. unfold ScanAvx512.first_lanes, ScanAvx512.LANES. set (k := if n <? 32 then n else 32).
  assert (K : 0 <= k <= 32 /\ (n < 32 -> k = n) /\ (32 <= n -> k = 32)) by (unfold k; destruct (Z.ltb_spec n 32); lia).
  change (Table.intrinsic "_bzhi_u32" [bytes_of 4 4294967295; bytes_of 4 k]) with (low_bits (bytes_of 4 4294967295) (bytes_of 4 k)).
  unfold low_bits. cbv zeta. change (hd 0 (bytes_of 4 k)) with (k mod 256). rewrite Z.mod_small by lia.
  change (bits (bytes_of 4 4294967295)) with (repeat true 32).
  assert (E : map2 (fun t i => t && (i <? Z.to_nat k)%nat) (repeat true 32) (seq 0 32) = map (fun i => (i <? Z.to_nat k)%nat) (seq 0 32)) by reflexivity.
  rewrite E, number_mask by (rewrite map_length; reflexivity). f_equal. apply map_ext_in. intros i I. apply in_seq in I.
  destruct (Nat.ltb_spec i (Z.to_nat k)), (Z.ltb_spec (Z.of_nat i) n); try reflexivity; lia.
Qed.

Lemma firsts n : (n <= 32)%nat -> map (fun k => Z.of_nat k <? Z.of_nat n) (seq 0 32) = repeat true n ++ repeat false (32 - n).
Proof.
  intros N. replace 32%nat with (n + (32 - n))%nat at 1 by lia. rewrite seq_app, map_app. f_equal.
  - transitivity (map (fun _ : nat => true) (seq 0 n)).
    + apply map_ext_in. intros k K. apply in_seq in K. apply Z.ltb_lt. lia.
    + generalize 0%nat. clear. induction n as [|n IH]; intros k; [reflexivity|]. cbn [seq map repeat]. now rewrite IH.
  - transitivity (map (fun _ : nat => false) (seq (0 + n) (32 - n))).
    + apply map_ext_in. intros k K. apply in_seq in K. apply Z.ltb_ge. lia.
    + generalize (0 + n)%nat, (32 - n)%nat. clear. intros k n. revert k. induction n as [|n IH]; intros k; [reflexivity|]. cbn [seq map repeat]. now rewrite IH.
Qed.

(** ** A mask chooses *)

Lemma choose_maps {A} (t : A -> bool) (f g : A -> Z) l : choose (map t l) (map f l) (map g l) = map (fun x => if t x then f x else g x) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [map choose]. now rewrite IH. Qed.

Lemma masked_words us xs ys : length us = 32%nat -> masked 2 (reg2 ys) (bytes_of 4 (number_of_bits us)) (reg2 xs) = reg2 (choose us xs ys).
Proof.
  intros L. unfold masked. rewrite mask_bits, !lanes_pieces, choose_map by (lia || exact L). reflexivity.
Qed.

Lemma zeros_words n : zeros (n * 2) = reg2 (repeat 0 n).
Proof. rewrite zeros_concat. unfold register_of. now rewrite repeat_mapped. Qed.

Lemma spread_words2 n x : spread n (bytes_of 2 x) = reg2 (repeat x n).
Proof. unfold spread, register_of. now rewrite repeat_mapped. Qed.

Lemma set1_is x : ScanAvx512.set1_epi16 x = reg2 (repeat x 32).
Proof. change (ScanAvx512.set1_epi16 x) with (spread 32 (bytes_of 2 x)). apply spread_words2. Qed.

(** [pack]: the lanes that are selected, then zeros. *)
Lemma firstn_same {A} (x : A) : forall a b, (a <= b)%nat -> firstn a (repeat x b) = repeat x a.
Proof. induction a as [|a IH]; intros [|b] L; try lia; try reflexivity. cbn [repeat firstn]. f_equal. apply IH. lia. Qed.

Lemma pack_words us xs : length us = 32%nat -> length xs = 32%nat ->
  ScanAvx512.pack (number_of_bits us) (reg2 xs) = reg2 (selected us xs ++ repeat 0 (32 - length (selected us xs))).
Proof.
  intros L Lx. change (ScanAvx512.pack (number_of_bits us) (reg2 xs)) with (compress 2 (bytes_of 4 (number_of_bits us)) (reg2 xs)).
  unfold compress. rewrite mask_bits, lanes_pieces, lanes_length, <- selected_map by (lia || exact L).
  change (concat (map (bytes_of 2) (selected us xs))) with (reg2 (selected us xs)).
  pose proof (selected_length us xs) as S. rewrite Lx in *. unfold widened.
  rewrite lanes_app, <- zeros_words, firstn_app, firstn_all2, lanes_length by (rewrite lanes_length; lia). f_equal.
  unfold zeros. rewrite firstn_same by lia. f_equal. lia.
Qed.

(** ** Comparisons into a mask *)
Lemma compared_words f xs ys : Forall word16 xs -> Forall word16 ys ->
  mask_compare 2 f (reg2 xs) (reg2 ys) = register_of_bits (map2 f xs ys).
Proof. intros X Y. unfold mask_compare, compared. now rewrite !lanes_again by (lia || assumption). Qed.

Lemma compared_under us f xs ys : length us = 32%nat -> length xs = 32%nat -> length ys = 32%nat -> Forall word16 xs -> Forall word16 ys ->
  Lanes.number (under_mask (bytes_of 4 (number_of_bits us)) (mask_compare 2 f (reg2 xs) (reg2 ys))) = number_of_bits (map2 andb us (map2 f xs ys)).
Proof.
  intros L Lx Ly X Y. rewrite compared_words by assumption. unfold under_mask, Logic.and, bitwise.
  rewrite mask_bits by exact L. rewrite (bits_of_register 4) by (rewrite ProgramFacts.map2_length; lia).
  apply number_mask. rewrite !ProgramFacts.map2_length. lia.
Qed.

(** ** Lanes that change places *)
Lemma pick_words w xs is ks : (0 < w)%nat -> (0 < length xs)%nat ->
  map (fun i => Z.to_nat ((i mod span w) mod Z.of_nat (length xs))) is = ks ->
  pick w (register_of w xs) (register_of w is) = register_of w (map (fun k => nth k xs 0) ks).
Proof.
  intros W N <-. unfold pick. cbv zeta. rewrite lanes_pieces, lanes_of_register, map_length by exact W.
  unfold register_of. rewrite !map_map. f_equal. apply map_ext. intros i. unfold item.
  set (k := Z.to_nat _). assert (K : (k < length xs)%nat).
  { unfold k. pose proof (Z.mod_pos_bound (i mod span w) (Z.of_nat (length xs)) ltac:(lia)). lia. }
  rewrite (nth_indep _ [] (bytes_of w 0)) by (rewrite map_length; exact K). apply map_nth.
Qed.

(** Words as pairs of halves. *)
Definition halves (x : Z) : list Z := [x mod 65536; x / 65536].

Lemma words_of_halves ws : reg4 ws = reg2 (flat_map halves ws).
Proof.
  induction ws as [|x ws IH]; [reflexivity|]. cbn [flat_map]. rewrite lanes_app, <- IH.
  change (reg4 (x :: ws)) with (bytes_of 4 x ++ reg4 ws). f_equal. unfold halves.
  change (reg2 [x mod 65536; x / 65536]) with (bytes_of 2 (x mod 65536) ++ bytes_of 2 (x / 65536) ++ []). rewrite app_nil_r, two_halves.
  f_equal. rewrite Zmod_mod. pose proof (Z.div_mod x 65536 ltac:(lia)). lia.
Qed.

Lemma halves_length ws : length (flat_map halves ws) = (2 * length ws)%nat.
Proof. induction ws as [|x ws IH]; [reflexivity|]. cbn [flat_map halves app length]. rewrite IH. lia. Qed.

Lemma even_halves ws : map (fun k => nth (2 * k) (flat_map halves ws) 0) (seq 0 (length ws)) = map (fun x => x mod 65536) ws.
Proof.
  induction ws as [|x ws IH]; [reflexivity|]. cbn [length seq map]. f_equal. rewrite <- IH, <- seq_shift, map_map. apply map_ext. intros k.
  replace (2 * S k)%nat with (S (S (2 * k))) by lia. reflexivity.
Qed.
Lemma odd_halves ws : map (fun k => nth (2 * k + 1) (flat_map halves ws) 0) (seq 0 (length ws)) = map (fun x => x / 65536) ws.
Proof.
  induction ws as [|x ws IH]; [reflexivity|]. cbn [length seq map]. f_equal. rewrite <- IH, <- seq_shift, map_map. apply map_ext. intros k.
  replace (2 * S k + 1)%nat with (S (S (2 * k + 1))) by lia. reflexivity.
Qed.

Notation even := (ScanAvx512.set_epi16
  [62; 60; 58; 56; 54; 52; 50; 48; 46; 44; 42; 40; 38; 36; 34; 32; 30; 28; 26; 24; 22; 20; 18; 16; 14; 12; 10; 8; 6; 4; 2; 0]).
Definition evens : list Z := map (fun k => 2 * Z.of_nat k) (seq 0 32).
Definition odds : list Z := map (fun k => 2 * Z.of_nat k + 1) (seq 0 32).
Lemma even_is : even = reg2 evens.
Proof. vm_compute. reflexivity. Qed.
Lemma odd_is : ScanAvx512.add_epi16 even (ScanAvx512.set1_epi16 1) = reg2 odds.
Proof. vm_compute. reflexivity. Qed.

(** The low, and the high, halves of 32 words. *)
Lemma halves_are a b : length a = 16%nat -> length b = 16%nat ->
  ScanAvx512.permutex2var_epi16 (reg4 a) even (reg4 b) = reg2 (map (fun x => x mod 65536) (a ++ b)) /\
  ScanAvx512.permutex2var_epi16 (reg4 a) (ScanAvx512.add_epi16 even (ScanAvx512.set1_epi16 1)) (reg4 b) = reg2 (map (fun x => x / 65536) (a ++ b)).
Proof.
  intros La Lb. rewrite odd_is, even_is.
  assert (L : length (a ++ b) = 32%nat) by (rewrite app_length; lia).
  assert (Lh : length (flat_map halves (a ++ b)) = 64%nat) by (rewrite halves_length; lia).
  assert (E : forall is, ScanAvx512.permutex2var_epi16 (reg4 a) (reg2 is) (reg4 b) = pick 2 (reg2 (flat_map halves (a ++ b))) (reg2 is)).
  { intros is. change (ScanAvx512.permutex2var_epi16 (reg4 a) (reg2 is) (reg4 b)) with (pick 2 (reg4 a ++ reg4 b) (reg2 is)).
    now rewrite <- lanes_app, words_of_halves. }
  rewrite !E. split.
  - rewrite (pick_words 2 _ evens (map (fun k => 2 * k)%nat (seq 0 32))) by (lia || (rewrite Lh; vm_compute; reflexivity)).
    rewrite map_map, <- L at 1. now rewrite even_halves.
  - rewrite (pick_words 2 _ odds (map (fun k => 2 * k + 1)%nat (seq 0 32))) by (lia || (rewrite Lh; vm_compute; reflexivity)).
    rewrite map_map, <- L at 1. now rewrite odd_halves.
Qed.

(** [store_words]: what it stores. *)
Notation zip_low := (ScanAvx512.set_epi16
  [47; 15; 46; 14; 45; 13; 44; 12; 43; 11; 42; 10; 41; 9; 40; 8; 39; 7; 38; 6; 37; 5; 36; 4; 35; 3; 34; 2; 33; 1; 32; 0]).
Definition joined (a b : Z) : Z := a mod 65536 + 65536 * b.

Lemma joined_words : forall los his, reg4 (map2 joined los his) = reg2 (concat (map2 (fun a b => [a; b]) los his)).
Proof.
  induction los as [|a los IH]; intros [|b his]; try reflexivity. cbn [map2 concat]. rewrite lanes_app, <- IH.
  change (reg4 (joined a b :: map2 joined los his)) with (bytes_of 4 (joined a b) ++ reg4 (map2 joined los his)). f_equal.
  change (reg2 [a; b]) with (bytes_of 2 a ++ bytes_of 2 b ++ []). rewrite app_nil_r, two_halves. reflexivity.
Qed.

Lemma zipped l1 l2 h1 h2 : length l1 = 16%nat -> length l2 = 16%nat -> length h1 = 16%nat -> length h2 = 16%nat ->
  ScanAvx512.permutex2var_epi16 (reg2 (l1 ++ l2)) zip_low (reg2 (h1 ++ h2)) = reg4 (map2 joined l1 h1) /\
  ScanAvx512.permutex2var_epi16 (reg2 (l1 ++ l2)) (ScanAvx512.add_epi16 zip_low (ScanAvx512.set1_epi16 16)) (reg2 (h1 ++ h2)) = reg4 (map2 joined l2 h2).
Proof.
  intros L1 L2 H1 H2.
  assert (E : forall index is ks, index = reg2 is -> map (fun i => Z.to_nat ((i mod span 2) mod 64)) is = ks ->
    ScanAvx512.permutex2var_epi16 (reg2 (l1 ++ l2)) index (reg2 (h1 ++ h2)) = reg2 (map (fun k => nth k (l1 ++ l2 ++ h1 ++ h2) 0) ks)).
  { intros index is ks -> K. change (ScanAvx512.permutex2var_epi16 (reg2 (l1 ++ l2)) (reg2 is) (reg2 (h1 ++ h2))) with
      (pick 2 (reg2 (l1 ++ l2) ++ reg2 (h1 ++ h2)) (reg2 is)).
    rewrite <- lanes_app, <- app_assoc. apply pick_words; [lia|rewrite !app_length; lia|].
    rewrite !app_length, L1, L2, H1, H2. exact K. }
  rewrite !joined_words.
  rewrite (E zip_low (flat_map (fun k => [Z.of_nat k; Z.of_nat k + 32]) (seq 0 16)) (flat_map (fun k => [k; k + 32]%nat) (seq 0 16)))
    by (vm_compute; reflexivity).
  rewrite (E (ScanAvx512.add_epi16 zip_low (ScanAvx512.set1_epi16 16)) (flat_map (fun k => [Z.of_nat k; Z.of_nat k + 32]) (seq 16 16))
    (flat_map (fun k => [k; k + 32]%nat) (seq 16 16))) by (vm_compute; reflexivity).
  clear E. in_lanes l1 L1. in_lanes l2 L2. in_lanes h1 H1. in_lanes h2 H2. split; reflexivity.
Qed.

(** All lanes become the last one; each becomes the one before. *)
Lemma last_in_all xs : length xs = 32%nat ->
  ScanAvx512.permutexvar_epi16 (ScanAvx512.set1_epi16 (ScanAvx512.LANES - 1)) (reg2 xs) = reg2 (repeat (last xs 0) 32).
Proof.
  intros L. rewrite set1_is. change (ScanAvx512.permutexvar_epi16 (reg2 (repeat (ScanAvx512.LANES - 1) 32)) (reg2 xs)) with
    (pick 2 (reg2 xs) (reg2 (repeat (ScanAvx512.LANES - 1) 32))).
  rewrite (pick_words 2 xs _ (repeat 31 32)%nat) by (lia || (rewrite L; vm_compute; reflexivity)).
  f_equal. in_32_lanes xs L. reflexivity.
Qed.

Notation lane_before := (ScanAvx512.set_epi16
  [30; 29; 28; 27; 26; 25; 24; 23; 22; 21; 20; 19; 18; 17; 16; 15; 14; 13; 12; 11; 10; 9; 8; 7; 6; 5; 4; 3; 2; 1; 0; 0]).
Lemma lane_before_is xs p : length xs = 32%nat ->
  Table.intrinsic "_mm512_mask_permutexvar_epi16" [ScanAvx512.set1_epi16 p; ScanAvx512.mask (4294967295 - 1); lane_before; reg2 xs] =
  reg2 (p :: firstn 31 xs).
Proof.
  intros L. rewrite set1_is.
  change (ScanAvx512.mask (4294967295 - 1)) with (bytes_of 4 (number_of_bits (false :: repeat true 31))).
  assert (E : lane_before = reg2 (0 :: map Z.of_nat (seq 0 31))) by (vm_compute; reflexivity). rewrite E.
  match goal with |- Table.intrinsic _ [?a; ?k; ?i; ?b] = _ =>
    change (Table.intrinsic "_mm512_mask_permutexvar_epi16" [a; k; i; b]) with (masked 2 a k (pick 2 b i)) end.
  rewrite (pick_words 2 xs _ (0 :: seq 0 31)%nat) by (lia || (rewrite L; vm_compute; reflexivity)).
  rewrite masked_words by reflexivity. f_equal. in_32_lanes xs L. reflexivity.
Qed.

(** Prefix sums of 32 lanes. *)
Lemma prefix_sums_are_512 xs : length xs = 32%nat -> ScanAvx512.prefix_sums (reg2 xs) = reg2 (sums_from 0 xs).
Proof.
  intros L.
  assert (S : forall n l, length l = 32%nat -> (n = 1 \/ n = 2 \/ n = 4)%nat -> shift_bytes_left (2 * n) (reg2 l) =
    reg2 (repeat 0 n ++ firstn (8 - n) l ++ repeat 0 n ++ firstn (8 - n) (skipn 8 l) ++
          repeat 0 n ++ firstn (8 - n) (skipn 16 l) ++ repeat 0 n ++ firstn (8 - n) (skipn 24 l))).
  { intros n l Ll [->|[->| ->]]; in_32_lanes l Ll; reflexivity. }
  assert (T : forall l, length l = 32%nat -> shuffle_bytes (reg2 l) (ScanAvx512.set1_epi16 0x0f0e) =
    reg2 (repeat (nth 7 l 0) 8 ++ repeat (nth 15 l 0) 8 ++ repeat (nth 23 l 0) 8 ++ repeat (nth 31 l 0) 8)).
  { intros l Ll. in_32_lanes l Ll. reflexivity. }
  assert (U : forall a b c d, align 8 6 (reg2 (repeat a 8 ++ repeat b 8 ++ repeat c 8 ++ repeat d 8)) ScanAvx512.setzero =
      reg2 (repeat 0 8 ++ repeat a 8 ++ repeat b 8 ++ repeat c 8) /\
    align 8 4 (reg2 (repeat a 8 ++ repeat b 8 ++ repeat c 8 ++ repeat d 8)) ScanAvx512.setzero =
      reg2 (repeat 0 8 ++ repeat 0 8 ++ repeat a 8 ++ repeat b 8) /\
    align 8 2 (reg2 (repeat a 8 ++ repeat b 8 ++ repeat c 8 ++ repeat d 8)) ScanAvx512.setzero =
      reg2 (repeat 0 8 ++ repeat 0 8 ++ repeat 0 8 ++ repeat a 8)).
  { intros a b c d. repeat split; reflexivity. }
  in_32_lanes xs L.
  match goal with |- ScanAvx512.prefix_sums (reg2 ?l) = _ => set (v := l) end.
  unfold ScanAvx512.prefix_sums. cbv zeta.
  repeat match goal with
  | |- context [Table.intrinsic "_mm512_bslli_epi128 2" [?a]] => change (Table.intrinsic "_mm512_bslli_epi128 2" [a]) with (shift_bytes_left (2 * 1) a)
  | |- context [Table.intrinsic "_mm512_bslli_epi128 4" [?a]] => change (Table.intrinsic "_mm512_bslli_epi128 4" [a]) with (shift_bytes_left (2 * 2) a)
  | |- context [Table.intrinsic "_mm512_bslli_epi128 8" [?a]] => change (Table.intrinsic "_mm512_bslli_epi128 8" [a]) with (shift_bytes_left (2 * 4) a)
  | |- context [Table.intrinsic "_mm512_shuffle_epi8" [?a; ?b]] => change (Table.intrinsic "_mm512_shuffle_epi8" [a; b]) with (shuffle_bytes a b)
  | |- context [Table.intrinsic "_mm512_alignr_epi64 6" [?a; ?b]] => change (Table.intrinsic "_mm512_alignr_epi64 6" [a; b]) with (align 8 6 a b)
  | |- context [Table.intrinsic "_mm512_alignr_epi64 4" [?a; ?b]] => change (Table.intrinsic "_mm512_alignr_epi64 4" [a; b]) with (align 8 4 a b)
  | |- context [Table.intrinsic "_mm512_alignr_epi64 2" [?a; ?b]] => change (Table.intrinsic "_mm512_alignr_epi64 2" [a; b]) with (align 8 2 a b)
  | |- context [ScanAvx512.add_epi16 ?a ?b] => change (ScanAvx512.add_epi16 a b) with (add 2 a b)
  end.
  unfold v. clear v. rewrite (S 1%nat) by auto. rewrite add_words. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite (S 2%nat) by auto. rewrite add_words. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite (S 4%nat) by auto. rewrite add_words. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite T by reflexivity. cbn [nth].
  repeat match goal with |- context [align 8 6 (reg2 (repeat ?a 8 ++ repeat ?b 8 ++ repeat ?c 8 ++ repeat ?d 8)) _] =>
    destruct (U a b c d) as (U6 & U4 & U2); rewrite U6, U4, U2; clear U6 U4 U2 end.
  rewrite !add_words. cbn [repeat app map2 sums_from].
  f_equal. repeat (apply f_equal2; [ring|]). reflexivity.
Qed.

(** ** The bits of one register and another, by a third *)
Lemma ternary_216 a b c : length a = length b -> length b = length c -> ternary 216 a b c = or (andnot c a) (and b c).
Proof.
  intros L M. unfold ternary, or, andnot, and, bitwise. cbv zeta.
  rewrite !(bits_of_register (length a)) by (rewrite ProgramFacts.map2_length, !bits_length; lia). f_equal.
  generalize (bits a) (bits b) (bits c). intros l. induction l as [|x l IH]; intros [|y m] [|z n]; cbn [map2]; auto. rewrite IH. f_equal. now destruct x, y, z.
Qed.

(** ** The greatest lane; sums *)
Lemma most_of_halves a b : Forall word16 a -> length a = length b -> most (a ++ b) = most (map2 Z.max a b).
Proof. intros V L. rewrite most_app, most_of_two by assumption. reflexivity. Qed.

Lemma max_of_lanes_is_512 xs : length xs = 32%nat -> Forall word16 xs -> ScanAvx512.max_of_lanes (reg2 xs) = most xs.
Proof.
  intros L V.
  assert (E : exists a b, xs = a ++ b /\ length a = 16%nat /\ length b = 16%nat).
  { exists (firstn 16 xs), (skipn 16 xs). rewrite firstn_skipn, firstn_length, skipn_length. split; [reflexivity|lia]. }
  destruct E as (a & b & -> & La & Lb). apply Forall_app in V as [Va Vb].
  rewrite most_of_halves by (assumption || lia).
  pose proof (lower_half 2 a b) as Lo. pose proof (upper_half 2 a b) as Up. rewrite La in Lo, Up.
  specialize (Up ltac:(lia) Lb). change (16 * 2)%nat with 32%nat in Lo, Up.
  assert (M : Table.intrinsic "_mm256_max_epu16" [Table.intrinsic "_mm512_castsi512_si256" [reg2 (a ++ b)];
    Table.intrinsic "_mm512_extracti64x4_epi64 1" [reg2 (a ++ b)]] = reg2 (map2 Z.max a b)).
  { change (max_unsigned 2 (firstn 32 (reg2 (a ++ b))) (extract 32 1 (reg2 (a ++ b))) = reg2 (map2 Z.max a b)).
    rewrite Lo, Up. now apply max_words. }
  unfold ScanAvx512.max_of_lanes. cbv zeta. rewrite M.
  pose proof (max_word16 a b Va Vb) as Vm. assert (Lm : length (map2 Z.max a b) = 16%nat) by (rewrite ProgramFacts.map2_length; lia).
  revert Vm Lm. generalize (map2 Z.max a b). clear. intros xs V L.
  pose proof (max_of_lanes_is xs L V) as H. unfold ScanAvx2.max_of_lanes in H. cbv zeta in H. rewrite <- H.
  set (n := Lanes.number _). assert (B : word16 n).
  { pose proof (fewest_complements xs V) as [_ W]. unfold word16 in *.
    assert (N : n = n mod 65536 \/ n < 0 \/ 65536 <= n) by (destruct (Z.lt_ge_cases n 0), (Z.lt_ge_cases n 65536); auto; left; symmetry; apply Z.mod_small; lia).
    rewrite <- H in W. fold n in W. clear - W.
    assert (Hi : Z.shiftr n 16 = 0).
    { assert (X : Z.shiftr (Z.lxor 65535 n) 16 = 0) by (rewrite Z.shiftr_div_pow2 by lia; apply Z.div_small; exact W).
      rewrite Z.shiftr_lxor in X. change (Z.shiftr 65535 16) with 0 in X. now rewrite Z.lxor_0_l in X. }
    rewrite Z.shiftr_div_pow2 in Hi by lia. change (2 ^ 16) with 65536 in Hi. Z.div_mod_to_equations. lia. }
  symmetry. now apply lxor_65535.
Qed.

(** Sums of two neighbours, signed; and of all lanes, in 32 bits. *)
Lemma madd_is_512 xs : Forall word16 xs -> length xs = 32%nat ->
  exists ys, multiply_add (reg2 xs) (ScanAvx512.set1_epi16 1) = reg4 ys /\ length ys = 16%nat /\ sum ys = sum (map (signed 2) xs).
Proof.
  intros V L. change (ScanAvx512.set1_epi16 1) with (spread 32 (bytes_of 2 1)). exists (pair_sums (map (signed 2) xs)). split; [|split].
  - unfold multiply_add. rewrite (constant_lanes 2 xs 32) by exact L. rewrite <- (map_id xs) at 1. rewrite !lanes_reg by lia.
    rewrite map2_maps. f_equal. f_equal. apply map_ext_in. intros x I. rewrite Forall_forall in V. specialize (V x I). unfold word16 in V.
    rewrite (Z.mod_small x) by exact V. change (signed 2 (1 mod span 2)) with 1. lia.
  - in_32_lanes xs L. reflexivity.
  - clear V. in_32_lanes xs L. unfold sum. cbn [map pair_sums fold_right]. ring.
Qed.

Lemma reduce_add_is xs : Lanes.number (Table.intrinsic "_mm512_reduce_add_epi32" [reg4 xs]) = sum xs mod 4294967296.
Proof.
  change (Table.intrinsic "_mm512_reduce_add_epi32" [reg4 xs]) with (reduce_add 4 (reg4 xs)). unfold reduce_add.
  rewrite lanes_of_register, number_bytes_of by lia. change (span 4) with 4294967296.
  unfold sum. induction xs as [|x xs IH]; [reflexivity|]. cbn [map fold_right]. rewrite Zplus_mod, IH, Zmod_mod. symmetry. apply Zplus_mod.
Qed.
