(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of avx512vbmi2.c, of a whole page *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey ScanAvx512Lanes.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Decode Pointers Choice Chosen ScanAvx2Facts ScanAvx512Round ScanAvx512Loop.
From Pgquern.compaction Require Moves Scan ScanFacts Scanned ScannedPage ScanAvx2Page.
From Pgquern.compaction Require ScanAvx512.

(** ** The vectors, to the end *)
Definition first_survey (m : mem) : ScanAvx512.survey :=
  ScanAvx512.Survey (ScanAvx512.set1_epi16 (pd_special m))
    (ScanAvx512.Extremes (ScanAvx512.set1_epi16 (-1)) ScanAvx512.setzero ScanAvx512.setzero ScanAvx512.setzero (ScanAvx512.set1_epi16 (-1)) ScanAvx512.setzero)
    0 0 0 0 0 0.
Definition first_arrays (d : ScanAvx512.arrays) : ScanAvx512.arrays :=
  ScanAvx512.Arrays (ScanAvx512.words d) (ScanAvx512.ends d) (ScanAvx512.old_ends d) (fun k => if (k =? 0)%nat then 0 else ScanAvx512.shifts d k)
    (ScanAvx512.run_ends d) (ScanAvx512.run_old_ends d) true.

Lemma nothing_known : known [] (ScanAvx512.bounds (first_survey (fun _ => 0))).
Proof.
  assert (V : Forall word16 (repeat 65535 32)) by (apply Forall_forall; intros x X; apply repeat_spec in X; subst x; unfold word16; lia).
  split.
  - exists (repeat 65535 32). split; [reflexivity|]. split; [reflexivity|]. split; [exact V|reflexivity].
  - exists (repeat 0 32). split; [reflexivity|]. split; [reflexivity|]. split; [apply zeros_range|reflexivity].
  - exists (repeat 0 32). split; [reflexivity|]. split; reflexivity.
  - exists (repeat 0 32). split; [reflexivity|]. split; [reflexivity|]. split; [apply zeros_range|reflexivity].
  - exists (repeat 65535 32). split; [reflexivity|]. split; [reflexivity|]. split; [exact V|reflexivity].
  - exists (repeat 0 16). split; [reflexivity|]. split; reflexivity.
Qed.

Lemma first_gathers m d : gathered (pd_special m) [] (first_arrays d) (first_survey m).
Proof.
  split; try reflexivity; try discriminate; [|exact nothing_known|intros _; split; reflexivity].
  cbn [ScanAvx512.base first_survey]. rewrite set1_is. unfold lengths_sum. cbn [map sum fold_right]. now rewrite Z.sub_0_r.
Qed.

Section Page.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis room : pd_lower m + 4 * ScanAvx512.LANES <= BLCKSZ.

  Let n := nline m.
  Let special := pd_special m.

  Lemma n_small_512 : 0 <= n <= 2042 /\ HEADER_SIZE + 4 * n + 128 <= BLCKSZ.
  Proof.
    pose proof (Scanned.nline_small m header) as A. pose proof (nline_bounds m header) as [_ B]. unfold ScanAvx512.LANES in *. fold n in A, B. lia.
  Qed.

  (** The lanes of one more vector that are there. *)
  Lemma there_all i : Z.of_nat i + 32 <= n -> 4294967295 = number_of_bits (map fst (lanes_from m n i 32)).
  Proof.
    intros I. change 4294967295 with (number_of_bits (repeat true 32)). f_equal. unfold lanes_from. rewrite map_map.
    transitivity (map (fun _ : nat => true) (seq i 32)); [reflexivity|]. apply map_ext_in. intros k K. apply in_seq in K. cbn [lane_at fst].
    symmetry. apply Z.ltb_lt. lia.
  Qed.
  Lemma there_first i : Z.of_nat i < n -> ScanAvx512.first_lanes (n - Z.of_nat i) = number_of_bits (map fst (lanes_from m n i 32)).
  Proof.
    intros I. rewrite first_lanes_are by lia. f_equal. unfold lanes_from. rewrite map_map, (seq_from 32 i), map_map. apply map_ext. intros k.
    cbn [lane_at fst]. destruct (Z.ltb_spec (Z.of_nat k) (n - Z.of_nat i)), (Z.ltb_spec (Z.of_nat (k + i)) n); try reflexivity; lia.
  Qed.

  Lemma one_more i a v there : Z.of_nat i < n -> there = number_of_bits (map fst (lanes_from m n i 32)) ->
    gathered special (lanes_from m n 0 i) a v ->
    let r := ScanAvx512.scan_vector m (Z.of_nat i) there a v in gathered special (lanes_from m n 0 (i + 32)) (fst r) (snd r).
  Proof.
    intros I T G r. pose proof n_small_512 as [N R]. unfold HEADER_SIZE, BLCKSZ in R. pose proof (lanes_from_length m n 0 i) as Le.
    assert (In : HEADER_SIZE + 4 * Z.of_nat i + 128 <= BLCKSZ) by (unfold HEADER_SIZE, BLCKSZ; lia).
    assert (Sl : sound_lanes (lanes_from m n 0 i)) by (apply (all_sound m page_m); unfold HEADER_SIZE, BLCKSZ; lia).
    pose proof (vector_gathers m n special (lanes_from m n 0 i) a v there page_m N) as X. cbv zeta in X. rewrite Le in X.
    specialize (X I In Sl G T). destruct X as [_ X]. rewrite lanes_from_app. exact X.
  Qed.

  Lemma whole_vectors_gather fuel : forall i a v, Z.of_nat i < n + 32 -> (Z.of_nat i <= n) -> n <= Z.of_nat i + 32 * Z.of_nat fuel ->
    gathered special (lanes_from m n 0 i) a v ->
    exists j a' v', ScanAvx512.whole_vectors fuel m n (Z.of_nat i) a v = (Z.of_nat j, (a', v')) /\ Z.of_nat j <= n < Z.of_nat j + 32 /\
      gathered special (lanes_from m n 0 j) a' v'.
  Proof.
    induction fuel as [|fuel IH]; intros i a v U B F G.
    - exists i, a, v. split; [reflexivity|]. split; [lia|exact G].
    - cbn [ScanAvx512.whole_vectors]. unfold ScanAvx512.LANES at 1. destruct (Z.leb_spec (Z.of_nat i + 32) n) as [L|L].
      + pose proof (one_more i a v _ ltac:(lia) (there_all i L) G) as G'. cbv zeta in G'.
        destruct (ScanAvx512.scan_vector m (Z.of_nat i) 4294967295 a v) as [a1 v1]. cbn [fst snd] in G'.
        replace (Z.of_nat i + ScanAvx512.LANES) with (Z.of_nat (i + 32)) by (unfold ScanAvx512.LANES; lia). apply IH; [lia|lia|lia|exact G'].
      + exists i, a, v. split; [reflexivity|]. split; [lia|exact G].
  Qed.

  (** All of them. *)
  Lemma all_vectors d : exists count a v, n <= Z.of_nat count < n + 32 /\ gathered special (lanes_from m n 0 count) a v /\
    ScanAvx512.scan_line_pointers m d =
      let x := ScanAvx512.bounds v in
      let total := Lanes.number (Table.intrinsic "_mm512_reduce_add_epi32" [ScanAvx512.totals x]) in
      ScanAvx512.Scan
        (ScanAvx512.Arrays (ScanAvx512.words a) (ScanAvx512.store 2 (ScanAvx512.ends a) (ScanAvx512.items_seen v) (ScanAvx512.base v))
           (ScanAvx512.store 2 (ScanAvx512.old_ends a) (ScanAvx512.items_seen v) (ScanAvx512.base v)) (ScanAvx512.shifts a)
           (ScanAvx512.run_ends a) (ScanAvx512.run_old_ends a)
           (ScanAvx512.inside a && ScanAvx512.fits (ScanAvx512.items_seen v) ScanAvx512.LANES (ScanAvx512.MAX_LINE_POINTERS + ScanAvx512.LANES)))
        (ScanAvx512.items_seen v) (ScanAvx512.used_seen v) (ScanAvx512.left_seen v) total ((special - total) mod 4294967296)
        (ScanAvx512.max_of_lanes (ScanAvx512.longests x))
        (65535 - ScanAvx512.max_of_lanes (ScanAvx512.xor_si512 (ScanAvx512.shortests x) (ScanAvx512.set1_epi16 (-1))))
        (ScanAvx512.gaps_seen v) (ScanAvx512.first_seen v)
        (negb (Z.lor (Z.lor (ScanAvx512.cmplt_epu16_mask (ScanAvx512.lows x) (ScanAvx512.set1_epi16 (pd_upper m)))
                            (ScanAvx512.cmpgt_epu16_mask (ScanAvx512.highs x) (ScanAvx512.set1_epi16 special)))
                 (ScanAvx512.test_epi16_mask (ScanAvx512.offs x) (ScanAvx512.set1_epi16 (ScanAvx512.UNIT - 1))) =? 0))
        (negb (ScanAvx512.falls_seen v =? 0)).
  Proof.
    pose proof n_small_512 as [N _].
    destruct (whole_vectors_gather (Z.to_nat n) 0 (first_arrays d) (first_survey m)) as (j & a & v & E & J & G); [lia|lia|lia|exact (first_gathers m d)|].
    unfold ScanAvx512.scan_line_pointers. fold special. fold n. cbv zeta.
    change (ScanAvx512.Survey (ScanAvx512.set1_epi16 special) _ 0 0 0 0 0 0) with (first_survey m).
    change (ScanAvx512.Arrays (ScanAvx512.words d) _ _ _ _ _ _) with (first_arrays d). change (Z.of_nat 0) with 0 in E. rewrite E.
    destruct (Z.ltb_spec (Z.of_nat j) n) as [L|L].
    - pose proof (one_more j a v _ L (there_first j L) G) as G'. cbv zeta in G'.
      destruct (ScanAvx512.scan_vector m (Z.of_nat j) (ScanAvx512.first_lanes (n - Z.of_nat j)) a v) as [a1 v1]. cbn [fst snd] in G'.
      exists (j + 32)%nat, a1, v1. split; [lia|]. split; [exact G'|reflexivity].
    - exists j, a, v. split; [lia|]. split; [exact G|reflexivity].
  Qed.

  Lemma special_is_small : 0 <= pd_upper m <= special /\ special <= 8192.
  Proof. exact (ScanAvx2Page.special_small m header). Qed.
End Page.

(** ** The tuples, where they must lie *)
Definition put_lane (p : item * Z) : placed_lane := (there (fst p), snd p).

Lemma tuples_placed lps : forall top, tuples top (map there lps) = map put_lane (place (filter (fun it => has_storage (word it)) lps) top).
Proof.
  unfold tuples. induction lps as [|it lps IH]; intros top; [reflexivity|]. cbn [map tops combine filter].
  change (is_kept (there it, top - len_of (there it))) with (has_storage (word it)).
  assert (E : len_of (there it) = if has_storage (word it) then len it else 0) by reflexivity. rewrite E.
  destruct (has_storage (word it)).
  - cbn [place map]. f_equal. apply IH.
  - rewrite Z.sub_0_r. apply IH.
Qed.

Lemma tuples_absent l top : absent l -> tuples top l = [].
Proof.
  intros A. assert (E : kept_count l = 0%nat) by (unfold kept_count; now rewrite (proj1 (absent_kept l A))).
  rewrite <- (tuples_count l top) in E. now destruct (tuples top l).
Qed.

Lemma signed_shift x : -32768 <= x < 32768 -> signed 2 (x mod 65536) = x.
Proof. intros X. unfold signed. change (span 2) with 65536. destruct (Z.ltb_spec (2 * (x mod 65536)) 65536); div_lia. Qed.

Definition stored (it : item) : Prop := has_storage (word it) = true.

Lemma lane_numbers it to : stored it -> off_of (there it) = off it /\ len_of (there it) = len it /\ stop_of (put_lane (it, to)) = stop it /\
  end_of (put_lane (it, to)) = (to + len it) mod 65536 /\ shift_of (put_lane (it, to)) = (to - off it) mod 65536.
Proof.
  intros S. assert (O : off_of (there it) = off it) by (unfold off_of; change (kept (there it)) with (has_storage (word it)); now rewrite S).
  assert (L : len_of (there it) = len it) by (unfold len_of; change (kept (there it)) with (has_storage (word it)); now rewrite S).
  unfold stop_of, end_of, shift_of, stop, put_lane. cbn [fst snd]. rewrite O, L. auto.
Qed.

(** A tuple moves less far than the one before it if it reaches into that one, and further if it leaves a gap. *)
Lemma move_says it top above : stored it -> 0 <= off it <= 8192 -> 0 <= above <= 8192 -> top <= 8192 -> 0 <= top - len it <= top ->
  is_fall (put_lane (it, top - len it), (top - above) mod 65536) = (above <? stop it) /\
  is_gap (put_lane (it, top - len it), (top - above) mod 65536) = (stop it <? above).
Proof.
  intros S O A T L. destruct (lane_numbers it (top - len it) S) as (_ & _ & _ & _ & Sh). unfold is_fall, is_gap. cbn [fst snd].
  rewrite Sh, !signed_shift, Z.gtb_ltb by lia. unfold stop. split.
  - destruct (Z.ltb_spec (top - len it - off it) (top - above)), (Z.ltb_spec above (off it + len it)); try reflexivity; lia.
  - destruct (Z.ltb_spec (top - above) (top - len it - off it)), (Z.ltb_spec (off it + len it) above); try reflexivity; lia.
Qed.

(** As long as no tuple is out of bounds, and their lengths have room, the shifts compare as the places do. *)
Lemma moves_of its : Forall stored its -> Forall (fun it => 0 <= off it <= 8192 /\ 0 <= len it) its -> forall top above k,
  0 <= above <= 8192 -> top <= 8192 -> 0 <= top - total its ->
  let ms := moves ((top - above) mod 65536) (map put_lane (place its top)) in
  existsb is_fall ms = overlaps its above /\
  existsb differs ms = negb (gaps its above =? 0) /\
  (existsb differs ms = true -> hd O (Scan.gap_positions k its above) = (k + Z.to_nat (clear_before (map differs ms)))%nat) /\
  (overlaps its above = false -> Z.of_nat (length (filter is_gap ms)) = gaps its above /\
     map (fun x => (end_of (fst x), stop_of (fst x))) (filter is_gap ms) = ScanAvx512.run_list its above top).
Proof.
  induction its as [|it r IH]; intros St B top above k Ab Tp To ms.
  - repeat split; auto; discriminate.
  - inversion St as [|? ? S1 S2]; subst. inversion B as [|? ? [O1 L1] B2]; subst. cbn [total] in To.
    assert (Tr : 0 <= total r).
    { clear - B2. induction B2 as [|x l [_ X] _ IH]; cbn [total]; lia. }
    destruct (IH S2 B2 (top - len it) (off it) (S k) ltac:(lia) ltac:(lia) ltac:(lia)) as (E1 & E2 & E3 & E4). clear IH.
    destruct (lane_numbers it (top - len it) S1) as (_ & _ & Sp & Ed & Sh).
    set (rest := moves ((top - len it - off it) mod 65536) (map put_lane (place r (top - len it)))) in *.
    assert (M : ms = (put_lane (it, top - len it), (top - above) mod 65536) :: rest).
    { unfold ms, rest, moves. cbn [place map combine]. rewrite Sh. reflexivity. }
    destruct (move_says it top above S1 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)) as [Fa Ga].
    assert (Di : differs (put_lane (it, top - len it), (top - above) mod 65536) = negb (stop it =? above)).
    { unfold differs. rewrite Fa, Ga. destruct (Z.ltb_spec (stop it) above), (Z.ltb_spec above (stop it)), (Z.eqb_spec (stop it) above); try reflexivity; lia. }
    pose proof (gaps_count r (off it)) as Gn.
    rewrite M. cbn [existsb filter map overlaps gaps Scan.gap_positions ScanAvx512.run_list clear_before]. rewrite Fa, Ga, Di, E1, E2.
    split; [reflexivity|]. split; [|split].
    + destruct (Z.eqb_spec (stop it) above); cbn [negb orb]; [now rewrite Z.add_0_l|]. symmetry. apply negb_true_iff, Z.eqb_neq. lia.
    + destruct (Z.eqb_spec (stop it) above) as [E|E]; cbn [negb orb app hd clear_before].
      * intros X. rewrite E3 by (rewrite E2; exact X). pose proof (clear_before_bounds (map differs rest)). lia.
      * intros _. now rewrite Nat.add_0_r.
    + intros F. apply orb_false_iff in F as [F1 F2]. apply Z.ltb_ge in F1. destruct (E4 F2) as [Q1 Q2]. split.
      * destruct (Z.ltb_spec (stop it) above), (Z.eqb_spec (stop it) above); cbn [length]; lia.
      * destruct (Z.ltb_spec (stop it) above), (Z.eqb_spec (stop it) above); try lia; cbn [map app fst]; rewrite Q2; [|reflexivity].
        rewrite Sp, Ed. f_equal. f_equal. replace (top - len it + len it) with top by lia. apply Z.mod_small. lia.
Qed.

(** ** The numbers at the end *)
Lemma all_below u xs : length xs = 32%nat -> Forall word16 xs -> word16 u ->
  ScanAvx512.cmplt_epu16_mask (reg2 xs) (ScanAvx512.set1_epi16 u) = number_of_bits (map (fun x => x <? u) xs) /\
  ScanAvx512.cmpgt_epu16_mask (reg2 xs) (ScanAvx512.set1_epi16 u) = number_of_bits (map (fun x => u <? x) xs).
Proof.
  intros L V U.
  assert (C : forall f, Lanes.number (mask_compare 2 f (reg2 xs) (reg2 (repeat u 32))) = number_of_bits (map (fun x => f x u) xs)).
  { intros f. rewrite compared_words; [|exact V|apply Forall_forall; intros x X; apply repeat_spec in X; now subst x].
    rewrite number_mask by (rewrite ProgramFacts.map2_length, repeat_length; lia). now rewrite (map2_repeat f u) by exact L. }
  rewrite set1_is. split; [exact (C Z.ltb)|].
  change (ScanAvx512.cmpgt_epu16_mask (reg2 xs) (reg2 (repeat u 32))) with (Lanes.number (mask_compare 2 Z.gtb (reg2 xs) (reg2 (repeat u 32)))).
  rewrite C. f_equal. apply map_ext. intros x. apply Z.gtb_ltb.
Qed.

Lemma out_of_bounds_is_512 lo en os upper special : length lo = 32%nat -> length en = 32%nat -> length os = 32%nat -> Forall word16 lo -> Forall word16 en ->
  word16 upper -> word16 special ->
  negb (Z.lor (Z.lor (ScanAvx512.cmplt_epu16_mask (reg2 lo) (ScanAvx512.set1_epi16 upper)) (ScanAvx512.cmpgt_epu16_mask (reg2 en) (ScanAvx512.set1_epi16 special)))
          (ScanAvx512.test_epi16_mask (reg2 os) (ScanAvx512.set1_epi16 (ScanAvx512.UNIT - 1))) =? 0) =
  (fewest lo <? upper) || (special <? most en) || negb (Z.land (alls os) 7 =? 0).
Proof.
  intros Ll Le Ls Vl Ve U S. rewrite (proj1 (all_below upper lo Ll Vl U)), (proj2 (all_below special en Le Ve S)).
  rewrite (set1_on os Ls). rewrite <- (map_id os) at 1. rewrite (test_on os Ls), !lor_is_zero, !mask_is_zero, !negb_andb, !negb_involutive.
  rewrite !existsb_map. unfold word16 in *. rewrite fewest_below, most_above, alls_low by lia. f_equal. apply ScanAvx2Page.same_existsb. intros y Y.
  change (ScanAvx512.UNIT - 1) with (Z.ones 3). change 7 with (Z.ones 3). rewrite !Z.land_ones by lia. change (2 ^ 3) with 8. do 2 f_equal. div_lia.
Qed.

Lemma most_complements xs : Forall word16 xs -> most (map (fun x => 65535 - x) xs) = 65535 - fewest xs.
Proof.
  unfold most, fewest, word16. induction 1 as [|x xs X F IH]; [reflexivity|]. cbn [map fold_right]. rewrite IH. lia.
Qed.

Lemma shortest_is xs : length xs = 32%nat -> Forall word16 xs ->
  65535 - ScanAvx512.max_of_lanes (ScanAvx512.xor_si512 (reg2 xs) (ScanAvx512.set1_epi16 (-1))) = fewest xs.
Proof.
  intros L V. rewrite (set1_on xs L).
  assert (E : ScanAvx512.xor_si512 (reg2 xs) (reg2 (map (fun _ => -1) xs)) = reg2 (map (fun x => 65535 - x) xs)).
  { change (ScanAvx512.xor_si512 (reg2 xs) (reg2 (map (fun _ => -1) xs))) with (Logic.xor (reg2 xs) (reg2 (map (fun _ => -1) xs))).
    rewrite <- (map_id xs) at 1. rewrite xor_lanes, <- cut_lanes. apply same_lanes. intros x X. change (span 2) with 65536. apply complement.
    rewrite Forall_forall in V. auto. }
  assert (W : Forall word16 (map (fun x => 65535 - x) xs)).
  { apply Forall_map. eapply Forall_impl; [|exact V]. unfold word16. cbn. intros. lia. }
  rewrite E, max_of_lanes_is_512, most_complements by (rewrite ?map_length; assumption).
  lia.
Qed.

(** ** What the scan finds *)
Section Found.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Let its := items m.
  Let special := pd_special m.

  Lemma all_stored : Forall stored its.
  Proof. apply Forall_forall. intros it I. unfold its, items in I. now apply filter_In in I. Qed.

  Lemma its_are_tuples : Forall ScanFacts.a_tuple its.
  Proof. exact (ScanAvx2Page.its_tuples m page_m header). Qed.

  Lemma found_tuples count : nline m <= Z.of_nat count ->
    tuples special (lanes_from m (nline m) 0 count) = map put_lane (placed ItemOrder m).
  Proof.
    intros C. rewrite (lanes_are m header count C), tuples_app, tuples_placed, tuples_absent, app_nil_r.
    - reflexivity.
    - apply (rest_absent m header).
  Qed.

  Lemma place_length l : forall top, length (place l top) = length l.
  Proof. induction l as [|it l IH]; intros top; cbn [place length]; [|rewrite IH]; reflexivity. Qed.

  (** No tuple is out of bounds, and their lengths have room. *)
  Definition roomy : Prop := Forall (item_ok m) its /\ total its <= special - pd_lower m.

  Lemma moves_found : roomy -> let ms := moves 0 (map put_lane (placed ItemOrder m)) in
    existsb is_fall ms = overlaps its special /\
    existsb differs ms = negb (Choice.ngaps m =? 0) /\
    (existsb differs ms = true -> hd O (Scan.gap_positions 0 its special) = Z.to_nat (clear_before (map differs ms))) /\
    (overlaps its special = false -> Z.of_nat (length (filter is_gap ms)) = Choice.ngaps m /\
       map (fun x => (end_of (fst x), stop_of (fst x))) (filter is_gap ms) = ScanAvx512.run_list its special special).
  Proof.
    intros [Ok To]. pose proof (special_is_small m header) as Sp. fold special in Sp.
    assert (Lo : 24 <= pd_lower m) by (destruct header; unfold HEADER_SIZE in *; lia).
    assert (B : Forall (fun it => 0 <= off it <= 8192 /\ 0 <= len it) its).
    { pose proof its_are_tuples as T. rewrite Forall_forall in Ok, T |- *. intros it I. destruct (Ok it I) as (A & _ & E). destruct (T it I) as (O & L & _).
      fold special in A. lia. }
    pose proof (moves_of its all_stored B special special 0%nat ltac:(lia) ltac:(lia) ltac:(lia)) as H.
    rewrite Z.sub_diag in H. exact H.
  Qed.
End Found.

(** On every page that the kernel does not leave to [scalar] at once, the scan of [avx512] for many line pointers finds where each tuple ends,
    and where it must end, as 16 bits, behind them the new pd_upper 32 times, how many line pointers are used, and up to which one, the longest
    and the shortest tuple.  It loads and stores nothing outside of page and arrays, whatever these hold before. *)
Theorem avx512_scan_finds : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512.LANES <= BLCKSZ ->
  let s := ScanAvx512.scan_line_pointers m d in let a := ScanAvx512.found s in let count := ScanAvx512.nitems s in
  count = length (items m) /\
  map (ScanAvx512.old_ends a) (seq 0 count) = map stop (items m) /\
  map (ScanAvx512.ends a) (seq 0 count) = map (fun p => (snd p + len (fst p)) mod 65536) (placed ItemOrder m) /\
  map (ScanAvx512.old_ends a) (seq count 32) = repeat ((pd_special m - total (items m)) mod 65536) 32 /\
  map (ScanAvx512.ends a) (seq count 32) = repeat ((pd_special m - total (items m)) mod 65536) 32 /\
  ScanAvx512.nused s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m))) /\
  ScanAvx512.nline_left s = last_used (line_pointers m) /\
  ScanAvx512.longest s = longest (items m) /\
  ScanAvx512.shortest s = fold_right (fun it n => Z.min (len it) n) 65535 (items m) /\
  ScanAvx512.inside a = true.
Proof.
  intros m d P H R. destruct (all_vectors m P H R d) as (count & a & v & C & G & E). cbv zeta in E |- *. rewrite E. clear E.
  cbn [ScanAvx512.found ScanAvx512.nitems ScanAvx512.ends ScanAvx512.old_ends ScanAvx512.nused ScanAvx512.nline_left ScanAvx512.longest ScanAvx512.shortest
    ScanAvx512.inside].
  pose proof (found_tuples m H count (proj1 C)) as Tu. pose proof (n_small_512 m H R) as [Ns _].
  assert (K : ScanAvx512.items_seen v = length (items m)).
  { rewrite (g_items _ _ _ _ G), Tu, map_length. unfold placed. cbn [ordered]. apply place_length. }
  assert (Ba : ScanAvx512.base v = reg2 (repeat ((pd_special m - total (items m)) mod 65536) 32 ++ [])).
  { rewrite (g_base _ _ _ _ G), (l_total m H count (proj1 C)), app_nil_r. set (u := pd_special m - total (items m)).
    rewrite <- register_of_mod. reflexivity. }
  pose proof (g_ends _ _ _ _ G) as Ge. pose proof (g_old_ends _ _ _ _ G) as Go. rewrite <- (g_items _ _ _ _ G), Tu in Ge, Go.
  assert (Wr : Forall word16 (repeat ((pd_special m - total (items m)) mod 65536) 32)).
  { apply Forall_forall. intros x X. apply repeat_spec in X. subst x. apply Z.mod_pos_bound. reflexivity. }
  assert (St : forall f q, listed f 0 (ScanAvx512.items_seen v) = q ->
    let g := ScanAvx512.store 2 f (ScanAvx512.items_seen v) (ScanAvx512.base v) in
    map g (seq 0 (ScanAvx512.items_seen v)) = q /\ map g (seq (ScanAvx512.items_seen v) 32) = repeat ((pd_special m - total (items m)) mod 65536) 32).
  { intros f q Q g. pose proof (store_words2 f (ScanAvx512.items_seen v) _ [] Wr (Forall_nil _)) as X. rewrite <- Ba, Q in X. fold g in X.
    rewrite repeat_length, listed_app in X. change (0 + ScanAvx512.items_seen v)%nat with (ScanAvx512.items_seen v) in X.
    assert (Lq : length (listed g 0 (ScanAvx512.items_seen v)) = length q) by (rewrite <- Q; unfold listed; now rewrite !map_length).
    unfold listed in *. exact (same_parts _ _ _ _ Lq X). }
  destruct (St _ _ Ge) as [E1 E2]. destruct (St _ _ Go) as [O1 O2].
  pose proof (g_bounds _ _ _ _ G) as Kn.
  split; [exact K|]. split.
  { rewrite O1, map_map. unfold placed. cbn [ordered]. pose proof (all_stored m) as S. generalize (pd_special m). clear - S.
    induction S as [|it r S F IH]; intros top; [reflexivity|]. cbn [place map]. rewrite IH. f_equal. exact (proj1 (proj2 (proj2 (lane_numbers it (top - len it) S)))). }
  split.
  { rewrite E1, map_map. unfold placed. cbn [ordered]. pose proof (all_stored m) as S. generalize (pd_special m). clear - S.
    induction S as [|it r S F IH]; intros top; [reflexivity|]. cbn [place map fst snd]. rewrite IH. f_equal. exact (proj1 (proj2 (proj2 (proj2 (lane_numbers it (top - len it) S))))). }
  split; [exact O2|]. split; [exact E2|].
  split; [rewrite (g_used _ _ _ _ G); exact (l_nused m H count (proj1 C))|].
  split; [rewrite (g_left _ _ _ _ G); exact (l_left m H count (proj1 C))|].
  split.
  { destruct (k_longests _ _ Kn) as (xs & E & L & W & F). rewrite E, max_of_lanes_is_512, F by assumption. exact (l_longest m H count (proj1 C)). }
  split.
  { destruct (k_shortests _ _ Kn) as (xs & E & L & W & F). rewrite E, shortest_is, F by assumption. unfold fewest.
    rewrite (over_kept m H count (proj1 C) short_of Z.min 65535 (fun x => x <= 65535)); try lia.
    - assert (X : map (fun it => short_of (there it)) (items m) = map len (items m)).
      { apply map_ext_in. intros it I. unfold short_of, len_of. now rewrite (kept_there m it I). }
      rewrite X. clear. induction (items m) as [|it r IH]; [reflexivity|]. cbn [map fold_right]. now rewrite IH.
    - intros x Kx. unfold short_of. now rewrite Kx. }
  rewrite (g_inside _ _ _ _ G), K. pose proof (ScanAvx2Page.its_few m P H) as Fw. unfold ScanAvx512.fits, ScanAvx512.LANES, ScanAvx512.MAX_LINE_POINTERS.
  cbn [andb]. apply Z.leb_le. lia.
Qed.

(** If no tuple is out of bounds and the lengths have room, the scan of [avx512] for many line pointers finds the sum of the lengths, whether a tuple
    reaches into the one before it, whether one leaves a gap, and the first that does either; and if none reaches into another, how many leave
    a gap, where these end, and where they must end. *)
Theorem avx512_scan_finds_the_runs : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512.LANES <= BLCKSZ ->
  Forall (item_ok m) (items m) -> total (items m) <= pd_special m - pd_lower m ->
  let s := ScanAvx512.scan_line_pointers m d in let a := ScanAvx512.found s in
  ScanAvx512.total s = total (items m) /\ ScanAvx512.new_upper s = new_upper m /\
  ScanAvx512.falls s = unsorted Avx512 m /\
  (ScanAvx512.falls s = false -> (Z.of_nat (ScanAvx512.ngaps s) = Choice.ngaps m) /\
     map (fun i => (ScanAvx512.run_ends a i, ScanAvx512.run_old_ends a i)) (seq 0 (ScanAvx512.ngaps s)) =
       ScanAvx512.run_list (items m) (pd_special m) (pd_special m)) /\
  ((ScanAvx512.ngaps s =? 0)%nat && negb (ScanAvx512.falls s)) = (Choice.ngaps m =? 0) /\
  (Choice.ngaps m <> 0 -> ScanAvx512.first s = Z.of_nat (hd O (Scan.gap_positions 0 (items m) (pd_special m)))).
Proof.
  intros m d P H R Ok To. destruct (all_vectors m P H R d) as (count & a & v & C & G & E). cbv zeta in E |- *. rewrite E. clear E.
  cbn [ScanAvx512.found ScanAvx512.total ScanAvx512.new_upper ScanAvx512.falls ScanAvx512.ngaps ScanAvx512.first ScanAvx512.run_ends ScanAvx512.run_old_ends].
  pose proof (found_tuples m H count (proj1 C)) as Tu. pose proof (special_is_small m H) as Sp.
  destruct (moves_found m P H (conj Ok To)) as (M1 & M2 & M3 & M4). cbv zeta in *.
  pose proof (g_falls _ _ _ _ G) as Gf. pose proof (g_gaps _ _ _ _ G) as Gg. pose proof (g_first _ _ _ _ G) as Gt. pose proof (g_runs _ _ _ _ G) as Gr.
  rewrite Tu in Gf, Gg, Gt, Gr. set (ms := moves 0 (map put_lane (placed ItemOrder m))) in *.
  assert (Lo : 24 <= pd_lower m) by (destruct H; unfold HEADER_SIZE in *; lia).
  assert (Tt : Lanes.number (Table.intrinsic "_mm512_reduce_add_epi32" [ScanAvx512.totals (ScanAvx512.bounds v)]) = total (items m)).
  { destruct (k_totals _ _ (g_bounds _ _ _ _ G)) as (ts & Ts & Lts & Fts). rewrite Ts, reduce_add_is, Fts, (l_signed m H count (proj1 C)).
    - apply Z.mod_small. pose proof (Scanned.items_small m P H). lia.
    - pose proof (its_are_tuples m P H) as T. rewrite Forall_forall in Ok, T |- *. intros it I. destruct (Ok it I) as (_ & _ & X).
      destruct (T it I) as (O & _). unfold stop in X. lia. }
  split; [exact Tt|]. split.
  { rewrite Tt. unfold new_upper. apply Z.mod_small. pose proof (Scanned.items_small m P H). lia. }
  assert (F : negb (ScanAvx512.falls_seen v =? 0) = overlaps (items m) (pd_special m)) by (rewrite Gf, negb_involutive; exact M1).
  rewrite F. split; [reflexivity|]. split.
  { intros O. destruct (M4 O) as [M5 M6]. rewrite <- M1 in O. destruct (Gr O) as [R1 R2]. rewrite Gg. split; [exact M5|].
    rewrite <- M6. set (k := length (filter is_gap ms)) in *. unfold listed in R1, R2. clear - R1 R2.
    revert R1 R2. generalize 0%nat. unfold k. clear k. generalize (filter is_gap ms). clear. induction l as [|x l IH]; intros i R1 R2; [reflexivity|].
    cbn [length seq map] in *. injection R1 as A1 R1. injection R2 as A2 R2. rewrite A1, A2, (IH (Datatypes.S i)) by assumption. reflexivity. }
  split.
  { rewrite Gg, <- M1. pose proof (nothing_filtered is_gap is_fall ms) as N. change (fun x : move => is_gap x || is_fall x) with differs in N.
    rewrite N, M2. apply negb_involutive. }
  intros Nz. assert (D : existsb differs ms = true) by (rewrite M2; apply negb_true_iff, Z.eqb_neq; exact Nz).
  rewrite (Gt D), (M3 D), Z2Nat.id; [reflexivity|]. apply clear_before_bounds.
Qed.

Lemma bounds_say_512 m d : is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512.LANES <= BLCKSZ ->
  ScanAvx512.out_of_bounds (ScanAvx512.scan_line_pointers m d) = existsb (ScanAvx2Page.wrong m) (items m) /\
  (Forall (item_ok m) (items m) -> ScanAvx512.total (ScanAvx512.scan_line_pointers m d) = total (items m)).
Proof.
  intros P H R. destruct (all_vectors m P H R d) as (count & a & v & C & G & E). cbv zeta in E. rewrite E. clear E.
  cbn [ScanAvx512.out_of_bounds ScanAvx512.total]. pose proof (special_is_small m H) as Sp.
  destruct (g_bounds _ _ _ _ G) as [(lo & Lo & Llo & Vlo & Flo) (en & En & Len & Ven & Fen) (os & Os & Los & Fos) _ _ (ts & Ts & Lts & Fts)]. split.
  - rewrite Lo, En, Os. rewrite out_of_bounds_is_512 by (assumption || (unfold word16; lia)). rewrite Flo, Fen, Fos, fewest_below, most_above, alls_low by lia.
    rewrite !existsb_map.
    rewrite (over_any m H count (proj1 C) (fun x => low_of x <? pd_upper m)), (over_any m H count (proj1 C) (fun x => pd_special m <? off_of x + len_of x)),
      (over_any m H count (proj1 C) (fun x => negb (Z.land (off_of x) 7 =? 0))).
    + unfold ScanAvx2Page.wrong. rewrite !ScanAvx2Page.existsb_either. f_equal; [f_equal|]; apply ScanAvx2Page.same_existsb; intros it I; unfold low_of, off_of, len_of;
        rewrite (kept_there m it I); reflexivity.
    + intros x K. unfold off_of. now rewrite K.
    + intros x K. unfold off_of, len_of. rewrite K. apply Z.ltb_ge. lia.
    + intros x K. unfold low_of. rewrite K. apply Z.ltb_ge. lia.
  - intros Ok. rewrite Ts, reduce_add_is, Fts, (l_signed m H count (proj1 C)).
    + apply Z.mod_small. pose proof (Scanned.items_small m P H). lia.
    + pose proof (its_are_tuples m P H) as T. rewrite Forall_forall in Ok, T |- *. intros it I. destruct (Ok it I) as (_ & _ & X).
      destruct (T it I) as (O & _). unfold stop in X. lia.
Qed.

(** [presorted], by the arrays: lp_off falls. *)
Lemma presorted_is s its : forall i top above,
  map (ScanAvx512.old_ends (ScanAvx512.found s)) (seq i (length its)) = map stop its ->
  map (ScanAvx512.ends (ScanAvx512.found s)) (seq i (Datatypes.S (length its))) = map (fun p => snd p + len (fst p)) (place its top) ++ [top - total its] ->
  ScanAvx512.presorted_from s i (length its) above = presorted_below above its.
Proof.
  induction its as [|it r IH]; intros i top above O E; [reflexivity|]. cbn [length seq map place app fst snd total] in O, E.
  injection O as O1 O2. injection E as E1 E2. cbn [length ScanAvx512.presorted_from presorted_below]. cbv zeta.
  assert (Nx : ScanAvx512.ends (ScanAvx512.found s) (Datatypes.S i) = top - len it).
  { destruct r as [|x r]; cbn [place map app length seq total fst snd] in E2; injection E2; intros; lia. }
  rewrite O1, E1, Nx. replace (stop it - (top - len it + len it - (top - len it))) with (off it) by (unfold stop; lia).
  f_equal. apply (IH (Datatypes.S i) (top - len it)).
  - exact O2.
  - replace (top - len it - total r) with (top - (len it + total r)) by lia. exact E2.
Qed.

(** The scan of [avx512] for many line pointers leaves a page to [scalar], which names the fault, exactly if the contract refuses it; of every
    other page it has the sum of the lengths. *)
Theorem avx512_scan_refuses_the_same : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512.LANES <= BLCKSZ ->
  let s := ScanAvx512.scan_line_pointers m d in
  (ScanAvx512.refused m s = true <-> check m <> None) /\ ScanAvx512.refused m s = Scan.refused (Scan.scan_line_pointers m) /\
  (ScanAvx512.refused m s = false -> ScanAvx512.total s = total (items m)).
Proof.
  intros m d P H R s. destruct (bounds_say_512 m d P H R) as [B Tt]. pose proof (avx512_scan_finds m d P H R) as F. cbv zeta in F. fold s in B, Tt, F.
  destruct F as (K & O & E & _ & N & _). pose proof (special_is_small m H) as Sp.
  assert (Lo : 24 <= pd_lower m) by (destruct H; unfold HEADER_SIZE in *; lia).
  assert (Pre : Forall (item_ok m) (items m) -> total (items m) <= pd_special m - pd_lower m ->
    ScanAvx512.presorted s = presorted (pd_special m) (items m)).
  { intros Ok To. unfold ScanAvx512.presorted. rewrite K in O, E, N |- *. pose proof (its_are_tuples m P H) as T.
    rewrite (presorted_is s (items m) 0 (pd_special m)).
    - unfold presorted, BLCKSZ. destruct (items m) as [|it r]; [reflexivity|]. cbn [presorted_below]. f_equal.
      inversion Ok as [|? ? (A & _) _]; subst. destruct (Z.ltb_spec (off it) 8192), (Z.ltb_spec (off it) (pd_special m)); try reflexivity; lia.
    - exact O.
    - rewrite seq_S, map_app, E. cbn [map Nat.add]. f_equal.
      + apply (ScannedPage.placed_ends_small m P H). lia.
      + cbn [seq map repeat] in N. apply (f_equal (hd 0)) in N. cbn [hd] in N. cbn [map]. rewrite N. f_equal. apply Z.mod_small.
        pose proof (Scanned.items_small m P H). lia. }
  apply ScannedPage.refusal_is_right; [exact P|exact H|rewrite B; exact (ScanAvx2Page.wrong_says m P H)|unfold Choice.nitems; now rewrite K|exact Tt|].
  intros W To. destruct (avx512_scan_finds_the_runs m d P H R W To) as (_ & _ & Fa & _). fold s in Fa. now rewrite (Pre W To), Fa.
Qed.

(** On a page that the contract accepts, the words that the scan of [avx512] for many line pointers stores are those of the specification. *)
Theorem avx512_scan_knows_the_line_pointers : forall m d, is_page m -> valid_page m -> pd_lower m + 4 * ScanAvx512.LANES <= BLCKSZ ->
  let s := ScanAvx512.scan_line_pointers m d in
  forall k, (k < Z.to_nat (nline m))%nat -> ScanAvx512.words (ScanAvx512.found s) k = new_word ItemOrder m (Z.of_nat k + 1).
Proof.
  intros m d P V R s. unfold s. destruct (all_vectors m P (proj1 V) R d) as (count & a & v & C & G & E). cbv zeta in E. rewrite E. clear E.
  cbn [ScanAvx512.found ScanAvx512.words]. apply (ScanAvx2Page.words_are_new m _ count P V (proj1 C)).
  pose proof (g_words _ _ _ _ G) as W. rewrite lanes_from_length in W. exact W.
Qed.
