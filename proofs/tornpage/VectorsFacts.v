(* SPDX-License-Identifier: PostgreSQL *)
(** * The SIMD checksums are PostgreSQL's *)
From Coq Require Import Permutation.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Permute Facts ProgramFacts LaneFacts.
From Pgquern.tornpage Require Import Checksum ChecksumFacts Vectors.

Notation reg := (register_of 4).

Lemma same_map2 f : forall a b, Lanes.map2 f a b = map2 f a b.
Proof. induction a as [|x a IH]; intros [|y b]; cbn [Lanes.map2 map2]; [| | |rewrite IH]; reflexivity. Qed.

(** ** A round *)

Lemma next_word m w : is_word m -> is_word w -> is_word (next m w).
Proof.
  intros M W. unfold next. apply lxor_word; [|apply lxor_word; [|exact W]].
  - unfold is_word. apply Z.mod_pos_bound. reflexivity.
  - unfold is_word, WORD in *. rewrite Z.shiftr_div_pow2 by lia. split; [apply Z.div_pos; lia|].
    apply Z.div_lt_upper_bound; lia.
Qed.

Lemma words_of_two f : (forall x y, is_word x -> is_word y -> is_word (f x y)) ->
  forall a b, Forall is_word a -> Forall is_word b -> Forall is_word (map2 f a b).
Proof.
  intros F. induction a as [|x a IH]; intros [|y b] A B; cbn [map2]; constructor; inversion A; inversion B; subst; auto.
Qed.

Lemma products n ms : length ms = n -> Forall is_word ms ->
  mullo 4 (reg ms) (spread n (bytes_of 4 PRIME)) = reg (map (fun m => (m * PRIME) mod WORD) ms).
Proof.
  intros L V. assert (P : Forall is_word (repeat PRIME n)).
  { apply Forall_forall. intros x X. apply repeat_spec in X. subst x. split; easy. }
  rewrite spread_words, mullo_of_words by assumption. rewrite map2_repeat by exact L.
  rewrite <- (register_of_mod 4 (map (fun m => m * PRIME) ms)), map_map. reflexivity.
Qed.

Lemma shifted ms : Forall is_word ms -> shift_right 4 17 (reg ms) = reg (map (fun m => Z.shiftr m 17) ms).
Proof. intros V. apply (shift_right_of_lanes 4 17); [lia|lia|exact V]. Qed.

Lemma round_by_two_xors n ms ws : length ms = n -> length ws = n -> Forall is_word ms ->
  xor (mullo 4 (reg ms) (spread n (bytes_of 4 PRIME))) (xor (shift_right 4 17 (reg ms)) (reg ws)) = reg (map2 next ms ws).
Proof.
  intros L L' V. rewrite products, shifted by assumption.
  rewrite !xor_of_lanes by (rewrite ?ProgramFacts.map2_length, ?map_length; lia). f_equal. clear.
  revert ws. induction ms as [|m ms IH]; intros [|w ws]; cbn [map Lanes.map2 map2]; [| | |rewrite IH]; reflexivity.
Qed.

(** A round of the AVX2 checksum, as the intrinsics that the C code calls, is the round of eight chains. *)
Theorem avx2_round_is_its_instructions : forall ms ws, length ms = 8%nat -> length ws = 8%nat -> Forall is_word ms ->
  avx2_next (reg ms) (reg ws) (prime_of avx2) = reg (map2 next ms ws).
Proof. exact (round_by_two_xors 8). Qed.

(** The same of the NEON checksum, and of four chains. *)
Theorem neon_round_is_its_instructions : forall ms ws, length ms = 4%nat -> length ws = 4%nat -> Forall is_word ms ->
  neon_next (reg ms) (reg ws) (prime_of neon) = reg (map2 next ms ws).
Proof. exact (round_by_two_xors 4). Qed.

(** The same of the AVX-512 checksum, and of sixteen chains. *)
Theorem avx512_round_is_its_instructions : forall ms ws, length ms = 16%nat -> length ws = 16%nat -> Forall is_word ms ->
  avx512_next (reg ms) (reg ws) (prime_of avx512) = reg (map2 next ms ws).
Proof.
  intros ms ws L L' V.
  change (avx512_next (reg ms) (reg ws) (prime_of avx512)) with
    (ternary 150 (mullo 4 (reg ms) (spread 16 (bytes_of 4 PRIME))) (shift_right 4 17 (reg ms)) (reg ws)).
  rewrite products, shifted by assumption. rewrite ternary_150 by (rewrite !lanes_length, !map_length; reflexivity).
  rewrite !xor_of_lanes by (rewrite ?ProgramFacts.map2_length, ?map_length; lia). f_equal. clear.
  revert ws. induction ms as [|m ms IH]; intros [|w ws]; cbn [map Lanes.map2 map2]; [| | |rewrite IH, Z.lxor_assoc];
    reflexivity.
Qed.

(** ** The exclusive or of all lanes *)

Lemma lxor_swap a b c d : Z.lxor (Z.lxor a b) (Z.lxor c d) = Z.lxor (Z.lxor a c) (Z.lxor b d).
Proof. rewrite !Z.lxor_assoc. f_equal. rewrite <- !Z.lxor_assoc. f_equal. apply Z.lxor_comm. Qed.

Lemma fold_xor_of_two : forall a b, length a = length b ->
  fold_xor (map2 Z.lxor a b) = Z.lxor (fold_xor a) (fold_xor b).
Proof.
  unfold fold_xor. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. injection L as L.
  cbn [map2 fold_right]. rewrite IH by exact L. apply lxor_swap.
Qed.

Lemma fold_xor_app a b : fold_xor (a ++ b) = Z.lxor (fold_xor a) (fold_xor b).
Proof.
  unfold fold_xor. induction a as [|x a IH]; cbn [app fold_right]; [now rewrite Z.lxor_0_l|]. now rewrite IH, Z.lxor_assoc.
Qed.

Lemma fold_xor_word l : Forall is_word l -> is_word (fold_xor l).
Proof.
  induction 1 as [|x l X V IH]; [split; easy|]. change (fold_xor (x :: l)) with (Z.lxor x (fold_xor l)). now apply lxor_word.
Qed.

Lemma xor_words xs ys : length xs = length ys -> xor (reg xs) (reg ys) = reg (map2 Z.lxor xs ys).
Proof. intros L. rewrite xor_of_lanes by exact L. now rewrite same_map2. Qed.

Lemma fold_eight_is g : length g = 8%nat -> Forall is_word g -> number (fold_eight (reg g)) = fold_xor g.
Proof.
  intros L V. destruct (split_at g 4) as (lo & hi & -> & Ll); [lia|]. rewrite app_length in L.
  assert (Lh : length hi = 4%nat) by lia.
  pose proof (lower_half 4 lo hi) as Lo. pose proof (upper_half 4 lo hi) as Up. rewrite Ll in Lo, Up.
  specialize (Up ltac:(lia) Lh). change (4 * 4)%nat with 16%nat in Lo, Up.
  change (fold_eight (reg (lo ++ hi))) with
    (let y := xor (firstn 16 (reg (lo ++ hi))) (extract 16 1 (reg (lo ++ hi))) in
     let y := xor y (shuffle 78 y) in let y := xor y (shuffle 177 y) in extract 4 0 y).
  rewrite Lo, Up, xor_words by congruence.
  assert (W : is_word (fold_xor (lo ++ hi))) by now apply fold_xor_word.
  assert (E : fold_xor (lo ++ hi) = fold_xor (map2 Z.lxor lo hi)).
  { rewrite fold_xor_app. symmetry. apply fold_xor_of_two. congruence. }
  rewrite E in W |- *. clear E.
  assert (Ly : length (map2 Z.lxor lo hi) = 4%nat) by (rewrite map2_length; congruence).
  revert W Ly. generalize (map2 Z.lxor lo hi). intros y W Ly.
  destruct y as [|a [|b [|c [|d [|]]]]]; try discriminate. cbv zeta.
  rewrite (proj1 (shuffles_of_four a b c d)), xor_words by reflexivity. cbn [map2].
  rewrite (proj2 (shuffles_of_four _ _ _ _)), xor_words by reflexivity. cbn [map2].
  rewrite first_of_four, number_bytes_of.
  assert (E : Z.lxor (Z.lxor a c) (Z.lxor b d) = fold_xor [a; b; c; d]).
  { unfold fold_xor. cbn [fold_right]. rewrite Z.lxor_0_r, lxor_swap. now rewrite Z.lxor_assoc. }
  rewrite E. apply Z.mod_small. exact W.
Qed.

Lemma avx2_fold_is ls : length ls = 4%nat -> Forall (fun l => length l = 8%nat /\ Forall is_word l) ls ->
  number (avx2_fold (map reg ls)) = fold_xor (concat ls).
Proof.
  intros L F. destruct ls as [|p [|q [|r [|s [|]]]]]; try discriminate.
  rewrite !Forall_cons_iff in F. destruct F as ((Lp & Vp) & (Lq & Vq) & (Lr & Vr) & (Ls & Vs) & _).
  change (avx2_fold (map reg [p; q; r; s])) with (fold_eight (xor (xor (reg p) (reg q)) (xor (reg r) (reg s)))).
  rewrite (xor_words p q), (xor_words r s) by congruence. rewrite xor_words by (rewrite !map2_length; congruence).
  rewrite fold_eight_is.
  - rewrite !fold_xor_of_two by (rewrite ?map2_length; congruence). cbn [concat]. rewrite app_nil_r, !fold_xor_app.
    apply Z.lxor_assoc.
  - rewrite !map2_length; rewrite ?map2_length; congruence.
  - auto 6 using words_of_two, lxor_word.
Qed.

Lemma avx512_fold_is ls : length ls = 2%nat -> Forall (fun l => length l = 16%nat /\ Forall is_word l) ls ->
  number (avx512_fold (map reg ls)) = fold_xor (concat ls).
Proof.
  intros L F. destruct ls as [|p [|q [|]]]; try discriminate.
  rewrite !Forall_cons_iff in F. destruct F as ((Lp & Vp) & (Lq & Vq) & _).
  change (avx512_fold (map reg [p; q])) with
    (fold_eight (xor (firstn 32 (xor (reg p) (reg q))) (extract 32 1 (xor (reg p) (reg q))))).
  rewrite (xor_words p q) by congruence. cbn [concat]. rewrite app_nil_r, fold_xor_app, <- fold_xor_of_two by congruence.
  assert (V : Forall is_word (map2 Z.lxor p q)) by auto using words_of_two, lxor_word.
  assert (Lx : length (map2 Z.lxor p q) = 16%nat) by (rewrite map2_length; congruence).
  destruct (split_at (map2 Z.lxor p q) 8) as (lo & hi & E & Ll); [lia|]. rewrite E in V, Lx |- *. rewrite app_length in Lx.
  assert (Lh : length hi = 8%nat) by lia. apply Forall_app in V as [V1 V2].
  pose proof (lower_half 4 lo hi) as Lo. pose proof (upper_half 4 lo hi) as Up. rewrite Ll in Lo, Up.
  specialize (Up ltac:(lia) Lh). change (8 * 4)%nat with 32%nat in Lo, Up. rewrite Lo, Up, xor_words by congruence.
  rewrite fold_eight_is.
  - rewrite fold_xor_app. apply fold_xor_of_two. congruence.
  - rewrite map2_length; congruence.
  - auto using words_of_two, lxor_word.
Qed.

(* The registers of a page, one by one into the first. *)
Lemma fold_registers_is n ls : Forall (fun l => length l = n /\ Forall is_word l) ls ->
  forall a, length a = n -> Forall is_word a -> exists y,
  fold_left xor (map reg ls) (reg a) = reg y /\ length y = n /\ Forall is_word y /\
  fold_xor y = Z.lxor (fold_xor a) (fold_xor (concat ls)).
Proof.
  induction 1 as [|l ls [L V] _ IH]; intros a La Va; cbn [map fold_left concat].
  - exists a. change (fold_xor []) with 0. rewrite Z.lxor_0_r. auto.
  - rewrite xor_words by congruence. rewrite fold_xor_app, <- Z.lxor_assoc, <- fold_xor_of_two by congruence.
    apply IH; [rewrite map2_length; congruence|auto using words_of_two, lxor_word].
Qed.

Lemma number_app a b : number (a ++ b) = number a + span (length a) * number b.
Proof. induction a as [|x a IH]; cbn [app number length span]; [now destruct (number b)|]. rewrite IH. lia. Qed.

(* A word below another one. *)
Lemma word_below x y : is_word x -> x + WORD * y = Z.lxor x (Z.shiftl y 32).
Proof.
  intros X. rewrite Z.mul_comm. change WORD with (2 ^ 32). rewrite <- Z.shiftl_mul_pow2 by lia. apply Z.add_nocarry_lxor.
  apply Z.bits_inj'. intros i I. rewrite Z.land_spec, Z.bits_0, Z.shiftl_spec by exact I.
  destruct (Z.ltb_spec i 32) as [S|S].
  - rewrite (Z.testbit_neg_r y) by lia. apply Bool.andb_false_r.
  - rewrite <- (Z.mod_small x (2 ^ 32)) by exact X. now rewrite Z.mod_pow2_bits_high by lia.
Qed.

Lemma halves_are a b c d : Forall is_word [a; b; c; d] ->
  let half := Z.lxor (number (extract 8 0 (reg [a; b; c; d]))) (number (extract 8 1 (reg [a; b; c; d]))) in
  number (bytes_of 4 (Z.lxor half (Z.shiftr half 32))) = fold_xor [a; b; c; d].
Proof.
  intros V. rewrite !Forall_cons_iff in V. destruct V as (A & B & C & D & _).
  change (extract 8 0 (reg [a; b; c; d])) with (bytes_of 4 a ++ bytes_of 4 b).
  change (extract 8 1 (reg [a; b; c; d])) with (bytes_of 4 c ++ bytes_of 4 d). cbv zeta.
  rewrite !number_app, !bytes_of_length, !number_bytes_of. change (span 4) with WORD.
  rewrite !(Z.mod_small a), !(Z.mod_small b), !(Z.mod_small c), !(Z.mod_small d) by assumption.
  rewrite (word_below a), (word_below c), lxor_swap, <- Z.shiftl_lxor by assumption.
  pose proof (lxor_word a c A C) as Lo. pose proof (lxor_word b d B D) as Hi.
  rewrite Z.shiftr_lxor, Z.shiftr_shiftl_l, Z.sub_diag, Z.shiftl_0_r by lia.
  rewrite (Z.shiftr_div_pow2 (Z.lxor a c)), (Z.div_small _ (2 ^ 32)), Z.lxor_0_l by (exact Lo || lia).
  rewrite Z.lxor_assoc, (Z.lxor_comm (Z.shiftl _ _)), <- Z.lxor_assoc.
  rewrite <- word_below by now apply lxor_word. rewrite Z.mul_comm, Z.mod_add by easy.
  rewrite Z.mod_small by now apply lxor_word. rewrite lxor_swap. unfold fold_xor. cbn [fold_right].
  now rewrite Z.lxor_0_r, Z.lxor_assoc.
Qed.

Lemma neon_fold_is ls : length ls = 8%nat -> Forall (fun l => length l = 4%nat /\ Forall is_word l) ls ->
  number (neon_fold (map reg ls)) = fold_xor (concat ls).
Proof.
  intros L F. destruct ls as [|a ls]; [discriminate|]. inversion_clear F as [|? ? [La Va] F'].
  destruct (fold_registers_is 4 ls F' a La Va) as (y & E & Ly & Vy & X). cbn [concat]. rewrite fold_xor_app, <- X.
  change (neon_fold (map reg (a :: ls))) with
    (let all := fold_left xor (map reg ls) (reg a) in
     let half := Z.lxor (number (extract 8 0 all)) (number (extract 8 1 all)) in
     bytes_of 4 (Z.lxor half (Z.shiftr half 32))).
  rewrite E. destruct y as [|p [|q [|r [|s [|]]]]]; try discriminate. now apply halves_are.
Qed.

(** ** A page *)

Lemma skipn_twice {A} a b : forall l : list A, skipn (a + b) l = skipn b (skipn a l).
Proof.
  induction a as [|a IH]; intros [|x l]; cbn [skipn Nat.add]; auto. now rewrite skipn_nil.
Qed.

Definition slice (n r : nat) (l : list Z) : list Z := firstn n (skipn (n * r) l).

Lemma slices_are n : forall k l, map (fun r => slice n r l) (seq 0 k) = pieces_of k n l.
Proof.
  induction k as [|k IH]; intros l; [reflexivity|]. cbn [seq map pieces_of].
  assert (Z0 : slice n 0 l = firstn n l) by (unfold slice; now rewrite Nat.mul_0_r). rewrite Z0. f_equal.
  rewrite <- IH, <- seq_shift, map_map. apply map_ext. intros r. unfold slice. rewrite <- skipn_twice. do 2 f_equal. rewrite Nat.mul_succ_r. lia.
Qed.

Lemma firstn_of_two f : forall n a b, firstn n (map2 f a b) = map2 f (firstn n a) (firstn n b).
Proof. induction n as [|n IH]; intros [|x a] [|y b]; cbn [firstn map2]; [..|rewrite IH]; reflexivity. Qed.

Lemma skipn_of_two f : forall n a b, length a = length b -> skipn n (map2 f a b) = map2 f (skipn n a) (skipn n b).
Proof.
  induction n as [|n IH]; intros [|x a] [|y b] L; try discriminate; try reflexivity.
  injection L as L. cbn [skipn map2]. now apply IH.
Qed.

Lemma slice_of_two f n r a b : length a = length b -> slice n r (map2 f a b) = map2 f (slice n r a) (slice n r b).
Proof. intros L. unfold slice. now rewrite skipn_of_two, firstn_of_two by exact L. Qed.

Lemma slice_words n r l : Forall is_word l -> Forall is_word (slice n r l).
Proof.
  intros V. unfold slice. rewrite <- (firstn_skipn (n * r) l) in V. apply Forall_app in V as [_ V].
  rewrite <- (firstn_skipn n (skipn (n * r) l)) in V. now apply Forall_app in V as [V _].
Qed.

Lemma slice_length n r l : (n * r + n <= length l)%nat -> length (slice n r l) = n.
Proof. intros L. unfold slice. rewrite firstn_length, skipn_length. lia. Qed.

Lemma slice_of_zeros n r k : (n * r + n <= k)%nat -> slice n r (repeat 0 k) = repeat 0 n.
Proof.
  intros L. unfold slice. replace k with (n * r + (n + (k - n * r - n)))%nat by lia.
  rewrite repeat_app, skipn_app, repeat_length, Nat.sub_diag, skipn_all2 by (rewrite repeat_length; lia). cbn [skipn app].
  rewrite repeat_app, firstn_app, repeat_length, Nat.sub_diag, firstn_all2 by (rewrite repeat_length; lia). apply app_nil_r.
Qed.

Lemma beside_checksum w : is_word w -> Z.land w BESIDE_CHECKSUM = w - w mod 65536.
Proof.
  intros W. replace (w - w mod 65536) with (Z.ldiff w (Z.ones 16)).
  - apply Z.bits_inj'. intros i I. rewrite Z.land_spec, Z.ldiff_spec.
    change BESIDE_CHECKSUM with (Z.shiftl (Z.ones 16) 16). rewrite Z.shiftl_spec by lia.
    destruct (Z.ltb_spec i 16) as [S|S].
    + rewrite (Z.testbit_neg_r _ (i - 16)), Z.ones_spec_low by lia. cbn [negb]. now rewrite !Bool.andb_false_r.
    + rewrite (Z.ones_spec_high 16 i) by lia. cbn [negb]. rewrite Bool.andb_true_r.
      destruct (Z.ltb_spec i 32) as [H|H].
      * rewrite Z.ones_spec_low by lia. apply Bool.andb_true_r.
      * rewrite <- (Z.mod_small w (2 ^ 32)) by exact W. rewrite Z.mod_pow2_bits_high by lia. reflexivity.
  - rewrite Z.ldiff_ones_r, Z.shiftl_mul_pow2, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536.
    rewrite (Z.mod_eq w 65536) by easy. lia.
Qed.

(* What is asked of the instructions of a kernel that takes [n] words at once. *)
Record fits (f : form) (n : nat) : Prop := Fits {
  is_wide : size f = (4 * n)%nat;
  some_lanes : (3 <= n)%nat;
  in_a_row : (n * (128 / size f) = 32)%nat;
  rounds : forall ms ws, length ms = n -> length ws = n -> Forall is_word ms ->
    next_of f (reg ms) (reg ws) (prime_of f) = reg (map2 next ms ws);
  masks : beside f = reg (-1 :: -1 :: BESIDE_CHECKSUM :: repeat (-1) (n - 3));
  folds : forall ls, length ls = (128 / size f)%nat -> Forall (fun l => length l = n /\ Forall is_word l) ls ->
    number (fold_of f (map reg ls)) = fold_xor (concat ls) }.

Lemma avx2_fits : fits avx2 8.
Proof.
  constructor; [reflexivity|lia|reflexivity|exact avx2_round_is_its_instructions|reflexivity|exact avx2_fold_is].
Qed.

Lemma avx512_fits : fits avx512 16.
Proof.
  constructor; [reflexivity|lia|reflexivity|exact avx512_round_is_its_instructions|vm_compute; reflexivity|
    exact avx512_fold_is].
Qed.

Lemma neon_fits : fits neon 4.
Proof.
  constructor; [reflexivity|lia|reflexivity|exact neon_round_is_its_instructions|reflexivity|exact neon_fold_is].
Qed.

Section page.
  Context (f : form) (n : nat) (F : fits f n).
  Let fits_row (row : list Z) : Prop := length row = 32%nat /\ Forall is_word row.

  Lemma words_at_is row r : words_at f (reg row) r = reg (slice n r row).
  Proof. unfold words_at, slice. now rewrite (is_wide _ _ F), <- Nat.mul_assoc, words_skipn, words_firstn. Qed.

  Lemma next_row m row : fits_row m -> fits_row row -> fits_row (map2 next m row).
  Proof.
    intros [L V] [L' V']. split; [rewrite map2_length; congruence|]. apply words_of_two; auto using next_word.
  Qed.

  Lemma rounds_are r rows : (n * r + n <= 32)%nat -> forall m, fits_row m -> Forall fits_row rows ->
    fold_left (fun mixed words => next_of f mixed words (prime_of f)) (map (fun row => reg (slice n r row)) rows)
      (reg (slice n r m)) = reg (slice n r (fold_left (map2 next) rows m)).
  Proof.
    intros R. induction rows as [|row rows IH]; intros m M Rs; [reflexivity|]. inversion Rs as [|? ? H Rs']; subst.
    cbn [map fold_left]. rewrite (rounds _ _ F) by (try apply slice_words; try apply slice_length; destruct M, H; auto; lia).
    rewrite <- slice_of_two by (destruct M, H; congruence). apply IH; auto using next_row.
  Qed.

  Lemma first_row_is first r : fits_row first ->
    (if Nat.eqb r 0 then and (words_at f (reg first) r) (beside f) else words_at f (reg first) r) =
    reg (slice n r (without_checksum first)).
  Proof.
    intros [L V]. destruct first as [|a [|b [|w l]]]; try discriminate. cbn [without_checksum].
    rewrite words_at_is. unfold slice. pose proof (some_lanes _ _ F) as N. destruct r as [|r]; cbn [Nat.eqb].
    - rewrite Nat.mul_0_r, (masks _ _ F). cbn [skipn].
      assert (K : exists k, n = S (S (S k))) by (exists (n - 3)%nat; lia). destruct K as (k & K). rewrite K. cbn [firstn].
      replace (S (S (S k)) - 3)%nat with k by lia.
      assert (Lk : length (firstn k l) = k).
      { rewrite firstn_length. cbn [length] in L. pose proof (in_a_row _ _ F) as P. rewrite K in P.
        destruct (128 / size f)%nat; nia. }
      rewrite and_of_lanes by (cbn [length]; now rewrite Lk, repeat_length). cbn [Lanes.map2].
      rewrite !Z.land_m1_r, map2_repeat by exact Lk. rewrite beside_checksum by (rewrite !Forall_cons_iff in V; tauto).
      do 4 f_equal. transitivity (map (fun x => x) (firstn k l)); [|apply map_id]. apply map_ext. intros x. apply Z.land_m1_r.
    - destruct (n * S r)%nat as [|[|[|k]]] eqn:K; [nia..|]. reflexivity.
  Qed.

  Lemma without_checksum_fits first : fits_row first -> fits_row (without_checksum first).
  Proof.
    intros [L V]. destruct first as [|a [|b [|w l]]]; try discriminate. cbn [without_checksum]. split; [exact L|].
    rewrite !Forall_cons_iff in *. destruct V as (A & B & W & V). split; [exact A|]. split; [exact B|]. split; [|exact V].
    unfold is_word in *. pose proof (Z.mod_pos_bound w 65536 ltac:(reflexivity)).
    pose proof (Z.mod_le w 65536 ltac:(lia) ltac:(lia)). lia.
  Qed.

  Lemma bases_fit : fits_row base_offsets.
  Proof. split; [reflexivity|]. unfold base_offsets. repeat constructor; easy. Qed.

  Lemma rows_stay rows : forall m, Forall fits_row rows -> fits_row m -> fits_row (fold_left (map2 next) rows m).
  Proof.
    induction rows as [|row rows IH]; intros m Rs M; [exact M|]. inversion Rs; subst. cbn [fold_left].
    apply IH; auto using next_row.
  Qed.

  Let zero : list Z := repeat 0 32.

  Lemma fold_page_is first rest : fits_row first -> Forall fits_row rest ->
    fold_page f (map reg (first :: rest)) =
    fold_xor (fold_left (map2 next) (rest ++ [zero; zero; zero]) (map2 Z.lxor base_offsets (without_checksum first))).
  Proof.
    intros H Rs. pose proof (without_checksum_fits first H) as H'. pose proof bases_fit as B.
    set (m := map2 Z.lxor base_offsets (without_checksum first)).
    assert (M : fits_row m).
    { destruct B, H'. split; [unfold m; rewrite map2_length; congruence|]. unfold m. auto using words_of_two, lxor_word. }
    assert (Z0 : fits_row zero).
    { split; [reflexivity|]. apply Forall_forall. intros x X. apply repeat_spec in X. subst x. split; easy. }
    assert (Rs' : Forall fits_row (rest ++ [zero; zero; zero])) by (apply Forall_app; split; auto).
    set (k := (128 / size f)%nat). pose proof (in_a_row _ _ F) as P. fold k in P.
    set (sums := fold_left (map2 next) (rest ++ [zero; zero; zero]) m).
    assert (S : fits_row sums) by now apply rows_stay.
    cbn [map fold_page]. fold k.
    assert (E : map (mixed f (reg first) (map reg rest)) (seq 0 k) = map reg (pieces_of k n sums)).
    { rewrite <- slices_are, map_map. apply map_ext_in. intros r I. apply in_seq in I.
      assert (R : (n * r + n <= 32)%nat) by nia. unfold mixed. cbv zeta. rewrite first_row_is by exact H.
      rewrite words_at_is, xor_words, <- slice_of_two by
        (try (rewrite !slice_length); destruct B as [B1 _], H' as [H1 _]; congruence || lia).
      fold m. rewrite map_map, (map_ext _ (fun row => reg (slice n r row))) by (intros row; apply words_at_is).
      unfold sums. rewrite <- rounds_are by assumption. f_equal. rewrite map_app. f_equal. cbn [map repeat].
      unfold zero. rewrite slice_of_zeros by exact R. rewrite words_zeros, <- (is_wide _ _ F). reflexivity. }
    rewrite E, (folds _ _ F).
    - f_equal. apply concat_pieces_of. destruct S as [S _]. rewrite S. nia.
    - apply pieces_of_count.
    - destruct S as [S V]. rewrite <- slices_are. apply Forall_map, Forall_forall. intros r I. apply in_seq in I.
      split; [apply slice_length; rewrite S; nia|now apply slice_words].
  Qed.

  (* Row by row is column by column, in the order in which the lanes lie. *)
  Lemma rows_by_columns first rest : fits_row first -> Forall fits_row rest ->
    fold_left (map2 next) (rest ++ [zero; zero; zero]) (map2 Z.lxor base_offsets first) =
    map (fun k => chain next (nth k base_offsets 0) (column (first :: rest) k)) (seq 0 (length base_offsets)).
  Proof.
    intros [L V] Rs. set (m := map2 Z.lxor base_offsets first).
    assert (Lm : length m = length base_offsets) by (apply map2_length; now rewrite L).
    assert (A : Forall (fun row => length row = length m) (rest ++ [zero; zero; zero])).
    { rewrite Lm. apply Forall_app. split; [|repeat constructor]. revert Rs. apply Forall_impl. intros row [R _]. exact R. }
    rewrite (list_by_nth (fold_left (map2 next) (rest ++ [zero; zero; zero]) m)), rows_length, Lm by exact A. apply map_ext_in. intros k K. apply in_seq in K.
    rewrite rows_are_columns by (trivial; lia). unfold m. rewrite map2_nth; [|lia|now rewrite L].
    unfold chain, column. cbn [map]. f_equal. rewrite map_app. cbn [map]. unfold zero. now rewrite nth_repeat.
  Qed.

  Lemma rows_fit : forall k words, length words = (32 * k)%nat -> Forall is_word words ->
    Forall fits_row (in_rows k words).
  Proof.
    induction k as [|k IH]; intros words L V; [constructor|]. cbn [in_rows]. change (length base_offsets) with 32%nat.
    rewrite <- (firstn_skipn 32 words) in V. apply Forall_app in V as [V1 V2]. constructor.
    - split; [rewrite firstn_length; lia|exact V1].
    - apply IH; [rewrite skipn_length; lia|exact V2].
  Qed.

  Lemma page_is_rows : forall k words, pieces_of k 128 (reg words) = map reg (in_rows k words).
  Proof.
    induction k as [|k IH]; intros words; [reflexivity|]. cbn [pieces_of in_rows map].
    change (length base_offsets) with 32%nat. change 128%nat with (4 * 32)%nat. rewrite words_firstn, words_skipn. f_equal.
    apply IH.
  Qed.

  Lemma first_row_without_checksum words :
    firstn 32 (without_checksum words) = without_checksum (firstn 32 words) /\
    skipn 32 (without_checksum words) = skipn 32 words.
  Proof. destruct words as [|a [|b [|w words]]]; split; reflexivity. Qed.

  Lemma page_runs words block rows : length words = (32 * S rows)%nat -> Forall is_word words ->
    vector_checksum f (reg words) block = page_checksum words block.
  Proof.
    intros L V. pose proof (rows_fit (S rows) words L V) as Rs. cbn [in_rows] in Rs. inversion Rs as [|? ? H Rs']; subst.
    change (length base_offsets) with 32%nat in *.
    unfold vector_checksum, page_checksum, pieces. rewrite words_length, L.
    replace (4 * (32 * S rows))%nat with (S rows * 128)%nat by lia. rewrite Nat.div_mul by lia.
    change (length base_offsets) with 32%nat. rewrite (Nat.mul_comm 32), Nat.div_mul by lia.
    rewrite page_is_rows. cbn [in_rows]. change (length base_offsets) with 32%nat.
    destruct (first_row_without_checksum words) as [-> ->].
    set (first := firstn 32 words) in *. set (others := in_rows rows (skipn 32 words)) in *.
    rewrite fold_page_is by assumption.
    pose proof (without_checksum_fits first H) as H'. rewrite rows_by_columns by assumption.
    refine (kernel_is_checksum base_offsets (without_checksum first :: others) block (seq 0 (length base_offsets)) _ _
      (Permutation_refl _)); [discriminate|].
    constructor; [apply H'|]. revert Rs'. apply Forall_impl. intros row [R _]. exact R.
  Qed.
End page.

(** The AVX2, the AVX-512 and the NEON checksum of the bytes of a page, as the instructions that the C code gives them,
    register by register, with the lanes in the order of memory, are PostgreSQL's. *)
Theorem vector_checksums_are_postgresqls : forall words block rows, length words = (32 * S rows)%nat ->
  Forall is_word words ->
  vector_checksum avx2 (reg words) block = page_checksum words block /\
  vector_checksum avx512 (reg words) block = page_checksum words block /\
  vector_checksum neon (reg words) block = page_checksum words block.
Proof.
  intros words block rows L V. split; [|split].
  - now apply (page_runs avx2 8 avx2_fits _ _ rows).
  - now apply (page_runs avx512 16 avx512_fits _ _ rows).
  - now apply (page_runs neon 4 neon_fits _ _ rows).
Qed.
