(* SPDX-License-Identifier: PostgreSQL *)
(** * One round of the scan of avx2.c: sixteen line pointers *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes Page Decode.
From Pgquern.compaction Require ScanAvx2.

(** ** Words of bits *)
Lemma bits_of_number us : (length us <= 32)%nat -> bits (bytes_of 4 (number_of_bits us)) = us ++ repeat false (32 - length us).
Proof.
  intros L. rewrite bits_of_lane. change (8 * 4)%nat with 32%nat.
  assert (E : forall us n, (length us <= n)%nat -> map (bit (number_of_bits us)) (seq 0 n) = us ++ repeat false (n - length us)).
  { clear. induction us as [|t us IH]; intros n L.
    - cbn [number_of_bits length app]. rewrite Nat.sub_0_r. generalize 0%nat. induction n as [|n IH]; intros k; [reflexivity|].
      cbn [seq map repeat]. rewrite IH by (cbn; lia). f_equal. apply Z.bits_0.
    - destruct n as [|n]; [cbn in L; lia|]. cbn [seq map app length Nat.sub number_of_bits]. f_equal.
      + unfold bit. cbn [Z.of_nat]. rewrite Z.bit0_odd, Z.odd_add_mul_2. now destruct t.
      + rewrite <- seq_shift, map_map, <- (IH n) by (cbn in L; lia). apply map_ext. intros k. unfold bit.
        rewrite Nat2Z.inj_succ. rewrite Z.add_comm. apply Z.testbit_succ_r. lia. }
  apply E. exact L.
Qed.

Lemma popcnt_is us : (length us <= 32)%nat -> ScanAvx2.popcnt (number_of_bits us) = count us.
Proof.
  intros L. change (ScanAvx2.popcnt (number_of_bits us)) with (Lanes.number (population (bytes_of 4 (number_of_bits us)))).
  unfold population. rewrite bits_of_number, number_bytes_of, count_app, count_false by exact L. rewrite Z.add_0_r. apply Z.mod_small.
  pose proof (count_bounds us). cbn [span]. lia.
Qed.

Lemma low_byte_of_bits a b : length a = 8%nat -> Z.land (number_of_bits (a ++ b)) 255 = number_of_bits a.
Proof.
  intros L. change 255 with (Z.ones 8). rewrite Z.land_ones, number_of_bits_app, L by lia. change (2 ^ Z.of_nat 8) with 256. change (2 ^ 8) with 256.
  pose proof (number_of_bits_bound a) as B. rewrite L in B. change (2 ^ Z.of_nat 8) with 256 in B. Z.div_mod_to_equations. lia.
Qed.
Lemma high_byte_of_bits a b : length a = 8%nat -> Z.shiftr (number_of_bits (a ++ b)) 8 = number_of_bits b.
Proof.
  intros L. rewrite Z.shiftr_div_pow2, number_of_bits_app, L by lia. change (2 ^ Z.of_nat 8) with 256. change (2 ^ 8) with 256.
  pose proof (number_of_bits_bound a) as B. rewrite L in B. change (2 ^ Z.of_nat 8) with 256 in B. Z.div_mod_to_equations. lia.
Qed.

(** [pack]: the selected lanes at the bottom. *)
Lemma pack_is us xs : length us = 8%nat -> length xs = 8%nat -> Forall (fun x => 0 <= x < span 4) xs ->
  exists others, ScanAvx2.pack (number_of_bits us) (reg4 xs) = reg4 (selected us xs ++ others) /\
    (length (selected us xs) + length others = 8)%nat /\ Forall (fun x => 0 <= x < span 4) others.
Proof.
  intros L Lx V.
  change (ScanAvx2.pack (number_of_bits us) (reg4 xs)) with
    (pick 4 (reg4 xs) (left_packing (firstn 8 (bits (bytes_of 4 (number_of_bits us)))))).
  rewrite bits_of_number, firstn_app, L, Nat.sub_diag, firstn_all2 by lia. cbn [firstn]. rewrite app_nil_r. now apply packs_to_the_left.
Qed.

(** ** Arrays of words *)
Definition listed (a : nat -> Z) (from count : nat) : list Z := map a (seq from count).

Lemma store_is a i xs : length xs = 8%nat -> Forall (fun x => 0 <= x < span 4) xs -> forall k,
  ScanAvx2.store a i (reg4 xs) k = if (i <=? k)%nat && (k <? i + 8)%nat then nth (k - i) xs 0 else a k.
Proof. intros L V k. unfold ScanAvx2.store. now rewrite lanes_again by (lia || exact V). Qed.

Lemma listed_app a from n k : listed a from (n + k) = listed a from n ++ listed a (from + n) k.
Proof. unfold listed. now rewrite seq_app, map_app. Qed.
Lemma listed_same a b from n : (forall k, (from <= k < from + n)%nat -> a k = b k) -> listed a from n = listed b from n.
Proof. intros E. apply map_ext_in. intros k K. apply in_seq in K. now apply E. Qed.
Lemma listed_nths a from l : (forall k, (k < length l)%nat -> a (from + k)%nat = nth k l 0) -> listed a from (length l) = l.
Proof.
  revert from. induction l as [|x l IH]; intros from E; [reflexivity|]. unfold listed. cbn [length seq map]. f_equal.
  - rewrite <- (Nat.add_0_r from) at 1. exact (E 0%nat ltac:(cbn; lia)).
  - apply (IH (S from)). intros k K. rewrite Nat.add_succ_comm. apply (E (S k)). cbn. lia.
Qed.

(** A vector whose first lanes are [xs] is put behind a list. *)
Lemma store_behind a from n xs others : (length xs + length others = 8)%nat -> Forall (fun x => 0 <= x < span 4) (xs ++ others) ->
  listed (ScanAvx2.store a (from + n) (reg4 (xs ++ others))) from (n + length xs) = listed a from n ++ xs.
Proof.
  intros L V. rewrite listed_app. f_equal.
  - apply listed_same. intros k K. rewrite store_is by (rewrite ?app_length; assumption || lia).
    destruct (Nat.leb_spec (from + n) k); [lia|reflexivity].
  - apply listed_nths. intros k K. rewrite store_is by (rewrite ?app_length; assumption || lia).
    destruct (Nat.leb_spec (from + n) (from + n + k)), (Nat.ltb_spec (from + n + k) (from + n + 8)); try lia. cbn [andb].
    replace (from + n + k - (from + n))%nat with k by lia. now rewrite app_nth1.
Qed.
Lemma store_below a i xs : length xs = 8%nat -> Forall (fun x => 0 <= x < span 4) xs -> forall k, (k < i)%nat ->
  ScanAvx2.store a i (reg4 xs) k = a k.
Proof. intros L V k K. rewrite store_is by assumption. destruct (Nat.leb_spec i k); [lia|reflexivity]. Qed.

(** ** A line pointer's lane: whether it is there, and its word *)
Definition lane := (bool * Z)%type.
Definition used (x : lane) : bool := fst x && is_used (snd x).
Definition kept (x : lane) : bool := fst x && has_storage (snd x).
Definition off_of (x : lane) : Z := if kept x then lp_off (snd x) else 0.
Definition len_of (x : lane) : Z := if kept x then maxalign (lp_len (snd x)) else 0.
Definition low_of (x : lane) : Z := if kept x then lp_off (snd x) else 65535.
Definition tuple_of (x : lane) : Z := off_of x + 65536 * len_of x.

(** Where each tuple must start, the first of them ending at [top]. *)
Fixpoint tops (top : Z) (l : list lane) : list Z := match l with [] => [] | x :: r => (top - len_of x) :: tops (top - len_of x) r end.
(** The line pointer to be. *)
Definition new_of (y : lane * Z) : Z :=
  let x := fst y in if kept x then set_off (snd x) (snd y mod 32768) else if used x then snd x else 0.
Definition news (top : Z) (l : list lane) : list Z := map new_of (combine l (tops top l)).
Definition lengths_sum (l : list lane) : Z := sum (map len_of l).

Definition sound_lanes (l : list lane) : Prop := Forall (fun x => word32 (snd x)) l.

Lemma lane_bounds x : word32 (snd x) -> 0 <= off_of x < 32768 /\ 0 <= len_of x <= 32768 /\ word16 (off_of x + len_of x) /\ word16 (low_of x) /\
  word16 (len_of x) /\ word16 (off_of x).
Proof.
  unfold word32, word16, off_of, len_of, low_of. intros W. pose proof (maxalign_bounds (lp_len (snd x))) as M.
  assert (0 <= lp_off (snd x) < 32768) by (unfold lp_off; div_lia).
  assert (0 <= lp_len (snd x) < 32768) by (unfold lp_len; div_lia).
  assert (0 <= maxalign (lp_len (snd x)) <= 32768) by (unfold maxalign in *; div_lia).
  destruct (kept x); lia.
Qed.

Lemma tops_length l : forall top, length (tops top l) = length l.
Proof. induction l as [|x l IH]; intros top; cbn [tops length]; [|rewrite IH]; reflexivity. Qed.
Lemma last_top l : forall top, last (tops top l) top = top - lengths_sum l.
Proof.
  unfold lengths_sum. induction l as [|x l IH]; intros top; [cbn; lia|]. cbn [tops map sum fold_right]. fold (sum (map len_of l)).
  transitivity (last (tops (top - len_of x) l) (top - len_of x)); [|rewrite IH; unfold sum; cbn [fold_right]; lia].
  destruct (tops (top - len_of x) l) eqn:E; [reflexivity|]. clear. revert z. induction l0 as [|a l0 IH]; intros z; [reflexivity|]. cbn in *. exact (IH a).
Qed.
Lemma tops_app a b : forall top, tops top (a ++ b) = tops top a ++ tops (top - lengths_sum a) b.
Proof.
  unfold lengths_sum. induction a as [|x a IH]; intros top; cbn [app tops map sum fold_right]; [now rewrite Z.sub_0_r|].
  rewrite IH. do 2 f_equal. f_equal. unfold sum. cbn [fold_right]. lia.
Qed.

Lemma tops_are_sums l : forall b s, map2 Z.sub (repeat b (length l)) (sums_from s (map len_of l)) = tops (b - s) l.
Proof.
  induction l as [|x l IH]; intros b s; [reflexivity|]. cbn [length repeat map sums_from map2 tops]. rewrite IH.
  replace (b - (s + len_of x)) with (b - s - len_of x) by lia. reflexivity.
Qed.

Lemma sub_words xs ys : sub 2 (reg2 xs) (reg2 ys) = reg2 (map2 Z.sub xs ys).
Proof.
  unfold sub, lanewise. rewrite !lanes_of_register by lia. rewrite <- register_of_mod, <- (register_of_mod 2 (map2 Z.sub xs ys)).
  f_equal. revert ys. induction xs as [|x xs IH]; intros [|y ys]; cbn [map map2]; try reflexivity. rewrite IH. f_equal.
  now rewrite <- Zminus_mod.
Qed.

(** ** The registers of a round, in C's order *)
Section Round.
  Variable l : list lane.
  Hypothesis sixteen_lanes : length l = 16%nat.
  Hypothesis sound : sound_lanes l.

  Notation reg f := (reg2 (map f l)).

  Lemma sound_in x : In x l -> word32 (snd x).
  Proof. intros I. unfold sound_lanes in sound. rewrite Forall_forall in sound. auto. Qed.

  Lemma set1_lanes c : ScanAvx2.set1_epi16 c = reg (fun _ => c).
  Proof. change (ScanAvx2.set1_epi16 c) with (spread 16 (bytes_of 2 c)). now apply constant_lanes. Qed.
  Lemma setzero_lanes : ScanAvx2.setzero = reg (fun _ => 0).
  Proof. change ScanAvx2.setzero with (zeros (16 * 2)). now apply zero_lanes. Qed.
  Lemma and_is f g : ScanAvx2.and (reg f) (reg g) = reg (fun x => Z.land (f x) (g x)).
  Proof. apply and_lanes. Qed.
  Lemma or_is f g : ScanAvx2.or (reg f) (reg g) = reg (fun x => Z.lor (f x) (g x)).
  Proof. apply or_lanes. Qed.
  Lemma xor_is f g : ScanAvx2.xor (reg f) (reg g) = reg (fun x => Z.lxor (f x) (g x)).
  Proof. apply xor_lanes. Qed.
  Lemma andnot_is f g : ScanAvx2.andnot (reg f) (reg g) = reg (fun x => Z.ldiff (g x) (f x)).
  Proof. apply andnot_lanes. Qed.

  Lemma used_is : ScanAvx2.and (ScanAvx2.used_lanes (reg (fun x => snd x mod 65536)) (reg (fun x => snd x / 65536)))
    (reg (fun x => ones (fst x))) = reg (fun x => ones (used x)).
  Proof.
    unfold ScanAvx2.used_lanes. rewrite set1_lanes, and_is.
    change (Table.intrinsic "_mm256_srai_epi16 15" [reg (fun x => snd x mod 65536)]) with
      (shift_right_signed 2 (8 * 2 - 1) (reg (fun x => snd x mod 65536))).
    change (Table.intrinsic "_mm256_cmpeq_epi16" [reg (fun x => Z.land (snd x / 65536) 1); reg (fun _ => 1)]) with
      (compare_equal 2 (reg (fun x => Z.land (snd x / 65536) 1)) (reg (fun _ => 1))).
    rewrite sign_lanes, equal_lanes, or_is, and_is by lia. apply same_lanes. intros x I. pose proof (sound_in x I) as W.
    rewrite lor_both, land_both. f_equal. unfold used. rewrite andb_comm. f_equal.
    change (8 * 2 - 1)%nat with 15%nat. unfold bit. change (Z.of_nat 15) with 15. rewrite <- (Z.mod_small (snd x mod 65536) (2 ^ 16)) by div_lia.
    rewrite Z.testbit_odd, Z.shiftr_div_pow2 by lia. change (2 ^ 15) with 32768. change (2 ^ 16) with 65536.
    change 1 with (Z.ones 1) at 1. rewrite Z.land_ones by lia. change (2 ^ 1) with 2. change (span 2) with 65536.
    unfold is_used, lp_flags, LP_UNUSED. unfold word32 in W. rewrite Zodd_mod.
    assert (E : Zeq_bool (snd x mod 65536 mod 65536 / 32768 mod 2) 1 = (snd x mod 65536 mod 65536 / 32768 mod 2 =? 1)).
    { unfold Zeq_bool. rewrite Z.eqb_compare. reflexivity. }
    rewrite E. destruct (Z.eqb_spec (snd x mod 65536 mod 65536 / 32768 mod 2) 1), (Z.eqb_spec ((snd x / 65536) mod 2 mod 65536) (1 mod 65536)),
      (Z.eqb_spec (snd x / 32768 mod 4) 0); cbn [orb negb]; try reflexivity; exfalso; div_lia.
  Qed.

  Lemma len_is : Table.intrinsic "_mm256_srli_epi16 1" [reg (fun x => snd x / 65536)] = reg (fun x => lp_len (snd x)).
  Proof.
    change (Table.intrinsic "_mm256_srli_epi16 1" [reg (fun x => snd x / 65536)]) with (shift_right 2 1 (reg (fun x => snd x / 65536))).
    rewrite shift_right_lanes by lia. apply same_lanes. intros x I. pose proof (sound_in x I) as W. unfold word32 in W.
    rewrite Z.shiftr_div_pow2 by lia. change (2 ^ Z.of_nat 1) with 2. change (span 2) with 65536. unfold lp_len. div_lia.
  Qed.

  Lemma stored_is : ScanAvx2.andnot (Table.intrinsic "_mm256_cmpeq_epi16" [reg (fun x => lp_len (snd x)); ScanAvx2.setzero])
    (reg (fun x => ones (used x))) = reg (fun x => ones (kept x)).
  Proof.
    rewrite setzero_lanes.
    change (Table.intrinsic "_mm256_cmpeq_epi16" [reg (fun x => lp_len (snd x)); reg (fun _ => 0)]) with
      (compare_equal 2 (reg (fun x => lp_len (snd x))) (reg (fun _ => 0))).
    rewrite equal_lanes, andnot_is by lia. apply same_lanes. intros x I. pose proof (sound_in x I) as W. unfold word32 in W.
    rewrite ldiff_both. f_equal. unfold kept, used, has_storage. change (span 2) with 65536.
    assert (E : (lp_len (snd x) mod 65536 =? 0 mod 65536) = (lp_len (snd x) =? 0)).
    { rewrite (Z.mod_small (lp_len _)) by (unfold lp_len; div_lia). reflexivity. }
    rewrite E. destruct (fst x), (is_used (snd x)), (lp_len (snd x) =? 0); reflexivity.
  Qed.

  Lemma length_is : ScanAvx2.and (ScanAvx2.and (Table.intrinsic "_mm256_add_epi16" [reg (fun x => lp_len (snd x)); ScanAvx2.set1_epi16 7])
    (ScanAvx2.set1_epi16 (Z.lnot 7))) (reg (fun x => ones (kept x))) = reg len_of.
  Proof.
    rewrite !set1_lanes.
    change (Table.intrinsic "_mm256_add_epi16" [reg (fun x => lp_len (snd x)); reg (fun _ => 7)]) with
      (add 2 (reg (fun x => lp_len (snd x))) (reg (fun _ => 7))).
    rewrite add_lanes, !and_is by lia. apply same_lanes. intros x I. rewrite land_ones, aligned_down. reflexivity.
  Qed.

  Lemma off_is : ScanAvx2.and (ScanAvx2.and (reg (fun x => snd x mod 65536)) (ScanAvx2.set1_epi16 ScanAvx2.LP_OFF_MASK))
    (reg (fun x => ones (kept x))) = reg off_of.
  Proof.
    rewrite set1_lanes, !and_is. apply same_lanes. intros x I. rewrite land_ones. unfold off_of, lp_off.
    change ScanAvx2.LP_OFF_MASK with (Z.ones 15). rewrite Z.land_ones by lia. change (2 ^ 15) with 32768. destruct (kept x); [div_lia|reflexivity].
  Qed.

  Lemma new_off_is b : Table.intrinsic "_mm256_sub_epi16" [reg2 (repeat b 16); ScanAvx2.prefix_sums (reg len_of)] = reg2 (tops b l).
  Proof.
    rewrite prefix_sums_are by now rewrite map_length.
    change (Table.intrinsic "_mm256_sub_epi16" [reg2 (repeat b 16); reg2 (sums_from 0 (map len_of l))]) with
      (sub 2 (reg2 (repeat b 16)) (reg2 (sums_from 0 (map len_of l)))).
    rewrite sub_words. rewrite <- sixteen_lanes, tops_are_sums, Z.sub_0_r. reflexivity.
  Qed.

  Lemma base_is b : Table.intrinsic "_mm256_permute4x64_epi64 255" [ScanAvx2.spread_last_word (reg2 (tops b l))] =
    reg2 (repeat (b - lengths_sum l) 16).
  Proof.
    change (Table.intrinsic "_mm256_permute4x64_epi64 255" [ScanAvx2.spread_last_word (reg2 (tops b l))]) with
      (permute_quarters 255 (ScanAvx2.spread_last_word (reg2 (tops b l)))).
    rewrite last_word_spread by now rewrite tops_length. rewrite <- last_top. pose proof (tops_length l b) as L. rewrite sixteen_lanes in L.
    destruct (tops b l) as [|t r] eqn:E; [discriminate|]. f_equal. f_equal. clear. revert t. induction r as [|a r IH]; intros t; [reflexivity|].
    change (last (t :: a :: r) 0) with (last (a :: r) 0). change (last (t :: a :: r) b) with (last (a :: r) b). apply IH.
  Qed.

  (** Each lane with the place where its tuple must start. *)
  Section With_tops.
    Variable b : Z.
    Let c := combine l (tops b l).
    Notation regc f := (reg2 (map f c)).

    Lemma combined_lanes f : reg f = regc (fun y => f (fst y)).
    Proof.
      f_equal. rewrite <- (map_map fst f). f_equal. unfold c. pose proof (tops_length l b) as L. clear -L. revert L. generalize (tops b l).
      induction l as [|x r IH]; intros [|t ts] L; try discriminate; [reflexivity|]. cbn [combine map fst]. f_equal. apply IH. now injection L.
    Qed.
    Lemma combined_tops : reg2 (tops b l) = regc snd.
    Proof.
      f_equal. unfold c. pose proof (tops_length l b) as L. clear -L. revert L. generalize (tops b l).
      induction l as [|x r IH]; intros [|t ts] L; try discriminate; [reflexivity|]. cbn [combine map snd]. f_equal. apply IH. now injection L.
    Qed.
    Lemma combined_length : length c = 16%nat.
    Proof. unfold c. rewrite combine_length, tops_length, sixteen_lanes. reflexivity. Qed.

    Definition low_to_be (y : lane * Z) : Z :=
      if used (fst y) then (if kept (fst y) then Z.lor (Z.ldiff (snd (fst y) mod 65536) 32767) (Z.land (snd y) 32767) else snd (fst y) mod 65536)
      else 0.
    Definition high_to_be (y : lane * Z) : Z := if used (fst y) then snd (fst y) / 65536 else 0.

    Lemma low_to_be_is : ScanAvx2.and
      (Table.intrinsic "_mm256_blendv_epi8"
         [reg (fun x => snd x mod 65536);
          ScanAvx2.or (ScanAvx2.andnot (ScanAvx2.set1_epi16 ScanAvx2.LP_OFF_MASK) (reg (fun x => snd x mod 65536)))
            (ScanAvx2.and (reg2 (tops b l)) (ScanAvx2.set1_epi16 ScanAvx2.LP_OFF_MASK));
          reg (fun x => ones (kept x))])
      (reg (fun x => ones (used x))) = regc low_to_be.
    Proof.
      rewrite set1_lanes, !combined_lanes, combined_tops.
      change (ScanAvx2.andnot (regc (fun _ => ScanAvx2.LP_OFF_MASK)) (regc (fun y => snd (fst y) mod 65536))) with
        (Logic.andnot (regc (fun _ => ScanAvx2.LP_OFF_MASK)) (regc (fun y => snd (fst y) mod 65536))).
      change (ScanAvx2.and (regc snd) (regc (fun _ => ScanAvx2.LP_OFF_MASK))) with (Logic.and (regc snd) (regc (fun _ => ScanAvx2.LP_OFF_MASK))).
      rewrite andnot_lanes, and_lanes.
      match goal with |- context [ScanAvx2.or (regc ?f) (regc ?g)] => change (ScanAvx2.or (regc f) (regc g)) with (Logic.or (regc f) (regc g)) end.
      rewrite or_lanes.
      match goal with |- context [Table.intrinsic _ [?p; ?q; ?r]] => change (Table.intrinsic "_mm256_blendv_epi8" [p; q; r]) with (blend_bytes p q r) end.
      rewrite (blend_lanes 2 c _ _ (fun y => kept (fst y))).
      match goal with |- ScanAvx2.and (regc ?f) (regc ?g) = _ => change (ScanAvx2.and (regc f) (regc g)) with (Logic.and (regc f) (regc g)) end.
      rewrite and_lanes. apply same_lanes. intros y I. rewrite land_ones. reflexivity.
    Qed.

    Lemma high_to_be_is : ScanAvx2.and (reg (fun x => snd x / 65536)) (reg (fun x => ones (used x))) = regc high_to_be.
    Proof.
      rewrite and_is, combined_lanes. apply same_lanes. intros y I. rewrite land_ones. reflexivity.
    Qed.

    Lemma word_to_be y : In y c -> low_to_be y mod 65536 + 65536 * high_to_be y = new_of y.
    Proof.
      intros I. assert (W : word32 (snd (fst y))).
      { apply sound_in. destruct y as [x t]. unfold c in I. now apply in_combine_l in I. }
      unfold word32 in W. unfold low_to_be, high_to_be, new_of. destruct (kept (fst y)) eqn:K.
      - assert (U : used (fst y) = true).
        { unfold kept, used, has_storage in *. destruct (fst (fst y)), (is_used (snd (fst y))); auto. }
        rewrite U. set (v := snd (fst y)) in *. change 32767 with (Z.ones 15). rewrite Z.ldiff_ones_r, Z.land_ones, Z.shiftr_div_pow2, Z.shiftl_mul_pow2 by lia.
        change (2 ^ 15) with 32768. set (t := snd y).
        assert (D : Z.lor (v mod 65536 / 32768 * 32768) (t mod 32768) = v mod 65536 / 32768 * 32768 + t mod 32768).
        { rewrite <- Z.lxor_lor; [symmetry; apply Z.add_nocarry_lxor|]; apply Z.bits_inj'; intros i Ii; rewrite Z.land_spec, Z.bits_0;
            change 32768 with (2 ^ 15); (destruct (Z.lt_ge_cases i 15); [rewrite Z.mul_pow2_bits_low by lia; reflexivity|
            rewrite Z.mod_pow2_bits_high by lia; apply andb_false_r]). }
        rewrite D. unfold set_off. div_lia.
      - destruct (used (fst y)); [div_lia|reflexivity].
    Qed.

    Lemma words_are : ScanAvx2.zip (regc low_to_be) (regc high_to_be) = (reg4 (firstn 8 (news b l)), reg4 (skipn 8 (news b l))).
    Proof.
      rewrite zip_is, map2_maps by (rewrite map_length; exact combined_length).
      assert (E : map (fun y => low_to_be y mod 65536 + 65536 * high_to_be y) c = news b l) by (apply map_ext_in; exact word_to_be).
      now rewrite E.
    Qed.
  End With_tops.

  Lemma tuples_are : ScanAvx2.zip (reg off_of) (reg len_of) = (reg4 (firstn 8 (map tuple_of l)), reg4 (skipn 8 (map tuple_of l))).
  Proof.
    rewrite zip_is, map2_maps by now rewrite map_length.
    assert (E : map (fun x => off_of x mod 65536 + 65536 * len_of x) l = map tuple_of l).
    { apply map_ext_in. intros x I. unfold tuple_of. rewrite Z.mod_small; [reflexivity|]. pose proof (lane_bounds x (sound_in x I)). lia. }
    now rewrite E.
  Qed.

  Lemma bits_are (f : lane -> bool) : ScanAvx2.lane_bits (reg (fun x => ones (f x))) = number_of_bits (map f l).
  Proof. rewrite <- (map_map f ones). apply lane_bits_are. now rewrite map_length. Qed.
End Round.
