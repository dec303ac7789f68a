(* SPDX-License-Identifier: PostgreSQL *)
(** * AVX-512's scan of at most 16 line pointers finds what the page holds *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Scalar Facts ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey ScanAvx2Facts ScanAvx2Page.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Decode Pointers Choice Chosen ScanAvx512FewLanes ScanAvx512FewFacts ScanAvx512FewTuples.
From Pgquern.compaction Require Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require ScanAvx2.
From Pgquern.compaction Require ScanAvx512Few.

(** A stored list, read again; a list, place by place. *)
Lemma store_reads w a xs k : (0 < w)%nat -> (k < length xs)%nat -> (k < 16)%nat ->
  ScanAvx512Few.store w a (register_of w xs) k = nth k xs 0 mod span w.
Proof.
  intros W K L. unfold ScanAvx512Few.store. destruct (Nat.ltb_spec k 16); [|lia]. rewrite lanes_of_register by exact W.
  rewrite (nth_indep _ 0 (0 mod span w)) by (rewrite map_length; exact K). apply (map_nth (fun x => x mod span w)).
Qed.

Lemma mapped_nths {A B} (e : A) (f : nat -> B) (g : A -> B) : forall l, (forall i, (i < length l)%nat -> f i = g (nth i l e)) ->
  map f (seq 0 (length l)) = map g l.
Proof.
  intros l. revert f. induction l as [|x l IH]; intros f E; [reflexivity|]. cbn [length seq map]. f_equal.
  - exact (E 0%nat ltac:(cbn; lia)).
  - rewrite <- seq_shift, map_map. apply IH. intros i I. apply (E (S i)). cbn. lia.
Qed.

Lemma nth_repeat_lt {A} (x e : A) n : forall k, (k < n)%nat -> nth k (repeat x n) e = x.
Proof. induction n as [|n IH]; intros [|k] K; try lia; cbn [repeat nth]; [reflexivity|]. apply IH. lia. Qed.

Section Page.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis few : nline m <= ScanAvx512Few.FEW.
  Let n := nline m.
  Let special := pd_special m.
  Let its := items m.

  #[local] Lemma enough : n <= Z.of_nat 16.
  Proof. exact few. Qed.
  #[local] Lemma n_bounds : 0 <= n <= 16.
  Proof. pose proof (Scanned.nline_small m header). unfold n, ScanAvx512Few.FEW in *. lia. Qed.

  (** The sixteen lanes. *)
  Let l := lanes_from m n 0 16.
  #[local] Lemma l_length : length l = 16%nat.
  Proof. apply lanes_from_length. Qed.
  #[local] Lemma l_sound : sound_lanes l.
  Proof. apply all_sound; [exact page_m|unfold HEADER_SIZE, BLCKSZ; lia]. Qed.

  Lemma loaded : ScanAvx512Few.load_page m HEADER_SIZE = reg4 (map snd l).
  Proof.
    assert (B : forall a, 24 <= a < 8192 -> 0 <= m a < 256) by (intros a A; apply page_m; unfold BLCKSZ; lia).
    transitivity (ScanAvx2.load_page m HEADER_SIZE ++ ScanAvx2.load_page m (HEADER_SIZE + 32)); [reflexivity|].
    rewrite !load_page_is by (unfold HEADER_SIZE; intros; apply B; lia). rewrite <- words_app. reflexivity.
  Qed.

  Lemma first_lanes_there : ScanAvx512Few.mask16 (ScanAvx512Few.first_lanes n) = register_of_bits (map fst l).
  Proof.
    pose proof n_bounds as N. rewrite <- (Z2Nat.id n) by lia. rewrite first_lanes_are, first_numbers by lia. f_equal.
    unfold l, lanes_from. rewrite map_map, Z2Nat.id by lia. reflexivity.
  Qed.

  (** ** The numbers of the lanes are those of the tuples *)
  #[local] Lemma special_fits : 0 <= pd_upper m <= special /\ special <= 8192 /\ 0 <= pd_upper m <= 8192.
  Proof. destruct header as (A & B & _). unfold HEADER_SIZE, BLCKSZ, special in *. lia. Qed.

  Lemma lanes_total : total_low l = total its.
  Proof.
    unfold total_low, l, n. rewrite (l_total m header 16 enough). apply Z.mod_small. pose proof (Scanned.items_small m page_m header).
    fold its. unfold its. lia.
  Qed.

  Lemma lanes_moves : moves_of m l = move_words its special.
  Proof.
    unfold moves_of, l, n. rewrite (l_kept m header 16 enough). apply moves_are.
    apply Forall_forall. intros it I. unfold its, items in I. now apply filter_In in I.
  Qed.

  Lemma lanes_count : kept_count l = length its.
  Proof. exact (l_count m header 16 enough). Qed.

  Lemma bounds_are : ScanAvx512Few.out_of_bounds m (taken_lanes m l) = existsb (wrong m) its.
  Proof.
    pose proof special_fits as Sp. rewrite out_of_bounds_is by (apply l_length || apply l_sound || (fold special; lia)).
    unfold l, n. rewrite (over_any m header 16 enough).
    - apply same_existsb. intros it I. rewrite (kept_there m it I). unfold wrong, off_of, len_of, stop. rewrite (kept_there m it I). reflexivity.
    - intros x K. unfold off_of. rewrite K. reflexivity.
  Qed.

  Let moved := pairs_of 0 (move_words its special).

  (** ** The scan, field by field *)
  Section Scan.
    Variable d : ScanAvx512Few.dirt.
    Let s := ScanAvx512Few.scan_few m d.
    Let all := move_words its special ++ repeat (upper_low m l) (16 - length its).

    Lemma taken_are : ScanAvx512Few.take m = taken_lanes m l.
    Proof. apply take_is; [exact l_length|exact l_sound|exact loaded|exact first_lanes_there]. Qed.
    Lemma compared_are : ScanAvx512Few.compare m (ScanAvx512Few.take m) = compared_lanes m l.
    Proof. rewrite taken_are. apply compare_is; [exact l_length]. Qed.

    Lemma no_runs : (ScanAvx512Few.popcnt (Lanes.number (ScanAvx512Few.gaps (compared_lanes m l))) =? 0) &&
      negb (negb (Lanes.number (ScanAvx512Few.falls (compared_lanes m l)) =? 0)) = negb (existsb differs moved).
    Proof.
      rewrite ngaps_is, falls_is by exact l_length. rewrite lanes_moves. fold moved. unfold differs. rewrite existsb_either, negb_orb. f_equal.
      rewrite <- filter_none. destruct (filter further moved); reflexivity.
    Qed.

    Lemma scan_numbers :
      ScanAvx512Few.nitems s = Z.of_nat (length its) /\ ScanAvx512Few.used_count s = Scalar.count (map used l) /\
      ScanAvx512Few.left_count s = last_set (map used l) /\ ScanAvx512Few.total_length s = total its /\
      ScanAvx512Few.upper_to_be s = upper_low m l /\ ScanAvx512Few.longest_length s = most (map len_of l) /\
      ScanAvx512Few.shortest_length s = 0 /\ ScanAvx512Few.ngaps s = Z.of_nat (length (filter further moved)) /\
      ScanAvx512Few.is_falling s = existsb less_far moved /\
      (existsb differs moved = true -> ScanAvx512Few.first_moved s = clear_before (map differs moved)) /\
      ScanAvx512Few.is_out_of_bounds s = existsb (wrong m) its /\ ScanAvx512Few.stays_inside s = true /\
      ScanAvx512Few.words_to_be s = ScanAvx512Few.store 4 (ScanAvx512Few.dirty_words d) (reg4 (news special l)).
    Proof.
      unfold s, ScanAvx512Few.scan_few. cbv zeta. rewrite compared_are, taken_are.
      pose proof (first_is m l l_length) as Fi. pose proof (ngaps_is m l l_length) as Ng. pose proof (falls_is m l l_length) as Fa.
      rewrite lanes_moves in Fi, Ng, Fa. fold special in Fi, Ng, Fa. fold moved in Fi, Ng, Fa.
      pose proof (used_count_is m l l_length) as Uc. pose proof (left_is m l l_length) as Le. pose proof (longest_is m l l_length l_sound) as Lo.
      pose proof (new_words_are m l l_length) as Nw. pose proof bounds_are as Bo. pose proof lanes_count as Co. pose proof lanes_total as To.
      destruct ((_ =? 0) && _);
        cbn [ScanAvx512Few.nitems ScanAvx512Few.used_count ScanAvx512Few.left_count ScanAvx512Few.total_length ScanAvx512Few.upper_to_be
             ScanAvx512Few.longest_length ScanAvx512Few.shortest_length ScanAvx512Few.ngaps ScanAvx512Few.is_falling ScanAvx512Few.first_moved
             ScanAvx512Few.is_out_of_bounds ScanAvx512Few.stays_inside ScanAvx512Few.words_to_be];
        rewrite Nw; (split; [cbn [compared_lanes ScanAvx512Few.count]; now rewrite Co|]);
        (split; [exact Uc|]); (split; [exact Le|]); (split; [exact To|]); (split; [reflexivity|]); (split; [exact Lo|]); (split; [reflexivity|]);
        (split; [exact Ng|]); (split; [exact Fa|]); (split; [exact Fi|]); (split; [exact Bo|]); (split; reflexivity).
    Qed.

    Lemma scan_arrays : existsb differs moved = true ->
      ScanAvx512Few.new_ends s = Scan.put (ScanAvx512Few.store 2 (ScanAvx512Few.dirty_ends d) (reg2 all)) 16 (ScanAvx512Few.u16 (upper_low m l)) /\
      ScanAvx512Few.old_ends s = Scan.put (ScanAvx512Few.store 2 (ScanAvx512Few.dirty_old_ends d) (reg2 (map old_end all))) 16 (ScanAvx512Few.u16 (upper_low m l)) /\
      (exists others, ScanAvx512Few.run_ends s =
         ScanAvx512Few.store 2 (ScanAvx512Few.dirty_run_ends d) (reg2 (map fst (filter further moved) ++ others))) /\
      (exists others, ScanAvx512Few.run_old_ends s =
         ScanAvx512Few.store 2 (ScanAvx512Few.dirty_run_old_ends d) (reg2 (map (fun p => old_end (fst p)) (filter further moved) ++ others))).
    Proof.
      intros D. unfold s, ScanAvx512Few.scan_few. cbv zeta. rewrite compared_are, taken_are, no_runs, D. cbn [negb].
      cbn [ScanAvx512Few.new_ends ScanAvx512Few.old_ends ScanAvx512Few.run_ends ScanAvx512Few.run_old_ends].
      assert (Tu : ScanAvx512Few.tuples (compared_lanes m l) = reg4 all).
      { cbn [compared_lanes ScanAvx512Few.tuples]. unfold spare. rewrite lanes_moves. fold special. unfold all. do 3 f_equal.
        pose proof (moves_count m l l_length) as [Mc _]. rewrite lanes_moves, lanes_count in Mc. fold special in Mc. now rewrite Mc. }
      assert (Ea : moves_of m l ++ repeat (upper_low m l) (spare m l) = all).
      { unfold all, spare. pose proof (moves_count m l l_length) as [Mc _]. rewrite Mc, lanes_count, lanes_moves. reflexivity. }
      pose proof (old_ends_are m l l_length) as Oe. rewrite Ea in Oe. rewrite Tu, Oe.
      change (ScanAvx512Few.upper (compared_lanes m l)) with (upper_low m l). rewrite !narrow_is.
      split; [reflexivity|]. split; [reflexivity|].
      pose proof (runs_are m l l_length) as Ru. rewrite Ea, lanes_moves in Ru. fold special in Ru. fold moved in Ru. split.
      - destruct (Ru (fun t => t)) as (others & R). rewrite map_id in R. exists others. rewrite R. reflexivity.
      - destruct (Ru old_end) as (others & R). exists others. rewrite R. reflexivity.
    Qed.
  End Scan.


  (** ** A page whose tuples are in bounds, and small enough together *)
  Section Fits.
    Variable d : ScanAvx512Few.dirt.
    Let s := ScanAvx512Few.scan_few m d.
    Hypothesis ok : Forall (item_ok m) its.
    Hypothesis fit : total its <= special - pd_lower m.

    #[local] Lemma inside : Forall in_page its.
    Proof.
      pose proof special_fits as Sp. pose proof (ScanAvx2Page.its_tuples m page_m header) as T. rewrite Forall_forall in ok, T |- *. intros it I.
      destruct (ok it I) as (A & _ & C). destruct (T it I) as (O & L & _). unfold in_page. fold special in A, C. lia.
    Qed.

    #[local] Lemma small_total : 0 <= total its <= special /\ special <= 8192.
    Proof. pose proof special_fits. pose proof (total_positive its inside). destruct header as (A & _). unfold HEADER_SIZE in A. lia. Qed.

    Lemma they_say k :
      existsb less_far moved = overlaps its special /\
      map (fun p => (fst p mod 65536, old_end (fst p) mod 65536)) (filter further moved) = ScanAvx512Few.run_list its special special /\
      existsb differs moved = negb (gaps its special =? 0) /\
      (existsb differs moved = true -> hd O (Scan.gap_positions k its special) = (k + Z.to_nat (clear_before (map differs moved)))%nat) /\
      map (fun t => (t mod 65536, old_end t mod 65536)) (move_words its special) = ScanAvx512Few.end_list its special.
    Proof.
      pose proof small_total as B. pose proof (pairs_say its inside special special 0 k) as P. cbv zeta in P.
      replace (0 + 65536 * (special - special)) with 0 in P by lia. apply P; lia.
    Qed.

    Lemma upper_is : upper_low m l = new_upper m.
    Proof.
      pose proof small_total as B. unfold upper_low. rewrite lanes_total. unfold new_upper. fold its special. apply Z.mod_small. lia.
    Qed.

    #[local] Lemma count_small : (length its <= 16)%nat /\ length (move_words its special) = length its.
    Proof.
      pose proof (moves_count m l l_length) as [Mc Mb]. rewrite lanes_moves in Mc, Mb. fold special in Mc, Mb. rewrite lanes_count in Mc. lia.
    Qed.

    Section Some_move.
      Hypothesis some : existsb differs moved = true.

      (** Where a tuple must end, and ends; behind the last one, where they all must start. *)
      Lemma ends_say i : (i <= 16)%nat -> let t := nth i (move_words its special) (new_upper m) in
        ScanAvx512Few.new_ends s i = t mod 65536 /\ ScanAvx512Few.old_ends s i = old_end t mod 65536.
      Proof.
        intros I t. pose proof count_small as [C1 C2]. pose proof small_total as B.
        assert (U : 0 <= new_upper m <= 8192) by (unfold new_upper; fold its special; lia).
        destruct (scan_arrays d some) as (E1 & E2 & _). fold s in E1, E2. rewrite E1, E2, upper_is. clear E1 E2.
        set (all := move_words its special ++ repeat (new_upper m) (16 - length its)).
        assert (La : length all = 16%nat) by (unfold all; rewrite app_length, repeat_length; lia).
        unfold Scan.put. destruct (Nat.eqb_spec i 16) as [->|N].
        - assert (T : t = new_upper m) by (unfold t; apply nth_overflow; lia). rewrite T. split; [reflexivity|].
          unfold ScanAvx512Few.u16, old_end. rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. div_lia.
        - assert (T : nth i all 0 = t).
          { unfold t, all. destruct (Nat.lt_ge_cases i (length its)) as [L|L].
            - rewrite app_nth1 by lia. apply nth_indep. lia.
            - rewrite app_nth2, (nth_overflow (move_words its special)) by lia.
              apply nth_repeat_lt. lia. }
          rewrite !store_reads by (rewrite ?map_length; lia). rewrite T. split; [reflexivity|].
          rewrite (nth_indep _ 0 (old_end 0)) by (rewrite map_length; lia). rewrite map_nth, T. reflexivity.
      Qed.

      Lemma ends_are : map (fun i => (ScanAvx512Few.new_ends s i, ScanAvx512Few.old_ends s i)) (seq 0 (length its)) =
        ScanAvx512Few.end_list its special.
      Proof.
        pose proof count_small as [C1 C2]. destruct (they_say 0) as (_ & _ & _ & _ & E). rewrite <- E, <- C2.
        apply (mapped_nths (new_upper m)). intros i I. destruct (ends_say i) as [E1 E2]; [lia|]. now rewrite E1, E2.
      Qed.

      Lemma ends_behind i : (length its <= i <= 16)%nat ->
        ScanAvx512Few.new_ends s i = new_upper m /\ ScanAvx512Few.old_ends s i = new_upper m.
      Proof.
        intros I. pose proof count_small as [C1 C2]. pose proof small_total as B. destruct (ends_say i) as [E1 E2]; [lia|].
        rewrite nth_overflow in E1, E2 by lia. rewrite E1, E2.
        assert (U : 0 <= new_upper m <= 8192) by (unfold new_upper; fold its special; lia).
        unfold old_end. rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. clear - U. split; div_lia.
      Qed.

      Lemma runs_listed : map (fun i => (ScanAvx512Few.run_ends s i, ScanAvx512Few.run_old_ends s i)) (seq 0 (length (filter further moved))) =
        ScanAvx512Few.run_list its special special.
      Proof.
        destruct (they_say 0) as (_ & E & _). rewrite <- E. destruct (scan_arrays d some) as (_ & _ & (o1 & E1) & (o2 & E2)). fold s in E1, E2.
        rewrite E1, E2. apply (mapped_nths (0, 0)). intros i I.
        assert (L : (length (filter further moved) <= 16)%nat).
        { pose proof (filter_length_le further moved) as F. pose proof count_small as [C1 C2]. unfold moved at 2, pairs_of, pair in F.
          rewrite combine_length in F. unfold pair in *. lia. }
        rewrite !store_reads by (rewrite ?app_length, ?map_length; lia). rewrite !app_nth1 by (rewrite map_length; exact I).
        rewrite (nth_indep _ 0 (fst ((0, 0) : Z * Z))) by (rewrite map_length; exact I). rewrite map_nth.
        rewrite (nth_indep _ 0 ((fun p : Z * Z => old_end (fst p)) (0, 0))) by (rewrite map_length; exact I).
        rewrite (map_nth (fun p : Z * Z => old_end (fst p))). reflexivity.
      Qed.

      (** Whether lp_off falls, as C finds it from the ends. *)
      Lemma presorted_is : ScanAvx512Few.presorted s = presorted special its.
      Proof.
        pose proof count_small as [C1 C2]. pose proof small_total as B. unfold ScanAvx512Few.presorted.
        destruct (scan_numbers d) as (Ni & _). fold s in Ni. rewrite Ni, Nat2Z.id.
        rewrite (falls_from_says _ _ its special); [|exact ends_are|].
        - unfold presorted. destruct its as [|it r]; [reflexivity|]. inversion ok as [|? ? (A & _) F]. fold special in A. cbn [presorted_below].
          unfold BLCKSZ. destruct (Z.ltb_spec (off it) 8192), (Z.ltb_spec (off it) special); try reflexivity; lia.
        - destruct (ends_behind (0 + length its)) as [E _]; [lia|]. rewrite E. unfold new_upper. fold its special. reflexivity.
      Qed.
    End Some_move.
  End Fits.
End Page.

(** ** The theorems *)

(** On every page with at most 16 line pointers that the kernel does not leave to [scalar] at once, the scan of [avx512] counts the tuples
    and the used line pointers, knows up to which one they are used, the sum of the lengths and the longest one, and whether some tuple is
    out of bounds or not aligned.  It loads and stores nothing outside of page and arrays, whatever these hold before. *)
Theorem avx512_few_scan_finds : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512Few.LANES <= BLCKSZ ->
  nline m <= ScanAvx512Few.FEW -> let s := ScanAvx512Few.scan_few m d in
  ScanAvx512Few.nitems s = Choice.nitems m /\
  ScanAvx512Few.used_count s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m))) /\
  ScanAvx512Few.left_count s = last_used (line_pointers m) /\
  ScanAvx512Few.total_length s = total (items m) /\
  ScanAvx512Few.longest_length s = longest (items m) /\ ScanAvx512Few.shortest_length s = 0 /\
  (ScanAvx512Few.is_out_of_bounds s = false <-> Forall (item_ok m) (items m)) /\
  ScanAvx512Few.stays_inside s = true.
Proof.
  intros m d P H R F s. destruct (scan_numbers m P H F d) as (N & U & L & T & _ & Lo & Sh & _ & _ & _ & Ob & In & _). fold s in N, U, L, T, Lo, Sh, Ob, In.
  pose proof (enough m F) as E.
  split; [exact N|]. split; [rewrite U; exact (l_nused m H 16 E)|]. split; [rewrite L; exact (l_left m H 16 E)|].
  split; [exact T|]. split; [rewrite Lo; exact (l_longest m H 16 E)|]. split; [exact Sh|]. split; [|exact In].
  rewrite Ob. exact (wrong_says m P H).
Qed.

(** If the tuples of such a page are in bounds and fit together, this scan of [avx512] knows where each of them must end and ends now, has
    those that move further than the one before them in arrays of their own, and knows how many these are, which tuple is the first that
    moves, whether one reaches into another, and whether lp_off falls; behind the last tuple stands the new pd_upper. *)
Theorem avx512_few_scan_knows_the_moves : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512Few.LANES <= BLCKSZ ->
  nline m <= ScanAvx512Few.FEW -> Forall (item_ok m) (items m) -> total (items m) <= pd_special m - pd_lower m ->
  let s := ScanAvx512Few.scan_few m d in
  ScanAvx512Few.upper_to_be s = new_upper m /\
  ScanAvx512Few.is_falling s = unsorted Avx512 m /\
  ScanAvx512Few.ngaps s = Z.of_nat (length (ScanAvx512Few.run_list (items m) (pd_special m) (pd_special m))) /\
  (ScanAvx512Few.is_falling s = false -> ScanAvx512Few.ngaps s = Choice.ngaps m) /\
  (ScanAvx512Few.ngaps s =? 0) && negb (ScanAvx512Few.is_falling s) = (Choice.ngaps m =? 0) /\
  (Choice.ngaps m <> 0 ->
   ScanAvx512Few.first_moved s = Z.of_nat (hd O (Scan.gap_positions 0 (items m) (pd_special m))) /\
   map (fun i => (ScanAvx512Few.new_ends s i, ScanAvx512Few.old_ends s i)) (seq 0 (Z.to_nat (ScanAvx512Few.nitems s))) =
     ScanAvx512Few.end_list (items m) (pd_special m) /\
   (forall i, Choice.nitems m <= Z.of_nat i <= ScanAvx512Few.FEW ->
      ScanAvx512Few.new_ends s i = new_upper m /\ ScanAvx512Few.old_ends s i = new_upper m) /\
   map (fun i => (ScanAvx512Few.run_ends s i, ScanAvx512Few.run_old_ends s i)) (seq 0 (Z.to_nat (ScanAvx512Few.ngaps s))) =
     ScanAvx512Few.run_list (items m) (pd_special m) (pd_special m) /\
   ScanAvx512Few.presorted s = presorted (pd_special m) (items m)).
Proof.
  intros m d P H R F Ok Fi s.
  destruct (scan_numbers m P H F d) as (N & _ & _ & _ & Up & _ & _ & Ng & Fa & Fm & _). fold s in N, Up, Ng, Fa, Fm.
  destruct (they_say m P H Ok Fi 0) as (S1 & S2 & S3 & S4 & _).
  set (moved := pairs_of 0 (move_words (items m) (pd_special m))) in *.
  assert (Rl : length (filter further moved) = length (ScanAvx512Few.run_list (items m) (pd_special m) (pd_special m))) by (rewrite <- S2; symmetry; apply map_length).
  assert (D : (ScanAvx512Few.ngaps s =? 0) && negb (ScanAvx512Few.is_falling s) = (Choice.ngaps m =? 0)).
  { transitivity (negb (existsb differs moved)); [|rewrite S3; apply negb_involutive]. unfold differs. rewrite existsb_either, negb_orb, Ng, Fa. f_equal.
    rewrite <- filter_none. destruct (filter further moved); reflexivity. }
  split; [rewrite Up; exact (upper_is m P H F Ok Fi)|]. split; [rewrite Fa; exact S1|]. split; [rewrite Ng, Rl; reflexivity|].
  split; [|split; [exact D|]].
  - intros Nf. rewrite Ng, Rl. apply runs_are_gaps. rewrite <- S1, <- Fa. exact Nf.
  - intros Nz. assert (So : existsb differs moved = true) by (rewrite S3; apply negb_true_iff, Z.eqb_neq; exact Nz).
    split; [|split; [|split; [|split]]].
    + rewrite (Fm So), (S4 So). cbn [Nat.add]. rewrite Z2Nat.id; [reflexivity|]. apply clear_before_bounds.
    + rewrite N, Nat2Z.id. exact (ends_are m P H F d Ok Fi So).
    + intros i I. apply (ends_behind m P H F d Ok Fi So). unfold Choice.nitems, ScanAvx512Few.FEW in I. lia.
    + rewrite Ng, Nat2Z.id. exact (runs_listed m P H F d Ok Fi So).
    + exact (presorted_is m P H F d Ok Fi So).
Qed.

(** This scan of [avx512] leaves a page to [scalar], which names the fault, exactly if the contract refuses it. *)
Theorem avx512_few_scan_refuses_the_same : forall m d, is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512Few.LANES <= BLCKSZ ->
  nline m <= ScanAvx512Few.FEW -> let s := ScanAvx512Few.scan_few m d in
  (ScanAvx512Few.refused m s = true <-> check m <> None) /\ ScanAvx512Few.refused m s = Scan.refused (Scan.scan_line_pointers m).
Proof.
  intros m d P H R F s. destruct (avx512_few_scan_finds m d P H R F) as (N & _ & _ & T & _ & _ & Ob & _). fold s in N, T, Ob.
  assert (X : forall A B C : Prop, A /\ B /\ C -> A /\ B) by tauto. eapply X, ScannedPage.refusal_is_right; clear X; [exact P|exact H|exact Ob|exact N|intros _; exact T|].
  intros Ok Fi. destruct (avx512_few_scan_knows_the_moves m d P H R F Ok Fi) as (_ & Fa & _ & _ & D & M). fold s in Fa, D, M.
  cbn [unsorted] in Fa. rewrite Fa in *. destruct (overlaps (items m) (pd_special m)); [|reflexivity]. cbn [andb negb] in *.
  rewrite andb_false_r in D. apply M. apply Z.eqb_neq. now symmetry.
Qed.

(** On a page that the contract accepts, the words that this scan of [avx512] stores as line pointers are those of the specification. *)
Theorem avx512_few_scan_knows_the_line_pointers : forall m d, is_page m -> valid_page m -> pd_lower m + 4 * ScanAvx512Few.LANES <= BLCKSZ ->
  nline m <= ScanAvx512Few.FEW -> let s := ScanAvx512Few.scan_few m d in
  forall k, (k < Z.to_nat (nline m))%nat -> ScanAvx512Few.words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1).
Proof.
  intros m d P V R F s. assert (H : header_ok m) by apply V. pose proof (enough m F) as En.
  apply (words_are_new m _ 16 P V En). destruct (scan_numbers m P H F d) as (_ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & _ & W). fold s in W. rewrite W.
  set (xs := news _ _). assert (L : length xs = 16%nat) by (unfold xs; rewrite news_length; apply lanes_from_length).
  rewrite <- L. apply listed_nths. intros k K. cbn [Nat.add]. rewrite store_reads by lia. apply Z.mod_small.
  pose proof (new_range _ (pd_special m) (l_sound m P)) as Ra. fold xs in Ra. rewrite Forall_forall in Ra. now apply Ra, nth_In.
Qed.
