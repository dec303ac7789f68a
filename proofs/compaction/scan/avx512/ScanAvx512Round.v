(* SPDX-License-Identifier: PostgreSQL *)
(** * One vector of the scan of avx512vbmi2.c: 32 line pointers *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop Page Decode ScanAvx512Lanes.
From Pgquern.compaction Require ScanAvx512.

(** ** Lane by lane *)
Section Lanewise.
  Context {A : Type} (c : list A).
  Hypothesis lanes_32 : length c = 32%nat.
  Notation reg f := (reg2 (map f c)).
  Notation bits_of t := (number_of_bits (map t c)).

  Lemma set1_on x : ScanAvx512.set1_epi16 x = reg (fun _ => x).
  Proof. change (ScanAvx512.set1_epi16 x) with (spread 32 (bytes_of 2 x)). now apply constant_lanes. Qed.
  Lemma add_on f g : ScanAvx512.add_epi16 (reg f) (reg g) = reg (fun x => f x + g x).
  Proof. change (ScanAvx512.add_epi16 (reg f) (reg g)) with (add 2 (reg f) (reg g)). apply add_lanes, Nat.lt_0_2. Qed.
  Lemma sub_on f g : ScanAvx512.sub_epi16 (reg f) (reg g) = reg (fun x => f x - g x).
  Proof. change (ScanAvx512.sub_epi16 (reg f) (reg g)) with (sub 2 (reg f) (reg g)). apply sub_lanes, Nat.lt_0_2. Qed.
  Lemma and_on f g : ScanAvx512.and_si512 (reg f) (reg g) = reg (fun x => Z.land (f x) (g x)).
  Proof. change (ScanAvx512.and_si512 (reg f) (reg g)) with (Logic.and (reg f) (reg g)). apply and_lanes. Qed.

  Lemma mov_on t f g : ScanAvx512.mask_mov_epi16 (reg g) (bits_of t) (reg f) = reg (fun x => if t x then f x else g x).
  Proof.
    change (ScanAvx512.mask_mov_epi16 (reg g) (bits_of t) (reg f)) with (masked 2 (reg g) (bytes_of 4 (bits_of t)) (reg f)).
    rewrite masked_words, choose_maps by (rewrite map_length; exact lanes_32). reflexivity.
  Qed.
  Lemma mov_zero_on t f : ScanAvx512.maskz_mov_epi16 (bits_of t) (reg f) = reg (fun x => if t x then f x else 0).
  Proof.
    change (ScanAvx512.maskz_mov_epi16 (bits_of t) (reg f)) with (masked 2 (zeros (length (reg f))) (bytes_of 4 (bits_of t)) (reg f)).
    rewrite lanes_length, map_length. rewrite (zero_lanes 2 c (length c)) by reflexivity.
    rewrite masked_words, choose_maps by (rewrite map_length; exact lanes_32). reflexivity.
  Qed.

  Lemma test_on f g : ScanAvx512.test_epi16_mask (reg f) (reg g) = bits_of (fun x => negb (Z.land (f x) (g x) mod 65536 =? 0)).
  Proof.
    change (ScanAvx512.test_epi16_mask (reg f) (reg g)) with (Lanes.number (mask_test 2 (reg f) (reg g))). unfold mask_test.
    rewrite and_lanes, lanes_reg, map_map by lia. rewrite number_mask by (rewrite map_length; exact lanes_32). reflexivity.
  Qed.
  Lemma sign_on f : ScanAvx512.movepi16_mask (reg f) = bits_of (fun x => 128 <=? f x / 256 mod 256).
  Proof.
    change (ScanAvx512.movepi16_mask (reg f)) with (Lanes.number (signs 2 (reg f))). unfold signs.
    rewrite pieces_reg, map_map by lia. rewrite number_mask by (rewrite map_length; exact lanes_32). reflexivity.
  Qed.

  Lemma pack_on t f : ScanAvx512.pack (bits_of t) (reg f) = reg2 (map f (filter t c) ++ repeat 0 (32 - length (filter t c))).
  Proof. rewrite pack_words, selected_filter, map_length by (rewrite map_length; exact lanes_32). reflexivity. Qed.
End Lanewise.

(** ** A line pointer's lane *)
Lemma used_lane x : word32 (snd x) ->
  fst x && (negb (Z.land (snd x / 65536) 1 mod 65536 =? 0) || (128 <=? snd x mod 65536 / 256 mod 256)) = used x.
Proof.
  intros W. unfold used, is_used, lp_flags, LP_UNUSED. f_equal. change 1 with (Z.ones 1). rewrite Z.land_ones by lia. change (2 ^ 1) with 2.
  unfold word32 in W.
  destruct (Z.eqb_spec (snd x / 65536 mod 2 mod 65536) 0), (Z.leb_spec 128 (snd x mod 65536 / 256 mod 256)), (Z.eqb_spec (snd x / 32768 mod 4) 0);
    cbn [orb negb]; try reflexivity; exfalso; div_lia.
Qed.

Lemma kept_lane x : word32 (snd x) -> used x && (snd x / 65536 >? 1) = kept x.
Proof.
  intros W. unfold kept, used, has_storage, lp_len. unfold word32 in W. rewrite Z.gtb_ltb.
  destruct (fst x), (is_used (snd x)); cbn [andb]; try reflexivity.
  destruct (Z.ltb_spec 1 (snd x / 65536)), (Z.eqb_spec (snd x / 131072) 0); cbn [negb]; try reflexivity; exfalso; div_lia.
Qed.

Lemma last_sum xs : forall s, last (sums_from s xs) s = s + sum xs.
Proof.
  unfold sum. induction xs as [|x xs IH]; intros s; [cbn; lia|]. cbn [sums_from fold_right]. rewrite last_of_cons, IH. lia.
Qed.

Lemma sums_length xs : forall s, length (sums_from s xs) = length xs.
Proof. induction xs as [|x xs IH]; intros s; [reflexivity|]. cbn [sums_from length]. now rewrite IH. Qed.

(** A lane with the place where its tuple must start: by how much the tuple moves, where it must end, and where it ends now. *)
Definition placed_lane := (lane * Z)%type.
Definition is_kept (y : placed_lane) : bool := kept (fst y).
Definition shift_of (y : placed_lane) : Z := (snd y - off_of (fst y)) mod 65536.
Definition end_of (y : placed_lane) : Z := (snd y + len_of (fst y)) mod 65536.
Definition stop_of (y : placed_lane) : Z := off_of (fst y) + len_of (fst y).

(** The tuples of a list of lanes, the first of which ends at [top]. *)
Definition tuples (top : Z) (l : list lane) : list placed_lane := filter is_kept (combine l (tops top l)).

(** Each tuple with the shift of the one before it. *)
Definition move := (placed_lane * Z)%type.
Definition moves (before : Z) (ks : list placed_lane) : list move := combine ks (before :: map shift_of ks).
Definition is_gap (x : move) : bool := signed 2 (shift_of (fst x)) >? signed 2 (snd x).
Definition is_fall (x : move) : bool := signed 2 (shift_of (fst x)) <? signed 2 (snd x).

Lemma word_halves y : word32 (snd (fst y)) -> joined (low_to_be y) (high_to_be y) = new_of y.
Proof.
  intros W. destruct y as [x t]. unfold joined. apply word_to_be with (l := repeat x 16) (b := t + len_of x).
  all: try reflexivity.
  - unfold sound_lanes. cbn [repeat]. repeat (constructor; [exact W|]). constructor.
  - cbn [repeat tops combine]. left. f_equal. lia.
Qed.

(** ** The registers of a vector, in C's order *)
Section Vector.
  Variable l : list lane.
  Hypothesis lanes_32 : length l = 32%nat.
  Hypothesis sound : sound_lanes l.

  Notation reg f := (reg2 (map f l)).
  Notation bits_of t := (number_of_bits (map t l)).

  Lemma word_in x : In x l -> word32 (snd x).
  Proof. intros I. unfold sound_lanes in sound. rewrite Forall_forall in sound. auto. Qed.

  Lemma used_is_512 : Z.land (bits_of fst) (Z.lor (ScanAvx512.test_epi16_mask (reg (fun x => snd x / 65536)) (ScanAvx512.set1_epi16 1))
    (ScanAvx512.movepi16_mask (reg (fun x => snd x mod 65536)))) = bits_of used.
  Proof.
    rewrite (set1_on l lanes_32), (test_on l lanes_32), (sign_on l lanes_32).
    rewrite lor_masks, map2_maps, land_masks, map2_maps by now rewrite !map_length.
    f_equal. apply map_ext_in. intros x I. apply used_lane. now apply word_in.
  Qed.

  Lemma stored_is_512 : ScanAvx512.mask_cmpgt_epu16_mask (bits_of used) (reg (fun x => snd x / 65536)) (ScanAvx512.set1_epi16 1) = bits_of kept.
  Proof.
    rewrite (set1_on l lanes_32).
    change (ScanAvx512.mask_cmpgt_epu16_mask (bits_of used) (reg (fun x => snd x / 65536)) (reg (fun _ => 1))) with
      (Lanes.number (under_mask (bytes_of 4 (bits_of used)) (mask_compare 2 Z.gtb (reg (fun x => snd x / 65536)) (reg (fun _ => 1))))).
    rewrite compared_under.
    - rewrite !map2_maps. f_equal. apply map_ext_in. intros x I. apply kept_lane. now apply word_in.
    - now rewrite map_length.
    - now rewrite map_length.
    - now rewrite map_length.
    - apply Forall_map, Forall_forall. intros x I. pose proof (word_in x I) as W. unfold word32, word16 in *. div_lia.
    - apply Forall_map, Forall_forall. intros x I. unfold word16. lia.
  Qed.

  Lemma off_is_512 : ScanAvx512.maskz_mov_epi16 (bits_of kept)
    (ScanAvx512.and_si512 (reg (fun x => snd x mod 65536)) (ScanAvx512.set1_epi16 ScanAvx512.LP_OFF_MASK)) = reg off_of.
  Proof.
    rewrite (set1_on l lanes_32), and_on, (mov_zero_on l lanes_32). apply same_lanes. intros x I. unfold off_of, lp_off.
    change ScanAvx512.LP_OFF_MASK with (Z.ones 15). rewrite Z.land_ones by lia. change (2 ^ 15) with 32768. destruct (kept x); [div_lia|reflexivity].
  Qed.

  Lemma len_is_512 : ScanAvx512.maskz_mov_epi16 (bits_of kept) (ScanAvx512.and_si512
    (ScanAvx512.add_epi16 (Table.intrinsic "_mm512_srli_epi16 1" [reg (fun x => snd x / 65536)]) (ScanAvx512.set1_epi16 7))
    (ScanAvx512.set1_epi16 (Z.lnot 7))) = reg len_of.
  Proof.
    change (Table.intrinsic "_mm512_srli_epi16 1" [reg (fun x => snd x / 65536)]) with (shift_right 2 1 (reg (fun x => snd x / 65536))).
    rewrite shift_right_lanes by lia. rewrite !(set1_on l lanes_32), add_on, and_on, (mov_zero_on l lanes_32). apply same_lanes. intros x I.
    pose proof (word_in x I) as W. unfold word32 in W. rewrite aligned_down. unfold len_of, maxalign.
    assert (E : Z.shiftr ((snd x / 65536) mod span 2) (Z.of_nat 1) = lp_len (snd x)).
    { rewrite Z.shiftr_div_pow2 by lia. change (2 ^ Z.of_nat 1) with 2. change (span 2) with 65536. unfold lp_len. div_lia. }
    rewrite E. reflexivity.
  Qed.

  Section At.
    Variable b : Z.
    Let c := combine l (tops b l).
    Notation regc f := (reg2 (map f c)).

    Lemma c_lanes : map fst c = l /\ map snd c = tops b l.
    Proof. apply combine_both. now rewrite tops_length. Qed.
    Lemma c_length : length c = 32%nat.
    Proof. rewrite <- lanes_32, <- (proj1 c_lanes) at 1. now rewrite map_length. Qed.
    Lemma on_c {B} (f : lane -> B) : map f l = map (fun y => f (fst y)) c.
    Proof. rewrite <- (proj1 c_lanes) at 1. apply map_map. Qed.

    Lemma new_off_is_512 : ScanAvx512.sub_epi16 (reg2 (repeat b 32)) (ScanAvx512.prefix_sums (reg len_of)) = regc snd.
    Proof.
      rewrite prefix_sums_are_512 by now rewrite map_length.
      change (ScanAvx512.sub_epi16 (reg2 (repeat b 32)) (reg2 (sums_from 0 (map len_of l)))) with
        (sub 2 (reg2 (repeat b 32)) (reg2 (sums_from 0 (map len_of l)))).
      rewrite sub_words, <- lanes_32, tops_are_sums, Z.sub_0_r. now rewrite (proj2 c_lanes).
    Qed.

    Lemma base_is_512 : ScanAvx512.sub_epi16 (reg2 (repeat b 32))
      (ScanAvx512.permutexvar_epi16 (ScanAvx512.set1_epi16 (ScanAvx512.LANES - 1)) (ScanAvx512.prefix_sums (reg len_of))) =
      reg2 (repeat (b - lengths_sum l) 32).
    Proof.
      rewrite prefix_sums_are_512 by now rewrite map_length. rewrite last_in_all by (rewrite sums_length, map_length; exact lanes_32).
      rewrite last_sum, Z.add_0_l.
      change (ScanAvx512.sub_epi16 (reg2 (repeat b 32)) (reg2 (repeat (sum (map len_of l)) 32))) with
        (sub 2 (reg2 (repeat b 32)) (reg2 (repeat (sum (map len_of l)) 32))).
      rewrite sub_words. reflexivity.
    Qed.

    Lemma low_to_be_is_512 : ScanAvx512.maskz_mov_epi16 (bits_of used) (ScanAvx512.mask_mov_epi16 (reg (fun x => snd x mod 65536)) (bits_of kept)
      (Table.intrinsic "_mm512_ternarylogic_epi32 216" [reg (fun x => snd x mod 65536); regc snd; ScanAvx512.set1_epi16 ScanAvx512.LP_OFF_MASK])) =
      regc low_to_be.
    Proof.
      rewrite !on_c, (set1_on c c_length).
      match goal with |- context [Table.intrinsic _ [?p; ?q; ?r]] =>
        change (Table.intrinsic "_mm512_ternarylogic_epi32 216" [p; q; r]) with (ternary 216 p q r) end.
      rewrite ternary_216 by now rewrite !lanes_length, !map_length.
      rewrite andnot_lanes, and_lanes, or_lanes, (mov_on c c_length), (mov_zero_on c c_length). reflexivity.
    Qed.

    Lemma high_to_be_is_512 : ScanAvx512.maskz_mov_epi16 (bits_of used) (reg (fun x => snd x / 65536)) = regc high_to_be.
    Proof. rewrite !on_c, (mov_zero_on c c_length). reflexivity. Qed.

    (** The tuples of the vector, packed. *)
    Let ks := tuples b l.
    Notation packed f := (reg2 (map f ks ++ repeat 0 (32 - length ks))).

    Lemma shift_is : ScanAvx512.pack (bits_of kept) (ScanAvx512.sub_epi16 (regc snd) (reg off_of)) = packed shift_of.
    Proof.
      rewrite !on_c, sub_on. change (map (fun y => kept (fst y)) c) with (map is_kept c). rewrite <- cut_lanes. apply (pack_on c c_length).
    Qed.
    Lemma end_is : ScanAvx512.pack (bits_of kept) (ScanAvx512.add_epi16 (regc snd) (reg len_of)) = packed end_of.
    Proof.
      rewrite !on_c, add_on. change (map (fun y => kept (fst y)) c) with (map is_kept c). rewrite <- cut_lanes. apply (pack_on c c_length).
    Qed.
    Lemma old_end_is : ScanAvx512.sub_epi16 (packed end_of) (packed shift_of) = packed stop_of.
    Proof.
      change (ScanAvx512.sub_epi16 (packed end_of) (packed shift_of)) with (sub 2 (packed end_of) (packed shift_of)).
      rewrite sub_words, map2_app, map2_maps by now rewrite !map_length.
      rewrite <- register_of_mod, <- (register_of_mod 2 (map stop_of ks ++ _)). f_equal. rewrite !map_app, !map_map. f_equal.
      - apply map_ext. intros y. unfold end_of, shift_of, stop_of. change (span 2) with 65536. rewrite <- Zminus_mod. f_equal. lia.
      - generalize (32 - length ks)%nat. clear. induction n as [|n IH]; [reflexivity|]. cbn [repeat map2 map]. now rewrite IH.
    Qed.
  End At.
End Vector.

(** ** Which tuples move further, or less far, than the one before them *)
Lemma none_under j : forall l : list bool, length l = j -> map2 andb (repeat false j) l = repeat false j.
Proof. induction j as [|j IH]; intros [|t l] L; try discriminate; [reflexivity|]. cbn [repeat map2 andb]. rewrite IH; [reflexivity|now injection L]. Qed.

Lemma compared_moves (f : Z -> Z -> bool) ks : forall p junk,
  map2 andb (repeat true (length ks) ++ repeat false (length junk))
    (map2 f (map shift_of ks ++ junk) (firstn (length ks + length junk) (p :: map shift_of ks ++ junk))) =
  map (fun x : move => f (shift_of (fst x)) (snd x)) (moves p ks) ++ repeat false (length junk).
Proof.
  unfold moves. induction ks as [|y ks IH]; intros p junk.
  - cbn [length map app repeat Nat.add combine]. apply none_under. rewrite ProgramFacts.map2_length, firstn_length. cbn [length]. lia.
  - cbn [length map app repeat Nat.add combine firstn map2 fst snd andb]. f_equal. apply IH.
Qed.

Lemma shifts_range ks : Forall word16 (map shift_of ks).
Proof. apply Forall_map, Forall_forall. intros y _. apply Z.mod_pos_bound. reflexivity. Qed.

Section Compared.
  Variables (ks : list placed_lane) (p : Z).
  Hypothesis fits : (length ks <= 32)%nat.
  Hypothesis before : word16 p.
  Let junk := repeat 0 (32 - length ks).
  Let shift := map shift_of ks ++ junk.

  Lemma junk_length : length junk = (32 - length ks)%nat.
  Proof. apply repeat_length. Qed.
  Lemma shift_length : length shift = 32%nat.
  Proof. unfold shift. rewrite app_length, map_length, junk_length. lia. Qed.
  Lemma shift_words : Forall word16 shift.
  Proof.
    apply Forall_app. split; [apply shifts_range|]. apply Forall_forall. intros x X. apply repeat_spec in X. subst x. unfold word16. lia.
  Qed.

  Lemma compared_first (f : Z -> Z -> bool) :
    Lanes.number (under_mask (bytes_of 4 (ScanAvx512.first_lanes (Z.of_nat (length ks)))) (mask_compare 2 f (reg2 shift) (reg2 (p :: firstn 31 shift)))) =
    number_of_bits (map (fun x : move => f (shift_of (fst x)) (snd x)) (moves p ks) ++ repeat false (32 - length ks)).
  Proof.
    pose proof shift_length as L. pose proof junk_length as Lj.
    rewrite first_lanes_are, firsts by lia. rewrite compared_under.
    - f_equal. rewrite <- Lj. unfold shift. change (p :: firstn 31 (map shift_of ks ++ junk)) with (firstn 32 (p :: map shift_of ks ++ junk)).
      replace 32%nat with (length ks + length junk)%nat by lia. apply compared_moves.
    - rewrite app_length, !repeat_length. lia.
    - exact L.
    - cbn [length]. rewrite firstn_length. lia.
    - exact shift_words.
    - constructor; [exact before|]. pose proof shift_words as W. rewrite <- (firstn_skipn 31 shift) in W. now apply Forall_app in W.
  Qed.

  Lemma gaps_are : ScanAvx512.mask_cmpgt_epi16_mask (ScanAvx512.first_lanes (Z.of_nat (length ks))) (reg2 shift) (reg2 (p :: firstn 31 shift)) =
    number_of_bits (map is_gap (moves p ks) ++ repeat false (32 - length ks)).
  Proof. exact (compared_first (on_signed 2 Z.gtb)). Qed.
  Lemma falls_are : ScanAvx512.mask_cmplt_epi16_mask (ScanAvx512.first_lanes (Z.of_nat (length ks))) (reg2 shift) (reg2 (p :: firstn 31 shift)) =
    number_of_bits (map is_fall (moves p ks) ++ repeat false (32 - length ks)).
  Proof. exact (compared_first (on_signed 2 Z.ltb)). Qed.
End Compared.
