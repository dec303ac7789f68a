(* SPDX-License-Identifier: PostgreSQL *)
(** * What the intrinsics and the helpers of neon.c make of registers *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts ProgramFacts
  LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx512Lanes.
From Pgquern.instructions Require Neon.
From Pgquern.compaction Require ScanNeon.

(** ** Lane by lane *)
Section Lanewise.
  Context {A : Type} (c : list A).
  Notation reg f := (reg2 (map f c)).

  Lemma dup_neon x : length c = 8%nat -> ScanNeon.vdupq_n_u16 x = reg (fun _ => x).
  Proof. intros L. change (ScanNeon.vdupq_n_u16 x) with (spread 8 (bytes_of 2 x)). now apply constant_lanes. Qed.
  Lemma add_neon f g : ScanNeon.vaddq_u16 (reg f) (reg g) = reg (fun x => f x + g x).
  Proof. change (ScanNeon.vaddq_u16 (reg f) (reg g)) with (add 2 (reg f) (reg g)). apply add_lanes, Nat.lt_0_2. Qed.
  Lemma sub_neon f g : ScanNeon.vsubq_u16 (reg f) (reg g) = reg (fun x => f x - g x).
  Proof. change (ScanNeon.vsubq_u16 (reg f) (reg g)) with (sub 2 (reg f) (reg g)). apply sub_lanes, Nat.lt_0_2. Qed.
  Lemma and_neon f g : ScanNeon.vandq_u16 (reg f) (reg g) = reg (fun x => Z.land (f x) (g x)).
  Proof. change (ScanNeon.vandq_u16 (reg f) (reg g)) with (Logic.and (reg f) (reg g)). apply and_lanes. Qed.
  Lemma or_neon f g : ScanNeon.vorrq_u16 (reg f) (reg g) = reg (fun x => Z.lor (f x) (g x)).
  Proof. change (ScanNeon.vorrq_u16 (reg f) (reg g)) with (Logic.or (reg f) (reg g)). apply or_lanes. Qed.
  Lemma orn_neon f g : ScanNeon.vornq_u16 (reg f) (reg g) = reg (fun x => Z.lor (f x) (Z.lnot (g x))).
  Proof.
    change (ScanNeon.vornq_u16 (reg f) (reg g)) with (bitwise (fun x y => x || negb y) (reg f) (reg g)).
    rewrite (bitwise_lanes _ (fun x y => Z.lor x (Z.lnot y))), map2_maps; [reflexivity| |now rewrite !map_length].
    intros x y i I. now rewrite Z.lor_spec, Z.lnot_spec.
  Qed.
  Lemma bsl_neon t f g : ScanNeon.vbslq_u16 (reg t) (reg f) (reg g) = reg (fun x => Z.lor (Z.land (t x) (f x)) (Z.ldiff (g x) (t x))).
  Proof.
    change (ScanNeon.vbslq_u16 (reg t) (reg f) (reg g)) with (Logic.or (Logic.and (reg t) (reg f)) (Logic.andnot (reg t) (reg g))).
    now rewrite and_lanes, andnot_lanes, or_lanes.
  Qed.
  Lemma tst_neon f g : ScanNeon.vtstq_u16 (reg f) (reg g) = reg (fun x => ones (negb (Z.land (f x) (g x) mod 65536 =? 0))).
  Proof.
    change (ScanNeon.vtstq_u16 (reg f) (reg g)) with (Neon.test_lanes 2 (reg f) (reg g)). unfold Neon.test_lanes, as_lanes.
    rewrite and_lanes, lanes_reg, !map_map by lia. reflexivity.
  Qed.
  Lemma cle_neon f g : ScanNeon.vcleq_u16 (reg f) (reg g) = reg (fun x => ones (f x mod 65536 <=? g x mod 65536)).
  Proof.
    change (ScanNeon.vcleq_u16 (reg f) (reg g)) with (Neon.compare_lanes 2 Z.leb (reg f) (reg g)).
    unfold Neon.compare_lanes, compared, as_lanes. rewrite !lanes_reg, map2_maps, map_map by lia. reflexivity.
  Qed.
  Lemma ltz_neon f : ScanNeon.vcltzq_s16 (reg f) = reg (fun x => ones (signed 2 (f x mod 65536) <? 0)).
  Proof.
    change (ScanNeon.vcltzq_s16 (reg f)) with (Neon.compare_zero 2 Z.ltb (reg f)). unfold Neon.compare_zero, as_lanes.
    rewrite lanes_reg, !map_map by lia. reflexivity.
  Qed.
  Lemma cgt_neon f g : ScanNeon.vcgtq_s16 (reg f) (reg g) = reg (fun x => ones (signed 2 (f x mod 65536) >? signed 2 (g x mod 65536))).
  Proof. change (ScanNeon.vcgtq_s16 (reg f) (reg g)) with (compare_greater 2 (reg f) (reg g)). apply (greater_lanes 2). lia. Qed.
  Lemma shr_neon f : ScanNeon.vshrq_n_u16_1 (reg f) = reg (fun x => Z.shiftr (f x mod 65536) 1).
  Proof. change (ScanNeon.vshrq_n_u16_1 (reg f)) with (shift_right 2 1 (reg f)). now rewrite shift_right_lanes by lia. Qed.
End Lanewise.

Lemma narrowed xs : Table.intrinsic "vmovn_u16" [reg2 xs] = register_of 1 xs.
Proof.
  change (Table.intrinsic "vmovn_u16" [reg2 xs]) with (narrow 2 1 (reg2 xs)). unfold narrow. rewrite lanes_pieces, map_map by lia. reflexivity.
Qed.

(** ** Lanes that change places *)
Lemma four_and_four {A} (l : list A) : length l = 8%nat -> exists a b, l = a ++ b /\ length a = 4%nat /\ length b = 4%nat.
Proof. intros L. exists (firstn 4 l), (skipn 4 l). rewrite firstn_skipn, firstn_length, skipn_length. split; [reflexivity|lia]. Qed.

(** The low, and the high, halves of eight words in two registers. *)
Lemma halves_neon a b xs : a ++ b = reg4 xs -> length xs = 8%nat ->
  ScanNeon.vuzp1q_u16 a b = reg2 (map (fun x => x mod 65536) xs) /\ ScanNeon.vuzp2q_u16 a b = reg2 (map (fun x => x / 65536) xs).
Proof.
  intros E L. change (ScanNeon.vuzp1q_u16 a b) with (concat (Neon.every_other (pieces 2 (a ++ b)))).
  change (ScanNeon.vuzp2q_u16 a b) with (concat (Neon.every_other (tl (pieces 2 (a ++ b))))).
  rewrite E, words_of_halves, lanes_pieces by lia. in_lanes xs L. split; reflexivity.
Qed.

(** Words from their halves. *)
Lemma zipped_neon l1 l2 h1 h2 : length l1 = 4%nat -> length l2 = 4%nat -> length h1 = 4%nat -> length h2 = 4%nat ->
  ScanNeon.vzip1q_u16 (reg2 (l1 ++ l2)) (reg2 (h1 ++ h2)) = reg4 (map2 joined l1 h1) /\
  ScanNeon.vzip2q_u16 (reg2 (l1 ++ l2)) (reg2 (h1 ++ h2)) = reg4 (map2 joined l2 h2).
Proof. intros L1 L2 L3 L4. rewrite !joined_words. explode l1. explode l2. explode h1. explode h2. split; reflexivity. Qed.

(** The halves of eight words of an array. *)
Lemma loaded_two a i : ScanNeon.vld2q_u16 a i =
  (reg2 (map (fun k => a k mod 65536) (seq i 8)), reg2 (map (fun k => a k / 65536) (seq i 8))).
Proof.
  unfold ScanNeon.vld2q_u16. cbv zeta.
  assert (L : length (reg4 (map a (seq i 8))) = 32%nat) by (rewrite lanes_length, map_length, seq_length; reflexivity).
  assert (E : tl (Table.intrinsic "vld2q_u16" [[32]; reg4 (map a (seq i 8))]) =
    Neon.evens 2 (reg4 (map a (seq i 8))) [] ++ Neon.odds 2 (reg4 (map a (seq i 8))) []).
  { generalize dependent (reg4 (map a (seq i 8))). intros r L. do 32 (destruct r as [|? r]; [discriminate|]). destruct r; [reflexivity|discriminate]. }
  rewrite E. destruct (halves_neon (reg4 (map a (seq i 8))) [] (map a (seq i 8))) as [Lo Hi]; [apply app_nil_r|now rewrite map_length, seq_length|].
  change (Neon.evens 2 (reg4 (map a (seq i 8))) []) with (ScanNeon.vuzp1q_u16 (reg4 (map a (seq i 8))) []).
  change (Neon.odds 2 (reg4 (map a (seq i 8))) []) with (ScanNeon.vuzp2q_u16 (reg4 (map a (seq i 8))) []).
  rewrite Lo, Hi, !map_map. reflexivity.
Qed.

Lemma last_in_all_neon xs : length xs = 8%nat -> Table.intrinsic "vdupq_laneq_u16 7" [reg2 xs] = reg2 (repeat (last xs 0) 8).
Proof. intros L. in_lanes xs L. reflexivity. Qed.

Lemma before_neon xs ys : length xs = 8%nat -> length ys = 8%nat ->
  Table.intrinsic "vextq_s16 7" [reg2 xs; reg2 ys] = reg2 (last xs 0 :: firstn 7 ys).
Proof. intros Lx Ly. in_lanes xs Lx. in_lanes ys Ly. reflexivity. Qed.

(** Prefix sums of eight lanes. *)
Lemma prefix_sums_are_neon xs : length xs = 8%nat -> ScanNeon.prefix_sums (reg2 xs) = reg2 (sums_from 0 xs).
Proof.
  intros L.
  assert (S : forall l, length l = 8%nat ->
    Neon.extract_from 2 7 (reg2 (repeat 0 8)) (reg2 l) = reg2 (repeat 0 1 ++ firstn 7 l) /\
    Neon.extract_from 2 6 (reg2 (repeat 0 8)) (reg2 l) = reg2 (repeat 0 2 ++ firstn 6 l) /\
    Neon.extract_from 2 4 (reg2 (repeat 0 8)) (reg2 l) = reg2 (repeat 0 4 ++ firstn 4 l)).
  { intros l Ll. in_lanes l Ll. repeat split; reflexivity. }
  change (ScanNeon.prefix_sums (reg2 xs)) with
    (let zero := reg2 (repeat 0 8) in
     let v := add 2 (reg2 xs) (Neon.extract_from 2 7 zero (reg2 xs)) in
     let v := add 2 v (Neon.extract_from 2 6 zero v) in
     add 2 v (Neon.extract_from 2 4 zero v)).
  cbv zeta. generalize dependent (reg2 (repeat 0 8)). intros z S. rewrite (proj1 (S xs L)), add_words. in_lanes xs L. cbn [repeat app firstn map2].
  match goal with |- context [Neon.extract_from 2 6 _ (reg2 ?l)] => rewrite (proj1 (proj2 (S l eq_refl))) end. rewrite add_words.
  cbn [repeat app firstn map2].
  match goal with |- context [Neon.extract_from 2 4 _ (reg2 ?l)] => rewrite (proj2 (proj2 (S l eq_refl))) end. rewrite add_words.
  cbn [repeat app firstn map2 sums_from]. f_equal. repeat (apply f_equal2; [ring|]). reflexivity.
Qed.

(** ** Numbers of a whole register *)
Lemma sum_cut w xs : sum (map (fun x => x mod span w) xs) mod span w = sum xs mod span w.
Proof.
  pose proof (span_positive w) as P. unfold sum. induction xs as [|x xs IH]; [reflexivity|]. cbn [map fold_right].
  rewrite Z.add_mod_idemp_l by lia. rewrite <- (Z.add_mod_idemp_r x), IH by lia. apply Z.add_mod_idemp_r. lia.
Qed.
Lemma sum_neon xs : ScanNeon.vaddvq_u16 (reg2 xs) = sum xs mod 65536.
Proof.
  change (ScanNeon.vaddvq_u16 (reg2 xs)) with (Lanes.number (reduce_add 2 (reg2 xs))). unfold reduce_add.
  rewrite lanes_of_register, number_bytes_of by lia. exact (sum_cut 2 xs).
Qed.
Lemma sum_neon_32 xs : ScanNeon.vaddvq_u32 (reg4 xs) = sum xs mod 4294967296.
Proof. exact (reduce_add_is xs). Qed.

Lemma fewest_word xs : Forall word16 xs -> word16 (fewest xs).
Proof. unfold fewest, word16. induction 1 as [|x xs X F IH]; cbn [fold_right]; lia. Qed.

Lemma most_neon xs : Forall word16 xs -> ScanNeon.vmaxvq_u16 (reg2 xs) = most xs.
Proof.
  intros V. change (ScanNeon.vmaxvq_u16 (reg2 xs)) with (Lanes.number (reduce_max 2 (reg2 xs))). unfold reduce_max.
  rewrite lanes_again, number_bytes_of by (lia || exact V). apply Z.mod_small. exact (proj2 (fewest_complements xs V)).
Qed.
Lemma fewest_neon xs : Forall word16 xs -> ScanNeon.vminvq_u16 (reg2 xs) = fewest xs.
Proof.
  intros V. change (ScanNeon.vminvq_u16 (reg2 xs)) with (Lanes.number (Neon.reduce_min 2 (reg2 xs))). unfold Neon.reduce_min.
  rewrite lanes_again, number_bytes_of by (lia || exact V). apply Z.mod_small. exact (fewest_word xs V).
Qed.

Lemma any_neon xs : ScanNeon.any (reg2 xs) = existsb (fun x => negb (x mod 65536 =? 0)) xs.
Proof.
  unfold ScanNeon.any. rewrite <- register_of_mod. change (span 2) with 65536.
  assert (V : Forall word16 (map (fun x => x mod 65536) xs)) by (apply Forall_map, Forall_forall; intros x _; apply Z.mod_pos_bound; reflexivity).
  rewrite most_neon by exact V. induction xs as [|x xs IH]; [reflexivity|]. cbn [map existsb] in *. inversion V as [|? ? X V2]; subst.
  rewrite <- (IH V2). destruct (fewest_complements _ V2) as [_ B]. unfold most, word16 in *. cbn [fold_right].
  destruct (Z.eqb_spec (x mod 65536) 0), (Z.eqb_spec (fold_right Z.max 0 (map (fun x => x mod 65536) xs)) 0),
    (Z.eqb_spec (Z.max (x mod 65536) (fold_right Z.max 0 (map (fun x => x mod 65536) xs))) 0); try reflexivity; lia.
Qed.
Lemma any_ones_neon us : ScanNeon.any (reg2 (map ones us)) = existsb (fun t => t) us.
Proof. rewrite any_neon. induction us as [|t us IH]; [reflexivity|]. cbn [map existsb]. rewrite IH. now destruct t. Qed.

Lemma pair_sums_neon ts xs : Forall word16 xs -> length xs = 8%nat -> length ts = 4%nat -> exists ys,
  ScanNeon.vpadalq_u16 (reg4 ts) (reg2 xs) = reg4 ys /\ length ys = 4%nat /\ sum ys = sum ts + sum xs.
Proof.
  intros V L Lt. exists (map2 Z.add ts (pair_sums xs)).
  change (ScanNeon.vpadalq_u16 (reg4 ts) (reg2 xs)) with (add 4 (reg4 ts) (reg4 (pair_sums (lanes 2 (reg2 xs))))).
  rewrite lanes_again, add_dwords by (lia || exact V).
  assert (Lp : length (pair_sums xs) = 4%nat /\ sum (pair_sums xs) = sum xs).
  { clear V. in_lanes xs L. split; [reflexivity|]. unfold sum. cbn [pair_sums fold_right]. ring. }
  destruct Lp as [Lp S]. split; [reflexivity|]. rewrite ProgramFacts.map2_length, sum_of_two by lia. lia.
Qed.

(** ** Packing to the left *)
Lemma packed_neon ks xs : length ks = 4%nat -> length xs = 4%nat ->
  ScanNeon.packed_lanes (reg4 xs) (number_of_bits ks) = reg4 (selected ks xs ++ repeat 0 (4 - length (selected ks xs))).
Proof. intros Lk Lx. explode ks. explode xs. repeat match goal with t : bool |- _ => destruct t end; reflexivity. Qed.

(** What the sum of weights says of eight lanes. *)
Lemma weights_say ts : length ts = 8%nat ->
  let sum := ScanNeon.vaddvq_u16 (ScanNeon.vandq_u16 (reg2 (map ones ts))
    (register_of 2 [0x101; 0x102; 0x104; 0x108; 0x1010; 0x1020; 0x1040; 0x1080])) in
  Z.land sum 15 = number_of_bits (firstn 4 ts) /\ Z.land (Z.shiftr sum 8) 15 = count (firstn 4 ts) /\
  Z.land (Z.shiftr sum 4) 15 = number_of_bits (skipn 4 ts) /\ Z.shiftr sum 12 = count (skipn 4 ts).
Proof.
  intros L sum. subst sum. set (ws := [0x101; 0x102; 0x104; 0x108; 0x1010; 0x1020; 0x1040; 0x1080]).
  change (ScanNeon.vandq_u16 (reg2 (map ones ts)) (reg2 ws)) with (Logic.and (as_lanes 2 ts) (register_of 2 ws)).
  rewrite and_chooses, sum_neon by exact L. explode ts. subst ws. cbn [map2 firstn skipn].
  assert (B : forall (t : bool) w, (if t then w else 0) = w * Z.b2z t) by (intros [|] w; cbn [Z.b2z]; lia).
  unfold sum, count. cbn [fold_right map number_of_bits]. rewrite !B. clear.
  repeat match goal with t : bool |- _ => assert (0 <= Z.b2z t <= 1) by (destruct t; cbn [Z.b2z]; lia); generalize dependent (Z.b2z t); clear t; intros end.
  change 15 with (Z.ones 4). rewrite !Z.land_ones, !Z.shiftr_div_pow2 by lia.
  change (2 ^ 4) with 16. change (2 ^ 8) with 256. change (2 ^ 12) with 4096.
  rewrite (Z.mod_small _ 65536) by lia. repeat split; Z.div_mod_to_equations; lia.
Qed.
