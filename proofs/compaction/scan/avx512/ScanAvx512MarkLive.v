(* SPDX-License-Identifier: PostgreSQL *)
(** * [prefix_xor] and [mark_live] of avx512vbmi2.c: a unit's bit is the parity of the toggles up to it *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Shift Masked Compare Permute Facts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx512Lanes.
From Pgquern.compaction Require Scan ScanAvx512Squeeze.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Notation reg8 := (register_of 8).

(** ** Parities *)

(** Of the [n] bits of [z] from bit [k] downwards; below bit 0 there are none. *)
Fixpoint parity_down (z : Z) (n : nat) (k : Z) : bool :=
  match n with O => false | S n => xorb (parity_down z n k) (Z.testbit z (k - Z.of_nat n)) end.

(** Of the first [n] values of [f]. *)
Fixpoint parity (f : nat -> bool) (n : nat) : bool := match n with O => false | S n => xorb (parity f n) (f n) end.

Lemma parity_same f g n : (forall i, (i < n)%nat -> f i = g i) -> parity f n = parity g n.
Proof. induction n as [|n IH]; intros E; [reflexivity|]. cbn [parity]. now rewrite IH, E by auto. Qed.

Lemma parity_add f n n' : parity f (n + n') = xorb (parity f n) (parity (fun i => f (n + i)%nat) n').
Proof.
  induction n' as [|n' IH]; [now rewrite Nat.add_0_r, xorb_false_r|]. rewrite Nat.add_succ_r. cbn [parity]. now rewrite IH, xorb_assoc.
Qed.

Lemma down_add z n n' k : parity_down z (n + n') k = xorb (parity_down z n k) (parity_down z n' (k - Z.of_nat n)).
Proof.
  induction n' as [|n' IH]; [now rewrite Nat.add_0_r, xorb_false_r|]. rewrite Nat.add_succ_r. cbn [parity_down].
  rewrite IH, xorb_assoc. do 3 f_equal. lia.
Qed.

Lemma down_below z n k : k < 0 -> parity_down z n k = false.
Proof. intros K. induction n as [|n IH]; [reflexivity|]. cbn [parity_down]. now rewrite IH, Z.testbit_neg_r by lia. Qed.

Lemma down_all z n k : (k < n)%nat -> parity_down z n (Z.of_nat k) = parity (bit z) (S k).
Proof.
  intros K. replace n with (S k + (n - S k))%nat by lia. rewrite down_add, (down_below _ (n - S k)), xorb_false_r by lia. clear K.
  induction k as [|k IH]; [reflexivity|]. change (S (S k)) with (1 + S k)%nat at 1. rewrite down_add.
  replace (Z.of_nat (S k) - Z.of_nat 1) with (Z.of_nat k) by lia. rewrite IH. cbn [parity_down]. rewrite xorb_false_l.
  replace (Z.of_nat (S k) - Z.of_nat 0) with (Z.of_nat (S k)) by lia. rewrite xorb_comm. reflexivity.
Qed.

(** XOR with the same, [n] bits higher, takes twice as many bits together. *)
Definition fold_up (n : Z) (z : Z) : Z := Z.lxor z (Z.shiftl z n).

Lemma folded y z n : (forall k, Z.testbit y k = parity_down z n k) -> forall k, Z.testbit (fold_up (Z.of_nat n) y) k = parity_down z (n + n) k.
Proof.
  intros E k. unfold fold_up. rewrite Z.lxor_spec, down_add, <- !E. f_equal. destruct (Z.lt_ge_cases k 0) as [K|K].
  - rewrite !Z.testbit_neg_r by lia. reflexivity.
  - apply Z.shiftl_spec. lia.
Qed.

Lemma one_bit z k : Z.testbit z k = parity_down z 1 k.
Proof. cbn [parity_down]. rewrite xorb_false_l. f_equal. lia. Qed.

(** ** [prefix_xor] *)
Definition all_folds (z : Z) : Z := fold_up 32 (fold_up 16 (fold_up 8 (fold_up 4 (fold_up 2 (fold_up 1 z))))).

Lemma all_folds_spec z k : Z.testbit (all_folds z) k = parity_down z 64 k.
Proof.
  unfold all_folds. apply (folded _ z 32). apply (folded _ z 16). apply (folded _ z 8). apply (folded _ z 4). apply (folded _ z 2).
  apply (folded _ z 1). intros j. apply one_bit.
Qed.

Lemma prefix_xor_folds xs : ScanAvx512Squeeze.prefix_xor (reg8 xs) = reg8 (map all_folds xs).
Proof.
  assert (Step : forall n shift xs, (n <= 64)%nat -> (forall v, Table.intrinsic shift [v] = shift_left 8 n v) ->
    ScanAvx512Squeeze.xor_shifted (reg8 xs) shift = reg8 (map (fold_up (Z.of_nat n)) xs)).
  { clear xs. intros n shift xs N E. unfold ScanAvx512Squeeze.xor_shifted. rewrite E. pose proof (shift_left_lanes 8 ltac:(lia) xs n (fun x => x) ltac:(lia)) as S.
    pose proof (xor_lanes 8 xs (fun x => x) (fun x => Z.shiftl x (Z.of_nat n))) as X. rewrite map_id in S, X. rewrite S. exact X. }
  unfold ScanAvx512Squeeze.prefix_xor, fold_left.
  rewrite (Step 1%nat), (Step 2%nat), (Step 4%nat), (Step 8%nat), (Step 16%nat), (Step 32%nat) by (lia || reflexivity). now rewrite !map_map.
Qed.

(** [prefix_xor] makes of each bit of a lane of 64 the parity of the bits of that lane up to it. *)
Theorem prefix_xor_is : forall xs, exists ys, ScanAvx512Squeeze.prefix_xor (reg8 xs) = reg8 ys /\ length ys = length xs /\
  forall n k, (n < length xs)%nat -> (k < 64)%nat -> bit (nth n ys 0) k = parity (bit (nth n xs 0)) (S k).
Proof.
  intros xs. exists (map all_folds xs). split; [apply prefix_xor_folds|]. split; [apply map_length|]. intros n k N K.
  rewrite (nth_indep _ 0 (all_folds 0)) by now rewrite map_length. rewrite map_nth. unfold bit at 1. rewrite all_folds_spec. now apply down_all.
Qed.

(** ** Toggles as words of 64, and the signs of these *)
Section Toggles.
  Variable toggles : nat -> Z.
  Hypothesis flags : forall j, toggles j = 0 \/ toggles j = 1.

  Definition set (j : nat) : bool := negb (toggles j =? 0).
  Definition word (i : nat) : Z := number_of_bits (map set (seq (64 * i) 64)).

  Lemma word_bit i k : (k < 64)%nat -> bit (word i) k = set (64 * i + k).
  Proof.
    intros K. unfold bit, word. rewrite testbit_mask. rewrite (nth_indep _ false (set 0)) by now rewrite map_length, seq_length.
    rewrite map_nth, seq_nth by exact K. reflexivity.
  Qed.

  Lemma bytes_are_lanes l : Forall (fun x => 0 <= x < 256) l -> register_of 1 l = l.
  Proof.
    induction 1 as [|x l X F IH]; [reflexivity|]. change (register_of 1 (x :: l)) with (x mod 256 :: register_of 1 l). rewrite IH, Z.mod_small by exact X. reflexivity.
  Qed.

  Lemma toggle_word_is i : ScanAvx512Squeeze.toggle_word toggles i = bytes_of 8 (word i).
  Proof.
    unfold ScanAvx512Squeeze.toggle_word. cbv zeta. set (t := map toggles (seq (64 * i) 64)).
    change (Table.intrinsic "_mm512_test_epi8_mask" [t; t]) with (mask_test 1 t t). unfold mask_test.
    assert (R : t = register_of 1 t).
    { symmetry. apply bytes_are_lanes. apply Forall_map, Forall_forall. intros j _. destruct (flags j) as [-> | ->]; lia. }
    rewrite R. unfold t. rewrite (and_lanes 1), (lanes_reg 1 ltac:(lia)), map_map.
    rewrite <- (lane_of_bits 8 (word i)). f_equal. change (8 * 8)%nat with 64%nat. rewrite (seq_from 64 (64 * i)), map_map. apply map_ext_in. intros k K.
    apply in_seq in K. rewrite word_bit by lia. unfold set. rewrite Z.land_diag, (Nat.add_comm k). destruct (flags (64 * i + k)) as [-> | ->]; reflexivity.
  Qed.

  Lemma toggle_words_are i : ScanAvx512Squeeze.toggle_words toggles i = reg8 (map word (seq i 8)).
  Proof. unfold ScanAvx512Squeeze.toggle_words, register_of. rewrite map_map. f_equal. apply map_ext. intros k. apply toggle_word_is. Qed.
End Toggles.

Lemma byte_top b : 0 <= b < 256 -> (128 <=? b) = Z.testbit b 7.
Proof.
  intros M. rewrite Z.testbit_eqb by lia. change (2 ^ 7) with 128.
  destruct (Z.leb_spec 128 b), (Z.eqb_spec (b / 128 mod 2) 1); try reflexivity; exfalso; Z.div_mod_to_equations; lia.
Qed.

Lemma sign_of_lane x : (128 <=? last (bytes_of 8 x) 0) = bit x 63.
Proof.
  change (bytes_of 8 x) with (firstn 7 (bytes_of 8 x) ++ [x / 256 / 256 / 256 / 256 / 256 / 256 / 256 mod 256]).
  rewrite last_last. replace (x / 256 / 256 / 256 / 256 / 256 / 256 / 256) with (x / 2 ^ 56) by (rewrite !Z.div_div by lia; reflexivity).
  rewrite byte_top by (apply Z.mod_pos_bound; reflexivity). change 256 with (2 ^ 8). rewrite Z.mod_pow2_bits_low, Z.div_pow2_bits by lia. reflexivity.
Qed.

Lemma movepi64_is (f : nat -> Z) i : ScanAvx512Squeeze.movepi64_mask (reg8 (map f (seq i 8))) = number_of_bits (map (fun k => bit (f k) 63) (seq i 8)).
Proof.
  unfold ScanAvx512Squeeze.movepi64_mask. set (v := reg8 _). change (Table.intrinsic "_mm512_movepi64_mask" [v]) with (signs 8 v). unfold signs, v.
  rewrite (pieces_reg 8 ltac:(lia)), map_map. rewrite (number_register_of_bits 1) by now rewrite map_length, seq_length. f_equal. apply map_ext. intros k. apply sign_of_lane.
Qed.

Lemma invert_is odd (f : nat -> Z) i : ScanAvx512Squeeze.invert odd (reg8 (map f (seq i 8))) =
  reg8 (map (fun k => if bit odd (k - i) then Z.lxor (f k) (-1) else f k) (seq i 8)).
Proof.
  unfold ScanAvx512Squeeze.invert. set (v := reg8 _).
  change (Table.intrinsic "_mm512_mask_xor_epi64" [v; bytes_of 1 odd; v; Table.intrinsic "_mm512_set1_epi8" [bytes_of 1 (-1)]]) with
    (masked 8 v (bytes_of 1 odd) (Logic.xor v (spread 8 (bytes_of 8 (-1))))).
  rewrite (constant_lanes 8 (seq i 8) 8 (-1)) by apply seq_length. unfold v. rewrite (xor_lanes 8). unfold masked. rewrite !(pieces_reg 8) by lia.
  rewrite bits_of_lane. cbn [Nat.mul Nat.add seq map choose concat]. rewrite !Nat.sub_diag.
  repeat match goal with |- context [(?a - i)%nat] => let n := eval cbn in (a - i)%nat in fail 1 | _ => idtac end.
  unfold register_of. cbn [map concat].
  replace (S i - i)%nat with 1%nat by lia. replace (S (S i) - i)%nat with 2%nat by lia. replace (S (S (S i)) - i)%nat with 3%nat by lia.
  replace (S (S (S (S i))) - i)%nat with 4%nat by lia. replace (S (S (S (S (S i)))) - i)%nat with 5%nat by lia.
  replace (S (S (S (S (S (S i))))) - i)%nat with 6%nat by lia. replace (S (S (S (S (S (S (S i)))))) - i)%nat with 7%nat by lia.
  repeat f_equal; match goal with |- context [if ?b then _ else _] => now destruct b end.
Qed.

(** ** The bytes of a register, and their bits *)
Lemma bytes_bits w : forall x j b, (j < w)%nat -> (b < 8)%nat -> bit (nth j (bytes_of w x) 0) b = bit x (8 * j + b).
Proof.
  induction w as [|w IH]; intros x j b J B; [lia|]. cbn [bytes_of]. unfold bit in *. destruct j as [|j]; cbn [nth].
  - change 256 with (2 ^ 8). rewrite Z.mod_pow2_bits_low by lia. reflexivity.
  - rewrite IH by lia. change 256 with (2 ^ 8). rewrite Z.div_pow2_bits by lia. f_equal. lia.
Qed.

Lemma register_bits xs : forall k j b, (k < length xs)%nat -> (j < 8)%nat -> (b < 8)%nat ->
  bit (nth (8 * k + j) (reg8 xs) 0) b = bit (nth k xs 0) (8 * j + b).
Proof.
  induction xs as [|x xs IH]; intros k j b K J B; [cbn in K; lia|]. change (reg8 (x :: xs)) with (bytes_of 8 x ++ reg8 xs).
  destruct k as [|k].
  - rewrite app_nth1 by (rewrite bytes_of_length; lia). apply bytes_bits; lia.
  - rewrite app_nth2 by (rewrite bytes_of_length; lia). rewrite bytes_of_length. replace (8 * S k + j - 8)%nat with (8 * k + j)%nat by lia.
    apply IH; [cbn [length] in K; lia|exact J|exact B].
Qed.

(** ** [mark_live] *)
Lemma flags_toggled run_ends run_old_ends count : forall i above toggles, (forall j, toggles j = 0 \/ toggles j = 1) ->
  forall j, ScanAvx512Squeeze.toggle_runs run_ends run_old_ends i count above toggles j = 0 \/
            ScanAvx512Squeeze.toggle_runs run_ends run_old_ends i count above toggles j = 1.
Proof.
  assert (P : forall t k, (forall j : nat, t j = 0 \/ t j = 1) -> forall j, Scan.put t k 1 j = 0 \/ Scan.put t k 1 j = 1).
  { intros t k F j. unfold Scan.put. destruct (j =? k)%nat; auto. }
  induction count as [|count IH]; intros i above t F; cbn [ScanAvx512Squeeze.toggle_runs]; [now apply P|]. apply IH, P, P, F.
Qed.

Lemma inverted_spec odd k : (k <= 16)%nat -> bit (ScanAvx512Squeeze.inverted odd) k = parity (bit odd) k.
Proof.
  intros K. change (ScanAvx512Squeeze.inverted odd) with (Z.shiftl (fold_up 8 (fold_up 4 (fold_up 2 (fold_up 1 odd)))) 1).
  assert (O4 : forall k, Z.testbit (fold_up 8 (fold_up 4 (fold_up 2 (fold_up 1 odd)))) k = parity_down odd 16 k).
  { apply (folded _ odd 8). apply (folded _ odd 4). apply (folded _ odd 2). apply (folded _ odd 1). intros j. apply one_bit. }
  unfold bit at 1. rewrite Z.shiftl_spec, O4 by lia. destruct k as [|k]; [now rewrite down_below by lia|].
  replace (Z.of_nat (S k) - 1) with (Z.of_nat k) by lia. now rewrite down_all by lia.
Qed.

(** [mark_live] sets a unit's bit if the toggles up to that unit are odd in number. *)
Theorem mark_live_counts : forall run_ends run_old_ends ngaps u, (u < 1024)%nat ->
  bit (nth (u / 8) (ScanAvx512Squeeze.mark_live run_ends run_old_ends ngaps) 0) (u mod 8) =
  parity (set (ScanAvx512Squeeze.toggle_runs run_ends run_old_ends 0 ngaps (run_ends 0%nat) (fun _ => 0))) (S u).
Proof.
  intros re ro n u U. unfold ScanAvx512Squeeze.mark_live. cbv zeta.
  pose proof (flags_toggled re ro n 0 (re 0%nat) (fun _ => 0) (fun _ => or_introl eq_refl)) as F.
  set (toggles := ScanAvx512Squeeze.toggle_runs re ro 0 n (re 0%nat) (fun _ => 0)) in *. clearbody toggles.
  rewrite !(toggle_words_are _ F), !prefix_xor_folds, !map_map. set (P k := all_folds (word toggles k)).
  change (map (fun x => all_folds (word toggles x))) with (map P). rewrite !movepi64_is. set (top k := bit (P k) 63).
  change (map (fun k => bit (P k) 63)) with (map top).
  set (odd0 := Z.lor _ _). set (odd := ScanAvx512Squeeze.inverted odd0).
  assert (O0 : forall k, (k < 16)%nat -> bit odd0 k = top k).
  { intros k K. unfold odd0, bit. rewrite Z.lor_spec, Z.shiftl_spec, testbit_mask by lia. destruct (Nat.lt_ge_cases k 8) as [L|L].
    - rewrite (Z.testbit_neg_r _ (Z.of_nat k - 8)), orb_false_r by lia. rewrite (nth_indep _ false (top 0%nat)) by now rewrite map_length, seq_length.
      rewrite map_nth, seq_nth by exact L. reflexivity.
    - rewrite nth_overflow by (rewrite map_length, seq_length; exact L). replace (Z.of_nat k - 8) with (Z.of_nat (k - 8)) by lia. rewrite testbit_mask.
      rewrite (nth_indep _ false (top 0%nat)) by (rewrite map_length, seq_length; lia). rewrite map_nth, seq_nth by lia. cbn [orb]. f_equal. lia. }
  assert (O : forall k, (k <= 16)%nat -> bit odd k = parity (set toggles) (64 * k)).
  { intros k K. transitivity (parity top k).
    - unfold odd. rewrite inverted_spec by exact K. apply parity_same. intros i I. apply O0. lia.
    - clear K. induction k as [|k IH]; [reflexivity|]. replace (64 * S k)%nat with (64 * k + 64)%nat by lia. rewrite parity_add, <- IH. change (parity top (S k)) with (xorb (parity top k) (top k)). f_equal.
      unfold top, P, bit. rewrite all_folds_spec, down_all by lia. apply parity_same. intros i I. now rewrite word_bit by lia. }
  set (G k := if bit odd k then Z.lxor (P k) (-1) else P k).
  assert (Live : ScanAvx512Squeeze.invert odd (reg8 (map P (seq 0 8))) ++ ScanAvx512Squeeze.invert (Z.shiftr odd 8) (reg8 (map P (seq 8 8))) = reg8 (map G (seq 0 16))).
  { rewrite !invert_is. change (seq 0 16) with (seq 0 8 ++ seq 8 8). rewrite map_app, lanes_app. apply (f_equal2 (@app Z)); apply (f_equal (register_of 8)), map_ext_in; intros k K; apply in_seq in K; unfold G.
    - rewrite Nat.sub_0_r. reflexivity.
    - unfold bit at 1. rewrite Z.shiftr_spec by lia. replace (Z.of_nat (k - 8) + 8) with (Z.of_nat k) by lia. reflexivity. }
  rewrite Live. pose proof (Nat.div_mod u 64 ltac:(lia)) as Dm. pose proof (Nat.mod_upper_bound u 64 ltac:(lia)) as Mb.
  set (k := (u / 64)%nat) in *. set (b := (u mod 64)%nat) in *.
  assert (E1 : (u / 8 = 8 * k + b / 8)%nat) by (rewrite Dm; replace (64 * k + b)%nat with (b + (8 * k) * 8)%nat by lia; rewrite Nat.div_add by lia; lia).
  assert (E2 : (u mod 8 = b mod 8)%nat) by (rewrite Dm; replace (64 * k + b)%nat with (b + (8 * k) * 8)%nat by lia; apply Nat.mod_add; lia).
  assert (B8 : (b / 8 < 8)%nat) by (apply Nat.div_lt_upper_bound; lia).
  assert (K : (k < 16)%nat) by (apply Nat.div_lt_upper_bound; lia).
  rewrite E1, E2, register_bits by (rewrite ?map_length, ?seq_length; try apply Nat.mod_upper_bound; lia).
  rewrite (nth_indep _ 0 (G 0%nat)) by now rewrite map_length, seq_length. rewrite map_nth, seq_nth by exact K. cbn [Nat.add].
  rewrite <- Nat.div_mod by lia. unfold G. rewrite O by lia.
  assert (Pb : bit (P k) b = parity (fun c => set toggles (64 * k + c)) (S b)).
  { unfold P, bit. rewrite all_folds_spec, down_all by exact Mb. apply parity_same. intros c C. apply word_bit. lia. }
  rewrite Dm. replace (S (64 * k + b)) with (64 * k + S b)%nat by lia. rewrite parity_add, <- Pb. destruct (parity (set toggles) (64 * k)); [|now rewrite xorb_false_l].
  unfold bit. rewrite Z.lxor_spec, Z.bits_m1 by lia. apply xorb_comm.
Qed.
