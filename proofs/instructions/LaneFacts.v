(* SPDX-License-Identifier: PostgreSQL *)
(** * Registers of lanes that are given as numbers: what instructions make of them, lane by lane

    Bits, sums and comparisons; halves of a register, and lanes that change places. *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Compare Permute Facts ProgramFacts.

Lemma map2_app {A B C} (f : A -> B -> C) : forall l m l' m', length l = length m ->
  map2 f (l ++ l') (m ++ m') = map2 f l m ++ map2 f l' m'.
Proof.
  induction l as [|x l IH]; intros [|y m] l' m' L; try discriminate; [reflexivity|]. cbn [app map2]. injection L as L.
  now rewrite IH.
Qed.

Lemma map2_maps {A B C D} (f : A -> B) (g : A -> C) (h : B -> C -> D) l :
  map2 h (map f l) (map g l) = map (fun x => h (f x) (g x)) l.
Proof. induction l as [|x l IH]; cbn [map map2]; [|rewrite IH]; reflexivity. Qed.

Lemma lanes_length w xs : length (register_of w xs) = (length xs * w)%nat.
Proof.
  unfold register_of. rewrite (concat_length w), map_length; [reflexivity|].
  apply Forall_map, Forall_forall. intros x _. apply bytes_of_length.
Qed.

Lemma lanes_pieces w xs : (0 < w)%nat -> pieces w (register_of w xs) = map (bytes_of w) xs.
Proof. intros W. apply pieces_concat; [exact W|]. apply Forall_map, Forall_forall. intros x _. apply bytes_of_length. Qed.

Lemma lanes_app w xs ys : register_of w (xs ++ ys) = register_of w xs ++ register_of w ys.
Proof. unfold register_of. now rewrite map_app, concat_app. Qed.

(** ** A lane is cut to its width *)

Lemma bytes_of_mod w x : bytes_of w (x mod span w) = bytes_of w x.
Proof.
  pose proof (bytes_of_number (bytes_of w x) (bytes_of_bytes w x)) as H. now rewrite bytes_of_length, number_bytes_of in H.
Qed.

Lemma register_of_mod w xs : register_of w (map (fun x => x mod span w) xs) = register_of w xs.
Proof. unfold register_of. rewrite map_map. f_equal. apply map_ext. intros x. apply bytes_of_mod. Qed.

(** ** Bits *)

Lemma byte_again b : is_byte b -> number_of_bits (bits_of b) = b.
Proof.
  intros B. assert (H : forallb (fun n => number_of_bits (bits_of (Z.of_nat n)) =? Z.of_nat n) (seq 0 256) = true) by reflexivity.
  rewrite forallb_forall in H. specialize (H (Z.to_nat b)). rewrite Z2Nat.id in H by apply B. apply Z.eqb_eq, H, in_seq.
  unfold is_byte in B. lia.
Qed.

Lemma bits_again r : Forall is_byte r -> register_of_bits (bits r) = r.
Proof.
  intros B. unfold register_of_bits, bits. rewrite pieces_concat; [|lia|now apply Forall_map, Forall_forall].
  rewrite map_map. transitivity (map (fun x => x) r); [|apply map_id]. apply map_ext_in. intros b I. apply byte_again.
  rewrite Forall_forall in B. auto.
Qed.

Lemma bits_length r : length (bits r) = (length r * 8)%nat.
Proof. unfold bits. rewrite (concat_length 8), map_length; [reflexivity|]. now apply Forall_map, Forall_forall. Qed.

Definition bit (x : Z) (i : nat) : bool := Z.testbit x (Z.of_nat i).

Lemma bits_of_byte x : bits_of (x mod 256) = map (bit x) (seq 0 8).
Proof.
  unfold bits_of. change 256 with (2 ^ 8). cbn [map]. rewrite !Z.mod_pow2_bits_low by reflexivity. reflexivity.
Qed.

Lemma seq_from n : forall k, seq k n = map (fun i => (i + k)%nat) (seq 0 n).
Proof.
  induction n as [|n IH]; intros k; [reflexivity|]. cbn [seq map Nat.add]. f_equal. rewrite (IH (S k)), <- (seq_shift n 0), map_map.
  apply map_ext. intros i. lia.
Qed.

Lemma bits_of_lane w : forall x, bits (bytes_of w x) = map (bit x) (seq 0 (8 * w)).
Proof.
  induction w as [|w IH]; intros x; [reflexivity|].
  change (bits (bytes_of (S w) x)) with (bits_of (x mod 256) ++ bits (bytes_of w (x / 256))).
  rewrite bits_of_byte, IH. replace (8 * S w)%nat with (8 + 8 * w)%nat by lia. rewrite seq_app, map_app. f_equal.
  rewrite (seq_from _ (0 + 8)), map_map. apply map_ext. intros i. unfold bit. change 256 with (2 ^ 8).
  rewrite Z.div_pow2_bits by lia. f_equal. lia.
Qed.

Lemma lane_of_bits w x : register_of_bits (map (bit x) (seq 0 (8 * w))) = bytes_of w x.
Proof. rewrite <- bits_of_lane. apply bits_again, bytes_of_bytes. Qed.

(* A register's bytes do not mix. *)
Lemma bitwise_bytes f : forall a b, length a = length b ->
  bitwise f a b = map2 (fun x y => number_of_bits (map2 f (bits_of x) (bits_of y))) a b.
Proof.
  intros a b L. unfold bitwise, register_of_bits.
  assert (E : map2 f (bits a) (bits b) = concat (map2 (fun x y => map2 f (bits_of x) (bits_of y)) a b)).
  { revert b L. unfold bits. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. injection L as L.
    cbn [map concat map2]. rewrite map2_app by reflexivity. now rewrite IH. }
  rewrite E, pieces_concat; [|lia|].
  - clear. revert b. induction a as [|x a IH]; intros [|y b]; cbn [map2 map]; [| | |rewrite IH]; reflexivity.
  - clear. revert b. induction a as [|x a IH]; intros [|y b]; cbn [map2]; constructor; [reflexivity|apply IH].
Qed.

Lemma bitwise_app f a a' b b' : length a = length b -> length a' = length b' ->
  bitwise f (a ++ a') (b ++ b') = bitwise f a b ++ bitwise f a' b'.
Proof.
  intros L L'. rewrite (bitwise_bytes f a b L), (bitwise_bytes f a' b' L'), bitwise_bytes by (rewrite !app_length; lia).
  now apply map2_app.
Qed.

Lemma bitwise_lanes f g w : (forall x y i, 0 <= i -> f (Z.testbit x i) (Z.testbit y i) = Z.testbit (g x y) i) ->
  forall xs ys, length xs = length ys -> bitwise f (register_of w xs) (register_of w ys) = register_of w (map2 g xs ys).
Proof.
  intros G. induction xs as [|x xs IH]; intros [|y ys] L; try discriminate; [reflexivity|]. injection L as L.
  change (register_of w (x :: xs)) with (bytes_of w x ++ register_of w xs).
  change (register_of w (y :: ys)) with (bytes_of w y ++ register_of w ys).
  change (register_of w (map2 g (x :: xs) (y :: ys))) with (bytes_of w (g x y) ++ register_of w (map2 g xs ys)).
  rewrite bitwise_app by (rewrite ?bytes_of_length, ?lanes_length; congruence). rewrite IH by exact L. f_equal.
  unfold bitwise. rewrite !bits_of_lane, map2_maps, <- lane_of_bits. f_equal. apply map_ext. intros i. apply G. lia.
Qed.

(** Exclusive or, bit by bit, is that of the lanes' numbers. *)
Theorem xor_of_lanes w xs ys : length xs = length ys ->
  xor (register_of w xs) (register_of w ys) = register_of w (map2 Z.lxor xs ys).
Proof. intros L. apply (bitwise_lanes xorb Z.lxor); [|exact L]. intros x y i _. symmetry. apply Z.lxor_spec. Qed.

(** And, bit by bit, is that of the lanes' numbers. *)
Theorem and_of_lanes w xs ys : length xs = length ys ->
  and (register_of w xs) (register_of w ys) = register_of w (map2 Z.land xs ys).
Proof. intros L. apply (bitwise_lanes andb Z.land); [|exact L]. intros x y i _. symmetry. apply Z.land_spec. Qed.

(* A lane of ones chooses a number, and a lane of zeros chooses 0. *)
Lemma and_chooses w l xs : length l = length xs ->
  and (as_lanes w l) (register_of w xs) = register_of w (map2 (fun (t : bool) x => if t then x else 0) l xs).
Proof.
  intros L. unfold as_lanes. rewrite and_of_lanes by now rewrite map_length. f_equal. clear L. revert xs.
  induction l as [|t l IH]; intros [|x xs]; cbn [map map2]; auto. rewrite IH. f_equal.
  destruct t; [exact (Z.land_m1_l x)|exact (Z.land_0_l x)].
Qed.

(** The table 150 of a ternary operation is the exclusive or of all three. *)
Theorem ternary_150 a b c : length a = length b -> ternary 150 a b c = xor (xor a b) c.
Proof.
  intros L. unfold ternary, xor, bitwise. cbv zeta.
  rewrite (bits_of_register (length a)) by (rewrite map2_length, !bits_length; lia). f_equal.
  generalize (bits a) (bits b) (bits c). intros l. induction l as [|x l IH]; intros [|y m] [|z n]; cbn [map2]; auto. rewrite IH. f_equal. now destruct x, y, z.
Qed.

Lemma span_is w : span w = 2 ^ Z.of_nat (8 * w).
Proof.
  induction w as [|w IH]; [reflexivity|]. replace (8 * S w)%nat with (8 + 8 * w)%nat by lia. cbn [span].
  rewrite IH, (Nat2Z.inj_add 8), Z.pow_add_r by lia. reflexivity.
Qed.

Lemma bits_above w x i : 0 <= x < span w -> (8 * w <= i)%nat -> bit x i = false.
Proof.
  intros X I. unfold bit. rewrite <- (Z.mod_small x (span w) X), span_is. apply Z.mod_pow2_bits_high. lia.
Qed.

(** A shift to the right is that of the lanes' numbers. *)
Theorem shift_right_of_lanes w n xs : (0 < w)%nat -> (n <= 8 * w)%nat -> Forall (fun x => 0 <= x < span w) xs ->
  shift_right w n (register_of w xs) = register_of w (map (fun x => Z.shiftr x (Z.of_nat n)) xs).
Proof.
  intros W N V. unfold shift_right, per_lane. rewrite lanes_pieces, map_map by exact W. unfold register_of.
  rewrite map_map. f_equal. apply map_ext_in. intros x I. cbv beta. rewrite Forall_forall in V. specialize (V x I). clear I.
  rewrite bits_of_lane, <- lane_of_bits. f_equal. rewrite map_length, seq_length.
  assert (R : map (bit (Z.shiftr x (Z.of_nat n))) (seq 0 (8 * w)) = map (bit x) (seq n (8 * w))).
  { rewrite (seq_from _ n), map_map. apply map_ext. intros i. unfold bit. rewrite Z.shiftr_spec by lia. f_equal. lia. }
  assert (F : firstn n (repeat false (8 * w)) = repeat false n).
  { replace (8 * w)%nat with (n + (8 * w - n))%nat by lia.
    rewrite repeat_app, firstn_app, repeat_length, Nat.sub_diag, firstn_all2 by (rewrite repeat_length; lia). apply app_nil_r. }
  rewrite R, F. clear R F. destruct (Nat.le_exists_sub n (8 * w) N) as (k & E & _). rewrite E.
  rewrite (seq_app k n n), map_app. rewrite (Nat.add_comm k n), (seq_app n k 0), map_app, skipn_app, skipn_all2
    by (rewrite map_length, seq_length; lia).
  rewrite map_length, seq_length, Nat.sub_diag. cbn [skipn app Nat.add]. f_equal.
  transitivity (map (fun _ => false) (seq (n + k) n)).
  - generalize (n + k)%nat as j. clear. induction n as [|n IH]; intros j; cbn [repeat seq map]; [|rewrite <- IH]; reflexivity.
  - apply map_ext_in. intros i I. apply in_seq in I. symmetry. apply (bits_above w); [exact V|lia].
Qed.

(** ** Halves, and lanes that change places *)

Lemma lower_half w xs ys : firstn (length xs * w) (register_of w (xs ++ ys)) = register_of w xs.
Proof.
  rewrite lanes_app, <- (lanes_length w xs), firstn_app, Nat.sub_diag, firstn_all. cbn [firstn]. apply app_nil_r.
Qed.

Lemma upper_half w xs ys : (0 < length xs * w)%nat -> length ys = length xs ->
  extract (length xs * w) 1 (register_of w (xs ++ ys)) = register_of w ys.
Proof.
  intros P L. unfold extract. rewrite lanes_app, <- (app_nil_r (register_of w ys)) at 1.
  change (register_of w xs ++ register_of w ys ++ []) with (concat [register_of w xs; register_of w ys]).
  rewrite pieces_concat; [reflexivity|exact P|]. repeat constructor; rewrite lanes_length; congruence.
Qed.

Lemma words_firstn : forall n xs, firstn (4 * n) (register_of 4 xs) = register_of 4 (firstn n xs).
Proof.
  induction n as [|n IH]; intros [|x xs]; try reflexivity.
  replace (4 * S n)%nat with (length (bytes_of 4 x) + 4 * n)%nat by (rewrite bytes_of_length; lia).
  change (register_of 4 (x :: xs)) with (bytes_of 4 x ++ register_of 4 xs). rewrite firstn_app_2, IH. reflexivity.
Qed.

Lemma words_skipn : forall n xs, skipn (4 * n) (register_of 4 xs) = register_of 4 (skipn n xs).
Proof.
  induction n as [|n IH]; intros [|x xs]; try reflexivity.
  replace (4 * S n)%nat with (length (bytes_of 4 x) + 4 * n)%nat by (rewrite bytes_of_length; lia).
  change (register_of 4 (x :: xs)) with (bytes_of 4 x ++ register_of 4 xs). rewrite skipn_app, skipn_all2 by lia.
  replace (length (bytes_of 4 x) + 4 * n - length (bytes_of 4 x))%nat with (4 * n)%nat by lia. cbn [app skipn]. apply IH.
Qed.

(** The halves of a register of four words change places, and then the words of each half do. *)
Theorem shuffles_of_four a b c d :
  shuffle 78 (register_of 4 [a; b; c; d]) = register_of 4 [c; d; a; b] /\
  shuffle 177 (register_of 4 [a; b; c; d]) = register_of 4 [b; a; d; c].
Proof. split; reflexivity. Qed.

Lemma first_of_four a b c d : extract 4 0 (register_of 4 [a; b; c; d]) = bytes_of 4 a.
Proof. reflexivity. Qed.

(** ** Numbers in lanes *)

Lemma max_of_words xs ys : Forall (fun x => 0 <= x < span 4) xs -> Forall (fun x => 0 <= x < span 4) ys ->
  max_unsigned 4 (register_of 4 xs) (register_of 4 ys) = register_of 4 (map2 Z.max xs ys).
Proof. intros X Y. unfold max_unsigned, lanewise. now rewrite !lanes_of_words. Qed.

Lemma sub_of_words xs ys : Forall (fun x => 0 <= x < span 4) xs -> Forall (fun x => 0 <= x < span 4) ys ->
  sub 4 (register_of 4 xs) (register_of 4 ys) = register_of 4 (map2 Z.sub xs ys).
Proof. intros X Y. unfold sub, lanewise. now rewrite !lanes_of_words. Qed.

Lemma mullo_of_words xs ys : Forall (fun x => 0 <= x < span 4) xs -> Forall (fun x => 0 <= x < span 4) ys ->
  mullo 4 (register_of 4 xs) (register_of 4 ys) = register_of 4 (map2 Z.mul xs ys).
Proof. intros X Y. unfold mullo, lanewise. now rewrite !lanes_of_words. Qed.

Lemma equal_of_words xs ys : Forall (fun x => 0 <= x < span 4) xs -> Forall (fun x => 0 <= x < span 4) ys ->
  compare_equal 4 (register_of 4 xs) (register_of 4 ys) = as_lanes 4 (map2 Z.eqb xs ys).
Proof. intros X Y. unfold compare_equal, compared. now rewrite !lanes_of_words. Qed.
