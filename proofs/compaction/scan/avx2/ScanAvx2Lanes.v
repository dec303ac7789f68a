(* SPDX-License-Identifier: PostgreSQL *)
(** * What the helpers of avx2.c make of registers *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Compare Permute Facts ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes.
From Pgquern.compaction Require ScanAvx2.

Notation reg2 := (register_of 2).
Notation reg4 := (register_of 4).
Definition word16 (x : Z) : Prop := 0 <= x < 65536.
Definition word32 (x : Z) : Prop := 0 <= x < 4294967296.

Ltac in_lanes xs L := first
  [ destruct (sixteen xs L) as (? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ? & ->)
  | destruct (eight xs L) as (? & ? & ? & ? & ? & ? & ? & ? & ->) ].

(** ** Lanes that change places *)

Lemma packs_words xs ys : length xs = 8%nat -> length ys = 8%nat -> Forall word16 xs -> Forall word16 ys ->
  permute_quarters 216 (Permute.pack 4 0 65535 (reg4 xs) (reg4 ys)) = reg2 (xs ++ ys).
Proof.
  intros Lx Ly Vx Vy. in_lanes xs Lx. in_lanes ys Ly.
  set (clip := fun x => Z.max 0 (Z.min 65535 (signed 4 x))).
  transitivity (permute_quarters 216
    (reg2 (map clip (lanes 4 (reg4 [x; x0; x1; x2; x7; x8; x9; x10]))) ++
     reg2 (map clip (lanes 4 (reg4 [x3; x4; x5; x6; x11; x12; x13; x14]))))); [reflexivity|].
  repeat match goal with H : Forall word16 (_ :: _) |- _ => apply Forall_cons_iff in H as [? H] end.
  unfold word16 in *.
  assert (C : forall v, 0 <= v < 65536 -> clip v = v).
  { intros v V. unfold clip, signed. cbn [span]. destruct (Z.ltb_spec (2 * v) (256 * (256 * (256 * (256 * 1))))); lia. }
  rewrite !lanes_again by (lia || (repeat constructor; cbn [span]; lia)). cbn [map]. rewrite !C by assumption. reflexivity.
Qed.

(** The low, or the high, halves of 16 words. *)
Lemma low_halves_are xs ys : length xs = 8%nat -> length ys = 8%nat ->
  ScanAvx2.low_halves (reg4 xs) (reg4 ys) = reg2 (map (fun x => x mod 65536) (xs ++ ys)).
Proof.
  intros Lx Ly.
  change (ScanAvx2.low_halves (reg4 xs) (reg4 ys)) with
    (permute_quarters 216 (Permute.pack 4 0 65535 (Logic.and (reg4 xs) (spread 8 (bytes_of 4 65535)))
                                                  (Logic.and (reg4 ys) (spread 8 (bytes_of 4 65535))))).
  assert (E : forall l, length l = 8%nat -> Logic.and (reg4 l) (spread 8 (bytes_of 4 65535)) = reg4 (map (fun x => x mod 65536) l)).
  { intros l L. rewrite (constant_lanes 4 l 8) by exact L. rewrite <- (map_id l) at 1. rewrite and_lanes.
    apply same_lanes. intros x _. change 65535 with (Z.ones 16). rewrite Z.land_ones by lia. reflexivity. }
  rewrite !E, packs_words, map_app by (rewrite ?map_length; auto; apply Forall_map, Forall_forall; intros x _; apply Z.mod_pos_bound; lia).
  reflexivity.
Qed.

Lemma high_halves_are xs ys : length xs = 8%nat -> length ys = 8%nat -> Forall word32 xs -> Forall word32 ys ->
  ScanAvx2.high_halves (reg4 xs) (reg4 ys) = reg2 (map (fun x => x / 65536) (xs ++ ys)).
Proof.
  intros Lx Ly Vx Vy.
  change (ScanAvx2.high_halves (reg4 xs) (reg4 ys)) with
    (permute_quarters 216 (Permute.pack 4 0 65535 (shift_right 4 16 (reg4 xs)) (shift_right 4 16 (reg4 ys)))).
  assert (E : forall l, Forall word32 l -> shift_right 4 16 (reg4 l) = reg4 (map (fun x => x / 65536) l)).
  { intros l V. rewrite shift_right_of_lanes by (lia || exact V). apply same_lanes. intros x _. apply Z.shiftr_div_pow2. easy. }
  rewrite !E, packs_words, map_app; rewrite ?map_length; auto; apply Forall_map; eapply Forall_impl; try eassumption;
    unfold word32, word16; cbn; intros x X; Z.div_mod_to_equations; lia.
Qed.

Lemma two_halves a b : bytes_of 2 a ++ bytes_of 2 b = bytes_of 4 (a mod 65536 + 65536 * b).
Proof.
  cbn [bytes_of app].
  assert (E1 : (a mod 65536 + 65536 * b) mod 256 = a mod 256) by (Z.div_mod_to_equations; lia).
  assert (E2 : (a mod 65536 + 65536 * b) / 256 = (a / 256) mod 256 + 256 * b) by (Z.div_mod_to_equations; lia).
  assert (E3 : ((a / 256) mod 256 + 256 * b) mod 256 = a / 256 mod 256) by (Z.div_mod_to_equations; lia).
  assert (E4 : ((a / 256) mod 256 + 256 * b) / 256 = b) by (Z.div_mod_to_equations; lia).
  now rewrite E1, E2, E3, E4.
Qed.

(** Two vectors of words from their halves. *)
Lemma zip_is los his : length los = 16%nat -> length his = 16%nat ->
  ScanAvx2.zip (reg2 los) (reg2 his) =
  (reg4 (firstn 8 (map2 (fun a b => a mod 65536 + 65536 * b) los his)),
   reg4 (skipn 8 (map2 (fun a b => a mod 65536 + 65536 * b) los his))).
Proof.
  intros Ll Lh. unfold register_of at 3 4.
  rewrite <- firstn_map, <- skipn_map.
  assert (E : map (bytes_of 4) (map2 (fun a b => a mod 65536 + 65536 * b) los his) = map2 (fun a b => bytes_of 2 a ++ bytes_of 2 b) los his).
  { clear. revert his. induction los as [|a los IH]; intros [|b his]; try reflexivity. cbn [map2 map]. now rewrite IH, two_halves. }
  rewrite E. in_lanes los Ll. in_lanes his Lh. reflexivity.
Qed.

Lemma last_word_spread xs : length xs = 16%nat ->
  permute_quarters 255 (ScanAvx2.spread_last_word (reg2 xs)) = reg2 (repeat (last xs 0) 16).
Proof. intros L. in_lanes xs L. reflexivity. Qed.

(** Prefix sums of 16 lanes. *)
Lemma prefix_sums_are xs : length xs = 16%nat -> ScanAvx2.prefix_sums (reg2 xs) = reg2 (sums_from 0 xs).
Proof.
  intros L. in_lanes xs L.
  match goal with |- ScanAvx2.prefix_sums (reg2 ?l) = _ => set (v := l) end.
  assert (S : forall n l, length l = 16%nat -> (n = 1 \/ n = 2 \/ n = 4)%nat -> shift_bytes_left (2 * n) (reg2 l) =
    reg2 (repeat 0 n ++ firstn (8 - n) l ++ repeat 0 n ++ firstn (8 - n) (skipn 8 l))).
  { intros n l Ll [->|[->| ->]]; in_lanes l Ll; reflexivity. }
  assert (T : forall l, length l = 16%nat ->
    permute_halves 8 (ScanAvx2.spread_last_word (reg2 l)) (ScanAvx2.spread_last_word (reg2 l)) =
    reg2 (repeat 0 8 ++ repeat (nth 7 l 0) 8)).
  { intros l Ll. in_lanes l Ll. reflexivity. }
  unfold ScanAvx2.prefix_sums. cbv zeta.
  repeat match goal with
  | |- context [Table.intrinsic "_mm256_slli_si256 2" [?a]] => change (Table.intrinsic "_mm256_slli_si256 2" [a]) with (shift_bytes_left (2 * 1) a)
  | |- context [Table.intrinsic "_mm256_slli_si256 4" [?a]] => change (Table.intrinsic "_mm256_slli_si256 4" [a]) with (shift_bytes_left (2 * 2) a)
  | |- context [Table.intrinsic "_mm256_slli_si256 8" [?a]] => change (Table.intrinsic "_mm256_slli_si256 8" [a]) with (shift_bytes_left (2 * 4) a)
  | |- context [Table.intrinsic "_mm256_add_epi16" [?a; ?b]] => change (Table.intrinsic "_mm256_add_epi16" [a; b]) with (add 2 a b)
  | |- context [Table.intrinsic "_mm256_permute2x128_si256 8" [?a; ?b]] => change (Table.intrinsic "_mm256_permute2x128_si256 8" [a; b]) with (permute_halves 8 a b)
  end.
  unfold v. clear v. rewrite (S 1%nat) by auto. rewrite add_words. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite (S 2%nat) by auto. rewrite add_words. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite (S 4%nat) by auto. rewrite add_words. cbn [repeat app firstn skipn map2 Nat.sub].
  rewrite T by reflexivity. rewrite add_words. cbn [repeat app nth map2 sums_from].
  f_equal. repeat (apply f_equal2; [ring|]). reflexivity.
Qed.

(** ** Numbers of a whole register *)

Lemma number_of_bits_bound l : 0 <= number_of_bits l < 2 ^ Z.of_nat (length l).
Proof.
  induction l as [|t l IH]; [easy|]. cbn [number_of_bits length]. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. destruct t; cbn [Z.b2z]; lia.
Qed.

Lemma number_of_bits_app l m : number_of_bits (l ++ m) = number_of_bits l + 2 ^ Z.of_nat (length l) * number_of_bits m.
Proof.
  induction l as [|t l IH]; cbn [app number_of_bits length]; [lia|]. rewrite IH, Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
Qed.

Lemma number_register_of_bits n l : length l = (n * 8)%nat -> number (register_of_bits l) = number_of_bits l.
Proof.
  revert l. induction n as [|n IH]; intros l L.
  - destruct l; [reflexivity|discriminate].
  - assert (E : exists a b, l = a ++ b /\ length a = 8%nat /\ length b = (n * 8)%nat).
    { exists (firstn 8 l), (skipn 8 l). rewrite firstn_skipn, firstn_length, skipn_length. split; [reflexivity|lia]. }
    destruct E as (a & b & -> & L1 & L2). clear L. rewrite number_of_bits_app, <- (IH b L2), L1. change (2 ^ Z.of_nat 8) with 256.
    unfold register_of_bits, pieces. rewrite app_length, L1, L2. replace (8 + n * 8)%nat with ((S n) * 8)%nat by lia. rewrite !Nat.div_mul by lia. cbn [pieces_of map number].
    rewrite firstn_app, skipn_app, L1, Nat.sub_diag, firstn_all2, skipn_all2 by lia. cbn [firstn skipn app]. now rewrite app_nil_r.
Qed.

(** One bit of each lane of a mask. *)
Lemma lane_bits_are ts : length ts = 16%nat -> ScanAvx2.lane_bits (reg2 (map ones ts)) = number_of_bits ts.
Proof.
  intros L.
  assert (E : permute_quarters 216 (Permute.pack 2 (-128) 127 (reg2 (map ones ts)) (zeros 32)) = register_of 1 (map ones (ts ++ repeat false 16))).
  { in_lanes ts L. set (clip := fun y => Z.max (-128) (Z.min 127 (signed 2 y))).
    transitivity (permute_quarters 216
      (register_of 1 (map clip (lanes 2 (reg2 (map ones [x; x0; x1; x2; x3; x4; x5; x6] ++ repeat 0 8)))) ++
       register_of 1 (map clip (lanes 2 (reg2 (map ones [x7; x8; x9; x10; x11; x12; x13; x14] ++ repeat 0 8))))));
      [reflexivity|].
    assert (C : forall k, map clip (lanes 2 (reg2 (map ones k ++ repeat 0 8))) = map ones (k ++ repeat false 8)).
    { intros k. rewrite lanes_of_register, map_map, map_app, map_map by lia. rewrite (map_app ones). f_equal. apply map_ext.
      now intros [|]. }
    rewrite !C. reflexivity. }
  assert (B : signs 1 (register_of 1 (map ones (ts ++ repeat false 16))) = register_of_bits (ts ++ repeat false 16)).
  { unfold signs. rewrite lanes_pieces, !map_map by lia. f_equal. rewrite <- (map_id (ts ++ _)) at 2. apply map_ext. now intros [|]. }
  change (ScanAvx2.lane_bits (reg2 (map ones ts))) with
    (number (widened 4 (signs 1 (permute_quarters 216 (Permute.pack 2 (-128) 127 (reg2 (map ones ts)) (zeros 32)))))).
  rewrite E, B.
  assert (Le : length (register_of_bits (ts ++ repeat false 16)) = 4%nat).
  { unfold register_of_bits. rewrite map_length, (pieces_count 8 4); [reflexivity|lia|]. rewrite app_length, repeat_length. lia. }
  unfold widened. rewrite firstn_app, Le, Nat.sub_diag, firstn_all2 by lia. cbn [firstn]. rewrite app_nil_r.
  rewrite (number_register_of_bits 4) by (rewrite app_length, repeat_length; lia).
  rewrite number_of_bits_app. assert (Z : number_of_bits (repeat false 16) = 0) by reflexivity. rewrite Z. lia.
Qed.

Lemma any_says xs : length xs = 16%nat \/ length xs = 8%nat -> forall w, (w * length xs = 32)%nat ->
  ScanAvx2.any (register_of w xs) = existsb (fun x => negb (x mod span w =? 0)) xs.
Proof.
  intros _ w Lw. change (ScanAvx2.any (register_of w xs)) with
    (number (test_zero (register_of w xs) (register_of w xs)) =? 0). unfold test_zero.
  rewrite number_bytes_of, <- (map_id xs), and_lanes, (map_ext _ (fun x => x)) by (intros x; apply Z.land_diag). rewrite map_id.
  change (existsb id) with (existsb (fun t : bool => t)). rewrite any_bit. now destruct (existsb _ xs).
Qed.

(** The greatest lane, as PHMINPOSUW finds it among the complements. *)
Definition most (xs : list Z) : Z := fold_right Z.max 0 xs.
Definition fewest (xs : list Z) : Z := fold_right Z.min 65535 xs.

Lemma complement x : word16 x -> Z.lxor x (-1) mod 65536 = 65535 - x.
Proof.
  unfold word16. intros X. rewrite Z.lxor_m1_r. unfold Z.lnot. Z.div_mod_to_equations. lia.
Qed.

Lemma fewest_complements xs : Forall word16 xs -> fewest (map (fun x => 65535 - x) xs) = 65535 - most xs /\ word16 (most xs).
Proof.
  unfold fewest, most, word16. induction 1 as [|x xs X F [IH B]]; cbn [map fold_right]; [split; [reflexivity|lia]|]. rewrite IH. lia.
Qed.

Lemma lxor_65535 x : word16 x -> Z.lxor 65535 x = 65535 - x.
Proof.
  intros X. rewrite Z.lxor_comm. pose proof (complement x X) as C. rewrite <- C.
  apply Z.bits_inj'. intros i I. change 65536 with (2 ^ 16). rewrite Z.lxor_spec. destruct (Z.lt_ge_cases i 16) as [L|L].
  - rewrite Z.mod_pow2_bits_low, Z.lxor_spec by exact L. f_equal. change 65535 with (Z.ones 16).
    rewrite Z.ones_spec_low, Z.bits_m1 by lia. reflexivity.
  - rewrite Z.mod_pow2_bits_high by lia. change 65535 with (Z.ones 16). rewrite Z.ones_spec_high by lia.
    rewrite <- (Z.mod_small x (2 ^ 16)) by exact X. rewrite Z.mod_pow2_bits_high by lia. reflexivity.
Qed.

Lemma most_of_two : forall a b, length a = length b -> most (map2 Z.max a b) = Z.max (most a) (most b).
Proof.
  unfold most. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. cbn [map2 fold_right].
  rewrite IH by (cbn in L; lia). lia.
Qed.
Lemma fewest_of_two : forall a b, length a = length b -> fewest (map2 Z.min a b) = Z.min (fewest a) (fewest b).
Proof.
  unfold fewest. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. cbn [map2 fold_right].
  rewrite IH by (cbn in L; lia). lia.
Qed.
Lemma most_app a b : Forall word16 a -> most (a ++ b) = Z.max (most a) (most b).
Proof.
  intros V. pose proof (fewest_complements a V) as [_ W]. unfold word16 in *. unfold most in *.
  induction V as [|x a X V IH]; cbn [app fold_right]; [|unfold word16 in *; rewrite IH; [lia|]].
  - cbn in W. clear. induction b as [|y b IH]; cbn [fold_right]; lia.
  - pose proof (fewest_complements a V) as [_ W']. exact W'.
Qed.

Lemma max_words xs ys : Forall word16 xs -> Forall word16 ys -> max_unsigned 2 (reg2 xs) (reg2 ys) = reg2 (map2 Z.max xs ys).
Proof. intros X Y. unfold max_unsigned, lanewise. now rewrite !lanes_again by (lia || assumption). Qed.
Lemma min_words xs ys : Forall word16 xs -> Forall word16 ys -> min_unsigned 2 (reg2 xs) (reg2 ys) = reg2 (map2 Z.min xs ys).
Proof. intros X Y. unfold min_unsigned, lanewise. now rewrite !lanes_again by (lia || assumption). Qed.
Lemma max_word16 : forall xs ys, Forall word16 xs -> Forall word16 ys -> Forall word16 (map2 Z.max xs ys).
Proof.
  intros xs ys X. revert ys. induction X as [|x xs A X IH]; intros ys Y; [constructor|]. destruct Y as [|y ys B Y]; [constructor|].
  cbn [map2]. constructor; [unfold word16 in *; lia|auto].
Qed.
Lemma min_word16 : forall xs ys, Forall word16 xs -> Forall word16 ys -> Forall word16 (map2 Z.min xs ys).
Proof.
  intros xs ys X. revert ys. induction X as [|x xs A X IH]; intros ys Y; [constructor|]. destruct Y as [|y ys B Y]; [constructor|].
  cbn [map2]. constructor; [unfold word16 in *; lia|auto].
Qed.

Lemma two_of_eight {A} (l : list A) : length l = 16%nat -> exists a b, l = a ++ b /\ length a = 8%nat /\ length b = 8%nat.
Proof. intros L. exists (firstn 8 l), (skipn 8 l). rewrite firstn_skipn, firstn_length, skipn_length. split; [reflexivity|lia]. Qed.

Lemma least_fewest l : least l = fewest l.
Proof. reflexivity. Qed.

Lemma max_of_lanes_is xs : length xs = 16%nat -> Forall word16 xs -> ScanAvx2.max_of_lanes (reg2 xs) = most xs.
Proof.
  intros L V. destruct (two_of_eight xs L) as (a & b & -> & La & Lb). apply Forall_app in V as [Va Vb].
  change (ScanAvx2.max_of_lanes (reg2 (a ++ b))) with
    (Z.lxor 65535 (number (extract_lane 2 0 (least_place (Logic.xor
      (max_unsigned 2 (firstn 16 (reg2 (a ++ b))) (extract 16 1 (reg2 (a ++ b)))) (spread 8 (bytes_of 2 (-1)))))))).
  pose proof (lower_half 2 a b) as Lo. pose proof (upper_half 2 a b) as Up. rewrite La in Lo, Up.
  specialize (Up ltac:(lia) Lb). change (8 * 2)%nat with 16%nat in Lo, Up. rewrite Lo, Up, max_words by assumption.
  pose proof (max_word16 a b Va Vb) as Vm. assert (Lm : length (map2 Z.max a b) = 8%nat) by (rewrite ProgramFacts.map2_length; lia).
  rewrite most_app, <- most_of_two by (assumption || lia). revert Vm Lm. generalize (map2 Z.max a b). clear. intros l V L.
  rewrite (constant_lanes 2 l 8) by exact L. rewrite <- (map_id l) at 1. rewrite xor_lanes, <- cut_lanes.
  rewrite (same_lanes 2 l _ (fun x => 65535 - x)).
  2: { intros x I. rewrite Forall_forall in V. apply complement. auto. }
  destruct (fewest_complements l V) as [E W].
  assert (Vc : Forall (fun x => 0 <= x < span 2) (map (fun x => 65535 - x) l)).
  { apply Forall_map. eapply Forall_impl; [|exact V]. unfold word16. cbn [span]. intros x X. lia. }
  unfold least_place. rewrite lanes_again by (lia || exact Vc). rewrite least_fewest, E. cbv zeta.
  rewrite lanes_length, map_length, L. set (p := place_of _ _).
  transitivity (Z.lxor 65535 (number (widened 4 (bytes_of 2 (65535 - most l))))); [reflexivity|].
  unfold widened. rewrite firstn_app, bytes_of_length, firstn_all2 by (rewrite bytes_of_length; lia).
  change (firstn (4 - 2) (zeros 4)) with (zeros 2).
  assert (N : forall r, number (r ++ zeros 2) = number r).
  { induction r as [|c r IH]; [reflexivity|]. cbn [app number]. now rewrite IH. }
  rewrite N, number_bytes_of. unfold word16 in W. rewrite Z.mod_small by (cbn [span]; lia). rewrite lxor_65535; unfold word16; lia.
Qed.

Definition sum (xs : list Z) : Z := fold_right Z.add 0 xs.
Lemma sum_app a b : sum (a ++ b) = sum a + sum b.
Proof. unfold sum. induction a as [|x a IH]; cbn [app fold_right]; [reflexivity|]. rewrite IH. lia. Qed.
Lemma sum_of_two : forall a b, length a = length b -> sum (map2 Z.add a b) = sum a + sum b.
Proof.
  unfold sum. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. cbn [map2 fold_right].
  rewrite IH by (cbn in L; lia). lia.
Qed.

(** The sum of all lanes, in 32 bits. *)
Lemma sum_of_lanes_is xs : length xs = 8%nat -> ScanAvx2.sum_of_lanes (reg4 xs) = sum xs mod 4294967296.
Proof.
  intros L. in_lanes xs L.
  match goal with |- ScanAvx2.sum_of_lanes (reg4 [?a; ?b; ?c; ?d; ?e; ?f; ?g; ?h]) = _ =>
    change (ScanAvx2.sum_of_lanes (reg4 [a; b; c; d; e; f; g; h])) with
      (let s := add 4 (reg4 [a; b; c; d]) (reg4 [e; f; g; h]) in let s := add 4 s (shuffle 78 s) in
       number (extract 4 0 (add 4 s (shuffle 177 s)))) end.
  cbv zeta. rewrite add_dwords. cbn [map2]. rewrite (proj1 (shuffles_of_four _ _ _ _)), add_dwords. cbn [map2].
  rewrite (proj2 (shuffles_of_four _ _ _ _)), add_dwords. cbn [map2]. rewrite first_of_four, number_bytes_of.
  change (span 4) with 4294967296. unfold sum. cbn [fold_right]. f_equal. ring.
Qed.

(** Sums of two neighbours, signed. *)
Lemma madd_is xs : Forall word16 xs -> length xs = 16%nat ->
  exists ys, multiply_add (reg2 xs) (spread 16 (bytes_of 2 1)) = reg4 ys /\ length ys = 8%nat /\ sum ys = sum (map (signed 2) xs).
Proof.
  intros V L. exists (pair_sums (map (signed 2) xs)). split; [|split].
  - unfold multiply_add. rewrite (constant_lanes 2 xs 16) by exact L. rewrite <- (map_id xs) at 1. rewrite !lanes_reg by lia.
    rewrite map2_maps. f_equal. f_equal. apply map_ext_in. intros x I. rewrite Forall_forall in V. specialize (V x I). unfold word16 in V.
    rewrite (Z.mod_small x) by exact V. change (signed 2 (1 mod span 2)) with 1. lia.
  - in_lanes xs L. reflexivity.
  - in_lanes xs L. unfold sum. cbn [map pair_sums fold_right]. ring.
Qed.
