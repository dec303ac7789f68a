(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of avx2.c, of a whole page *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Decode Pointers Choice Chosen ScanAvx2Facts.
From Pgquern.compaction Require Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require ScanAvx2.

(** ** The survey of all tuples *)
Definition nothing_surveyed (old : nat -> Z) : ScanAvx2.survey := ScanAvx2.Survey ScanAvx2.setzero ScanAvx2.setzero old 0 0 true.

Lemma nothing_is_surveyed old : surveyed [] (nothing_surveyed old).
Proof.
  split; try reflexivity.
  - exists (repeat false 8). split; [reflexivity|split; reflexivity].
  - exists (repeat false 8). split; [reflexivity|split; reflexivity].
Qed.

(** From memory. *)
Section Tuples.
  Variables (a : nat -> Z) (k : nat).
  Hypothesis few : (k <= 2042)%nat.

  Definition pair_at (j : nat) : pair := (a (S j) mod 4294967296, a j mod 4294967296).
  Hypothesis pairs : forall j, (j < k)%nat -> a_pair (pair_at j).

  Lemma load_at i : ScanAvx2.load a i = reg4 (map (fun j => a j mod 4294967296) (seq i 8)).
  Proof. unfold ScanAvx2.load. rewrite <- register_of_mod, map_map. reflexivity. Qed.

  Lemma survey_tuples_surveys fuel : forall i v, (k <= i + 8 * fuel)%nat -> (i < k + 8)%nat -> surveyed (map pair_at (seq 0 (Nat.min i k))) v ->
    surveyed (map pair_at (seq 0 k)) (ScanAvx2.survey_tuples fuel a (Z.of_nat k) (Z.of_nat i) v).
  Proof.
    induction fuel as [|fuel IH]; intros i v F B Sv.
    - cbn [ScanAvx2.survey_tuples]. rewrite Nat.min_r in Sv by lia. exact Sv.
    - cbn [ScanAvx2.survey_tuples]. destruct (Z.ltb_spec (Z.of_nat i) (Z.of_nat k)) as [L|L]; [|rewrite Nat.min_r in Sv by lia; exact Sv].
      rewrite Nat2Z.id. rewrite Nat.min_l in Sv by lia.
      set (c := Nat.min 8 (k - i)). set (chunk := map pair_at (seq i c)). set (junk := map pair_at (seq (i + c) (8 - c))).
      assert (E : chunk ++ junk = map pair_at (seq i 8)).
      { unfold chunk, junk. rewrite <- map_app, <- seq_app. f_equal. f_equal. unfold c. lia. }
      assert (E1 : ScanAvx2.load a (1 + i) = reg4 (map fst (chunk ++ junk))).
      { rewrite E, map_map, load_at, <- seq_shift, map_map. reflexivity. }
      assert (E2 : ScanAvx2.load a i = reg4 (map snd (chunk ++ junk))) by (rewrite E, map_map, load_at; reflexivity).
      change (1 + i)%nat with (S i) in E1 |- *. rewrite E1, E2.
      assert (W : surveyed (map pair_at (seq 0 i) ++ chunk)
        (ScanAvx2.compare_tuples v (Z.of_nat i) (Z.of_nat k - Z.of_nat i) (reg4 (map fst (chunk ++ junk))) (reg4 (map snd (chunk ++ junk))))).
      { apply compare_surveys.
        - rewrite E, map_length, seq_length. reflexivity.
        - apply Forall_map, Forall_forall. intros j J. apply in_seq in J. apply pairs. unfold c in J. lia.
        - apply Forall_map, Forall_forall. intros j J. unfold pair_at. cbn [fst snd]. unfold word32. split; apply Z.mod_pos_bound; reflexivity.
        - unfold chunk. rewrite map_length, seq_length. unfold c. lia.
        - exact Sv.
        - rewrite map_length, seq_length. reflexivity.
        - rewrite map_length, seq_length. lia. }
      replace (Z.of_nat i + ScanAvx2.HALF) with (Z.of_nat (i + 8)) by (unfold ScanAvx2.HALF; lia).
      apply IH; [lia|lia|]. destruct W as [W1 W2 W3 W4 W5 W6].
      assert (Q : map pair_at (seq 0 i) ++ chunk = map pair_at (seq 0 (Nat.min (i + 8) k))).
      { unfold chunk. rewrite <- map_app. change (seq i c) with (seq (0 + i) c). rewrite <- seq_app. f_equal. f_equal. unfold c. lia. }
      rewrite <- Q. split; cbn [ScanAvx2.unsorted_lanes ScanAvx2.overlapping_lanes ScanAvx2.gap_words ScanAvx2.next_gap ScanAvx2.first_gap ScanAvx2.gaps_inside];
        try assumption.
      rewrite W6. cbn [andb]. unfold ScanAvx2.fits, ScanAvx2.HALF, ScanAvx2.MAX_LINE_POINTERS, ScanAvx2.LANES. apply Z.leb_le. lia.
  Qed.
End Tuples.

(** From registers. *)
Lemma reversed_lanes xs : length xs = 8%nat -> Forall (fun x => 0 <= x < span 4) xs -> forall special,
  blend 4 1 (pick 4 (reg4 xs) (reg4 [7; 0; 1; 2; 3; 4; 5; 6])) (spread 8 (bytes_of 4 special)) = reg4 (special :: firstn 7 xs).
Proof. intros L V special. in_lanes xs L. reflexivity. Qed.

Lemma last_lane xs k : length xs = 8%nat -> (k <= 8)%nat -> forall special,
  blend_bytes (spread 8 (bytes_of 4 special))
    (pick 4 (reg4 xs) (sub 4 (spread 8 (bytes_of 4 (Z.of_nat k))) (spread 8 (bytes_of 4 1))))
    (compare_greater 4 (spread 8 (bytes_of 4 (Z.of_nat k))) (zeros 32)) =
  spread 8 (bytes_of 4 (if (k =? 0)%nat then special else nth (k - 1) xs 0)).
Proof.
  intros L K special. in_lanes xs L. do 9 (destruct k as [|k]; [reflexivity|]). lia.
Qed.

(** Each tuple with the one before it. *)
Definition pairs_of (above : Z) (ts : list Z) : list pair := combine ts (above :: ts).

Lemma pairs_of_app a b : forall above, pairs_of above (a ++ b) = pairs_of above a ++ pairs_of (last a above) b.
Proof.
  unfold pairs_of. induction a as [|t a IH]; intros above; [reflexivity|]. cbn [app combine]. f_equal. rewrite IH, last_of_cons. reflexivity.
Qed.

Lemma combine_parts {A B} : forall (u u' : list A) (v : list B),
  combine (u ++ u') v = combine u (firstn (length u) v) ++ combine u' (skipn (length u) v).
Proof.
  induction u as [|x u IH]; intros u' [|y v]; cbn [app combine length firstn skipn]; try reflexivity; [now destruct u'|]. f_equal. apply IH.
Qed.

Lemma pairs_of_lanes ts others above : (length ts + length others = 8)%nat ->
  exists junk, combine (ts ++ others) (above :: firstn 7 (ts ++ others)) = pairs_of above ts ++ junk /\ (length ts + length junk = 8)%nat.
Proof.
  intros L. rewrite combine_parts. exists (combine others (skipn (length ts) (above :: firstn 7 (ts ++ others)))). split.
  - f_equal. unfold pairs_of. transitivity (combine ts (firstn (length ts) (above :: ts))); [|symmetry; apply combine_firstn_l].
    f_equal. destruct ts as [|t ts]; [reflexivity|].
    cbn [length]. rewrite !firstn_cons. f_equal. rewrite firstn_firstn, Nat.min_l by (cbn in L; lia). rewrite firstn_app. cbn [length]. replace (length ts - S (length ts))%nat with 0%nat by lia. cbn [firstn]. apply app_nil_r.
  - unfold pair in *. rewrite combine_length, skipn_length. cbn [length]. rewrite firstn_length, app_length. lia.
Qed.

Lemma last_is_nth ts others above : (if (length ts =? 0)%nat then above else nth (length ts - 1) (ts ++ others) 0) = last ts above.
Proof.
  destruct ts as [|t ts]; [reflexivity|]. cbn [length Nat.eqb]. rewrite app_nth1 by (cbn; lia). rewrite Nat.sub_succ, Nat.sub_0_r.
  rewrite last_of_cons. clear. revert t. induction ts as [|u ts IH]; intros t; [reflexivity|]. rewrite last_of_cons. exact (IH u).
Qed.

Lemma compare_lanes ts others above done v i n : surveyed done v -> i = Z.of_nat (length done) -> (length done <= 2042)%nat ->
  (length ts + length others = 8)%nat -> Forall word32 (ts ++ others) -> word32 above -> Forall a_pair (pairs_of above ts) ->
  0 <= n < 2147483648 -> (n < 8 -> Z.of_nat (length ts) = n) -> (8 <= n -> length ts = 8%nat) ->
  surveyed (done ++ pairs_of above ts)
    (ScanAvx2.compare_tuples v i n (reg4 (ts ++ others)) (reg4 (above :: firstn 7 (ts ++ others)))).
Proof.
  intros S I Bd L W Wa Pr Bn C1 C2. destruct (pairs_of_lanes ts others above L) as (junk & E & Lj).
  assert (Lx : length (ts ++ others) = length (above :: firstn 7 (ts ++ others))).
  { cbn [length]. rewrite firstn_length, app_length. lia. }
  destruct (combine_both _ _ Lx) as [F1 F2]. rewrite E in F1, F2. rewrite <- F1 at 1. rewrite <- F2.
  assert (Lp : length (pairs_of above ts) = length ts) by (unfold pairs_of, pair in *; rewrite combine_length; cbn [length]; lia).
  apply compare_surveys; try assumption.
  - rewrite app_length, Lp. exact Lj.
  - apply Forall_forall. intros p P. assert (Q : In p (combine (ts ++ others) (above :: firstn 7 (ts ++ others)))) by (rewrite E; apply in_or_app; now right).
    destruct p as [x y]. cbn [fst snd]. rewrite Forall_forall in W. split.
    + apply W. now apply in_combine_l in Q.
    + apply in_combine_r in Q. destruct Q as [<-|Q]; [exact Wa|]. apply W. rewrite <- (firstn_skipn 7 (ts ++ others)). apply in_or_app. now left.
  - rewrite Lp. auto.
Qed.

Lemma survey_few_surveys v l special : length l = 16%nat -> sound_lanes l -> 0 <= special < 65536 -> surveyed [] v ->
  Forall a_pair (pairs_of special (map tuple_of (filter kept l))) ->
  surveyed (pairs_of special (map tuple_of (filter kept l)))
    (ScanAvx2.survey_few (Z.of_nat (kept_count l)) v (number_of_bits (map kept l)) (reg4 (firstn 8 (map tuple_of l))) (reg4 (skipn 8 (map tuple_of l))) special).
Proof.
  intros L S Sp V Pr. destruct (two_of_eight l L) as (a & b & -> & La & Lb). apply Forall_app in S as [Sa Sb].
  unfold ScanAvx2.survey_few. cbv zeta.
  rewrite !map_app, firstn_app, skipn_app, !map_length, La, Nat.sub_diag, firstn_all2, skipn_all2 by (rewrite map_length; lia).
  cbn [firstn skipn app]. rewrite app_nil_r.
  rewrite low_byte_of_bits, high_byte_of_bits by now rewrite map_length.
  destruct (pack_is (map kept a) (map tuple_of a)) as (oa & Pa & La' & Va); [now rewrite map_length..|now apply tuples_range|].
  destruct (pack_is (map kept b) (map tuple_of b)) as (ob & Pb & Lb' & Vb); [now rewrite map_length..|now apply tuples_range|].
  rewrite Pa, Pb. rewrite popcnt_is by (rewrite map_length; lia). rewrite (count_selected (map kept a) (map tuple_of a)) by now rewrite !map_length.
  rewrite !selected_filter in *. rewrite filter_app, map_app in Pr |- *. rewrite pairs_of_app in Pr |- *. apply Forall_app in Pr as [Pra Prb].
  assert (Kc : kept_count (a ++ b) = (length (filter kept a) + length (filter kept b))%nat) by (unfold kept_count; now rewrite filter_app, app_length).
  assert (Wa : Forall (fun x => 0 <= x < span 4) (map tuple_of (filter kept a) ++ oa)).
  { apply Forall_app. split; [|exact Va]. apply tuples_range. exact (incl_Forall (incl_filter kept a) Sa). }
  assert (Wb : Forall (fun x => 0 <= x < span 4) (map tuple_of (filter kept b) ++ ob)).
  { apply Forall_app. split; [|exact Vb]. apply tuples_range. exact (incl_Forall (incl_filter kept b) Sb). }
  set (ta := map tuple_of (filter kept a)) in *. set (tb := map tuple_of (filter kept b)) in *.
  assert (Lta : length ta = length (filter kept a)) by apply map_length. assert (Ltb : length tb = length (filter kept b)) by apply map_length.
  rewrite Kc, <- Lta, <- Ltb in *.
  assert (La8 : length (ta ++ oa) = 8%nat) by (rewrite app_length; exact La'). assert (Lb8 : length (tb ++ ob) = 8%nat) by (rewrite app_length; exact Lb').
  change (ScanAvx2.set1_epi32 special) with (spread 8 (bytes_of 4 special)).
  change (ScanAvx2.set1_epi32 (Z.of_nat (length ta))) with (spread 8 (bytes_of 4 (Z.of_nat (length ta)))).
  change (Table.intrinsic "_mm256_set_epi32" [register_of 4 [6; 5; 4; 3; 2; 1; 0; 7]]) with (reg4 [7; 0; 1; 2; 3; 4; 5; 6]).
  repeat match goal with |- context [Table.intrinsic "_mm256_permutevar8x32_epi32" [?p; ?q]] =>
    change (Table.intrinsic "_mm256_permutevar8x32_epi32" [p; q]) with (pick 4 p q) end.
  repeat match goal with |- context [Table.intrinsic "_mm256_blend_epi32 1" [?p; ?q]] =>
    change (Table.intrinsic "_mm256_blend_epi32 1" [p; q]) with (blend 4 1 p q) end.
  match goal with |- context [Table.intrinsic "_mm256_blendv_epi8" ?args] =>
    change (Table.intrinsic "_mm256_blendv_epi8" args) with
      (blend_bytes (spread 8 (bytes_of 4 special))
         (pick 4 (reg4 (ta ++ oa)) (sub 4 (spread 8 (bytes_of 4 (Z.of_nat (length ta)))) (spread 8 (bytes_of 4 1))))
         (compare_greater 4 (spread 8 (bytes_of 4 (Z.of_nat (length ta)))) (zeros 32))) end.
  rewrite last_lane by (assumption || lia). rewrite last_is_nth. rewrite !reversed_lanes by assumption.
  assert (Ws : word32 special) by (unfold word32; lia).
  assert (Lpa : length (pairs_of special ta) = length ta) by (unfold pairs_of, pair in *; rewrite combine_length; cbn [length]; lia).
  apply compare_lanes; try assumption; try lia.
  - change (pairs_of special ta) with ([] ++ pairs_of special ta). apply compare_lanes; try assumption; try lia; try reflexivity. cbn [length]. lia.
  - destruct ta as [|t r] eqn:E; [exact Ws|]. rewrite <- E in *. assert (I : In (last ta special) ta).
    { rewrite E. clear. revert t. induction r as [|u r IH]; intros t; [now left|]. right. exact (IH u). }
    rewrite Forall_forall in Wa. apply Wa. apply in_or_app. now left.
Qed.
(** ** The tuples' words, and the tuples *)
Definition word_of (it : item) : Z := off it + 65536 * len it.

Lemma pairs_of_items its : Forall ScanFacts.a_tuple its -> forall before above k, word32 before -> before mod 65536 = above ->
  let ps := pairs_of before (map word_of its) in
  existsb is_out_of_order ps = negb (presorted_below above its) /\ existsb reaches ps = overlaps its above /\
  map (fun p => (p_end p, p_above p)) (filter is_gap ps) = ScanAvx2.gap_list its above /\ Z.of_nat (length (filter is_gap ps)) = gaps its above /\
  (existsb is_gap ps = true -> hd O (Scan.gap_positions k its above) = (k + Z.to_nat (clear_before (map is_gap ps)))%nat) /\ Forall a_pair ps.
Proof.
  induction 1 as [|it r T F IH]; intros before above k W B ps.
  - repeat split; auto; try discriminate; constructor.
  - destruct T as (O & L & _ & _).
    assert (Wi : word32 (word_of it)) by (unfold word32, word_of; lia).
    assert (Mi : word_of it mod 65536 = off it) by (unfold word_of; div_lia).
    destruct (IH (word_of it) (off it) (S k) Wi Mi) as (E1 & E2 & E3 & E4 & E5 & E6). clear IH.
    subst ps. change (pairs_of before (map word_of (it :: r))) with ((word_of it, before) :: pairs_of (word_of it) (map word_of r)).
    assert (Po : p_off (word_of it, before) = off it) by exact Mi.
    assert (Pe : p_end (word_of it, before) = stop it) by (unfold p_end, stop; cbn [fst]; rewrite Mi; unfold word_of; div_lia).
    assert (Pa : p_above (word_of it, before) = above) by exact B.
    assert (Pg : is_gap (word_of it, before) = negb (stop it =? above)) by (unfold is_gap; now rewrite Pe, Pa).
    cbn [existsb filter presorted_below overlaps ScanAvx2.gap_list gaps map Scan.gap_positions]. rewrite E1, E2, Pg.
    unfold is_out_of_order at 1, reaches at 1. rewrite Po, Pe, Pa. repeat split.
    + destruct (Z.leb_spec above (off it)), (Z.ltb_spec (off it) above); cbn [negb orb andb]; try reflexivity; lia.
    + destruct (stop it =? above); cbn [negb app map]; rewrite <- E3, ?Pe, ?Pa; reflexivity.
    + destruct (stop it =? above); cbn [negb length]; lia.
    + destruct (stop it =? above); cbn [negb orb app hd clear_before]; intros G.
      * rewrite (E5 G). pose proof (clear_before_bounds (map is_gap (pairs_of (word_of it) (map word_of r)))). lia.
      * now rewrite Nat.add_0_r.
    + constructor; [|exact E6]. unfold a_pair. cbn [fst snd]. rewrite Pe. unfold stop. split; [exact Wi|]. split; [exact W|lia].
Qed.

(** ** What the scan finds *)
Section Found.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis room : pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ.
  Let its := items m.
  Let special := pd_special m.

  Lemma special_small : 0 <= pd_upper m <= special /\ special <= 8192.
  Proof. destruct header as (A & B & _). unfold HEADER_SIZE, BLCKSZ, special in *. lia. Qed.

  Lemma its_tuples : Forall ScanFacts.a_tuple its.
  Proof. exact (Scanned.items_are_tuples m page_m header). Qed.
  Lemma its_few : (length its <= 2042)%nat.
  Proof. exact (proj1 (Scanned.items_small m page_m header)). Qed.

  (** One of them starts below pd_upper, ends above pd_special, or is not aligned. *)
  Definition wrong (it : item) : bool := (off it <? pd_upper m) || (special <? stop it) || negb (Z.land (off it) 7 =? 0).

  Lemma wrong_says : existsb wrong its = false <-> Forall (item_ok m) its.
  Proof.
    pose proof its_tuples as T. rewrite Forall_forall in T.
    assert (W : forall it, In it its -> wrong it = false <-> item_ok m it).
    { intros it I. destruct (T it I) as (O & L & _). unfold wrong, item_ok. rewrite !orb_false_iff, negb_false_iff, !Z.ltb_ge, Z.eqb_eq, maxalign_fixed.
      change 7 with (Z.ones 3). rewrite Z.land_ones by lia. change (2 ^ 3) with 8. unfold stop in *. fold special. lia. }
    rewrite Forall_forall. split.
    - intros E it I. apply W; [exact I|]. destruct (wrong it) eqn:X; [|reflexivity].
      assert (existsb wrong its = true) by (apply existsb_exists; eauto). congruence.
    - intros E. apply not_true_is_false. intros X. apply existsb_exists in X as (it & I & X). pose proof (proj2 (W it I) (E it I)). congruence.
  Qed.

  (** The loop, and what all of its rounds have gathered. *)
  Variable d : ScanAvx2.dirt.
  Let s := ScanAvx2.rounds (Z.to_nat (nline m)) m (nline m) 0 (start m d).

  Lemma the_loop : exists count, nline m <= Z.of_nat count < nline m + 16 /\ gathered special (lanes_from m (nline m) 0 count) s.
  Proof. exact (all_rounds m page_m header room d). Qed.

  Definition v0 : ScanAvx2.survey := nothing_surveyed (ScanAvx2.old_gaps d).

  Lemma the_survey few : (few = true -> nline m <= 16) ->
    let nitems := Z.of_nat (ScanAvx2.next s) - 1 in
    surveyed (pairs_of special (map word_of its))
      (if few : bool then ScanAvx2.survey_few nitems v0 (ScanAvx2.stored_bits s) (ScanAvx2.first s) (ScanAvx2.second s) special
       else ScanAvx2.survey_tuples (Z.to_nat nitems) (ScanAvx2.tuples s) nitems 0 v0) /\ nitems = Z.of_nat (length its).
  Proof.
    intros Few nitems. destruct the_loop as (count & C & G). pose proof special_small as Sp.
    pose proof (l_count m header count (proj1 C)) as K. fold its in K.
    assert (N : nitems = Z.of_nat (length its)) by (unfold nitems; rewrite (g_next _ _ _ G), K; lia).
    split; [|exact N]. rewrite N. clearbody nitems.
    assert (Ws : word32 special) by (unfold word32; lia).
    destruct (pairs_of_items its its_tuples special special 0%nat Ws ltac:(apply Z.mod_small; lia)) as (_ & _ & _ & _ & _ & Pr).
    destruct few.
    - destruct (few_rounds m page_m header room d (Few eq_refl)) as (l & [(L & S & Lr & G')|(Z0 & E)]).
      + fold s in Lr, G'. destruct Lr as [R1 R2 R3]. rewrite R1, R2, R3.
        assert (T : map tuple_of (filter kept l) = map word_of its).
        { transitivity (map tuple_of (filter kept (lanes_from m (nline m) 0 count))); [|exact (l_tuples m header count (proj1 C))].
          rewrite <- (g_tuples _ _ _ G'), <- (g_tuples _ _ _ G). f_equal. pose proof (g_next _ _ _ G') as X. rewrite (g_next _ _ _ G) in X. lia. }
        assert (Lk : Z.of_nat (length its) = Z.of_nat (kept_count l)).
        { f_equal. apply (f_equal (@length Z)) in T. rewrite !map_length in T. symmetry. exact T. }
        rewrite Lk, <- T. apply survey_few_surveys; try assumption; [lia|apply nothing_is_surveyed|]. rewrite T. exact Pr.
      + (* no line pointer, and no round *)
        assert (I0 : its = []).
        { destruct its as [|it r] eqn:X; [reflexivity|]. exfalso. unfold its, items, line_pointers in X. rewrite Z0 in X. discriminate. }
        fold s in E. rewrite E, I0. cbn [map]. set (e := repeat ((false, 0) : lane) 16).
        change (pairs_of special []) with (pairs_of special (map tuple_of (filter kept e))).
        change (Z.of_nat (length (@nil item))) with (Z.of_nat (kept_count e)).
        change (ScanAvx2.stored_bits (start m d)) with (number_of_bits (map kept e)).
        change (ScanAvx2.first (start m d)) with (reg4 (firstn 8 (map tuple_of e))).
        change (ScanAvx2.second (start m d)) with (reg4 (skipn 8 (map tuple_of e))).
        apply survey_few_surveys; [reflexivity| |lia|apply nothing_is_surveyed|constructor].
        apply Forall_forall. intros x X. apply repeat_spec in X. subst x. unfold word32. cbn. lia.
    - rewrite Nat2Z.id. set (a := ScanAvx2.tuples s) in *. set (k := length its) in *.
      assert (T : listed a 1 k = map word_of its).
      { transitivity (map tuple_of (filter kept (lanes_from m (nline m) 0 count))); [|exact (l_tuples m header count (proj1 C))].
        rewrite <- (g_tuples _ _ _ G), K. reflexivity. }
      assert (A0 : a 0%nat = special) by exact (g_special _ _ _ G).
      assert (Wr : forall j, (j <= k)%nat -> word32 (a j)).
      { intros [|j] J; [rewrite A0; exact Ws|]. assert (I : In (a (S j)) (map word_of its)).
        { rewrite <- T. unfold listed. apply in_map, in_seq. lia. }
        apply in_map_iff in I as (it & E & I). pose proof its_tuples as Tu. rewrite Forall_forall in Tu. destruct (Tu it I) as (O & Le & _).
        rewrite <- E. unfold word32, word_of. lia. }
      assert (Pa : map (pair_at a) (seq 0 k) = pairs_of special (map word_of its)).
      { unfold pairs_of. rewrite <- T, <- A0. unfold listed. change (a 0%nat :: map a (seq 1 k)) with (map a (seq 0 (S k))).
        transitivity (map (fun j => (a (S j), a j)) (seq 0 k)).
        - apply map_ext_in. intros j J. apply in_seq in J. unfold pair_at. f_equal; apply Z.mod_small; apply Wr; lia.
        - rewrite <- seq_shift, map_map. clear. generalize 0%nat. induction k as [|k IH]; intros j; [reflexivity|].
          cbn [seq map combine]. f_equal. exact (IH (S j)). }
      rewrite <- Pa. apply (survey_tuples_surveys a k its_few) with (i := 0%nat); [|lia|lia|exact (nothing_is_surveyed _)].
      intros j J. assert (I : In (pair_at a j) (pairs_of special (map word_of its))) by (rewrite <- Pa; apply in_map, in_seq; lia).
      rewrite Forall_forall in Pr. auto.
  Qed.
End Found.
(** ** The theorems *)

Lemma same_existsb {A} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> existsb f l = existsb g l.
Proof. induction l as [|y r IH]; intros E; [reflexivity|]. cbn [existsb]. rewrite E by now left. rewrite IH; [reflexivity|]. intros z Z. apply E. now right. Qed.
Lemma existsb_either {A} (f g : A -> bool) l : existsb (fun x => f x || g x) l = existsb f l || existsb g l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [existsb]. rewrite IH. destruct (f x), (g x), (existsb f l); reflexivity. Qed.

Lemma any_ones us : length us = 8%nat -> ScanAvx2.any (reg4 (map ones us)) = existsb (fun t => t) us.
Proof.
  intros L. rewrite any_says by (rewrite ?map_length; auto; lia). rewrite existsb_map. apply same_existsb. now intros [|] _.
Qed.

Lemma few_says m : (nline m <=? ScanAvx2.LANES) = true -> nline m <= 16.
Proof. intros F. apply Z.leb_le in F. exact F. Qed.

(** On every page that the kernel does not leave to [scalar] at once, the scan of [avx2] finds the tuples with their offsets and
    lengths, where tuples leave gaps, how many line pointers are used, and up to which one, the longest tuple, and whether the tuples are
    out of order or overlap.  It loads and stores nothing outside of page and arrays, whatever these hold before. *)
Theorem avx2_scan_finds : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ -> let s := ScanAvx2.scanned m d in
  map (fun i => (ScanAvx2.tuple_off s i, ScanAvx2.tuple_len s i)) (seq 0 (Z.to_nat (ScanAvx2.nitems s))) =
    map (fun it => (off it, len it)) (items m) /\
  ScanAvx2.nitems s = Choice.nitems m /\
  map (fun i => (Z.land (ScanAvx2.found_gaps s i) 65535, Z.shiftr (ScanAvx2.found_gaps s i) 16)) (seq 0 (Z.to_nat (ScanAvx2.ngaps s))) =
    ScanAvx2.gap_list (items m) (pd_special m) /\
  ScanAvx2.ngaps s = Choice.ngaps m /\
  (ScanAvx2.ngaps s <> 0 -> ScanAvx2.first_moved s = Z.of_nat (hd O (Scan.gap_positions 0 (items m) (pd_special m)))) /\
  ScanAvx2.used_count s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m))) /\
  ScanAvx2.left_count s = last_used (line_pointers m) /\
  ScanAvx2.longest_length s = longest (items m) /\
  ScanAvx2.is_unsorted s = unsorted Avx2 m /\ ScanAvx2.is_overlapping s = overlaps (items m) (pd_special m) /\
  ScanAvx2.stays_inside s = true.
Proof.
  intros m d P H R s. destruct (the_loop m P H R d) as (count & C & G). pose proof (special_small m H) as Sp.
  destruct (the_survey m P H R d (nline m <=? ScanAvx2.LANES) (few_says m)) as [V N].
  pose proof (its_tuples m P H) as T. assert (Ws : word32 (pd_special m)) by (unfold word32; lia).
  destruct (pairs_of_items (items m) T (pd_special m) (pd_special m) 0%nat Ws ltac:(apply Z.mod_small; lia)) as (E1 & E2 & E3 & E4 & E5 & E6).
  unfold s, ScanAvx2.scanned, ScanAvx2.scan_line_pointers. fold (start m d).
  change (ScanAvx2.Survey ScanAvx2.setzero ScanAvx2.setzero (ScanAvx2.old_gaps d) 0 0 true) with (v0 d).
  set (r := ScanAvx2.rounds (Z.to_nat (nline m)) m (nline m) 0 (start m d)) in *.
  cbv zeta in V, N |- *. set (v := if _ : bool then _ else _) in *.
  unfold ScanAvx2.tuple_off, ScanAvx2.tuple_len.
  cbn [ScanAvx2.words_to_be ScanAvx2.found_tuples ScanAvx2.found_gaps ScanAvx2.nitems ScanAvx2.used_count ScanAvx2.left_count ScanAvx2.total_length
    ScanAvx2.longest_length ScanAvx2.ngaps ScanAvx2.first_moved ScanAvx2.is_out_of_bounds ScanAvx2.is_unsorted ScanAvx2.is_overlapping ScanAvx2.stays_inside].
  destruct V as [(us & Us & Lu & Fu) (os & Os & Lo & Fo) Vn Vg Vf Vi]. rewrite N, Nat2Z.id, Vn.
  pose proof (g_tuples _ _ _ G) as Gt. rewrite (l_tuples m H count (proj1 C)), (l_count m H count (proj1 C)) in Gt.
  split; [|split; [reflexivity|split; [|split; [exact E4|split; [|split; [|split; [|split; [|split; [|split]]]]]]]]].
  - transitivity (map (fun t => (Z.land t 65535, Z.shiftr t 16)) (listed (ScanAvx2.tuples r) 1 (length (items m)))).
    + unfold listed. rewrite map_map, <- seq_shift, map_map. reflexivity.
    + rewrite Gt, map_map. apply map_ext_in. intros it I. rewrite Forall_forall in T. destruct (T it I) as (O & L & _).
      change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. f_equal; div_lia.
  - rewrite Nat2Z.id. transitivity (map (fun t => (Z.land t 65535, Z.shiftr t 16)) (listed (ScanAvx2.gap_words v) 0 (length (filter is_gap (pairs_of (pd_special m) (map word_of (items m))))))).
    + unfold listed. rewrite map_map. reflexivity.
    + rewrite Vg, map_map, <- E3. apply map_ext_in. intros p I. apply filter_In in I as [I _]. rewrite Forall_forall in E6. destruct (E6 p I) as (A & B & L).
      change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. unfold gap_word.
      unfold word32, p_end, p_above in *. f_equal; div_lia.
  - intros Nz. assert (X : existsb is_gap (pairs_of (pd_special m) (map word_of (items m))) = true).
    { pose proof (filter_none is_gap (pairs_of (pd_special m) (map word_of (items m)))) as Fn.
      destruct (existsb is_gap _); [reflexivity|]. apply Nat.eqb_eq in Fn. rewrite Fn in Nz. destruct Nz. reflexivity. }
    rewrite (Vf X), (E5 X). cbn [Nat.add]. rewrite Z2Nat.id; [reflexivity|]. apply clear_before_bounds.
  - rewrite (g_nused _ _ _ G). exact (l_nused m H count (proj1 C)).
  - rewrite (g_left _ _ _ G). exact (l_left m H count (proj1 C)).
  - destruct (k_longest _ _ (g_bounds _ _ _ G)) as (xs & E & L & W & F). rewrite E, max_of_lanes_is, F by assumption.
    exact (l_longest m H count (proj1 C)).
  - rewrite Us, any_ones, Fu, E1 by exact Lu. reflexivity.
  - rewrite Os, any_ones, Fo, E2 by exact Lo. reflexivity.
  - rewrite (g_inside _ _ _ G), Vi. reflexivity.
Qed.

Lemma bounds_say m d : is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ -> let s := ScanAvx2.scanned m d in
  ScanAvx2.is_out_of_bounds s = existsb (wrong m) (items m) /\ (Forall (item_ok m) (items m) -> ScanAvx2.total_length s = total (items m)).
Proof.
  intros P H R s. destruct (the_loop m P H R d) as (count & C & G). pose proof (special_small m H) as Sp. pose proof (its_tuples m P H) as T.
  unfold s, ScanAvx2.scanned, ScanAvx2.scan_line_pointers. fold (start m d).
  set (r := ScanAvx2.rounds (Z.to_nat (nline m)) m (nline m) 0 (start m d)) in *. cbv zeta.
  cbn [ScanAvx2.is_out_of_bounds ScanAvx2.total_length].
  destruct (g_bounds _ _ _ G) as [(lo & Lo & Llo & Vlo & Flo) (en & En & Len & Ven & Fen) (os & Os & Los & Fos) _ (ts & Ts & Lts & Fts)]. split.
  - rewrite (out_of_bounds_is lo en os) by (assumption || lia). rewrite Flo, Fen, Fos, fewest_below, most_above, alls_low by lia.
    rewrite !existsb_map.
    rewrite (over_any m H count (proj1 C) (fun x => low_of x <? pd_upper m)), (over_any m H count (proj1 C) (fun x => pd_special m <? off_of x + len_of x)),
      (over_any m H count (proj1 C) (fun x => negb (Z.land (off_of x) 7 =? 0))).
    + unfold wrong. rewrite !existsb_either. f_equal; [f_equal|]; apply same_existsb; intros it I; unfold low_of, off_of, len_of;
        rewrite (kept_there m it I); reflexivity.
    + intros x K. unfold off_of. now rewrite K.
    + intros x K. unfold off_of, len_of. rewrite K. apply Z.ltb_ge. lia.
    + intros x K. unfold low_of. rewrite K. apply Z.ltb_ge. lia.
  - intros Ok. rewrite Ts, sum_of_lanes_is, Fts by exact Lts. rewrite (l_signed m H count (proj1 C)).
    + apply Z.mod_small. pose proof (Scanned.items_small m P H). lia.
    + rewrite Forall_forall in Ok, T |- *. intros it I. destruct (Ok it I) as (_ & _ & E). destruct (T it I) as (O & _). unfold stop in E. lia.
Qed.

(** The scan of [avx2] leaves a page to [scalar], which names the fault, exactly if the contract refuses it; of every other page it has the
    sum of the lengths. *)
Theorem avx2_scan_refuses_the_same : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ -> let s := ScanAvx2.scanned m d in
  (ScanAvx2.refused m s = true <-> check m <> None) /\ ScanAvx2.refused m s = Scan.refused (Scan.scan_line_pointers m) /\
  (ScanAvx2.refused m s = false -> ScanAvx2.total_length s = total (items m)).
Proof.
  intros m d P H R s. destruct (bounds_say m d P H R) as [B Tt]. destruct (avx2_scan_finds m d P H R) as (_ & Ni & _ & _ & _ & _ & _ & _ & Un & Ov & _).
  fold s in B, Tt, Ni, Un, Ov. apply ScannedPage.refusal_is_right; [exact P|exact H|rewrite B; exact (wrong_says m P H)|exact Ni|exact Tt|].
  intros _ _. rewrite Un, Ov. cbn [unsorted]. now rewrite negb_involutive.
Qed.

Lemma news_are_new_words m : is_page m -> valid_page m -> forall lps top, incl lps (line_pointers m) ->
  incl (place (filter (fun it => has_storage (word it)) lps) top) (placed ItemOrder m) ->
  0 <= top - total (filter (fun it => has_storage (word it)) lps) -> top <= 8192 ->
  news top (map there lps) = map (fun it => new_word ItemOrder m (number it)) lps.
Proof.
  intros P V. assert (H : header_ok m) by apply V. pose proof (ScanFacts.line_pointers_are m P H) as Wd. rewrite Forall_forall in Wd.
  induction lps as [|it lps IH]; intros top I Pl B T; [reflexivity|].
  assert (Il : incl lps (line_pointers m)) by (intros x X; apply I; now right).
  assert (Ii : In it (line_pointers m)) by (apply I; now left). destruct (Wd it Ii) as [W _].
  unfold news. cbn [map tops combine filter] in *. change (new_of (there it, top - len_of (there it)) :: news (top - len_of (there it)) (map there lps) =
    new_word ItemOrder m (number it) :: map (fun it => new_word ItemOrder m (number it)) lps).
  unfold new_of, len_of. cbn [fst snd]. change (kept (there it)) with (has_storage (word it)). change (used (there it)) with (is_used (word it)).
  change (snd (there it)) with (word it). change (maxalign (lp_len (word it))) with (len it).
  destruct (has_storage (word it)) eqn:S.
  - cbn [place total] in *. assert (In (it, top - len it) (placed ItemOrder m)) as J by (apply Pl; now left).
    pose proof (lane_bounds (there it) W) as (_ & Lb & _). unfold len_of in Lb. change (kept (there it)) with (has_storage (word it)) in Lb. rewrite S in Lb.
    change (maxalign (lp_len (snd (there it)))) with (len it) in Lb.
    assert (Tn : 0 <= total (filter (fun it => has_storage (word it)) lps)).
    { clear - Il Wd. induction lps as [|x r IH]; [cbn; lia|]. assert (Ir : incl r (line_pointers m)) by (intros y Y; apply Il; now right).
      specialize (IH Ir). cbn [filter]. destruct (has_storage (word x)) eqn:S; [|exact IH]. cbn [total].
      destruct (Wd x (Il x (or_introl eq_refl))) as [W _]. pose proof (lane_bounds (there x) W) as (_ & Lb & _). unfold len_of in Lb.
      change (kept (there x)) with (has_storage (word x)) in Lb. rewrite S in Lb. change (maxalign (lp_len (snd (there x)))) with (len x) in Lb. lia. }
    rewrite (new_word_placed m V ItemOrder it _ J), Z.mod_small by lia. f_equal. apply IH; [exact Il|intros x X; apply Pl; now right|lia|lia].
  - rewrite (new_word_other m V ItemOrder it Ii S), Z.sub_0_r. f_equal. apply IH; assumption.
Qed.

(** What stands in an array of words that must hold the line pointers to be of these lanes. *)
Lemma words_are_new m w count : is_page m -> valid_page m -> nline m <= Z.of_nat count ->
  listed w 0 count = news (pd_special m) (lanes_from m (nline m) 0 count) ->
  forall k, (k < Z.to_nat (nline m))%nat -> w k = new_word ItemOrder m (Z.of_nat k + 1).
Proof.
  intros P V C W k K. pose proof V as (H & _ & _ & To & _). pose proof (special_small m H) as Sp. assert (Lo : 24 <= pd_lower m) by apply H.
  rewrite (lanes_are m H count C), news_app, (news_are_new_words m P V) in W; try (intros x X; exact X); [|fold (items m); lia|lia].
  apply (f_equal (fun q => nth k q 0)) in W. unfold listed in W.
  rewrite app_nth1 in W by (rewrite map_length; unfold line_pointers; now rewrite Scanned.line_pointers_from_length).
  rewrite (nth_indep _ 0 (w 0%nat)) in W by (rewrite map_length, seq_length; lia). rewrite map_nth, seq_nth in W by lia. cbn [Nat.add] in W. rewrite W.
  unfold line_pointers. pose proof (pointers_from m (Z.to_nat (nline m)) 0 ltac:(lia)) as Pf. change (0 + 1) with 1 in Pf. rewrite Pf, map_map.
  change (Z.to_nat 0) with 0%nat. cbn [number].
  rewrite (nth_indep _ 0 (new_word ItemOrder m (Z.of_nat 0 + 1))) by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun j => new_word ItemOrder m (Z.of_nat j + 1))), seq_nth by lia. reflexivity.
Qed.

(** On a page that the contract accepts, the words that [avx2] stores as line pointers are those of the specification. *)
Theorem avx2_scan_knows_the_line_pointers : forall m d, is_page m -> valid_page m -> pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ ->
  let s := ScanAvx2.scanned m d in
  forall k, (k < Z.to_nat (nline m))%nat -> ScanAvx2.words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1).
Proof.
  intros m d P V R s. destruct (the_loop m P (proj1 V) R d) as (count & C & G). apply (words_are_new m _ count P V (proj1 C)).
  pose proof (g_words _ _ _ G) as W. rewrite lanes_from_length in W. exact W.
Qed.
