(* SPDX-License-Identifier: PostgreSQL *)
(** * The registers of AVX-512's scan of few line pointers, in C's order *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey Page Decode ScanAvx2Page ScanAvx512FewLanes.
From Pgquern.compaction Require ScanAvx512Few.

(** ** The line pointers *)

(** The sign of a lane. *)
Lemma sign_is x : (signed 4 (x mod span 4) <? 0) = Z.testbit x 31.
Proof.
  rewrite <- (Z.mod_pow2_bits_low x 32 31) by lia. rewrite Z.testbit_odd, Z.shiftr_div_pow2 by lia. change (2 ^ 32) with 4294967296.
  change (2 ^ 31) with 2147483648. unfold signed. change (span 4) with 4294967296. set (r := x mod 4294967296).
  assert (R : 0 <= r < 4294967296) by (apply Z.mod_pos_bound; lia). destruct (Z.ltb_spec (2 * r) 4294967296).
  - assert (E : r / 2147483648 = 0) by div_lia. rewrite E. apply Z.ltb_ge. lia.
  - assert (E : r / 2147483648 = 1) by div_lia. rewrite E. apply Z.ltb_lt. lia.
Qed.

Lemma signed_again x : - 2147483648 <= x < 2147483648 -> signed 4 (x mod span 4) = x.
Proof. intros X. unfold signed. change (span 4) with 4294967296. destruct (Z.ltb_spec (2 * (x mod 4294967296)) 4294967296); div_lia. Qed.

Lemma sign_of_small x : - 2147483648 <= x < 2147483648 -> Z.testbit x 31 = (x <? 0).
Proof. intros X. now rewrite <- sign_is, signed_again. Qed.

Section Take.
  Variable l : list lane.
  Hypothesis sixteen_lanes : length l = 16%nat.
  Hypothesis sound : sound_lanes l.
  Notation reg f := (reg4 (map f l)).
  Notation mask t := (register_of_bits (map t l)).

  Lemma word_in x : In x l -> word32 (snd x).
  Proof. intros I. unfold sound_lanes in sound. rewrite Forall_forall in sound. auto. Qed.

  Lemma flags_in_place w : Z.land w (Z.shiftl 3 15) = w / 32768 mod 4 * 32768.
  Proof.
    transitivity (Z.shiftl (Z.land (Z.shiftr w 15) 3) 15).
    - apply Z.bits_inj'. intros i I. rewrite Z.land_spec, !Z.shiftl_spec, Z.land_spec by lia.
      destruct (Z.lt_ge_cases i 15) as [L|L]; [rewrite (Z.testbit_neg_r 3) by lia; now rewrite !andb_false_r|].
      rewrite Z.shiftr_spec by lia. do 2 f_equal. lia.
    - change 3 with (Z.ones 2). rewrite Z.land_ones, Z.shiftl_mul_pow2, Z.shiftr_div_pow2 by lia. reflexivity.
  Qed.

  Lemma used_is : Table.intrinsic "_mm512_mask_test_epi32_mask" [mask fst; reg snd; ScanAvx512Few.set1 (Z.shiftl 3 15)] = mask used.
  Proof.
    rewrite test_under_says, (set1_lanes l), test_mask, under_mask_lanes by assumption. apply same_mask. intros x I.
    unfold used. f_equal. rewrite flags_in_place. unfold is_used, lp_flags, LP_UNUSED. f_equal. change (span 4) with 4294967296.
    set (k := snd x / 32768 mod 4). assert (0 <= k < 4) by (unfold k; apply Z.mod_pos_bound; lia). rewrite Z.mod_small by lia.
    destruct (Z.eqb_spec (k * 32768) 0), (Z.eqb_spec k 0); try reflexivity; lia.
  Qed.

  Lemma stored_is :
    Table.intrinsic "_mm512_mask_cmpgt_epu32_mask" [mask used; reg snd; ScanAvx512Few.set1 (Z.shiftl 1 17 - 1)] = mask kept.
  Proof.
    rewrite greater_unsigned_says, (set1_lanes l), compare_mask, under_mask_lanes by assumption. apply same_mask. intros x I.
    pose proof (word_in x I) as W. unfold word32 in W. change ((Z.shiftl 1 17 - 1) mod span 4) with 131071. change (span 4) with 4294967296.
    rewrite Z.mod_small by exact W. rewrite Z.gtb_ltb. unfold used, kept, has_storage, lp_len.
    destruct (fst x), (is_used (snd x)); cbn [andb]; try reflexivity.
    destruct (Z.ltb_spec 131071 (snd x)), (Z.eqb_spec (snd x / 131072) 0); cbn [negb]; try reflexivity; exfalso; div_lia.
  Qed.

  Lemma off_is :
    Table.intrinsic "_mm512_maskz_and_epi32" [mask kept; reg snd; ScanAvx512Few.set1 ScanAvx512Few.LP_OFF_MASK] = reg off_of.
  Proof.
    rewrite masked_and_says, (set1_lanes l), and_lanes, masked_zero_lanes by assumption. apply same_lanes. intros x I.
    unfold off_of, lp_off. change ScanAvx512Few.LP_OFF_MASK with (Z.ones 15). rewrite Z.land_ones by lia. reflexivity.
  Qed.

  Lemma length_is : ScanAvx512Few.and
    (Table.intrinsic "_mm512_maskz_add_epi32" [mask kept; Table.intrinsic "_mm512_srli_epi32 17" [reg snd]; ScanAvx512Few.set1 7])
    (ScanAvx512Few.set1 (Z.lnot 7)) = reg len_of.
  Proof.
    rewrite and_says, masked_add_says, shift_17_says, !(set1_lanes l), shift_right_lanes, add_lanes, masked_zero_lanes, and_lanes
      by (assumption || lia).
    apply same_lanes. intros x I. pose proof (word_in x I) as W. unfold word32 in W. rewrite aligned_down. unfold len_of.
    destruct (kept x); [|reflexivity]. unfold maxalign, lp_len. change (span 4) with 4294967296. rewrite Z.mod_small by exact W.
    rewrite Z.shiftr_div_pow2 by lia. reflexivity.
  Qed.

  Lemma new_off_is b : ScanAvx512Few.sub (ScanAvx512Few.set1 b) (ScanAvx512Few.prefix_sums_of_dwords (reg len_of)) = reg4 (tops b l).
  Proof.
    rewrite prefix_sums_are, sub_says, set1_says, spread_words, sub_dwords by now rewrite map_length.
    pose proof (tops_are_sums l b 0) as T. rewrite sixteen_lanes, Z.sub_0_r in T. now rewrite T.
  Qed.
End Take.

(** Each lane with the place where its tuple must start. *)
Definition place_lanes (l : list lane) (top : Z) : list (lane * Z) := combine l (tops top l).

Lemma placed_length l top : length (place_lanes l top) = length l.
Proof. unfold place_lanes. rewrite combine_length, tops_length. lia. Qed.
Lemma placed_firsts l top : map fst (place_lanes l top) = l.
Proof. apply combine_both. symmetry. apply tops_length. Qed.
Lemma placed_tops l top : map snd (place_lanes l top) = tops top l.
Proof. apply combine_both. symmetry. apply tops_length. Qed.
Lemma placed_map {A} (f : lane -> A) l top : map f l = map (fun y => f (fst y)) (place_lanes l top).
Proof. rewrite <- (placed_firsts l top) at 1. apply map_map. Qed.

(** Lanes without storage need no place. *)
Lemma kept_places l : forall top, filter (fun y => kept (fst y)) (place_lanes l top) = place_lanes (filter kept l) top.
Proof.
  unfold place_lanes. induction l as [|x l IH]; intros top; [reflexivity|]. cbn [tops combine filter fst].
  destruct (kept x) eqn:K; [cbn [tops combine]; now rewrite IH|].
  assert (E : len_of x = 0) by (unfold len_of; now rewrite K). rewrite E, Z.sub_0_r. apply IH.
Qed.

(** A tuple's word: by how much it moves, above where it must end. *)
Definition move_word (y : lane * Z) : Z := Z.lor (Z.shiftl (snd y - off_of (fst y)) 16) (snd y + len_of (fst y)).

(** ** Each tuple against the one before it *)
Definition further (p : Z * Z) : bool := above (fst p) (Z.lor (snd p) 65535).
Definition less_far (p : Z * Z) : bool := above (snd p) (Z.lor (fst p) 65535).

Lemma pairs_at_first (ts others : list Z) : (length ts + length others = 16)%nat ->
  exists rest, combine (ts ++ others) (0 :: firstn 15 (ts ++ others)) = pairs_of 0 ts ++ rest /\ length rest = length others /\
    length (pairs_of 0 ts) = length ts.
Proof.
  intros L. exists (pairs_of (last ts 0) others). split; [|split].
  - rewrite <- pairs_of_app. unfold pairs_of. rewrite (combine_firstn_l _ (0 :: ts ++ others)). f_equal.
    rewrite app_length, L. reflexivity.
  - unfold pairs_of, pair in *. rewrite combine_length. cbn [length]. lia.
  - unfold pairs_of, pair in *. rewrite combine_length. cbn [length]. lia.
Qed.

Lemma first_pairs (h : Z -> Z -> bool) ts others : (length ts + length others = 16)%nat ->
  map2 andb (repeat true (length ts) ++ repeat false (length others)) (map2 h (ts ++ others) (0 :: firstn 15 (ts ++ others))) =
  map (fun p => h (fst p) (snd p)) (pairs_of 0 ts) ++ repeat false (length others).
Proof.
  intros L. rewrite (map2_pairs h). destruct (pairs_at_first ts others L) as (rest & E & Lr & Lp). rewrite E, map_app.
  set (us := map _ (pairs_of 0 ts)). set (vs := map _ rest).
  assert (Lu : length us = length ts) by (unfold us; rewrite map_length; exact Lp).
  assert (Lv : length vs = length others) by (unfold vs; rewrite map_length; exact Lr).
  rewrite <- Lu, <- Lv. apply map2_andb_first.
Qed.

Section Compare.
  Variables (m : mem) (l : list lane).
  Hypothesis sixteen_lanes : length l = 16%nat.
  Hypothesis sound : sound_lanes l.
  Let special := pd_special m.
  Let c := place_lanes l special.
  Notation reg f := (reg4 (map f l)).
  Notation mask t := (register_of_bits (map t l)).
  Notation regc f := (reg4 (map f c)).

  (** What [take] makes of these lanes. *)
  Definition taken_lanes : ScanAvx512Few.taken :=
    ScanAvx512Few.Taken (reg snd) (mask used) (mask kept) (reg off_of) (reg len_of) (reg4 (tops special l)).

  Lemma take_is : ScanAvx512Few.load_page m HEADER_SIZE = reg snd ->
    ScanAvx512Few.mask16 (ScanAvx512Few.first_lanes (nline m)) = mask fst -> ScanAvx512Few.take m = taken_lanes.
  Proof.
    intros W F. unfold ScanAvx512Few.take. cbv zeta. rewrite W, F.
    rewrite used_is, stored_is, off_is, length_is, new_off_is by assumption. reflexivity.
  Qed.

  Lemma c_length : length c = 16%nat.
  Proof. unfold c. now rewrite placed_length. Qed.
  Lemma reg_c f : reg f = regc (fun y => f (fst y)).
  Proof. unfold c. now rewrite <- placed_map. Qed.
  Lemma mask_c t : mask t = register_of_bits (map (fun y => t (fst y)) c).
  Proof. unfold c. now rewrite <- placed_map. Qed.
  Lemma tops_c : reg4 (tops special l) = regc snd.
  Proof. unfold c. now rewrite placed_tops. Qed.

  (** The bounds, the alignment. *)
  Lemma out_of_bounds_is : 0 <= pd_upper m <= 8192 -> 0 <= special <= 8192 ->
    ScanAvx512Few.out_of_bounds m taken_lanes =
    existsb (fun x => kept x && ((off_of x <? pd_upper m) || (special <? off_of x + len_of x)) || negb (Z.land (off_of x) 7 =? 0)) l.
  Proof.
    intros U S. unfold ScanAvx512Few.out_of_bounds. cbv zeta. fold special. cbn [taken_lanes ScanAvx512Few.off ScanAvx512Few.len ScanAvx512Few.stored].
    rewrite less_says, test_says, or_says, add_says, (sub_says (reg off_of)), (sub_says (ScanAvx512Few.set1 special)), !(set1_lanes l), (setzero_lanes l) by assumption.
    rewrite add_lanes, !sub_lanes, or_lanes, compare_mask, under_mask_lanes, test_mask by (assumption || lia).
    rewrite !number_of_mask by (rewrite map_length; exact sixteen_lanes).
    rewrite lor_bits, nonzero_bits, map2_maps, existsb_map by now rewrite !map_length.
    apply same_existsb. intros x I. pose proof (word_in l sound x I) as W. pose proof (lane_bounds x W) as (Bo & Bl & _). f_equal.
    - f_equal. unfold on_signed. change (signed 4 (0 mod span 4)) with 0.
      rewrite sign_is, Z.lor_spec, !sign_of_small by lia. f_equal.
      + destruct (Z.ltb_spec (off_of x - pd_upper m) 0), (Z.ltb_spec (off_of x) (pd_upper m)); try reflexivity; lia.
      + destruct (Z.ltb_spec (special - (off_of x + len_of x)) 0), (Z.ltb_spec special (off_of x + len_of x)); try reflexivity; lia.
    - f_equal. f_equal. change 7 with (Z.ones 3). rewrite Z.land_ones by lia. change (span 4) with 4294967296. apply Z.mod_small.
      pose proof (Z.mod_pos_bound (off_of x) (2 ^ 3) ltac:(lia)). change (2 ^ 3) with 8 in *. lia.
  Qed.

  (** The tuples' words, and those behind the last one. *)
  Definition moves_of : list Z := map move_word (place_lanes (filter kept l) special).
  Definition spare : nat := 16 - length moves_of.
  Definition total_low : Z := lengths_sum l mod 4294967296.
  Definition upper_low : Z := (special - total_low) mod 4294967296.

  Lemma moves_count : length moves_of = kept_count l /\ (length moves_of <= 16)%nat.
  Proof.
    unfold moves_of. rewrite map_length, placed_length. fold (kept_count l). split; [reflexivity|].
    rewrite <- sixteen_lanes. apply filter_length_le.
  Qed.

  Definition compared_lanes : ScanAvx512Few.compared :=
    ScanAvx512Few.Compared (Z.of_nat (kept_count l)) total_low upper_low (reg4 (moves_of ++ repeat upper_low spare))
      (register_of_bits (map further (pairs_of 0 moves_of) ++ repeat false spare))
      (register_of_bits (map less_far (pairs_of 0 moves_of) ++ repeat false spare)).

  Lemma compare_is : ScanAvx512Few.compare m taken_lanes = compared_lanes.
  Proof.
    pose proof moves_count as [Mc Mb].
    assert (T : ScanAvx512Few.pack_dwords (mask kept)
      (ScanAvx512Few.or (Table.intrinsic "_mm512_slli_epi32 16" [ScanAvx512Few.sub (reg4 (tops special l)) (reg off_of)])
                        (ScanAvx512Few.add (reg4 (tops special l)) (reg len_of))) = reg4 (moves_of ++ repeat 0 spare)).
    { rewrite or_says, shift_left_16_says, add_says, sub_says, tops_c, (reg_c off_of), (reg_c len_of), (mask_c kept).
      rewrite sub_lanes, add_lanes, shift_left_lanes, or_lanes by lia. change (Z.of_nat 16) with 16. fold move_word.
      rewrite pack_lanes by exact c_length. unfold c. rewrite kept_places. unfold spare, moves_of. rewrite map_length. reflexivity. }
    unfold ScanAvx512Few.compare. cbv zeta. fold special.
    cbn [taken_lanes ScanAvx512Few.off ScanAvx512Few.len ScanAvx512Few.stored ScanAvx512Few.new_off].
    rewrite T. rewrite number_of_mask by now rewrite map_length. rewrite popcnt_says by (rewrite map_length; lia).
    rewrite count_filter. fold (kept_count l).
    rewrite (last_dword _ special) by now rewrite tops_length. rewrite last_top.
    assert (Tt : ScanAvx512Few.u32 (special - (special - lengths_sum l) mod 4294967296) = total_low).
    { unfold ScanAvx512Few.u32, total_low. rewrite Zminus_mod_idemp_r. f_equal. lia. }
    rewrite Tt. change (ScanAvx512Few.u32 (special - total_low)) with upper_low.
    rewrite <- Mc. rewrite first_lanes_are by exact Mb. fold spare.
    assert (Ls : (length moves_of + spare = 16)%nat) by (unfold spare; lia).
    assert (V : Table.intrinsic "_mm512_mask_mov_epi32" [ScanAvx512Few.set1 upper_low; register_of_bits (repeat true (length moves_of) ++ repeat false spare);
      reg4 (moves_of ++ repeat 0 spare)] = reg4 (moves_of ++ repeat upper_low spare)).
    { rewrite masked_mov_says, set1_says, spread_words. replace 16%nat with (length moves_of + spare)%nat by exact Ls.
      rewrite masked_words by (rewrite app_length, !repeat_length; exact Ls). f_equal.
      pose proof (choose_first moves_of upper_low (repeat 0 spare)) as Cf. rewrite repeat_length in Cf. exact Cf. }
    rewrite V. set (all := moves_of ++ repeat upper_low spare).
    assert (La : length all = 16%nat) by (unfold all; rewrite app_length, repeat_length; exact Ls).
    rewrite align_says, setzero_says, before_is by exact La. rewrite !or_says.
    assert (O : forall xs, length xs = 16%nat -> Logic.or (reg4 xs) (ScanAvx512Few.set1 65535) = reg4 (map (fun x => Z.lor x 65535) xs)).
    { intros xs L. rewrite (set1_lanes xs L), <- (map_id xs) at 1. apply or_lanes. }
    assert (Lb : length (0 :: firstn 15 all) = 16%nat) by (cbn [length]; rewrite firstn_length, La; reflexivity).
    rewrite !O by assumption.
    assert (Lm : length (repeat true (length moves_of) ++ repeat false spare) = 16%nat) by (rewrite app_length, !repeat_length; exact Ls).
    rewrite !greater_words by (rewrite ?map_length; assumption).
    pose proof (first_pairs (fun t b => above t (Z.lor b 65535)) moves_of (repeat upper_low spare)) as F1.
    pose proof (first_pairs (fun t b => above b (Z.lor t 65535)) moves_of (repeat upper_low spare)) as F2.
    rewrite repeat_length in F1, F2. specialize (F1 Ls). specialize (F2 Ls). fold all in F1, F2.
    assert (G1 : map2 above all (map (fun x => Z.lor x 65535) (0 :: firstn 15 all)) =
      map2 (fun t b => above t (Z.lor b 65535)) all (0 :: firstn 15 all)).
    { rewrite <- (map_id all) at 1. rewrite map2_both. reflexivity. }
    assert (G2 : map2 above (0 :: firstn 15 all) (map (fun x => Z.lor x 65535) all) =
      map2 (fun t b => above b (Z.lor t 65535)) all (0 :: firstn 15 all)).
    { rewrite map2_swap. rewrite <- (map_id (0 :: firstn 15 all)) at 1. rewrite map2_both. reflexivity. }
    rewrite G1, G2, F1, F2. unfold compared_lanes. rewrite <- Mc. reflexivity.
  Qed.

  (** The line pointers to be. *)
  Lemma new_words_are : ScanAvx512Few.new_words taken_lanes = reg4 (news special l).
  Proof.
    unfold ScanAvx512Few.new_words. cbv zeta.
    cbn [taken_lanes ScanAvx512Few.words ScanAvx512Few.used ScanAvx512Few.stored ScanAvx512Few.new_off].
    assert (E : reg snd = regc (fun y => snd (fst y))) by exact (reg_c snd).
    rewrite masked_ternary_says, masked_zero_mov_says, tops_c, E, (mask_c kept), (mask_c used), (set1_lanes c c_length).
    rewrite ternary_lanes, masked_lanes, masked_zero_lanes by exact c_length. unfold news. fold (place_lanes l special). fold c.
    apply same_lanes. intros y I. unfold new_of. destruct (kept (fst y)) eqn:K.
    - assert (U : used (fst y) = true).
      { unfold kept, used, has_storage in *. destruct (fst (fst y)), (is_used (snd (fst y))); auto. }
      rewrite U. change ScanAvx512Few.LP_OFF_MASK with (Z.ones 15). set (v := snd (fst y)).
      rewrite Z.ldiff_ones_r, Z.land_ones, Z.shiftr_div_pow2, Z.shiftl_mul_pow2 by lia. change (2 ^ 15) with 32768. set (t := snd y).
      unfold set_off. rewrite Z.add_comm. rewrite <- Z.lxor_lor; [symmetry; apply Z.add_nocarry_lxor|]; apply Z.bits_inj'; intros i Ii;
        rewrite Z.land_spec, Z.bits_0; change 32768 with (2 ^ 15); (destruct (Z.lt_ge_cases i 15);
          [rewrite Z.mul_pow2_bits_low by lia; reflexivity|rewrite Z.mod_pow2_bits_high by lia; apply andb_false_r]).
    - now destruct (used (fst y)).
  Qed.

  (** The counts. *)
  Lemma used_count_is : ScanAvx512Few.popcnt (Lanes.number (mask used)) = Scalar.count (map used l).
  Proof. rewrite number_of_mask by now rewrite map_length. apply popcnt_says. rewrite map_length. lia. Qed.
  Lemma left_is : 32 - ScanAvx512Few.lzcnt (Lanes.number (mask used)) = last_set (map used l).
  Proof. rewrite number_of_mask by now rewrite map_length. apply lzcnt_says. rewrite map_length. lia. Qed.
  Lemma longest_is : Lanes.number (Table.intrinsic "_mm512_reduce_max_epu32" [reg len_of]) = most (map len_of l).
  Proof.
    rewrite reduce_says. unfold reduce_max. rewrite number_bytes_of.
    assert (B : Forall (fun x => 0 <= x < 65536) (map len_of l)).
    { apply Forall_map, Forall_forall. intros x I. pose proof (lane_bounds x (word_in l sound x I)). lia. }
    rewrite lanes_again by (lia || (eapply Forall_impl; [|exact B]; cbn [span]; lia)). apply Z.mod_small.
    change (span 4) with 4294967296. unfold most. clear - B. induction B as [|x r X B IH]; cbn [fold_right]; lia.
  Qed.

  Let ps := pairs_of 0 moves_of.
  Lemma pairs_count : (length ps + spare = 16)%nat.
  Proof.
    pose proof moves_count as [_ Mb]. unfold ps, pairs_of, pair in *. rewrite combine_length. cbn [length]. unfold spare. lia.
  Qed.
  Lemma found_bits (f : Z * Z -> bool) : length (map f ps ++ repeat false spare) = 16%nat.
  Proof. rewrite app_length, map_length, repeat_length. exact pairs_count. Qed.

  Lemma ngaps_is : ScanAvx512Few.popcnt (Lanes.number (ScanAvx512Few.gaps compared_lanes)) = Z.of_nat (length (filter further ps)).
  Proof.
    cbn [compared_lanes ScanAvx512Few.gaps]. fold ps. rewrite number_of_mask by apply found_bits.
    rewrite popcnt_says by (rewrite found_bits; lia). rewrite count_app, count_false, Z.add_0_r. apply count_filter.
  Qed.
  Lemma falls_is : negb (Lanes.number (ScanAvx512Few.falls compared_lanes) =? 0) = existsb less_far ps.
  Proof.
    cbn [compared_lanes ScanAvx512Few.falls]. fold ps. rewrite number_of_mask by apply found_bits.
    rewrite nonzero_bits, existsb_none. now rewrite existsb_map.
  Qed.
  Lemma first_is : existsb (fun p => further p || less_far p) ps = true ->
    ScanAvx512Few.tzcnt (Z.lor (Lanes.number (ScanAvx512Few.gaps compared_lanes)) (Lanes.number (ScanAvx512Few.falls compared_lanes))) =
    clear_before (map (fun p => further p || less_far p) ps).
  Proof.
    intros E. cbn [compared_lanes ScanAvx512Few.gaps ScanAvx512Few.falls]. fold ps. rewrite !number_of_mask by apply found_bits.
    rewrite lor_bits by now rewrite !found_bits. rewrite map2_orb_first, map2_maps by now rewrite !map_length.
    assert (X : existsb (fun t => t) (map (fun p => further p || less_far p) ps) = true) by (rewrite existsb_map; exact E).
    rewrite tzcnt_says; [now apply clear_before_found| |now rewrite existsb_none].
    rewrite found_bits. lia.
  Qed.

  (** What is stored of the tuples, if some of them move. *)
  Definition old_end (t : Z) : Z := t - Z.shiftr (t mod 4294967296) 16.
  Let all := moves_of ++ repeat upper_low spare.

  Lemma all_length : length all = 16%nat.
  Proof. pose proof moves_count as [_ Mb]. unfold all. rewrite app_length, repeat_length. unfold spare. lia. Qed.

  Lemma old_ends_are : ScanAvx512Few.sub (reg4 all) (Table.intrinsic "_mm512_srli_epi32 16" [reg4 all]) = reg4 (map old_end all).
  Proof.
    rewrite sub_says, shift_16_says. rewrite <- (map_id all) at 1 2. rewrite shift_right_lanes, sub_lanes by lia. reflexivity.
  Qed.

  Lemma first_of_pairs : map fst ps = moves_of.
  Proof.
    assert (G : forall (ts : list Z) z, map fst (combine ts (z :: ts)) = ts).
    { induction ts as [|t r IH]; intros z; [reflexivity|]. cbn [combine map fst]. f_equal. apply IH. }
    apply G.
  Qed.

  (** Those that move further than the one before, at the bottom. *)
  Lemma runs_are (f : Z -> Z) : exists others, ScanAvx512Few.narrow (ScanAvx512Few.pack_dwords (ScanAvx512Few.gaps compared_lanes) (reg4 (map f all))) =
    reg2 (map (fun p => f (fst p)) (filter further ps) ++ others).
  Proof.
    exists (repeat 0 (16 - length (filter further ps))).
    cbn [compared_lanes ScanAvx512Few.gaps]. fold ps. rewrite pack_says, compress_words, bits_of_mask by apply found_bits.
    assert (E : selected (map further ps ++ repeat false spare) (map f all) = map (fun p => f (fst p)) (filter further ps)).
    { unfold all. rewrite map_app, selected_first by (rewrite !map_length, <- first_of_pairs, map_length; reflexivity).
      rewrite <- first_of_pairs, map_map. apply (selected_filter further (fun p => f (fst p))). }
    rewrite E, !map_length, all_length, <- words_zeros, <- words_app. apply narrow_is.
  Qed.
End Compare.
