(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scan to the page: [scalar] as C does it, without a gap

    What C's scan finds is what the proofs of the choice and of the ways take as given; what C makes of it are the operations that
    are proved. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Spec Decode Pointers Choice Chosen Scan ScanFacts.

Lemma line_pointers_from_snoc m count : forall first, line_pointers_from m first (S count) =
  line_pointers_from m first count ++ [Item (first + Z.of_nat count) (lp_word m (first + Z.of_nat count))].
Proof.
  induction count as [|count IH]; intros first; [cbn; now rewrite Z.add_0_r|].
  change (line_pointers_from m first (S (S count))) with (Item first (lp_word m first) :: line_pointers_from m (first + 1) (S count)).
  rewrite IH. cbn [line_pointers_from app]. replace (first + 1 + Z.of_nat count) with (first + Z.of_nat (S count)) by lia. reflexivity.
Qed.

Lemma line_pointers_from_length m count : forall first, length (line_pointers_from m first count) = count.
Proof. induction count as [|count IH]; intros first; cbn; [reflexivity|]. now rewrite IH. Qed.

Lemma numbers_count m count : forall first,
  map number (line_pointers_from m (Z.of_nat first + 1) count) = map (fun i => Z.of_nat i + 1) (seq first count).
Proof.
  induction count as [|count IH]; intros first; cbn [line_pointers_from map seq number]; [reflexivity|]. f_equal.
  rewrite <- (IH (S first)). do 2 f_equal. lia.
Qed.

Lemma fall_from t r : forall k a, Forall a_tuple r -> tuple_off (t k) = off a -> listed t (S k) (length r) = map pack_tuple r ->
  forallb (fun i => tuple_off (t i) <? tuple_off (t (i - 1)%nat)) (seq (S k) (length r)) = presorted_below (off a) r.
Proof.
  induction r as [|it r IH]; intros k a F A E; [reflexivity|]. inversion F as [|? ? T F']; subst.
  unfold listed in E. cbn [length seq map] in E. injection E as E1 E2. cbn [length seq forallb presorted_below].
  rewrite Nat.sub_succ, Nat.sub_0_r, A, E1. destruct (pack_unpack (off it) (len it)) as [P _]; [destruct T; lia..|].
  fold (pack_tuple it) in P. rewrite P. f_equal. apply IH; auto. now rewrite E1.
Qed.

Lemma falls_are its t n : Forall a_tuple its -> listed t 0 n = map pack_tuple its -> tuples_fall t n = falls its.
Proof.
  intros F E. assert (n = length its) as -> by (apply (f_equal (@length Z)) in E; now rewrite listed_length, map_length in E).
  destruct its as [|it r]; [reflexivity|]. inversion F as [|? ? T F']; subst. unfold tuples_fall. cbn [length].
  rewrite Nat.sub_succ, Nat.sub_0_r. unfold listed in E. cbn [length seq map] in E. injection E as E1 E2.
  apply fall_from; auto. rewrite E1. destruct (pack_unpack (off it) (len it)); auto; destruct T; lia.
Qed.

Lemma in_place_total its : forall upper, in_place_from its upper -> start_of its upper = upper - total its.
Proof.
  induction its as [|it r IH]; intros upper; [cbn; lia|]. intros (_ & E & P). rewrite start_of_cons, (IH _ P). cbn [total].
  unfold stop in E. lia.
Qed.

Lemma tuple_of_list t its k it : Forall a_tuple its -> listed t 0 (length its) = map pack_tuple its -> nth_error its k = Some it ->
  tuple_off (t k) = off it /\ tuple_len (t k) = len it /\ tuple_end (t k) = stop it.
Proof.
  intros F L N. pose proof (proj1 (nth_error_Some its k) ltac:(congruence)) as K.
  assert (E : t k = pack_tuple it).
  { pose proof (listed_nth t 0 (length its) k 0 K) as H. cbn [Nat.add] in H. rewrite <- H, L. rewrite (nth_indep _ 0 (pack_tuple it)) by now rewrite map_length.
    rewrite map_nth. f_equal. now apply nth_error_nth. }
  rewrite Forall_forall in F. destruct (F it (nth_error_In _ _ N)) as (O & Le & _).
  destruct (pack_unpack (off it) (len it)) as [A B]; [lia..|]. unfold tuple_end. rewrite E. unfold pack_tuple. rewrite A, B. auto.
Qed.

(** ** New line pointers *)
Lemma words_exact lps : words_ok lps -> forall up, total (stored lps) <= up < 32768 ->
  words_of lps up = map snd (all_words lps up).
Proof.
  induction 1 as [|it r W F IH]; intros up U; [reflexivity|]. cbn [words_of all_words stored filter] in *. fold (stored r) in U.
  destruct (has_storage (word it)) eqn:S.
  - cbn [total] in U. pose proof (word_a_tuple it W S) as (O & L & _).
    assert (T : 0 <= total (stored r)).
    { pose proof (stored_tuples r F) as X. clear - X. induction X as [|x l (_ & B & _) X IH]; cbn [total]; lia. }
    cbn [map snd]. rewrite (u32_small (up - len it)) by lia. f_equal; [|apply IH; lia].
    unfold u32. rewrite Zplus_mod_idemp_r. unfold set_off, off, lp_off in *.
    replace (word it + (up - len it - word it mod 32768)) with (up - len it + word it / 32768 * 32768) by div_lia.
    apply Z.mod_small. div_lia.
  - cbn [map snd]. f_equal. now apply IH.
Qed.

Lemma all_words_app a b : forall up, all_words (a ++ b) up = all_words a up ++ all_words b (up - total (stored a)).
Proof.
  induction a as [|it a IH]; intros up; cbn [app all_words stored filter total]; [cbn; now rewrite Z.sub_0_r|].
  fold (stored a). destruct (has_storage _); cbn [app total]; rewrite IH; [|reflexivity]. do 3 f_equal. lia.
Qed.

Lemma all_words_same lps : words_ok lps -> forall up, gaps (stored lps) up = 0 -> no_garbage lps ->
  all_words lps up = map (fun it => (number it, word it)) lps.
Proof.
  assert (N : forall l t, 0 <= gaps l t) by (intros; apply gaps_count).
  induction 1 as [|it r W F IH]; intros up G Z; [reflexivity|]. cbn [all_words stored filter map] in *. fold (stored r) in G.
  assert (Z' : no_garbage r) by (intros x X; apply Z; now right).
  destruct (has_storage (word it)) eqn:S.
  - cbn [gaps] in G. specialize (N (stored r) (off it)). destruct (Z.eqb_spec (stop it) up) as [E|E]; [|lia].
    replace (up - len it) with (off it) by (unfold stop in E; lia). rewrite (IH (off it)) by (auto; lia). f_equal. f_equal.
    apply set_off_same. lia.
  - rewrite (IH up) by auto. f_equal. f_equal. destruct (is_used (word it)) eqn:U; [reflexivity|]. symmetry. apply Z; [now left|exact U].
Qed.

Lemma in_place_words lps : words_ok lps -> forall up, in_place_from lps up ->
  all_words lps up = map (fun it => (number it, word it)) lps.
Proof.
  intros W up P. apply all_words_same; [exact W| |].
  - rewrite (in_place_stored lps up P). clear W. revert up P. induction lps as [|it r IH]; intros up; cbn [in_place_from gaps]; [reflexivity|].
    intros (_ & E & P). rewrite E, Z.eqb_refl. now rewrite IH.
  - intros it I U. exfalso. clear W. revert up P I. induction lps as [|y r IH]; intros up; cbn [in_place_from In]; [easy|].
    intros (S & _ & P) [->|X]; [|eauto]. unfold has_storage in S. now rewrite U in S.
Qed.

Lemma stores_are lps : forall k words up, map number lps = map (fun i => Z.of_nat i + 1) (seq k (length lps)) ->
  listed words k (length lps) = map snd (all_words lps up) ->
  map (fun i => Store32 (HEADER_SIZE + 4 * Z.of_nat i) (words i)) (seq k (length lps)) = store_words (all_words lps up).
Proof.
  induction lps as [|it r IH]; intros k ws up N L; [reflexivity|]. unfold listed in L.
  cbn [length seq map all_words] in *. injection N as N1 N2.
  destruct (has_storage (word it)); cbn [map fst snd store_words] in *; injection L as L1 L2; rewrite L1, (IH _ _ _ N2 L2);
    unfold store_words; f_equal; unfold lp_address; rewrite N1; f_equal; lia.
Qed.
Section Page.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.

  Let special := pd_special m.

  Lemma scan_bounds : 0 <= pd_upper m <= pd_special m /\ pd_special m <= 8192 /\ pd_special m mod 8 = 0.
  Proof. destruct header as (A & B & C). apply maxalign_fixed in C. unfold HEADER_SIZE, BLCKSZ in *. lia. Qed.

  Lemma words_are_ok : words_ok (line_pointers m).
  Proof. eapply Forall_impl; [|exact (line_pointers_are m page_m header)]. cbn. tauto. Qed.

  Lemma nline_small : 0 <= nline m <= 2042.
  Proof. destruct header as (A & B & _). unfold nline, HEADER_SIZE, BLCKSZ in *. div_lia. Qed.

  Lemma items_small : (length (items m) <= 2042)%nat /\ 0 <= total (items m) < 134217728.
  Proof.
    assert (L : (length (items m) <= 2042)%nat).
    { unfold items. pose proof nline_small. pose proof (line_pointers_from_length m (Z.to_nat (nline m)) 1) as E. fold (line_pointers m) in E.
      assert (F : forall l : list item, (length (filter (fun it => has_storage (word it)) l) <= length l)%nat)
        by (induction l as [|x l IH]; cbn; [|destruct (has_storage _); cbn]; lia).
      specialize (F (line_pointers m)). lia. }
    split; [exact L|]. pose proof (stored_tuples _ words_are_ok) as F. change (stored (line_pointers m)) with (items m) in F.
    assert (B : 0 <= total (items m) <= 32768 * Z.of_nat (length (items m))).
    { clear L. induction F as [|it r (_ & L & _) F IH]; cbn [total length]; lia. }
    lia.
  Qed.

  Lemma items_are_tuples : Forall a_tuple (items m).
  Proof. exact (stored_tuples _ words_are_ok). Qed.

  Definition no_findings : findings := Findings 0 0 0 (fun _ => O) 0 special.

  (** The scan as a whole: the tuples in place, then the rest. *)
  Lemma scan_parts : let s := scan_line_pointers m in exists done rest p f,
    line_pointers m = done ++ rest /\ in_place_from done special /\ nkept s = length done /\
    s = Scanned (words p) (tuples p) (gap_at f) (length done) (nitems p) (nitems p + nbare p) (ngaps f)
          (u32 (special - upper p)) (lengths_or f) (refused s) (high 31 (overlapping f) && negb (tuples_fall (tuples p) (nitems p)))
          (negb (ngaps f =? 0)%nat || negb (garbage p =? 0)) /\
    refused s = high 29 (bad f) || (MAX_HEAP_TUPLES_PER_PAGE <? Z.of_nat (nitems p)) ||
      (special - pd_lower m <? u32 (special - upper p)) ||
      (high 31 (overlapping f) && negb (high 31 (overlapping f) && negb (tuples_fall (tuples p) (nitems p)))) /\
    listed (tuples p) 0 (nitems p) = map pack_tuple (items m) /\
    nbare p = nbare_of (line_pointers m) /\
    listed (words p) (length done) (length rest) = words_of rest (start_of done special) /\
    upper p = end_of rest (start_of done special) /\ 0 <= upper p < 4294967296 /\
    checked (pd_upper m) special 0 (items m) no_findings f /\
    (garbage p = 0 -> no_garbage (line_pointers m)).
  Proof.
    pose proof scan_bounds as B. pose proof words_are_ok as W. cbn zeta. unfold scan_line_pointers.
    destruct (pass_in_place_passes (line_pointers m) W 0 (fun _ => 0) 0 special)
      as (done & rest & t & R & E & P & T & _).
    fold special. rewrite R. clear R. cbn [Nat.add] in *. rewrite Z.lor_0_l.
    rewrite E in W. apply Forall_app in W as [Wd Wr].
    pose proof (stored_tuples done Wd) as Fd. rewrite (in_place_stored done special P) in Fd.
    destruct (in_place_low done Fd special P ltac:(unfold special; lia)) as [Lo _].
    pose proof (in_place_checked (pd_upper m) special B done Fd P) as C0.
    set (p0 := Progress _ _ _ _ _ _). set (f0 := Findings _ _ (Choice.lengths done) _ _ _) in *.
    assert (S0 : sound special f0).
    { apply (c_bad _ _ _ _ _ _ C0). unfold sound. cbn [last_off]. unfold special. split; [lia|intros _; lia]. }
    destruct (with_branches_scans (pd_upper m) special B rest Wr (length done) 0 p0 f0)
      as (done1 & rest1 & j & q & g & R & E1 & J & G & C1 & U & Z1); [cbn; unfold special in *; lia|exact S0|].
    rewrite R. clear R.
    assert (I : items m = done ++ stored done1 ++ stored rest1).
    { unfold items. change (filter _ (line_pointers m)) with (stored (line_pointers m)).
      now rewrite E, E1, !stored_app, (in_place_stored done special P). }
    cbn [tuples nitems upper nbare words garbage] in *.
    assert (N : exists p f, (match rest1 with [] => (q, g) | _ => scan_without_branches (pd_upper m) special rest1 j q g end) = (p, f) /\
      gathered (length done) rest p0 p /\ checked (pd_upper m) special (length done) (stored rest) f0 f /\
      0 <= upper p < 4294967296 /\ (garbage p = 0 -> no_garbage rest)).
    { destruct rest1 as [|it r].
      - exists q, g. rewrite app_nil_r in E1. subst rest. split; [reflexivity|]. split; [exact G|]. split; [exact C1|]. split; [exact U|].
        intros Z. now apply Z1.
      - rewrite E1 in Wr. apply Forall_app in Wr as [_ Wr]. unfold scan_without_branches.
        pose proof (without_branches_gathers special (it :: r) Wr j q U) as G2. set (q2 := without_branches (it :: r) j q) in *.
        assert (G3 : gathered (length done) rest p0 q2) by (rewrite E1; eapply gathered_app; [exact G|now rewrite <- J]).
        eexists _, _. split; [reflexivity|]. split; [|split; [|split; [|discriminate]]].
        + destruct G3. now split.
        + rewrite E1, stored_app. eapply checked_app; [exact C1|].
          assert (Nq : nitems q = (length done + length (stored done1))%nat) by exact (g_nitems _ _ _ _ G).
          rewrite <- Nq. pose proof (g_nitems _ _ _ _ G2) as N2. rewrite N2.
          replace (nitems q + length (stored (it :: r)) - nitems q)%nat with (length (stored (it :: r))) by lia.
          apply check_gathered_checks; [exact B|now apply stored_tuples|now apply (c_bad _ _ _ _ _ _ C1)|].
          pose proof (g_tuples _ _ _ _ G2) as T2. rewrite N2, listed_app in T2.
          apply app_inv_head_iff with (l := listed (tuples q) 0 (nitems q)). rewrite <- T2. f_equal.
          apply (f_equal (firstn (nitems q))) in T2. rewrite !firstn_app, !listed_length, Nat.sub_diag, !firstn_O, !app_nil_r in T2.
          rewrite !firstn_all2 in T2 by (rewrite listed_length; lia). now symmetry.
        + cbn [upper]. pose proof (g_upper _ _ _ _ G2) as U2. fold q2. rewrite U2.
          clear - U. revert U. generalize (upper q). induction (it :: r) as [|x l IH]; intros u U; cbn [end_of]; [exact U|].
          apply IH. destruct (has_storage _); [apply Z.mod_pos_bound; lia|exact U]. }
    destruct N as (p & f & -> & G2 & C2 & U2 & Z2).
    exists done, rest, p, f. split; [exact E|]. split; [exact P|]. cbn [nkept refused]. split; [reflexivity|].
    split; [reflexivity|]. split; [reflexivity|].
    assert (I2 : items m = done ++ stored rest).
    { unfold items. change (filter _ (line_pointers m)) with (stored (line_pointers m)).
      now rewrite E, stored_app, (in_place_stored done special P). }
    split; [|split; [|split; [|split; [|split; [exact U2|split]]]]].
    - rewrite (g_tuples _ _ _ _ G2), I2, map_app. f_equal. exact T.
    - rewrite (g_nbare _ _ _ _ G2), E. unfold nbare_of. rewrite filter_app, app_length. cbn [nbare p0].
      assert (filter bare done = []) as ->; [|reflexivity].
      clear - P. revert P. generalize special. induction done as [|it r IH]; intros u; cbn; [reflexivity|]. intros (S & _ & P).
      unfold bare. rewrite S, andb_false_r. eauto.
    - exact (g_words _ _ _ _ G2).
    - exact (g_upper _ _ _ _ G2).
    - rewrite I2. eapply checked_app; [exact C0|exact C2].
    - intros Z it X D. rewrite E in X. apply in_app_or in X as [X|X]; [|now apply Z2].
      exfalso. clear - P X D. revert P X. generalize special. induction done as [|y r IH]; intros u; cbn; [easy|].
      intros (S & _ & P) [->|X]; [|eauto]. unfold has_storage in S. rewrite D in S. discriminate.
  Qed.

  (** The number of used line pointers. *)
  Definition nused_of : nat := length (filter (fun it => is_used (word it)) (line_pointers m)).

  Lemma used_are : nused_of = (length (items m) + nbare_of (line_pointers m))%nat.
  Proof.
    unfold nused_of, items, nbare_of. induction (line_pointers m) as [|it r IH]; [reflexivity|]. cbn [filter]. unfold bare at 1.
    assert (U : has_storage (word it) = true -> is_used (word it) = true) by (unfold has_storage; now destruct (is_used _)).
    destruct (has_storage (word it)), (is_used (word it)); cbn [andb negb length]; lia.
  Qed.

  Lemma scan_total done rest p : line_pointers m = done ++ rest -> in_place_from done special -> 0 <= upper p < 4294967296 ->
    upper p = end_of rest (start_of done special) -> u32 (special - upper p) = total (items m).
  Proof.
    intros E P U H. pose proof items_small as (_ & T).
    assert (X : upper p = u32 (special - total (items m))).
    { rewrite <- (u32_small (upper p)) by exact U. rewrite H, end_of_total, (in_place_total _ _ P). f_equal.
      unfold items. change (filter _ (line_pointers m)) with (stored (line_pointers m)).
      rewrite E, stored_app, total_app, (in_place_stored done special P). lia. }
    rewrite X. unfold u32. rewrite Zminus_mod_idemp_r. replace (special - (special - total (items m))) with (total (items m)) by lia.
    now apply Z.mod_small; lia.
  Qed.

  Record found (s : scanned) : Prop := {
    f_count : tuple_count s = length (items m);
    f_listed : listed (found_tuples s) 0 (tuple_count s) = map pack_tuple (items m);
    f_gaps : listed (found_gaps s) 0 (gap_count s) = gap_positions 0 (items m) special;
    f_ngaps : Z.of_nat (gap_count s) = Choice.ngaps m;
    f_total : total_length s = total (items m);
    f_lengths : or_of_lengths s = lengths (items m);
    f_used : nused s = nused_of;
    f_unsorted : is_unsorted s = unsorted Scalar m;
    f_refused : refused s =
      negb (forallb (in_bounds_b (pd_upper m) special) (items m)) || (MAX_HEAP_TUPLES_PER_PAGE <? Z.of_nat (length (items m))) ||
      (special - pd_lower m <? total (items m)) || (overlaps (items m) special && falls (items m)) }.

  Lemma scan_found : found (scan_line_pointers m).
  Proof.
    destruct scan_parts as (done & rest & p & f & E & P & K & S & R & T & N & W & U & U' & C & G). cbn zeta in *.
    pose proof (scan_total done rest p E P U' U) as Tot.
    assert (Cnt : nitems p = length (items m)) by (apply (f_equal (@length Z)) in T; now rewrite listed_length, map_length in T).
    assert (Fa : tuples_fall (tuples p) (nitems p) = falls (items m)) by (apply falls_are; [apply items_are_tuples|exact T]).
    pose proof (c_overlap _ _ _ _ _ _ C) as Ov. pose proof (c_gaps _ _ _ _ _ _ C) as Ga. pose proof (c_lengths _ _ _ _ _ _ C) as Le.
    destruct (c_bad _ _ _ _ _ _ C) as [_ Ba].
    { pose proof scan_bounds. unfold sound, no_findings, special. cbn [last_off bad]. split; [lia|intros _; lia]. }
    cbn [no_findings overlapping gap_at ngaps lengths_or bad last_off] in Ov, Ga, Le, Ba. change (high 31 0) with false in Ov.
    change (high 29 0) with false in Ba. cbn [orb] in Ov, Ba. rewrite Z.lor_0_l in Le. change (listed _ 0 0) with (@nil nat) in Ga.
    cbn [app] in Ga. rewrite S.
    split; cbn [tuple_count found_tuples found_gaps gap_count total_length or_of_lengths nused is_unsorted refused]; auto.
    - rewrite <- (listed_length (gap_at f) 0 (ngaps f)), Ga. apply gap_positions_count.
    - now rewrite N, used_are, Cnt.
    - now rewrite Ov, Fa.
    - rewrite R, Ba, Tot, Ov, Fa, Cnt. f_equal. destruct (overlaps _ _), (falls _); reflexivity.
  Qed.

  Lemma in_bounds_says it : In it (items m) -> in_bounds_b (pd_upper m) special it = true <-> item_ok m it.
  Proof.
    intros I. pose proof (item_facts m page_m header it I) as F. unfold in_bounds_b, item_ok, special.
    rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq, maxalign_fixed. unfold stop. lia.
  Qed.

  Lemma refused_says : refused (scan_line_pointers m) = false <-> valid_page m.
  Proof.
    rewrite (f_refused _ scan_found), !orb_false_iff, negb_false_iff, !Z.ltb_ge, andb_false_iff.
    assert (I : forallb (in_bounds_b (pd_upper m) special) (items m) = true <-> Forall (item_ok m) (items m)).
    { rewrite forallb_forall, Forall_forall. split; intros H it X; apply (in_bounds_says it X), H, X. }
    rewrite I. unfold valid_page. fold special.
    assert (O : Forall (item_ok m) (items m) -> (falls (items m) = presorted special (items m))).
    { intros F. destruct (items m) as [|it r]; [reflexivity|]. inversion F as [|? ? B]; subst. cbn. destruct B as ((_ & B) & _).
      fold special in B. destruct (Z.ltb_spec (off it) special); [reflexivity|lia]. }
    pose proof (overlaps_chain (items m) special) as Ch. split.
    - intros (((A & B) & C) & D). split; [exact header|]. split; [exact A|]. split; [exact B|]. split; [exact C|].
      intros Pre. apply Ch. rewrite (O A) in D. destruct D as [D|D]; [exact D|congruence].
    - intros (_ & A & B & C & D). repeat split; auto. rewrite (O A). destruct (presorted special (items m)); [left|now right].
      apply Ch. now apply D.
  Qed.

End Page.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  #[local] Lemma scan_is_found : found m (scan_line_pointers m).
  Proof. apply scan_found; [exact page_m|exact header]. Qed.
  Let s := scan_line_pointers m.

  (** The line pointers that C stores, if it stores any; those that it leaves alone have their new word already. *)
  Lemma stored_words : exists l, rewrites m ItemOrder l /\ (if changed s then store_line_pointers m s else []) = store_words l /\
    (forall k, (k < nkept s)%nat -> new_word ItemOrder m (Z.of_nat k + 1) = lp_word m (Z.of_nat k + 1) /\
                                    is_used (lp_word m (Z.of_nat k + 1)) = true) /\
    (nkept s <= Z.to_nat (nline m))%nat /\
    (forall k, (nkept s <= k < Z.to_nat (nline m))%nat -> words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1)).
  Proof.
    destruct (scan_parts m page_m header) as (done & rest & p & f & E & P & K & S & R & T & N & W & U & U' & C & G). cbn zeta in *.
    fold s in K, S, R. pose proof (all_words_rewrite m valid) as [A1 A2]. pose proof (words_are_ok m page_m header) as Wo.
    pose proof (scan_bounds m header) as B. destruct valid as (_ & _ & _ & Tot & _).
    assert (Len : Z.to_nat (nline m) = (length done + length rest)%nat).
    { rewrite <- app_length, <- E. unfold line_pointers. rewrite line_pointers_from_length. reflexivity. }
    assert (Low : 24 <= pd_lower m) by (destruct header; unfold HEADER_SIZE in *; lia).
    assert (Num : map number (line_pointers m) = map (fun i => Z.of_nat i + 1) (seq 0 (Z.to_nat (nline m)))).
    { unfold line_pointers. apply (numbers_count m _ 0). }
    rewrite E, map_app, Len, seq_app, map_app in Num. cbn [Nat.add] in Num.
    assert (Nd : map number done = map (fun i => Z.of_nat i + 1) (seq 0 (length done)) /\
                 map number rest = map (fun i => Z.of_nat i + 1) (seq (length done) (length rest))).
    { assert (Hl : length (map number done) = length (map (fun i => Z.of_nat i + 1) (seq 0 (length done)))) by (rewrite !map_length, seq_length; reflexivity).
      split; [apply (f_equal (firstn (length done))) in Num|apply (f_equal (skipn (length done))) in Num];
        rewrite ?firstn_app, ?skipn_app, ?map_length, ?seq_length, ?Nat.sub_diag in Num;
        rewrite ?firstn_O, ?app_nil_r, ?skipn_O in Num;
        rewrite ?firstn_all2, ?skipn_all2 in Num by (rewrite map_length, ?seq_length; lia); exact Num. }
    destruct Nd as [Nd Nr].
    assert (Wd : words_ok done /\ words_ok rest) by (rewrite E in Wo; apply Forall_app; exact Wo). destruct Wd as [Wd Wr].
    set (up := start_of done (pd_special m)) in *.
    assert (Up : up = pd_special m - total done) by (apply in_place_total; exact P).
    assert (Ti : total (items m) = total done + total (stored rest)).
    { unfold items. change (filter _ (line_pointers m)) with (stored (line_pointers m)).
      rewrite E, stored_app, total_app, (in_place_stored done _ P). reflexivity. }
    assert (Td : 0 <= total done).
    { pose proof (stored_tuples done Wd) as X. rewrite (in_place_stored done _ P) in X. clear - X.
      induction X as [|x l (_ & Bx & _) X IH]; cbn [total]; lia. }
    assert (All : all_words (line_pointers m) (pd_special m) = map (fun it => (number it, word it)) done ++ all_words rest up).
    { rewrite E, all_words_app, (in_place_words done Wd _ P), (in_place_stored done _ P). rewrite Up. reflexivity. }
    rewrite (words_exact rest Wr up) in W by lia.
    assert (Kept : forall it, In it done -> new_word ItemOrder m (number it) = word it /\ word it = lp_word m (number it)).
    { intros it I. destruct (A1 (number it) (word it)) as [_ Ew].
      - rewrite All. apply in_or_app. left. apply in_map_iff. exists it. split; [reflexivity|exact I].
      - split; [symmetry; exact Ew|]. assert (J : In it (line_pointers m)) by (rewrite E; apply in_or_app; left; exact I).
        apply (in_line_pointers m header) in J as [_ J]. exact J. }
    assert (KeptN : forall k, (k < length done)%nat -> exists it, In it done /\ number it = Z.of_nat k + 1).
    { intros k Kk. assert (I : In (Z.of_nat k + 1) (map number done)).
      { rewrite Nd. apply in_map_iff. exists k. split; [reflexivity|]. apply in_seq. lia. }
      apply in_map_iff in I as (it & En & I). exists it. split; [exact I|exact En]. }
    assert (Rw : rewrites m ItemOrder (all_words rest up)).
    { split.
      - intros n w I. apply A1. rewrite All. apply in_or_app. right. exact I.
      - intros n I. destruct (A2 n I) as [J|J]; [|right; exact J]. rewrite All, map_app in J. apply in_app_or in J as [J|J]; [|left; exact J].
        right. rewrite map_map in J. apply in_map_iff in J as (it & <- & J). destruct (Kept it J) as [X Y]. cbn [fst]. rewrite X. exact Y. }
    assert (St : store_line_pointers m s = store_words (all_words rest up)).
    { unfold store_line_pointers. rewrite K, Len. replace (length done + length rest - length done)%nat with (length rest) by lia.
      rewrite S. cbn [words_to_be]. apply stores_are; [exact Nr|exact W]. }
    exists (if changed s then all_words rest up else []).
    assert (Und : changed s = false -> rewrites m ItemOrder []).
    { rewrite S. cbn [changed]. rewrite orb_false_iff, !negb_false_iff, Nat.eqb_eq, Z.eqb_eq. intros [Ng Gb].
      split; [intros n w []|]. intros n I. right. pose proof (f_ngaps _ _ scan_is_found) as Fg. fold s in Fg. rewrite S in Fg. cbn [gap_count] in Fg.
      rewrite Ng in Fg. unfold Choice.ngaps, items in Fg.
      pose proof (all_words_same (line_pointers m) Wo (pd_special m) (eq_sym Fg) (G Gb)) as Same.
      set (it := Item n (lp_word m n)).
      assert (J : In it (line_pointers m)) by (apply (in_line_pointers m header); cbn; auto).
      destruct (A1 n (lp_word m n)) as [_ X]; [|symmetry; exact X]. rewrite Same. apply in_map_iff. exists it. split; [reflexivity|exact J]. }
    split; [destruct (changed s) eqn:Ch; [exact Rw|apply Und; reflexivity]|].
    split; [destruct (changed s); [exact St|reflexivity]|].
    rewrite K. split; [|split; [lia|]].
    - intros k Kk. destruct (KeptN k Kk) as (it & I & En). rewrite <- En. destruct (Kept it I) as [X Y]. rewrite X, <- Y.
      split; [reflexivity|]. clear - P I. revert P. generalize (pd_special m). induction done as [|y r IH]; intros u; [destruct I|].
      intros (Sy & _ & P). destruct I as [->|I]; [|now apply (IH I (off y))]. unfold has_storage in Sy. now destruct (is_used _).
    - intros k Kk. rewrite S. cbn [words_to_be].
      set (j := (k - length done)%nat). assert (Hj : (j < length rest)%nat) by lia.
      assert (X : words p k = nth j (map snd (all_words rest up)) 0).
      { rewrite <- W, listed_nth by exact Hj. f_equal. lia. }
      assert (Ln : length (all_words rest up) = length rest).
      { rewrite <- (map_length snd), <- W. apply listed_length. }
      assert (Fn : map fst (all_words rest up) = map number rest).
      { generalize up. clear. induction rest as [|it r IH]; intros u; cbn [all_words map]; [reflexivity|].
        destruct (has_storage _); cbn [map fst]; now rewrite IH. }
      destruct (nth_error (all_words rest up) j) as [[n w]|] eqn:En; [|apply nth_error_None in En; lia].
      assert (n = Z.of_nat k + 1).
      { pose proof (map_nth_error fst _ _ En) as Q. rewrite Fn, Nr in Q. cbn [fst] in Q.
        apply (nth_error_nth _ _ 0) in Q. rewrite <- Q.
        rewrite (nth_indep _ 0 (Z.of_nat 0 + 1)) by (rewrite map_length, seq_length; lia).
        rewrite (map_nth (fun i => Z.of_nat i + 1)), seq_nth by exact Hj. lia. }
      pose proof (map_nth_error snd _ _ En) as Q. apply (nth_error_nth _ _ 0) in Q. cbn [snd] in Q. rewrite X, Q. subst n.
      apply nth_error_In in En. destruct (A1 (Z.of_nat k + 1) w) as [_ Ew]; [rewrite All; apply in_or_app; right; exact En|exact Ew].
  Qed.
End Valid.
