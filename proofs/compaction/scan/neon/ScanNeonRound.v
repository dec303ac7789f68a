(* SPDX-License-Identifier: PostgreSQL *)
(** * One round of the scan of neon.c: eight line pointers *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop Page Decode ScanAvx512Lanes ScanAvx512Round ScanAvx512Loop.
From Pgquern.compaction Require Import ScanNeonLanes.
From Pgquern.compaction Require ScanNeon.

(** A tuple's word: where it must end, and where it ends now. *)
Definition ends_word (y : placed_lane) : Z := end_of y + 65536 * stop_of y.

Lemma aligned_down_neon x : 0 <= x < 65536 -> Z.land x 65528 = x / 8 * 8.
Proof.
  intros X. change 65528 with (Z.land (Z.ones 16) (Z.lnot 7)). rewrite Z.land_assoc, Z.land_ones by lia. change (2 ^ 16) with 65536.
  rewrite Z.mod_small by exact X. apply aligned_down.
Qed.

(** ** The registers of a round, in C's order *)
Lemma there_neon m n i : 0 <= n <= 2042 -> (i <= 2042)%nat ->
  ScanNeon.vcleq_u16 (reg2 (map (fun k => Z.of_nat k + 1) (seq i 8))) (ScanNeon.vdupq_n_u16 n) =
  reg2 (map (fun x => ones (fst x)) (lanes_from m n i 8)).
Proof.
  intros N I. rewrite (dup_neon (seq i 8)), cle_neon by apply seq_length. unfold lanes_from. rewrite map_map. f_equal.
  apply map_ext_in. intros k K. apply in_seq in K. cbn [lane_at fst]. f_equal. rewrite !Z.mod_small by lia.
  destruct (Z.leb_spec (Z.of_nat k + 1) n), (Z.ltb_spec (Z.of_nat k) n); try reflexivity; lia.
Qed.

Section Round.
  Variable l : list lane.
  Hypothesis lanes_8 : length l = 8%nat.
  Hypothesis sound : sound_lanes l.

  Notation reg f := (reg2 (map f l)).

  Lemma used_neon : ScanNeon.vandq_u16
    (ScanNeon.vorrq_u16 (ScanNeon.vcltzq_s16 (Table.intrinsic "vreinterpretq_s16_u16" [reg (fun x => snd x mod 65536)]))
      (ScanNeon.vtstq_u16 (reg (fun x => snd x / 65536)) (ScanNeon.vdupq_n_u16 1)))
    (reg (fun x => ones (fst x))) = reg (fun x => ones (used x)).
  Proof.
    change (Table.intrinsic "vreinterpretq_s16_u16" [reg (fun x => snd x mod 65536)]) with (reg (fun x => snd x mod 65536)).
    rewrite ltz_neon, (dup_neon l 1 lanes_8), tst_neon, or_neon, and_neon. apply same_lanes. intros x I.
    pose proof (word_in l sound x I) as W. rewrite lor_both, land_both, <- (used_lane x W), andb_comm, orb_comm. do 3 f_equal.
    unfold signed. change (span 2) with 65536.
    destruct (Z.ltb_spec (2 * (snd x mod 65536 mod 65536)) 65536), (Z.leb_spec 128 (snd x mod 65536 / 256 mod 256)); try apply Z.ltb_lt;
      try apply Z.ltb_ge; unfold word32 in W; div_lia.
  Qed.

  Lemma len_neon : ScanNeon.vshrq_n_u16_1 (reg (fun x => snd x / 65536)) = reg (fun x => lp_len (snd x)).
  Proof.
    rewrite shr_neon. apply same_lanes. intros x I. pose proof (word_in l sound x I) as W. unfold word32 in W.
    rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 1) with 2. unfold lp_len. div_lia.
  Qed.

  Lemma stored_neon : ScanNeon.vandq_u16 (reg (fun x => ones (used x)))
    (ScanNeon.vtstq_u16 (reg (fun x => lp_len (snd x))) (reg (fun x => lp_len (snd x)))) = reg (fun x => ones (kept x)).
  Proof.
    rewrite tst_neon, and_neon. apply same_lanes. intros x I. pose proof (word_in l sound x I) as W. unfold word32 in W.
    rewrite land_both. f_equal. rewrite Z.land_diag, Z.mod_small by (unfold lp_len; div_lia). unfold kept, used, has_storage.
    destruct (fst x), (is_used (snd x)), (lp_len (snd x) =? 0); reflexivity.
  Qed.

  Lemma length_neon : ScanNeon.vandq_u16 (ScanNeon.vandq_u16
      (ScanNeon.vaddq_u16 (reg (fun x => lp_len (snd x))) (ScanNeon.vdupq_n_u16 (ScanNeon.UNIT - 1)))
      (ScanNeon.vdupq_n_u16 (0xffff - (ScanNeon.UNIT - 1)))) (reg (fun x => ones (kept x))) = reg len_of.
  Proof.
    rewrite !(dup_neon l _ lanes_8), add_neon, !and_neon. apply same_lanes. intros x I. pose proof (word_in l sound x I) as W. unfold word32 in W.
    rewrite land_ones. change (ScanNeon.UNIT - 1) with 7. change (0xffff - 7) with 65528.
    rewrite aligned_down_neon by (unfold lp_len; div_lia). reflexivity.
  Qed.

  Lemma off_neon : ScanNeon.vandq_u16 (ScanNeon.vandq_u16 (reg (fun x => snd x mod 65536)) (ScanNeon.vdupq_n_u16 ScanNeon.LP_OFF_MASK))
    (reg (fun x => ones (kept x))) = reg off_of.
  Proof.
    rewrite (dup_neon l _ lanes_8), !and_neon. apply same_lanes. intros x I. rewrite land_ones. unfold off_of, lp_off.
    change ScanNeon.LP_OFF_MASK with (Z.ones 15). rewrite Z.land_ones by lia. change (2 ^ 15) with 32768. destruct (kept x); [div_lia|reflexivity].
  Qed.

  Section At.
    Variable b : Z.
    Let c := combine l (tops b l).
    Notation regc f := (reg2 (map f c)).

    Lemma c_length_neon : length c = 8%nat.
    Proof. rewrite <- lanes_8, <- (proj1 (c_lanes l b)) at 1. now rewrite map_length. Qed.

    Lemma new_off_neon : ScanNeon.vsubq_u16 (reg2 (repeat b 8)) (ScanNeon.prefix_sums (reg len_of)) = regc snd.
    Proof.
      rewrite prefix_sums_are_neon by now rewrite map_length.
      change (ScanNeon.vsubq_u16 (reg2 (repeat b 8)) (reg2 (sums_from 0 (map len_of l)))) with
        (sub 2 (reg2 (repeat b 8)) (reg2 (sums_from 0 (map len_of l)))).
      rewrite sub_words, <- lanes_8, tops_are_sums, Z.sub_0_r. unfold c. now rewrite (proj2 (c_lanes l b)).
    Qed.

    Lemma base_neon : Table.intrinsic "vdupq_laneq_u16 7" [regc snd] = reg2 (repeat (b - lengths_sum l) 8).
    Proof.
      rewrite last_in_all_neon by (rewrite map_length; exact c_length_neon). unfold c. rewrite (proj2 (c_lanes l b)), <- last_top.
      pose proof (tops_length l b) as L. rewrite lanes_8 in L. destruct (tops b l) as [|t r]; [discriminate|]. now rewrite !last_of_cons.
    Qed.

    Lemma low_to_be_neon : ScanNeon.vandq_u16
      (ScanNeon.vbslq_u16 (ScanNeon.vandq_u16 (reg (fun x => ones (kept x))) (ScanNeon.vdupq_n_u16 ScanNeon.LP_OFF_MASK))
        (regc snd) (reg (fun x => snd x mod 65536)))
      (reg (fun x => ones (used x))) = regc low_to_be.
    Proof.
      rewrite !(on_c l b). fold c. rewrite (dup_neon c _ c_length_neon), and_neon, bsl_neon, and_neon. apply same_lanes. intros y I.
      rewrite land_ones. unfold low_to_be. destruct (used (fst y)); [|reflexivity]. change ScanNeon.LP_OFF_MASK with 32767.
      destruct (kept (fst y)); cbn [ones].
      - rewrite Z.land_m1_l, Z.lor_comm. f_equal. apply Z.land_comm.
      - now rewrite !Z.land_0_l, Z.ldiff_0_r.
    Qed.

    Lemma high_to_be_neon : ScanNeon.vandq_u16 (reg (fun x => snd x / 65536)) (reg (fun x => ones (used x))) = regc high_to_be.
    Proof. rewrite !(on_c l b). fold c. rewrite and_neon. apply same_lanes. intros y I. now rewrite land_ones. Qed.

    Lemma ends_neon : ScanNeon.vaddq_u16 (regc snd) (reg len_of) = regc (fun y => snd y + len_of (fst y)).
    Proof. rewrite (on_c l b). fold c. apply add_neon. Qed.
    Lemma old_ends_neon : ScanNeon.vaddq_u16 (reg off_of) (reg len_of) = regc stop_of.
    Proof. rewrite !(on_c l b). fold c. apply add_neon. Qed.

    Lemma stops_range : Forall word16 (map stop_of c).
    Proof.
      apply Forall_map, Forall_forall. intros [x t] X. unfold c in X. apply in_combine_l in X. unfold stop_of. cbn [fst].
      now apply lane_bounds, (word_in l sound).
    Qed.

    (** What is packed of them. *)
    Lemma selected_neon : selected (map kept l) (map2 joined (map (fun y => snd y + len_of (fst y)) c) (map stop_of c)) =
      map ends_word (tuples b l).
    Proof.
      rewrite (on_c l b). fold c. rewrite map2_maps. exact (selected_filter is_kept ends_word c).
    Qed.

    (** The words to be, in two registers. *)
    Lemma words_neon : exists u v, news b l = u ++ v /\ length u = 4%nat /\ length v = 4%nat /\
      ScanNeon.vzip1q_u16 (regc low_to_be) (regc high_to_be) = reg4 u /\ ScanNeon.vzip2q_u16 (regc low_to_be) (regc high_to_be) = reg4 v.
    Proof.
      destruct (four_and_four c c_length_neon) as (c1 & c2 & E & L1 & L2). exists (map new_of c1), (map new_of c2).
      assert (J : forall q, incl q c -> map2 joined (map low_to_be q) (map high_to_be q) = map new_of q).
      { intros q Q. rewrite map2_maps. apply map_ext_in. intros [x t] X. apply word_halves. cbn [fst]. apply Q in X. unfold c in X.
        apply in_combine_l in X. now apply (word_in l sound). }
      destruct (zipped_neon (map low_to_be c1) (map low_to_be c2) (map high_to_be c1) (map high_to_be c2)) as [Z1 Z2]; [now rewrite map_length..|].
      rewrite !J in Z1, Z2 by (rewrite E; intros x X; apply in_or_app; auto).
      rewrite E, !map_app, !map_length. repeat split; try assumption. unfold news. fold c. now rewrite E, map_app.
    Qed.
  End At.
End Round.

(** ** The tuples of a round *)
Lemma joined_range : forall us vs, Forall word16 vs -> Forall (fun x => 0 <= x < span 4) (map2 joined us vs).
Proof.
  induction us as [|u us IH]; intros vs V; destruct V as [|v vs Vx V]; try constructor.
  - unfold joined, word16 in *. change (span 4) with 4294967296. pose proof (Z.mod_pos_bound u 65536). lia.
  - now apply IH.
Qed.

Lemma zeros_fit k : Forall (fun x => 0 <= x < span 4) (repeat 0 k).
Proof. apply Forall_forall. intros x X. apply repeat_spec in X. subst x. cbn. lia. Qed.

Section Pack.
  Variables (to : nat -> Z) (n : nat) (ts : list bool) (es os : list Z).
  Hypothesis eight : length ts = 8%nat /\ length es = 8%nat /\ length os = 8%nat.
  Hypothesis old_ends : Forall word16 os.
  Let ws := selected ts (map2 joined es os).

  Lemma pack_tuples_is done : listed to 0 n = done ->
    let r := ScanNeon.pack_tuples to n (reg2 (map ones ts)) (reg2 es) (reg2 os) in
    listed (fst (fst r)) 0 (n + length ws) = done ++ ws /\ snd (fst r) = (n + length ws)%nat /\ (Z.of_nat n <= 2050 -> snd r = true).
  Proof.
    intros D r. destruct eight as (Lt & Le & Lo). unfold r, ScanNeon.pack_tuples. cbv zeta. destruct (weights_say ts Lt) as (W1 & W2 & W3 & W4).
    cbv zeta in W1, W2, W3, W4. rewrite W1, W2, W3, W4. clear W1 W2 W3 W4.
    destruct (four_and_four ts Lt) as (t1 & t2 & -> & Lt1 & Lt2). destruct (four_and_four es Le) as (e1 & e2 & -> & Le1 & Le2).
    destruct (four_and_four os Lo) as (o1 & o2 & -> & Lo1 & Lo2). destruct (zipped_neon e1 e2 o1 o2 Le1 Le2 Lo1 Lo2) as [Z1 Z2]. rewrite Z1, Z2.
    apply Forall_app in old_ends as [V1 V2].
    rewrite firstn_app, skipn_app, Lt1, Nat.sub_diag, firstn_all2, skipn_all2 by lia. cbn [firstn skipn app]. rewrite app_nil_r.
    repeat match goal with |- context [Table.intrinsic "vreinterpretq_u32_u16" [?a]] =>
      change (Table.intrinsic "vreinterpretq_u32_u16" [a]) with a end.
    repeat match goal with |- context [Table.intrinsic "vreinterpretq_u16_u32" [?a]] =>
      change (Table.intrinsic "vreinterpretq_u16_u32" [a]) with a end.
    assert (M1 : length (map2 joined e1 o1) = 4%nat) by (rewrite ProgramFacts.map2_length; lia).
    assert (M2 : length (map2 joined e2 o2) = 4%nat) by (rewrite ProgramFacts.map2_length; lia).
    rewrite !packed_neon by assumption.
    assert (Wt : ws = selected t1 (map2 joined e1 o1) ++ selected t2 (map2 joined e2 o2)).
    { unfold ws. rewrite map2_app by lia. apply selected_app. lia. }
    rewrite (count_selected t1 (map2 joined e1 o1)), (count_selected t2 (map2 joined e2 o2)), !Nat2Z.id by lia.
    set (w1 := selected t1 (map2 joined e1 o1)) in *. set (w2 := selected t2 (map2 joined e2 o2)) in *.
    assert (R1 : Forall (fun x => 0 <= x < span 4) w1) by now apply selected_in, joined_range.
    assert (R2 : Forall (fun x => 0 <= x < span 4) w2) by now apply selected_in, joined_range.
    pose proof (selected_length t1 (map2 joined e1 o1)) as S1. fold w1 in S1.
    pose proof (selected_length t2 (map2 joined e2 o2)) as S2. fold w2 in S2.
    rewrite Wt, app_length. cbn [fst snd]. split; [|split].
    - rewrite Nat.add_assoc. unfold ScanNeon.store.
      rewrite (store_behind_512 4 _ ltac:(lia) 0 (n + length w1)) by (apply Forall_app; split; [exact R2|apply zeros_fit]).
      rewrite (store_behind_512 4 _ ltac:(lia) 0 n) by (apply Forall_app; split; [exact R1|apply zeros_fit]).
      now rewrite D, app_assoc.
    - lia.
    - intros B. unfold ScanNeon.fits, ScanAvx512.fits, ScanNeon.MAX_LINE_POINTERS, ScanNeon.LANES. rewrite andb_true_iff, !Z.leb_le. lia.
  Qed.
End Pack.

(** ** Extremes *)
Record known (l : list lane) (x : ScanNeon.extremes) : Prop := {
  k_lows : exists xs, ScanNeon.lows x = reg2 xs /\ length xs = 8%nat /\ Forall word16 xs /\ fewest xs = fewest (map low_of l);
  k_ends : exists xs, ScanNeon.ends x = reg2 xs /\ length xs = 8%nat /\ Forall word16 xs /\ most xs = most (map (fun x => off_of x + len_of x) l);
  k_offs : exists xs, ScanNeon.offs x = reg2 xs /\ length xs = 8%nat /\ alls xs = alls (map off_of l);
  k_longests : exists xs, ScanNeon.longests x = reg2 xs /\ length xs = 8%nat /\ Forall word16 xs /\ most xs = most (map len_of l);
  k_nuseds : exists xs, ScanNeon.nuseds x = reg2 xs /\ length xs = 8%nat /\ sum xs = count (map used l);
  k_last_useds : exists xs, ScanNeon.last_useds x = reg2 xs /\ length xs = 8%nat /\ Forall word16 xs /\ most xs = last_set (map used l);
  k_totals : exists xs, ScanNeon.totals x = reg4 xs /\ length xs = 4%nat /\ sum xs = sum (map len_of l) }.

(** The number of the last line pointer that is used. *)
Lemma last_number us : forall i, most (map2 Z.land (map (fun k => Z.of_nat k + 1) (seq i (length us))) (map ones us)) =
  if last_set us =? 0 then 0 else Z.of_nat i + last_set us.
Proof.
  induction us as [|t us IH]; intros i; [reflexivity|]. cbn [length seq map map2]. unfold most in *. cbn [fold_right]. rewrite IH, land_ones.
  cbn [last_set]. pose proof (last_set_bounds us). destruct (Z.eqb_spec (last_set us) 0).
  - destruct t; cbn [Z.b2z]; [change (1 =? 0) with false|change (0 =? 0) with true]; cbv iota; lia.
  - destruct (Z.eqb_spec (1 + last_set us) 0); [lia|]. destruct t; lia.
Qed.
Lemma numbers_range us : forall i, Z.of_nat (i + length us) < 65536 ->
  Forall word16 (map2 Z.land (map (fun k => Z.of_nat k + 1) (seq i (length us))) (map ones us)).
Proof.
  induction us as [|t us IH]; intros i B; [constructor|]. cbn [length seq map map2] in *. constructor; [|apply IH; lia].
  rewrite land_ones. unfold word16. destruct t; lia.
Qed.

Lemma sum_of_difference : forall a b, length a = length b -> sum (map2 Z.sub a b) = sum a - sum b.
Proof.
  unfold sum. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. cbn [map2 fold_right].
  rewrite IH by (now injection L). lia.
Qed.
Lemma sum_of_ones us : sum (map ones us) = - count us.
Proof. unfold sum, count. induction us as [|t us IH]; [reflexivity|]. cbn [map fold_right]. rewrite IH. destruct t; cbn [ones Z.b2z]; lia. Qed.

Lemma notes l m x : length m = 8%nat -> (length l <= 2042)%nat -> sound_lanes l -> sound_lanes m -> known l x ->
  let y := ScanNeon.note_bounds x (reg2 (map (fun x => ones (kept x)) m)) (reg2 (map off_of m)) (reg2 (map len_of m)) in
  let used := reg2 (map (fun x => ones (used x)) m) in
  let numbers := reg2 (map (fun k => Z.of_nat k + 1) (seq (length l) 8)) in
  known (l ++ m) (ScanNeon.Extremes (ScanNeon.lows y) (ScanNeon.ends y) (ScanNeon.offs y) (ScanNeon.longests y)
    (ScanNeon.vsubq_u16 (ScanNeon.nuseds y) used) (ScanNeon.vmaxq_u16 (ScanNeon.last_useds y) (ScanNeon.vandq_u16 numbers used)) (ScanNeon.totals y)).
Proof.
  intros L Few Sl S [(lo & Lo & Llo & Vlo & Flo) (en & En & Len & Ven & Fen) (os & Os & Los & Fos) (lg & Lg & Llg & Vlg & Flg)
    (nu & Nu & Lnu & Fnu) (la & La & Lla & Vla & Fla) (ts & Ts & Lts & Fts)] y us numbers.
  assert (R : forall f, (forall x, word32 (snd x) -> word16 (f x)) -> Forall word16 (map f m)) by (intros f; now apply range_map).
  assert (Bl : forall x, word32 (snd x) -> word16 (low_of x)) by (intros z Z; apply lane_bounds; exact Z).
  assert (Be : forall x, word32 (snd x) -> word16 (off_of x + len_of x)) by (intros z Z; apply lane_bounds; exact Z).
  assert (Bn : forall x, word32 (snd x) -> word16 (len_of x)) by (intros z Z; apply lane_bounds; exact Z).
  subst y us numbers. rewrite <- (map_map used ones m).
  assert (Lu : length (map used m) = 8%nat) by now rewrite map_length.
  split; cbn [ScanNeon.note_bounds ScanNeon.lows ScanNeon.ends ScanNeon.offs ScanNeon.longests ScanNeon.nuseds ScanNeon.last_useds ScanNeon.totals].
  - exists (map2 Z.min lo (map low_of m)). rewrite Lo, orn_neon.
    assert (E : reg2 (map (fun x => Z.lor (off_of x) (Z.lnot (ones (kept x)))) m) = reg2 (map low_of m)).
    { rewrite <- cut_lanes, <- (cut_lanes 2 m low_of). apply same_lanes. intros z I. unfold off_of, low_of. destruct (kept z).
      - change (Z.lnot (ones true)) with 0. now rewrite Z.lor_0_r.
      - reflexivity. }
    rewrite E. change (ScanNeon.vminq_u16 (reg2 lo) (reg2 (map low_of m))) with (min_unsigned 2 (reg2 lo) (reg2 (map low_of m))).
    rewrite min_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply min_word16; auto|].
    rewrite fewest_of_two by (rewrite map_length; lia). rewrite Flo, map_app, fewest_app by now apply range_map. reflexivity.
  - exists (map2 Z.max en (map (fun x => off_of x + len_of x) m)). rewrite En, add_neon.
    match goal with |- ScanNeon.vmaxq_u16 ?a ?b = _ /\ _ => change (ScanNeon.vmaxq_u16 a b) with (max_unsigned 2 a b) end.
    rewrite max_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply max_word16; auto|].
    rewrite most_of_two by (rewrite map_length; lia). rewrite Fen, map_app, most_app by now apply range_map. reflexivity.
  - exists (map2 Z.lor os (map off_of m)). rewrite Os.
    change (ScanNeon.vorrq_u16 (reg2 os) (reg2 (map off_of m))) with (bitwise orb (reg2 os) (reg2 (map off_of m))).
    rewrite (bitwise_lanes orb Z.lor) by (intros; rewrite ?map_length; try lia; symmetry; apply Z.lor_spec).
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|].
    rewrite alls_of_two by (rewrite map_length; lia). now rewrite Fos, map_app, alls_app.
  - exists (map2 Z.max lg (map len_of m)). rewrite Lg.
    match goal with |- ScanNeon.vmaxq_u16 ?a ?b = _ /\ _ => change (ScanNeon.vmaxq_u16 a b) with (max_unsigned 2 a b) end.
    rewrite max_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply max_word16; auto|].
    rewrite most_of_two by (rewrite map_length; lia). rewrite Flg, map_app, most_app by now apply range_map. reflexivity.
  - exists (map2 Z.sub nu (map ones (map used m))). rewrite Nu.
    change (ScanNeon.vsubq_u16 (reg2 nu) (reg2 (map ones (map used m)))) with (sub 2 (reg2 nu) (reg2 (map ones (map used m)))).
    rewrite sub_words. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, !map_length; lia|].
    rewrite sum_of_difference by (rewrite !map_length; lia). rewrite sum_of_ones, Fnu, map_app, count_app. lia.
  - set (zs := map2 Z.land (map (fun k => Z.of_nat k + 1) (seq (length l) 8)) (map ones (map used m))).
    assert (Lz : length zs = 8%nat) by (unfold zs; rewrite ProgramFacts.map2_length, !map_length, seq_length; lia).
    assert (Vz : Forall word16 zs) by (unfold zs; rewrite <- Lu; apply numbers_range; rewrite Lu; lia).
    assert (Mz : most zs = if last_set (map used m) =? 0 then 0 else Z.of_nat (length l) + last_set (map used m)).
    { unfold zs. rewrite <- Lu at 1. apply last_number. }
    exists (map2 Z.max la zs). rewrite La.
    assert (E : ScanNeon.vandq_u16 (reg2 (map (fun k => Z.of_nat k + 1) (seq (length l) 8))) (reg2 (map ones (map used m))) = reg2 zs).
    { unfold zs. apply and_of_lanes. now rewrite !map_length, seq_length, L. }
    rewrite E. change (ScanNeon.vmaxq_u16 (reg2 la) (reg2 zs)) with (max_unsigned 2 (reg2 la) (reg2 zs)).
    rewrite max_words by assumption. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length; lia|]. split; [now apply max_word16|].
    rewrite most_of_two, Mz, Fla, map_app, last_set_app, map_length by lia.
    pose proof (last_set_bounds (map used l)) as B1. pose proof (last_set_bounds (map used m)) as B2. rewrite map_length in B1.
    destruct (Z.eqb_spec (last_set (map used m)) 0); lia.
  - destruct (pair_sums_neon ts (map len_of m)) as (ys & E & Ly & Fy); [auto|now rewrite map_length|exact Lts|].
    exists ys. rewrite Ts, E. split; [reflexivity|]. split; [exact Ly|]. rewrite Fy, Fts, map_app, sum_app. reflexivity.
Qed.
