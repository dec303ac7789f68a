(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of neon.c, of a whole page *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Decode Pointers Choice Chosen ScanAvx2Facts.
From Pgquern.compaction Require Import ScanAvx512Lanes ScanAvx512Round ScanAvx512Loop ScanAvx512Page ScanNeonLanes ScanNeonRound ScanNeonLoop ScanNeonSurvey.
From Pgquern.compaction Require Moves Scan ScanFacts Scanned ScannedPage ScanAvx2Page.
From Pgquern.compaction Require ScanNeon.

(** ** The rounds, to the end *)
Definition start (m : mem) (d : ScanNeon.dirt) : ScanNeon.state :=
  let zero := ScanNeon.vdupq_n_u16 0 in
  ScanNeon.State (ScanNeon.old_words d) (ScanNeon.old_tuples d) 0 (ScanNeon.vdupq_n_u16 (pd_special m)) (register_of 2 [1; 2; 3; 4; 5; 6; 7; 8])
    (ScanNeon.Extremes (ScanNeon.vdupq_n_u16 ScanNeon.UINT16_MAX) zero zero zero zero zero (ScanNeon.vdupq_n_u32 0)) true.

Lemma start_knows m d : known [] (ScanNeon.bounds (start m d)).
Proof.
  assert (V : Forall word16 (repeat 65535 8)) by (apply Forall_forall; intros x X; apply repeat_spec in X; subst x; unfold word16; lia).
  split.
  - exists (repeat 65535 8). split; [reflexivity|]. split; [reflexivity|]. split; [exact V|reflexivity].
  - exists (repeat 0 8). split; [reflexivity|]. split; [reflexivity|]. split; [apply zeros_range|reflexivity].
  - exists (repeat 0 8). repeat split; reflexivity.
  - exists (repeat 0 8). split; [reflexivity|]. split; [reflexivity|]. split; [apply zeros_range|reflexivity].
  - exists (repeat 0 8). repeat split; reflexivity.
  - exists (repeat 0 8). split; [reflexivity|]. split; [reflexivity|]. split; [apply zeros_range|reflexivity].
  - exists (repeat 0 4). repeat split; reflexivity.
Qed.

Lemma start_gathers m d : gathered (pd_special m) [] (start m d).
Proof.
  split; try reflexivity; [|exact (start_knows m d)]. cbn [ScanNeon.base start]. unfold lengths_sum. cbn [map sum fold_right]. now rewrite Z.sub_0_r.
Qed.

(** [put_tuples]. *)
Lemma put_tuples_is to i e o : let w := Z.lor e (Z.shiftl o 16) mod 4294967296 in
  listed (ScanNeon.put_tuples to i e o) 0 (i + 16) = listed to 0 i ++ repeat w 16.
Proof.
  intros w. unfold ScanNeon.put_tuples. cbn [fold_left]. set (x := Z.lor e (Z.shiftl o 16)) in *.
  assert (E : Table.intrinsic "vreinterpretq_u16_u32" [ScanNeon.vdupq_n_u32 x] = reg4 (repeat w 4 ++ [])).
  { transitivity (reg4 (repeat x 4)); [reflexivity|]. rewrite <- register_of_mod, repeat_mapped, app_nil_r. reflexivity. }
  rewrite E. assert (V : Forall (fun x => 0 <= x < span 4) (repeat w 4 ++ [])).
  { rewrite app_nil_r. apply Forall_forall. intros y Y. apply repeat_spec in Y. subst y. apply Z.mod_pos_bound. reflexivity. }
  assert (St : forall f k k', k' = (k + 4)%nat ->
    listed (ScanNeon.store 4 f (i + k) (reg4 (repeat w 4 ++ []))) 0 (i + k') = listed f 0 (i + k) ++ repeat w 4).
  { intros f k k' ->. rewrite Nat.add_assoc. exact (store_behind_512 4 f ltac:(lia) 0 (i + k) (repeat w 4) [] V). }
  rewrite (St _ 12%nat 16%nat), (St _ 8%nat 12%nat), (St _ 4%nat 8%nat), (St _ 0%nat 4%nat), Nat.add_0_r by reflexivity.
  rewrite <- !app_assoc. reflexivity.
Qed.

Lemma listed_parts f i j u w : listed f 0 (i + j) = u ++ w -> length u = i -> listed f 0 i = u /\ listed f i j = w.
Proof. rewrite listed_app. intros E L. apply same_parts in E; [exact E|]. unfold listed. now rewrite map_length, seq_length. Qed.

Section Rounds.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis room : pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ.
  Let n := nline m.
  Let special := pd_special m.

  Lemma n_small_neon : 0 <= n <= 2042 /\ HEADER_SIZE + 4 * n + 32 <= BLCKSZ.
  Proof.
    pose proof (Scanned.nline_small m header) as A. pose proof (nline_bounds m header) as [_ B]. unfold ScanNeon.LANES in *. fold n in A, B. lia.
  Qed.

  Lemma rounds_gather fuel : forall done s, Z.of_nat (8 * done) < n + 8 -> n <= Z.of_nat (8 * done + fuel) ->
    gathered special (lanes_from m n 0 (8 * done)) s ->
    exists done', n <= Z.of_nat (8 * done') < n + 8 /\ gathered special (lanes_from m n 0 (8 * done')) (ScanNeon.rounds fuel m n (Z.of_nat (8 * done)) s).
  Proof.
    pose proof n_small_neon as [N R]. unfold HEADER_SIZE, BLCKSZ in R.
    induction fuel as [|fuel IH]; intros done s U F G.
    - exists done. split; [lia|exact G].
    - cbn [ScanNeon.rounds]. destruct (Z.ltb_spec (Z.of_nat (8 * done)) n) as [L|L]; [|exists done; split; [lia|exact G]].
      pose proof (lanes_from_length m n 0 (8 * done)) as Le.
      pose proof (round_gathers m n special (lanes_from m n 0 (8 * done)) s page_m N) as G'. rewrite Le in G'.
      specialize (G' L ltac:(unfold HEADER_SIZE, BLCKSZ; lia) ltac:(apply (all_sound m page_m); unfold HEADER_SIZE, BLCKSZ; lia) G).
      change (lanes_from m n (8 * done) 8) with (lanes_from m n (0 + 8 * done) 8) in G'.
      rewrite <- lanes_from_app in G'. replace (8 * done + 8)%nat with (8 * S done)%nat in G' by lia.
      replace (Z.of_nat (8 * done) + ScanNeon.LANES) with (Z.of_nat (8 * S done)) by (unfold ScanNeon.LANES; lia).
      apply IH; [lia|lia|exact G'].
  Qed.

  Lemma all_rounds_neon d : exists count, n <= Z.of_nat count < n + 8 /\
    gathered special (lanes_from m n 0 count) (ScanNeon.rounds (Z.to_nat n) m n 0 (start m d)).
  Proof.
    pose proof n_small_neon as [N _]. destruct (rounds_gather (Z.to_nat n) 0 (start m d)) as (k & K & G); [lia|lia|exact (start_gathers m d)|].
    exists (8 * k)%nat. auto.
  Qed.
End Rounds.

(** ** The whole scan, in terms of the page's tuples *)
Definition put (m : mem) : list placed_lane := map put_lane (placed ItemOrder m).

Lemma put_are m : map stop_of (put m) = map stop (items m) /\
  map end_of (put m) = map (fun p => (snd p + len (fst p)) mod 65536) (placed ItemOrder m) /\ length (put m) = length (items m).
Proof.
  unfold put, placed. cbn [ordered]. rewrite !map_map, map_length, place_length. pose proof (all_stored m) as S. split; [|split; [|reflexivity]];
    generalize (pd_special m); induction S as [|it r S F IH]; intros top; [reflexivity| |reflexivity|]; cbn [place map fst snd]; rewrite IH; f_equal;
    [exact (proj1 (proj2 (proj2 (lane_numbers it (top - len it) S))))|exact (proj1 (proj2 (proj2 (proj2 (lane_numbers it (top - len it) S)))))].
Qed.

Lemma stops_fit m : is_page m -> header_ok m -> Forall (fun y => word16 (stop_of y)) (put m).
Proof.
  intros P H. apply Forall_map with (f := stop_of). rewrite (proj1 (put_are m)). apply Forall_map. eapply Forall_impl; [|exact (its_are_tuples m P H)].
  intros it (O & L & _). unfold word16, stop. lia.
Qed.

Record found (m : mem) (s : ScanNeon.scan) : Prop := {
  f_words : exists count, nline m <= Z.of_nat count /\ listed (ScanNeon.words_to_be s) 0 count = news (pd_special m) (lanes_from m (nline m) 0 count);
  f_nitems : ScanNeon.nitems s = length (items m);
  f_tuples : listed (ScanNeon.found_tuples s) 0 (ScanNeon.nitems s) = map ends_word (put m);
  f_behind : listed (ScanNeon.found_tuples s) (ScanNeon.nitems s) 16 =
    repeat (Z.lor (ScanNeon.upper_to_be s) (Z.shiftl (ScanNeon.upper_to_be s) 16) mod 4294967296) 16;
  f_used : ScanNeon.used_count s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)));
  f_left : ScanNeon.left_count s = last_used (line_pointers m);
  f_total : ScanNeon.total_length s = total (items m);
  f_upper : ScanNeon.upper_to_be s = (pd_special m - total (items m)) mod 4294967296;
  f_longest : ScanNeon.longest_length s = longest (items m);
  f_bounds : ScanNeon.is_out_of_bounds s = existsb (ScanAvx2Page.wrong m) (items m);
  f_gaps : map (ScanNeon.found_gaps s) (seq 0 (8 * ((ScanNeon.nitems s + 7) / 8))) =
    map (fun x => if is_gap x then 255 else 0) (moves 0 (put m)) ++ repeat 0 (8 * ((ScanNeon.nitems s + 7) / 8) - ScanNeon.nitems s);
  f_ngaps : ScanNeon.ngaps s = Z.of_nat (length (filter is_gap (moves 0 (put m))));
  f_falls : ScanNeon.is_falling s = existsb is_fall (moves 0 (put m));
  f_first : ScanNeon.first_moved s = if existsb differs (moves 0 (put m)) then clear_before (map differs (moves 0 (put m))) else 65535;
  f_inside : ScanNeon.stays_inside s = true }.

Lemma alls_low_neon os : ScanNeon.any (ScanNeon.vandq_u16 (reg2 os) (ScanNeon.vdupq_n_u16 (ScanNeon.UNIT - 1))) = negb (Z.land (alls os) 7 =? 0) \/ length os <> 8%nat.
Proof.
  destruct (Nat.eq_dec (length os) 8) as [L|L]; [left|now right].
  rewrite (dup_neon os _ L), <- (map_id os) at 1. rewrite and_neon, any_neon, alls_low, existsb_map. apply ScanAvx2Page.same_existsb. intros y _.
  change (ScanNeon.UNIT - 1) with (Z.ones 3). change 7 with (Z.ones 3). rewrite !Z.land_ones by lia. change (2 ^ 3) with 8. do 2 f_equal. div_lia.
Qed.

Lemma scan_found m d : is_page m -> header_ok m -> pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ -> found m (ScanNeon.scan_line_pointers m d).
Proof.
  intros P H R. destruct (all_rounds_neon m P H R d) as (count & C & G). pose proof (special_is_small m H) as Sp.
  destruct G as [Gw Gt Gn _ _ Gx Gi]. rewrite (found_tuples m H count (proj1 C)) in Gt, Gn. fold (put m) in Gt, Gn.
  destruct (put_are m) as (_ & _ & Lp). rewrite Lp in Gt, Gn. pose proof (stops_fit m P H) as St.
  destruct (Scanned.items_small m P H) as [Few To].
  unfold ScanNeon.scan_line_pointers. cbv zeta.
  change (ScanNeon.State (ScanNeon.old_words d) _ _ _ _ _ _) with (start m d).
  set (s := ScanNeon.rounds (Z.to_nat (nline m)) m (nline m) 0 (start m d)) in *. rewrite Gn.
  set (n := length (items m)) in *. set (t := if (n =? 0)%nat then _ else _).
  (* behind the last tuple, it stands again *)
  assert (T : listed t 0 n = map ends_word (put m) /\ forall j, (0 < n <= j)%nat -> (j < n + 8)%nat -> t j = t (n - 1)%nat).
  { unfold t. destruct (Nat.eqb_spec n 0) as [N|N]; [split; [exact Gt|lia]|].
    set (e := ScanNeon.end_in _ _). set (o := ScanNeon.old_end_in _ _). pose proof (put_tuples_is (ScanNeon.tuples s) n e o) as X. cbv zeta in X.
    set (f := ScanNeon.put_tuples _ _ _ _) in *. apply listed_parts in X; [|unfold listed; now rewrite map_length, seq_length].
    destruct X as [X1 X2]. rewrite Gt in X1. split; [exact X1|]. intros j J K.
    assert (Lw : f (n - 1)%nat = ScanNeon.tuples s (n - 1)%nat).
    { rewrite <- Gt in X1. unfold listed in X1. apply (f_equal (fun q => nth (n - 1) q 0)) in X1.
      rewrite !(nth_indep _ 0 (f 0%nat)) in X1 by (rewrite map_length, seq_length; lia). rewrite map_nth in X1.
      rewrite (nth_indep _ (f 0%nat) (ScanNeon.tuples s 0%nat)) in X1 by (rewrite map_length, seq_length; lia). rewrite map_nth, !seq_nth in X1 by lia. exact X1. }
    rewrite Lw. assert (W : exists y, In y (put m) /\ ScanNeon.tuples s (n - 1)%nat = ends_word y).
    { assert (I : In (ScanNeon.tuples s (n - 1)%nat) (map ends_word (put m))) by (rewrite <- Gt; apply in_map, in_seq; lia).
      apply in_map_iff in I as (y & Y & I). exists y. auto. }
    destruct W as (y & Y & W). rewrite Forall_forall in St. specialize (St y Y). unfold word16 in St.
    pose proof (Z.mod_pos_bound (snd y + len_of (fst y)) 65536 ltac:(lia)) as E. fold (end_of y) in E.
    assert (Fe : e = end_of y).
    { unfold e, ScanNeon.end_in. rewrite W. unfold ends_word. change 65535 with (Z.ones 16). rewrite Z.land_ones by lia. change (2 ^ 16) with 65536. clear - St E. div_lia. }
    assert (Fo : o = stop_of y).
    { unfold o, ScanNeon.old_end_in. rewrite W. unfold ends_word. rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. clear - St E. div_lia. }
    rewrite Fe, Fo, lor_apart, Z.mod_small in X2 by lia. rewrite W. unfold ends_word.
    apply (f_equal (fun q => nth (j - n) q 0)) in X2. unfold listed in X2.
    rewrite (nth_indep _ 0 (f 0%nat)) in X2 by (rewrite map_length, seq_length; lia). rewrite map_nth, seq_nth in X2 by lia.
    replace (n + (j - n))%nat with j in X2 by lia. rewrite X2.
    rewrite (nth_indep _ 0 (end_of y + 65536 * stop_of y)) by (rewrite repeat_length; lia). apply nth_repeat. }
  destruct T as [T1 T2].
  change (ScanNeon.Survey (ScanNeon.old_gaps d) _ _ _ _ _ true) with (nothing_yet (ScanNeon.old_gaps d)).
  destruct (survey_finds t n (ScanNeon.old_gaps d) Few (put m) T1 St T2) as (V1 & V2 & V3 & V4 & V5). cbv zeta in *.
  set (v := ScanNeon.compare_tuples n t n 0 _) in *.
  destruct Gx as [(lo & Lo & Llo & Vlo & Flo) (en & En & Len & Ven & Fen) (os & Os & Los & Fos) (lg & Lg & Llg & Vlg & Flg)
    (nu & Nu & Lnu & Fnu) (la & La & Lla & Vla & Fla) (ts & Ts & Lts & Fts)].
  assert (Tot : ScanNeon.vaddvq_u32 (ScanNeon.totals (ScanNeon.bounds s)) = total (items m)).
  { rewrite Ts, sum_neon_32, Fts. fold (lengths_sum (lanes_from m (nline m) 0 count)). rewrite (l_total m H count (proj1 C)). apply Z.mod_small. lia. }
  pose proof (put_tuples_is t n) as X. cbv zeta in X.
  split; cbn [ScanNeon.words_to_be ScanNeon.found_tuples ScanNeon.found_gaps ScanNeon.nitems ScanNeon.used_count ScanNeon.left_count ScanNeon.total_length
    ScanNeon.longest_length ScanNeon.upper_to_be ScanNeon.ngaps ScanNeon.first_moved ScanNeon.is_out_of_bounds ScanNeon.is_falling ScanNeon.stays_inside];
    rewrite ?Tot.
  - exists count. split; [exact (proj1 C)|]. rewrite lanes_from_length in Gw. exact Gw.
  - reflexivity.
  - specialize (X ((pd_special m - total (items m)) mod 4294967296) ((pd_special m - total (items m)) mod 4294967296)).
    apply listed_parts in X as [X _]; [now rewrite X|unfold listed; now rewrite map_length, seq_length].
  - specialize (X ((pd_special m - total (items m)) mod 4294967296) ((pd_special m - total (items m)) mod 4294967296)).
    apply listed_parts in X as [_ X]; [exact X|unfold listed; now rewrite map_length, seq_length].
  - rewrite Nu, sum_neon, Fnu, (l_nused m H count (proj1 C)). apply Z.mod_small.
    pose proof (filter_length_le (fun it => is_used (word it)) (line_pointers m)) as Fl. unfold line_pointers in Fl at 2.
    rewrite Scanned.line_pointers_from_length in Fl. pose proof (Scanned.nline_small m H). lia.
  - rewrite La, most_neon, Fla by exact Vla. exact (l_left m H count (proj1 C)).
  - reflexivity.
  - reflexivity.
  - rewrite Lg, most_neon, Flg by exact Vlg. exact (l_longest m H count (proj1 C)).
  - rewrite Lo, En, Os, fewest_neon, most_neon by assumption. destruct (alls_low_neon os) as [A|A]; [|contradiction]. rewrite A.
    rewrite Flo, Fen, Fos, fewest_below, most_above, alls_low by lia. rewrite !existsb_map.
    rewrite (over_any m H count (proj1 C) (fun x => low_of x <? pd_upper m)), (over_any m H count (proj1 C) (fun x => pd_special m <? off_of x + len_of x)),
      (over_any m H count (proj1 C) (fun x => negb (Z.land (off_of x) 7 =? 0))).
    + unfold ScanAvx2Page.wrong. rewrite !ScanAvx2Page.existsb_either. f_equal; [f_equal|]; apply ScanAvx2Page.same_existsb; intros it I; unfold low_of, off_of, len_of;
        rewrite (kept_there m it I); reflexivity.
    + intros x K. unfold off_of. now rewrite K.
    + intros x K. unfold off_of, len_of. rewrite K. apply Z.ltb_ge. lia.
    + intros x K. unfold low_of. rewrite K. apply Z.ltb_ge. lia.
  - exact V1.
  - exact V2.
  - exact V3.
  - exact V4.
  - rewrite Gi, V5. unfold ScanNeon.fits, ScanAvx512.fits, ScanNeon.MAX_LINE_POINTERS, ScanNeon.LANES. cbn [andb]. apply Z.leb_le. lia.
Qed.

(** ** Pages whose tuples are in bounds *)
Definition in_page (it : item) : Prop := 0 <= off it <= 8192 /\ 0 <= len it.

(** Where no tuple reaches into another, the flags are set where tuples leave gaps. *)
Lemma gap_flags g its : Forall stored its -> Forall in_page its -> forall top above k, 0 <= above <= 8192 -> top <= 8192 -> 0 <= top - total its ->
  overlaps its above = false ->
  map (fun i => Z.odd (g i)) (seq k (length its)) = map is_gap (moves ((top - above) mod 65536) (map put_lane (place its top))) ->
  filter (fun i => Z.odd (g i)) (seq k (length its)) = Scan.gap_positions k its above.
Proof.
  induction 1 as [|it r S1 S2 IH]; intros B top above k Ab Tp To Ov E; [reflexivity|]. inversion B as [|? ? [O1 L1] B2]; subst. cbn [total overlaps] in To, Ov.
  assert (Tr : 0 <= total r) by (clear - B2; induction B2 as [|x l [_ X] _ IH]; cbn [total]; lia).
  destruct (move_says it top above S1 O1 Ab Tp ltac:(lia)) as [_ Ga]. apply orb_false_iff in Ov as [O2 Ov]. apply Z.ltb_ge in O2.
  destruct (lane_numbers it (top - len it) S1) as (_ & _ & _ & _ & Sh).
  unfold moves in E. cbn [place map combine length seq] in E. rewrite Sh in E. injection E as E1 E2. fold (moves ((top - len it - off it) mod 65536) (map put_lane (place r (top - len it)))) in E2.
  cbn [length seq filter Scan.gap_positions]. rewrite E1, Ga, (IH B2 (top - len it) (off it) (S k) ltac:(lia) ltac:(lia) ltac:(lia) Ov E2).
  destruct (Z.ltb_spec (stop it) above), (Z.eqb_spec (stop it) above); try lia; reflexivity.
Qed.

Lemma nothing_flagged g r : forall k, map g (seq k r) = repeat 0 r -> filter (fun i => Z.odd (g i)) (seq k r) = [].
Proof.
  induction r as [|r IH]; intros k E; [reflexivity|]. cbn [seq map repeat] in E. injection E as E1 E2. cbn [seq filter]. rewrite E1. now apply IH.
Qed.

(** From where tuples must end, their lengths. *)
Lemma lengths_between e its : forall i top,
  map e (seq i (S (length its))) = map (fun p => snd p + len (fst p)) (place its top) ++ [top - total its] ->
  map (fun k => e k - e (S k)) (seq i (length its)) = map len its.
Proof.
  induction its as [|it r IH]; intros i top E; [reflexivity|]. cbn [length seq map place app fst snd total] in E. injection E as E1 E2.
  cbn [length seq map]. f_equal.
  - assert (Nx : e (S i) = top - len it) by (destruct r as [|x r]; cbn [place map app length seq total fst snd] in E2; injection E2; intros; lia).
    lia.
  - apply (IH (S i) (top - len it)). replace (top - len it - total r) with (top - (len it + total r)) by lia. exact E2.
Qed.

Lemma falls_listed f its : forall k, map f (seq k (length its)) = map off its ->
  forallb (fun i => f i <? f (i - 1)%nat) (seq (S k) (length its - 1)) = Choice.falls its.
Proof.
  intros k E. destruct its as [|it r]; [reflexivity|]. cbn [length falls]. rewrite Nat.sub_succ, Nat.sub_0_r.
  cbn [length seq map] in E. injection E as E1 E2. revert k it E1 E2. induction r as [|x r IH]; intros k it E1 E2; [reflexivity|].
  cbn [length seq map] in E2. injection E2 as E2 E3. cbn [length seq forallb presorted_below]. rewrite Nat.sub_succ, Nat.sub_0_r, E1, E2. f_equal.
  now apply (IH (S k)).
Qed.

Lemma falls_is_presorted m : Forall (item_ok m) (items m) -> Choice.falls (items m) = presorted (pd_special m) (items m).
Proof.
  intros F. unfold presorted. destruct (items m) as [|it r]; [reflexivity|]. inversion F as [|? ? ((_ & B) & _) _]; subst. cbn [falls presorted_below].
  destruct (Z.ltb_spec (off it) (pd_special m)); [reflexivity|lia].
Qed.

Section Roomy.
  Variables (m : mem) (s : ScanNeon.scan).
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis found_s : found m s.
  Hypothesis bounded : Forall (item_ok m) (items m).
  Hypothesis fit : total (items m) <= pd_special m - pd_lower m.
  Notation n := (length (items m)).
  Notation special := (pd_special m).

  Lemma sizes : 0 <= total (items m) /\ 0 <= special - total (items m) <= 8192 /\ 0 <= special <= 8192.
  Proof.
    pose proof (special_is_small m header) as Sp. pose proof (Scanned.items_small m page_m header) as [_ T].
    destruct header as (A & _). unfold HEADER_SIZE in A. lia.
  Qed.

  Lemma all_in_page : Forall in_page (items m).
  Proof.
    pose proof (its_are_tuples m page_m header) as T. pose proof sizes as Sz. rewrite Forall_forall in T, bounded |- *. intros it I.
    destruct (bounded it I) as (A & _). destruct (T it I) as (O & L & _). unfold in_page. lia.
  Qed.

  Lemma upper_is_new : ScanNeon.upper_to_be s = new_upper m.
  Proof. rewrite (f_upper _ _ found_s). pose proof sizes. unfold new_upper. apply Z.mod_small. lia. Qed.

  Lemma behind_them : map (fun i => (ScanNeon.end_in (ScanNeon.found_tuples s) i, ScanNeon.old_end_in (ScanNeon.found_tuples s) i)) (seq (ScanNeon.nitems s) 16) =
    repeat (new_upper m, new_upper m) 16.
  Proof.
    pose proof (f_behind _ _ found_s) as B. rewrite upper_is_new in B. pose proof sizes as Sz. unfold new_upper in *.
    set (u := special - total (items m)) in *. rewrite lor_apart, Z.mod_small in B by lia.
    transitivity (map (fun w => (Z.land w 65535, Z.shiftr w 16)) (listed (ScanNeon.found_tuples s) (ScanNeon.nitems s) 16)).
    - unfold listed. rewrite map_map. reflexivity.
    - rewrite B, repeat_mapped. f_equal. change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536.
      f_equal; div_lia.
  Qed.

  Lemma where_they_end : map (ScanNeon.end_in (ScanNeon.found_tuples s)) (seq 0 (S n)) =
      map (fun p => snd p + len (fst p)) (placed ItemOrder m) ++ [special - total (items m)] /\
    map (ScanNeon.old_end_in (ScanNeon.found_tuples s)) (seq 0 n) = map stop (items m).
  Proof.
    pose proof (f_tuples _ _ found_s) as T. pose proof behind_them as B. rewrite (f_nitems _ _ found_s) in T, B.
    destruct (put_are m) as (P1 & P2 & _). pose proof sizes as Sz. pose proof (stops_fit m page_m header) as St. rewrite Forall_forall in St.
    assert (W : forall y, In y (put m) -> Z.land (ends_word y) 65535 = end_of y /\ Z.shiftr (ends_word y) 16 = stop_of y).
    { intros y Y. specialize (St y Y). unfold word16 in St. unfold ends_word.
      pose proof (Z.mod_pos_bound (snd y + len_of (fst y)) 65536 ltac:(lia)) as E. fold (end_of y) in E.
      change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. split; div_lia. }
    assert (Q : forall (f : Z -> Z) (h : placed_lane -> Z), (forall y, In y (put m) -> f (ends_word y) = h y) ->
      map (fun i => f (ScanNeon.found_tuples s i)) (seq 0 n) = map h (put m)).
    { intros f h E. transitivity (map f (listed (ScanNeon.found_tuples s) 0 n)); [unfold listed; now rewrite map_map|]. rewrite T, map_map. now apply map_ext_in. }
    split.
    - rewrite seq_S, map_app. cbn [map Nat.add]. f_equal.
      + unfold ScanNeon.end_in. rewrite (Q (fun w => Z.land w 65535) end_of), P2 by apply W. apply (ScannedPage.placed_ends_small m page_m header). lia.
      + cbn [seq map repeat] in B. injection B as B _. f_equal. exact B.
    - unfold ScanNeon.old_end_in. rewrite (Q (fun w => Z.shiftr w 16) stop_of), P1 by apply W. reflexivity.
  Qed.

  Lemma lengths_are : map (ScanNeon.tuple_len s) (seq 0 n) = map len (items m) /\ map (ScanNeon.tuple_off s) (seq 0 n) = map off (items m).
  Proof.
    destruct where_they_end as [E O]. unfold placed in E. cbn [ordered] in E. pose proof (lengths_between _ _ _ _ E) as L. clear E.
    pose proof all_in_page as B. pose proof sizes as Sz.
    assert (Ln : map (ScanNeon.tuple_len s) (seq 0 n) = map len (items m)).
    { transitivity (map (fun x => x mod 4294967296) (map (fun k => ScanNeon.end_in (ScanNeon.found_tuples s) k - ScanNeon.end_in (ScanNeon.found_tuples s) (S k)) (seq 0 n))).
      - rewrite map_map. reflexivity.
      - rewrite L, map_map. apply map_ext_in. intros it I. apply Z.mod_small. pose proof (its_are_tuples m page_m header) as T. rewrite Forall_forall in T.
        destruct (T it I) as (_ & X & _). lia. }
    split; [exact Ln|]. clear L. unfold ScanNeon.tuple_off. pose proof (its_are_tuples m page_m header) as T. revert Ln O T. clear.
    generalize 0%nat. induction (items m) as [|it r IH]; intros k Ln O T; [reflexivity|]. inversion T as [|? ? (A & X & _) T2]; subst.
    cbn [length seq map] in *. injection Ln as L1 L2. injection O as O1 O2. rewrite L1, O1, (IH (S k)) by assumption. f_equal.
    unfold stop. replace (off it + len it - len it) with (off it) by lia. apply Z.mod_small. lia.
  Qed.

  Lemma presorted_says : ScanNeon.presorted s = presorted (pd_special m) (items m).
  Proof.
    unfold ScanNeon.presorted. rewrite (f_nitems _ _ found_s), <- falls_is_presorted by exact bounded. exact (falls_listed _ _ 0 (proj2 lengths_are)).
  Qed.
End Roomy.

(** ** The theorems *)

(** On every page that the kernel does not leave to [scalar] at once, the scan of [neon] finds where each tuple must end, as 16 bits, and where it
    ends now, how many line pointers are used, and up to which one, the sum of the lengths and the longest, and whether a tuple is out of
    bounds.  It loads and stores nothing outside of page and arrays, whatever these hold before. *)
Theorem neon_scan_finds : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ -> let s := ScanNeon.scan_line_pointers m d in
  ScanNeon.nitems s = length (items m) /\
  map (fun i => (ScanNeon.end_in (ScanNeon.found_tuples s) i, ScanNeon.old_end_in (ScanNeon.found_tuples s) i)) (seq 0 (ScanNeon.nitems s)) =
    map (fun p => ((snd p + len (fst p)) mod 65536, stop (fst p))) (placed ItemOrder m) /\
  ScanNeon.used_count s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m))) /\
  ScanNeon.left_count s = last_used (line_pointers m) /\
  ScanNeon.total_length s = total (items m) /\ ScanNeon.longest_length s = longest (items m) /\
  (ScanNeon.is_out_of_bounds s = false <-> Forall (item_ok m) (items m)) /\
  ScanNeon.stays_inside s = true.
Proof.
  intros m d P H R s. pose proof (scan_found m d P H R) as F. fold s in F.
  split; [apply F|]. split; [|split; [apply F|split; [apply F|split; [apply F|split; [apply F|split; [|apply F]]]]]].
  - transitivity (map (fun w => (Z.land w 65535, Z.shiftr w 16)) (listed (ScanNeon.found_tuples s) 0 (ScanNeon.nitems s))).
    + unfold listed. rewrite map_map. reflexivity.
    + rewrite (f_tuples _ _ F), map_map. pose proof (stops_fit m P H) as St. unfold put in *. rewrite map_map. rewrite Forall_map in St.
      apply map_ext_in. intros [it to] I. rewrite Forall_forall in St. specialize (St _ I).
      assert (S : stored it).
      { pose proof (all_stored m) as A. rewrite Forall_forall in A. apply A. exact (Moves.in_place _ _ _ _ I). }
      destruct (lane_numbers it to S) as (_ & _ & E1 & E2 & _). unfold ends_word. rewrite E1, E2 in *. cbn [fst snd]. unfold word16 in St.
      pose proof (Z.mod_pos_bound (to + len it) 65536 ltac:(lia)) as B.
      change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. f_equal; div_lia.
  - rewrite (f_bounds _ _ F). exact (ScanAvx2Page.wrong_says m P H).
Qed.

(** If no tuple is out of bounds and the lengths have room, the scan of [neon] finds the tuples with their offsets and lengths, behind them the new
    pd_upper 16 times, whether a tuple reaches into the one before it, whether one leaves a gap, and the first that does either; and if none
    reaches into another, which ones leave a gap, and how many.  It sees then whether lp_off falls. *)
Theorem neon_scan_finds_the_moves : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ ->
  Forall (item_ok m) (items m) -> total (items m) <= pd_special m - pd_lower m -> let s := ScanNeon.scan_line_pointers m d in
  map (fun i => (ScanNeon.tuple_off s i, ScanNeon.tuple_len s i)) (seq 0 (ScanNeon.nitems s)) = map (fun it => (off it, len it)) (items m) /\
  map (fun i => (ScanNeon.end_in (ScanNeon.found_tuples s) i, ScanNeon.old_end_in (ScanNeon.found_tuples s) i)) (seq (ScanNeon.nitems s) 16) =
    repeat (new_upper m, new_upper m) 16 /\
  ScanNeon.upper_to_be s = new_upper m /\
  ScanNeon.is_falling s = overlaps (items m) (pd_special m) /\
  ((ScanNeon.ngaps s =? 0) && negb (ScanNeon.is_falling s)) = (Choice.ngaps m =? 0) /\
  (Choice.ngaps m <> 0 -> ScanNeon.first_moved s = Z.of_nat (hd O (Scan.gap_positions 0 (items m) (pd_special m)))) /\
  (ScanNeon.is_falling s = false -> ScanNeon.ngaps s = Choice.ngaps m /\
     filter (fun i => Z.odd (ScanNeon.found_gaps s i)) (seq 0 (8 * ((ScanNeon.nitems s + 7) / 8))) = Scan.gap_positions 0 (items m) (pd_special m)) /\
  ScanNeon.presorted s = presorted (pd_special m) (items m).
Proof.
  intros m d P H R Ok To s. pose proof (scan_found m d P H R) as F. fold s in F.
  destruct (moves_found m P H (conj Ok To)) as (M1 & M2 & M3 & M4). cbv zeta in *. fold (put m) in M1, M2, M3, M4.
  destruct (lengths_are m s P H F Ok To) as [Le Of].
  split; [|split; [exact (behind_them m s P H F To)|split; [exact (upper_is_new m s P H F To)|split; [|split; [|split; [|split]]]]]].
  - rewrite (f_nitems _ _ F). clear - Le Of. revert Le Of. generalize 0%nat. induction (items m) as [|it r IH]; intros k Le Of; [reflexivity|].
    cbn [length seq map] in *. injection Le as L1 L2. injection Of as O1 O2. now rewrite L1, O1, (IH (S k)).
  - rewrite (f_falls _ _ F). exact M1.
  - rewrite (f_ngaps _ _ F), (f_falls _ _ F). pose proof (nothing_filtered is_gap is_fall (moves 0 (put m))) as N.
    change (fun x : move => is_gap x || is_fall x) with differs in N. rewrite M2, negb_involutive in N. rewrite <- N. f_equal.
    destruct (Z.eqb_spec (Z.of_nat (length (filter is_gap (moves 0 (put m))))) 0), (Nat.eqb_spec (length (filter is_gap (moves 0 (put m)))) 0); try reflexivity; lia.
  - intros Nz. assert (D : existsb differs (moves 0 (put m)) = true) by (rewrite M2; apply negb_true_iff, Z.eqb_neq; exact Nz).
    rewrite (f_first _ _ F), D, (M3 D), Z2Nat.id; [reflexivity|]. apply clear_before_bounds.
  - rewrite (f_falls _ _ F), M1. intros O. destruct (M4 O) as [M5 _]. rewrite (f_ngaps _ _ F). split; [exact M5|].
    pose proof (f_gaps _ _ F) as G. rewrite (f_nitems _ _ F) in *. set (n := length (items m)) in *. set (slots := (8 * ((n + 7) / 8))%nat) in *.
    assert (Sl : (n <= slots)%nat) by (unfold slots; pose proof (Nat.div_mod (n + 7) 8 ltac:(lia)); pose proof (Nat.mod_upper_bound (n + 7) 8 ltac:(lia)); lia).
    replace slots with (n + (slots - n))%nat in G |- * by lia. rewrite Nat.add_comm, Nat.add_sub in G. rewrite (Nat.add_comm (slots - n)) in G.
    rewrite seq_app in G |- *. rewrite map_app in G. apply same_parts in G as [G1 G2].
    2: { rewrite !map_length, seq_length, moves_length. unfold put, placed. cbn [ordered]. now rewrite map_length, place_length. }
    rewrite filter_app. pose proof (nothing_flagged _ _ _ G2) as N.
    rewrite N, app_nil_r. pose proof (sizes m P H To) as Sz.
    apply gap_flags with (top := pd_special m); try lia; [exact (all_stored m)|exact (all_in_page m P H Ok To)|exact O|].
    rewrite Z.sub_diag. change (0 mod 65536) with 0. apply (f_equal (map Z.odd)) in G1. rewrite !map_map in G1. fold n.
    transitivity (map (fun x : move => Z.odd (if is_gap x then 255 else 0)) (moves 0 (put m))); [exact G1|]. apply map_ext. intros x. now destruct (is_gap x).
  - exact (presorted_says m s P H F Ok To).
Qed.

(** The scan of [neon] leaves a page to [scalar], which names the fault, exactly if the contract refuses it. *)
Theorem neon_scan_refuses_the_same : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ ->
  let s := ScanNeon.scan_line_pointers m d in
  (ScanNeon.refused m s = true <-> check m <> None) /\ ScanNeon.refused m s = Scan.refused (Scan.scan_line_pointers m).
Proof.
  intros m d P H R s. pose proof (scan_found m d P H R) as F. fold s in F.
  assert (X : forall A B C : Prop, A /\ B /\ C -> A /\ B) by tauto. eapply X, ScannedPage.refusal_is_right; clear X;
    [exact P|exact H|rewrite (f_bounds _ _ F); exact (ScanAvx2Page.wrong_says m P H)| | |].
  - unfold Choice.nitems. f_equal. exact (f_nitems _ _ F).
  - intros _. exact (f_total _ _ F).
  - intros W To. destruct (neon_scan_finds_the_moves m d P H R W To) as (_ & _ & _ & Fa & _ & _ & _ & Pr). fold s in Fa, Pr. now rewrite Fa, Pr.
Qed.

(** On a page that the contract accepts, the words that the scan of [neon] stores as line pointers are those of the specification. *)
Theorem neon_scan_knows_the_line_pointers : forall m d, is_page m -> valid_page m -> pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ ->
  let s := ScanNeon.scan_line_pointers m d in
  forall k, (k < Z.to_nat (nline m))%nat -> ScanNeon.words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1).
Proof.
  intros m d P V R s. destruct (f_words _ _ (scan_found m d P (proj1 V) R)) as (count & C & W). exact (ScanAvx2Page.words_are_new m _ count P V C W).
Qed.
