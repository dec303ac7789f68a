(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scans of avx512vbmi2.c to the page

    What pgq_compaction_avx512 makes of its scan, of many line pointers or of at most 16, is the way that is proved, the line pointers of
    the specification, and the header. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Pointers Repair Choice Chosen Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require Import ScanAvx512Page ScanAvx512FewPage ByArraysFacts.
From Pgquern.compaction Require Slots Windows ByArrays ScanAvx2Kernel ScanAvx512 ScanAvx512Few ScanAvx512Moves ScanAvx512SqueezeFacts.

Lemma shortest_says its : (32 <=? fold_right (fun it n => Z.min (len it) n) 65535 its) = all_at_least 32 its.
Proof.
  unfold all_at_least. induction its as [|it r IH]; [reflexivity|]. cbn [fold_right forallb]. rewrite <- IH.
  set (n := fold_right _ _ _). destruct (Z.leb_spec 32 (Z.min (len it) n)), (Z.leb_spec 32 (len it)), (Z.leb_spec 32 n); try reflexivity; lia.
Qed.

Lemma items_few m : valid_page m -> Z.of_nat (length (items m)) <= nline m.
Proof. intros V. pose proof (pointers_below m V) as B. unfold Choice.nitems in B. unfold nline, HEADER_SIZE. div_lia. Qed.

Lemma ends_by_number its : forall top, ScanAvx512Few.end_list its top = map (fun i => (new_end its top i, old_end its top i)) (seq 0 (length its)).
Proof.
  induction its as [|it r IH]; intros top; [reflexivity|]. cbn [ScanAvx512Few.end_list length seq map new_end old_end]. f_equal.
  rewrite IH, <- (seq_shift (length r) 0), map_map. reflexivity.
Qed.

(** Without overlaps, both scans' lists of runs are one. *)
Lemma runs_are_one its : forall above top, overlaps its above = false -> ScanAvx512Few.run_list its above top = ScanAvx512.run_list its above top.
Proof.
  induction its as [|it r IH]; intros above top O; [reflexivity|]. cbn [overlaps ScanAvx512Few.run_list ScanAvx512.run_list] in *.
  apply orb_false_iff in O as [O1 O2]. apply Z.ltb_ge in O1. rewrite (IH _ _ O2).
  destruct (Z.ltb_spec (stop it) above), (Z.eqb_spec (stop it) above); try reflexivity; lia.
Qed.

(** ** What both scans find on a page that the contract accepts *)
Record tells (m : mem) (s : ScanAvx512Moves.seen) : Prop := Tells {
  t_count : ScanAvx512Moves.nitems s = Choice.nitems m;
  t_used : ScanAvx512Moves.used_count s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)));
  t_left : ScanAvx512Moves.left_count s = last_used (line_pointers m);
  t_total : ScanAvx512Moves.total_length s = total (items m);
  t_upper : ScanAvx512Moves.upper_to_be s = new_upper m;
  t_longest : ScanAvx512Moves.longest_length s = longest (items m);
  t_shortest : (32 <=? ScanAvx512Moves.shortest_length s) = (16 <? nline m) && all_at_least 32 (items m);
  t_falls : ScanAvx512Moves.is_falling s = unsorted Avx512 m;
  t_gaps : ScanAvx512Moves.is_falling s = false -> ScanAvx512Moves.ngaps s = Choice.ngaps m;
  t_moves : (ScanAvx512Moves.ngaps s =? 0) && negb (ScanAvx512Moves.is_falling s) = (Choice.ngaps m =? 0);
  t_known : Choice.ngaps m <> 0 -> known (ScanAvx512Moves.new_ends s) (ScanAvx512Moves.old_ends s) 0 (items m) (pd_special m)
    (if nline m <=? 16 then 17 - length (items m) else 31);
  t_first : Choice.ngaps m <> 0 -> ScanAvx512Moves.first_moved s = Z.of_nat (hd O (gap_positions 0 (items m) (pd_special m)));
  t_runs : Choice.ngaps m <> 0 -> ScanAvx512Moves.is_falling s = false ->
    map (fun i => (ScanAvx512Moves.run_ends s i, ScanAvx512Moves.run_old_ends s i)) (seq 0 (Z.to_nat (ScanAvx512Moves.ngaps s))) =
      ScanAvx512.run_list (items m) (pd_special m) (pd_special m);
  t_words : forall k, (k < Z.to_nat (nline m))%nat -> ScanAvx512Moves.words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1) }.

Section Scans.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Hypothesis room : pd_lower m + 4 * ScanAvx512Moves.LANES <= BLCKSZ.
  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  #[local] Lemma tuples_ok : Forall (item_ok m) (items m) /\ total (items m) <= pd_special m - pd_lower m.
  Proof. destruct valid as (_ & A & _ & B & _). auto. Qed.

  Lemma few_tells d : nline m <= ScanAvx512Moves.FEW -> tells m (ScanAvx512Moves.seen_by_few m d).
  Proof.
    intros few. destruct tuples_ok as [Ok Fit]. unfold ScanAvx512Moves.seen_by_few. cbv zeta.
    destruct (avx512_few_scan_finds m d page_m header room few) as (N & C & Lf & T & L & Sh & _).
    destruct (avx512_few_scan_knows_the_moves m d page_m header room few Ok Fit) as (U & F & _ & G & Mv & M).
    pose proof (avx512_few_scan_knows_the_line_pointers m d page_m valid room few) as W. cbv zeta in W.
    revert N C Lf T L Sh U F G Mv M W. generalize (ScanAvx512Few.refused m (ScanAvx512Few.scan_few m d)) as r. generalize (ScanAvx512Few.scan_few m d) as s.
    intros s r N C Lf T L Sh U F G Mv M W.
    constructor; cbn [ScanAvx512Moves.words_to_be ScanAvx512Moves.new_ends ScanAvx512Moves.old_ends ScanAvx512Moves.run_ends ScanAvx512Moves.run_old_ends
      ScanAvx512Moves.first_moved ScanAvx512Moves.nitems ScanAvx512Moves.used_count ScanAvx512Moves.left_count
      ScanAvx512Moves.total_length ScanAvx512Moves.upper_to_be ScanAvx512Moves.longest_length ScanAvx512Moves.shortest_length ScanAvx512Moves.ngaps
      ScanAvx512Moves.is_falling]; try assumption.
    - rewrite Sh. symmetry. apply andb_false_iff. left. apply Z.ltb_ge. exact few.
    - intros Nz. destruct (M Nz) as (_ & E & Be & _). rewrite ends_by_number, N in E. unfold Choice.nitems in E, Be. rewrite Nat2Z.id in E.
      replace (nline m <=? 16) with true by (symmetry; apply Z.leb_le; exact few).
      intros i. cbn [Nat.add]. assert (Q : (i <= 16)%nat -> ScanAvx512Few.new_ends s i = new_end (items m) (pd_special m) i /\
        ScanAvx512Few.old_ends s i = old_end (items m) (pd_special m) i).
      { intros I. destruct (Nat.lt_ge_cases i (length (items m))) as [J|J].
        - pose proof (ext_in_map E i ltac:(apply in_seq; lia)) as X. now injection X.
        - destruct (Be i) as [B1 B2]; [unfold ScanAvx512Few.FEW; lia|]. destruct (Windows.ends_behind (items m) (pd_special m) i J) as [O1 O2].
          unfold new_upper in *. now rewrite B1, B2, O1, O2. }
      pose proof (items_few m valid) as Fw. unfold ScanAvx512Moves.FEW, ScanAvx512Few.FEW in few. split; intros I; apply Q; lia.
    - intros Nz. apply (M Nz).
    - intros Nz Nf. destruct (M Nz) as (_ & _ & _ & Rn & _). rewrite Rn. apply runs_are_one. rewrite F in Nf. exact Nf.
  Qed.

  Lemma many_tells d : ScanAvx512Moves.FEW < nline m -> tells m (ScanAvx512Moves.seen_by_many m d).
  Proof.
    intros many. destruct tuples_ok as [Ok Fit]. unfold ScanAvx512Moves.seen_by_many. cbv zeta.
    destruct (avx512_scan_finds m d page_m header room) as (N & O & E & Be & Bo & C & Lf & L & Sh & _).
    destruct (avx512_scan_finds_the_runs m d page_m header room Ok Fit) as (T & U & F & G & Mv & Fm).
    pose proof (avx512_scan_knows_the_line_pointers m d page_m valid room) as W. cbv zeta in W.
    revert N O E Be Bo C Lf L Sh T U F G Mv Fm W. generalize (ScanAvx512.refused m (ScanAvx512.scan_line_pointers m d)) as r. generalize (ScanAvx512.scan_line_pointers m d) as s.
    intros s r N O E Be Bo C Lf L Sh T U F G Mv Fm W.
    constructor; cbn [ScanAvx512Moves.words_to_be ScanAvx512Moves.new_ends ScanAvx512Moves.old_ends ScanAvx512Moves.run_ends ScanAvx512Moves.run_old_ends
      ScanAvx512Moves.first_moved ScanAvx512Moves.nitems ScanAvx512Moves.used_count ScanAvx512Moves.left_count
      ScanAvx512Moves.total_length ScanAvx512Moves.upper_to_be ScanAvx512Moves.longest_length ScanAvx512Moves.shortest_length ScanAvx512Moves.ngaps
      ScanAvx512Moves.is_falling]; try assumption.
    - rewrite N. reflexivity.
    - rewrite Sh, shortest_says. replace (16 <? nline m) with true by (symmetry; apply Z.ltb_lt; exact many). reflexivity.
    - intros Nf. apply G, Nf.
    - rewrite <- Mv. f_equal. destruct (ScanAvx512.ngaps s); reflexivity.
    - intros _. replace (nline m <=? 16) with false by (symmetry; apply Z.leb_gt; exact many). rewrite N in O, E, Bo, Be.
      assert (X : map (fun p => (snd p + len (fst p)) mod 65536) (placed ItemOrder m) = map (new_end (items m) (pd_special m)) (seq 0 (length (items m)))).
      { pose proof (f_equal (map fst) (ends_listed (items m) (pd_special m))) as X. rewrite !map_map in X. cbn [fst] in X. etransitivity; [|exact X].
        apply (placed_ends_small m page_m header). destruct header as (Lo & _). unfold HEADER_SIZE in Lo. lia. }
      assert (Y : map stop (items m) = map (old_end (items m) (pd_special m)) (seq 0 (length (items m)))).
      { pose proof (f_equal (map snd) (ends_listed (items m) (pd_special m))) as Y. rewrite !map_map in Y. cbn [snd] in Y. rewrite <- (map_map fst stop), place_fst in Y. exact Y. }
      rewrite X in E. rewrite Y in O.
      assert (Bu : (pd_special m - total (items m)) mod 65536 = new_upper m).
      { apply Z.mod_small. destruct valid as ((Lo & Up' & _) & _). pose proof (total_nonneg _ (items_nonneg m page_m header)). unfold new_upper, HEADER_SIZE, BLCKSZ in *. lia. }
      rewrite Bu in *.
      assert (Behind : forall f i, map f (seq (length (items m)) 32) = repeat (new_upper m) 32 -> (length (items m) <= i < length (items m) + 32)%nat -> f i = new_upper m).
      { intros f i H I. assert (J : In (f i) (repeat (new_upper m) 32)) by (rewrite <- H; apply in_map, in_seq; lia). now apply repeat_spec in J. }
      intros i. cbn [Nat.add]. destruct (Nat.lt_ge_cases i (length (items m))) as [J|J].
      + split; intros _; [exact (ext_in_map E i ltac:(apply in_seq; lia))|exact (ext_in_map O i ltac:(apply in_seq; lia))].
      + destruct (Windows.ends_behind (items m) (pd_special m) i J) as [O1 O2]. unfold new_upper in *. rewrite O1, O2.
        split; intros I; apply Behind; try assumption; lia.
    - intros _ Nf. rewrite Nat2Z.id. apply G, Nf.
  Qed.
End Scans.

(** ** What is done with it.  Of the scans nothing more is said here: their registers, unfolded, take Coq too long. *)
Section Told.
  Variables (m : mem) (s : ScanAvx512Moves.seen).
  Hypothesis told : tells m s.

  Lemma slots_are : Choice.ngaps m <> 0 -> let n := Z.to_nat (ScanAvx512Moves.nitems s) in let longest_ := ScanAvx512Moves.longest_length s in
    ByArrays.find_slots m (ScanAvx512Moves.slot_starts s) n longest_ (ScanAvx512Moves.total_length s) = in_slots (longest (items m)) m /\
    (in_slots (longest (items m)) m = true -> ByArrays.slots_found m (ScanAvx512Moves.slot_starts s) n longest_ = slots_of m).
  Proof.
    intros Nz n longest_. unfold n, longest_. rewrite (t_longest _ _ told), (t_total _ _ told), (t_count _ _ told). unfold Choice.nitems. rewrite Nat2Z.id.
    assert (One : total (items m) = Z.of_nat (length (items m)) * longest (items m) ->
      map (ScanAvx512Moves.slot_starts s) (seq 0 (length (items m))) = map off (items m)).
    { intros Q. pose proof (Slots.one_length _ _ (longest_spec (items m)) Q) as A. rewrite Forall_forall in A.
      assert (E : map (ScanAvx512Moves.old_ends s) (seq 0 (length (items m))) = map stop (items m)).
      { pose proof (f_equal (map snd) (ends_listed (items m) (pd_special m))) as Y. rewrite !map_map in Y. cbn [snd] in Y.
        rewrite <- (map_map fst stop), place_fst in Y. rewrite Y. apply map_ext_in. intros i I. apply in_seq in I. apply (t_known _ _ told Nz i). lia. }
      unfold ScanAvx512Moves.slot_starts. rewrite (t_longest _ _ told). apply (f_equal (map (fun e => e - longest (items m)))) in E. rewrite !map_map in E. rewrite E.
      apply map_ext_in. intros it I. unfold stop. rewrite (A it I). lia. }
    destruct (Z.eq_dec (total (items m)) (Z.of_nat (length (items m)) * longest (items m))) as [Q|Q].
    - destruct (slots_found_are m _ (One Q)) as [S1 S2]. split; [exact S2|]. intros _. exact S1.
    - apply Z.eqb_neq in Q. unfold ByArrays.find_slots, in_slots, Choice.nitems. rewrite Q, !andb_false_r. split; [reflexivity|discriminate].
  Qed.

  (** The way that C's tests choose is the one that is proved to suit the page. *)
  Lemma way_is : Choice.ngaps m <> 0 -> ScanAvx512Moves.way m s = avx512_way m.
  Proof.
    intros Nz. unfold ScanAvx512Moves.way, ScanAvx512Moves.permute_few, avx512_way, mostly_live. cbv zeta. change (LINE / 2) with 32.
    rewrite (proj1 (slots_are Nz)), (t_count _ _ told), (t_longest _ _ told), (t_total _ _ told), (t_shortest _ _ told), (t_upper _ _ told).
    change (new_upper_of m) with (new_upper m). change ScanAvx512Moves.FEW with 16. change (16 / 2) with 8. change (3 * LINE) with 192. change LINE with 64.
    change ScanAvx512Moves.FEW_GAPS with 10. change ScanAvx512Moves.DEEPEST with 512. change (Z.to_nat 16) with 16%nat. change (Z.to_nat 8) with 8%nat.
    replace (32 <? longest (items m)) with (negb (longest (items m) <=? 32))
      by (destruct (Z.ltb_spec 32 (longest (items m))), (Z.leb_spec (longest (items m)) 32); try reflexivity; lia).
    assert (G : forall bound, negb (ScanAvx512Moves.is_falling s) && (ScanAvx512Moves.ngaps s <=? bound) = negb (unsorted Avx512 m) && (Choice.ngaps m <=? bound)).
    { intros bound. rewrite <- (t_falls _ _ told). pose proof (t_gaps _ _ told) as E. destruct (ScanAvx512Moves.is_falling s); [reflexivity|]. now rewrite E. }
    rewrite !G, (t_falls _ _ told). destruct (longest (items m) <=? 32), (Choice.nitems m <=? 8); reflexivity.
  Qed.

  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Hypothesis room : pd_lower m + 4 * ScanAvx512Moves.LANES <= BLCKSZ.

  (** What C copies by its arrays is what the way copies that is proved to suit the page. *)
  Lemma moves_are : Choice.ngaps m <> 0 -> ScanAvx512Moves.moves (avx512_way m) m s = body (avx512_way m) m.
  Proof.
    intros Nz. pose proof (avx512_suits m page_m valid Nz) as Suits. pose proof (t_known _ _ told Nz) as K0.
    destruct (in_place_splits (items m) (pd_special m) Nz) as (done & it & r & I & Ns & Sk & _ & Hd & Rl & _). cbv zeta in *.
    set (upper := pd_special m - total done) in *. set (rest := it :: r) in *.
    assert (St : Algorithms.start false m = (rest, upper)) by exact Sk.
    destruct (start_facts m page_m valid _ _ _ St) as (_ & _ & Up & _).
    assert (F : Z.to_nat (ScanAvx512Moves.first_moved s) = length done) by (rewrite (t_first _ _ told Nz), Hd; apply Nat2Z.id).
    assert (Len : length (items m) = (length done + length rest)%nat) by (rewrite I; apply app_length).
    assert (Nn : Z.to_nat (ScanAvx512Moves.nitems s) = length (items m)) by (rewrite (t_count _ _ told); unfold Choice.nitems; apply Nat2Z.id).
    set (extra := if nline m <=? 16 then (17 - length (items m))%nat else 31%nat) in *.
    assert (Ke : known (ScanAvx512Moves.new_ends s) (ScanAvx512Moves.old_ends s) (length done) rest upper extra).
    { pose proof K0 as X. rewrite I in X. exact (known_rest _ _ 0 done rest (pd_special m) extra X). }
    assert (K : known (ScanAvx512Moves.new_ends s) (ScanAvx512Moves.old_ends s) (length done) rest upper 0).
    { intros i. destruct (Ke i) as [A B]. split; intros J; [apply A|apply B]; lia. }
    assert (Moved : ByArrays.moved (length done) (length (items m)) = seq (length done) (length rest)) by (unfold ByArrays.moved; f_equal; lia).
    assert (Bu : new_upper m mod 65536 = new_upper m).
    { apply Z.mod_small. destruct valid as ((Lo & Up' & _) & _ & _ & Fit & _). pose proof (total_nonneg _ (items_nonneg m page_m (proj1 valid))).
      unfold new_upper, HEADER_SIZE, BLCKSZ in *. lia. }
    assert (Runs : presorted (pd_special m) (items m) = true -> exists runs, runs (Z.to_nat (ScanAvx512Moves.ngaps s)) = new_upper m /\
      Scan.put (ScanAvx512Moves.run_ends s) (Z.to_nat (ScanAvx512Moves.ngaps s)) (ScanAvx512Moves.upper_to_be s mod 65536) = runs /\
      map (fun i => (runs i, ScanAvx512Moves.run_old_ends s i)) (seq 0 (Z.to_nat (ScanAvx512Moves.ngaps s))) =
        (upper, stop it) :: ScanAvx512.run_list r (off it) (upper - len it)).
    { intros Sorted. eexists. split; [|split; [reflexivity|]].
      - unfold Scan.put. rewrite Nat.eqb_refl, (t_upper _ _ told). exact Bu.
      - assert (Nf : ScanAvx512Moves.is_falling s = false) by (rewrite (t_falls _ _ told), (unsorted_says m page_m valid Avx512), Sorted; reflexivity).
        pose proof (t_runs _ _ told Nz Nf) as X. rewrite Rl in X. fold upper in X. rewrite <- X. apply map_ext_in. intros i Ii. apply in_seq in Ii.
        unfold Scan.put. destruct (Nat.eqb_spec i (Z.to_nat (ScanAvx512Moves.ngaps s))); [lia|reflexivity]. }
    assert (Scratch : forall l, ByArrays.move_by_scratch (ScanAvx512Moves.new_ends s) (length done) (ScanAvx512Moves.upper_to_be s) l =
      l ++ [Restore (upper - total rest) (upper - total rest) (total rest)]).
    { intros l. rewrite (t_upper _ _ told), <- Up. exact (scratch_walks _ _ _ _ _ K l). }
    assert (Windows : forall w, suits (Gather (Some w)) m = true -> w <> 0 ->
      ScanAvx512Moves.moves (Gather (Some w)) m s = body (Gather (Some w)) m).
    { intros w W Nw. cbn [ScanAvx512Moves.moves body suits] in *. rewrite F, Nn, Scratch. unfold Algorithms.gather. rewrite St.
      apply orb_true_iff in W as [W|W]; [apply Z.eqb_eq in W; congruence|]. rewrite W. unfold by_windows, ByArrays.gather. rewrite Moved. f_equal.
      exact (gather_walks _ _ w _ _ _ K). }
    assert (Positive : window (longest (items m)) <> 0) by (pose proof (window_positive (longest (items m))); lia).
    unfold avx512_way in *. cbv zeta in *. rewrite (unsorted_says m page_m valid Avx512), !negb_involutive in *.
    set (small := (longest (items m) <=? 64) && (64 <=? pd_upper m)) in *.
    set (similar := (16 <? nline m) && all_at_least 32 (items m) && (longest (items m) <=? 192)) in *.
    destruct (small && (Choice.nitems m <=? 16) && (64 <=? new_upper_of m)) eqn:B1.
    { cbn [ScanAvx512Moves.moves body suits] in *. unfold Algorithms.permute, Algorithms.start. rewrite Suits.
      apply (permute_walks _ _ 0 (items m) (pd_special m) extra K0). unfold extra.
      match goal with |- (S (if ?b then _ else _) <= _)%nat => destruct b end; destruct (nline m <=? 16); lia. }
    destruct (presorted (pd_special m) (items m) && _) eqn:B2.
    { apply andb_true_iff in B2 as [Sorted _]. destruct (Runs Sorted) as (runs & Rn & Re & Rm). cbn [ScanAvx512Moves.moves body]. rewrite Re.
      unfold Algorithms.move_runs. rewrite St, Sorted. f_equal. rewrite runs_by_arrays, Rm. cbn [Nat.add]. rewrite Rn, <- Up.
      change (runs Move rest upper) with (runs_from Move rest upper (stop it) (stop it)) || change (Algorithms.runs Move rest upper) with (runs_from Move rest upper (stop it) (stop it)).
      rewrite runs_walk. unfold rest at 2. cbn [ScanAvx512.run_list]. rewrite Z.eqb_refl, Z.sub_diag, Z.add_0_r. reflexivity. }
    destruct (presorted (pd_special m) (items m) && small) eqn:B3.
    { apply andb_true_iff in B3 as [Sorted Sm]. cbn [ScanAvx512Moves.moves body suits] in *. unfold Algorithms.slide. rewrite St, Suits, F, Nn, Len.
      apply (slide_walks _ _ _ rest upper extra Ke); [unfold AHEAD; lia|].
      pose proof (sorted_new_upper m valid Sorted) as Nu. rewrite Sm in B1. cbn [andb] in B1.
      assert (U : 64 <= pd_upper m) by (unfold small in Sm; apply andb_true_iff in Sm as [_ Sm]; now apply Z.leb_le).
      replace (64 <=? new_upper_of m) with true in B1 by (symmetry; apply Z.leb_le; lia). rewrite andb_true_r in B1. apply Z.leb_gt in B1.
      pose proof (items_few m valid) as Fw. unfold extra, Choice.nitems, AHEAD in *. destruct (Z.leb_spec (nline m) 16); lia. }
    destruct (presorted (pd_special m) (items m) && similar) eqn:B4.
    { cbn [ScanAvx512Moves.moves body suits] in *. unfold Algorithms.climb. rewrite St, Suits, F, Nn. unfold ByArrays.climb. rewrite Moved.
      exact (climb_walks _ _ _ _ _ _ K). }
    destruct small eqn:B5; [now apply Windows|].
    destruct (presorted (pd_special m) (items m)) eqn:Sorted.
    { destruct (Runs eq_refl) as (runs & Rn & Re & Rm). cbn [ScanAvx512Moves.moves body suits] in *. rewrite Re, (t_upper _ _ told).
      apply (ScanAvx512SqueezeFacts.squeezed m page_m valid Sorted it r upper St Ns runs); [exact Rm|exact Rn|]. apply andb_true_iff in Suits as [_ Suits]. now apply Z.leb_le. }
    destruct ((longest (items m) <=? WIDEST) && (WIDEST <=? pd_upper m + 8)) eqn:B6; [now apply Windows|].
    destruct (in_slots (longest (items m)) m) eqn:B7.
    { cbn [ScanAvx512Moves.moves body suits] in *. unfold by_slots. rewrite St, Suits. destruct (slots_are Nz) as [_ Sl]. rewrite (Sl B7), (t_longest _ _ told). reflexivity. }
    destruct ((longest (items m) <=? 512) && (64 <=? pd_upper m + 8)) eqn:B8.
    { cbn [ScanAvx512Moves.moves body suits] in *. unfold by_depth. rewrite St, Suits, F, Nn, Scratch, (t_longest _ _ told), Up. unfold ByArrays.gather_by_list. f_equal.
      apply flat_map_ext. intros d. unfold ByArrays.gather_lines. rewrite Moved. exact (gather_lines_walks _ _ _ _ _ _ K). }
    destruct ((64 <=? new_upper_of m) && mostly_live m) eqn:B9.
    { cbn [ScanAvx512Moves.moves body suits] in *. unfold lines. rewrite St, Suits. unfold ScanAvx512Moves.move_lines. rewrite F, Nn, (t_upper _ _ told).
      unfold ByArrays.restore_lines. rewrite Moved. change (new_upper m) with (new_upper_of m). do 2 f_equal. f_equal. exact (restore_lines_walks _ _ _ _ _ K). }
    cbn [ScanAvx512Moves.moves body]. rewrite F, Nn, Scratch. unfold Algorithms.gather. rewrite St. cbn [windows_fit]. unfold by_windows, ByArrays.gather_each. rewrite Moved. f_equal.
    exact (gather_each_walks _ _ _ _ _ K).
  Qed.

  Lemma body_is : (if (ScanAvx512Moves.ngaps s =? 0) && negb (ScanAvx512Moves.is_falling s) then [] else ScanAvx512Moves.moves (ScanAvx512Moves.way m s) m s) =
    body (choice Avx512 m) m.
  Proof.
    rewrite (t_moves _ _ told). apply (moves_chosen Avx512 (avx512_way m) ScanAvx512Moves.LANES m eq_refl page_m _ valid room).
    intros Z. rewrite (way_is Z). now apply moves_are.
  Qed.
End Told.

Lemma refuses_the_same m few many : is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512Moves.LANES <= BLCKSZ ->
  let s := if nline m <=? ScanAvx512Moves.FEW then ScanAvx512Moves.seen_by_few m few else ScanAvx512Moves.seen_by_many m many in
  (ScanAvx512Moves.is_refused s = true <-> check m <> None) /\ (valid_page m -> tells m s).
Proof.
  intros P H R s. subst s. destruct (Z.leb_spec (nline m) ScanAvx512Moves.FEW) as [F|F].
  - split; [exact (proj1 (avx512_few_scan_refuses_the_same m few P H R F))|]. intros V. now apply few_tells.
  - split; [exact (proj1 (avx512_scan_refuses_the_same m many P H R))|]. intros V. now apply many_tells.
Qed.

(** pgq_compaction_avx512, from the line pointers to the header, refuses what the check refuses, with its code and line pointer; on every
    other page it copies, by the arrays of its scan alone, what the proved choice copies, and leaves exactly the page of the
    specification. *)
Theorem avx512_repairs : forall truncate m few many scratch0, is_page m ->
  match ScanAvx512Moves.avx512_kernel truncate m few many with
  | inl r => check m = Some r
  | inr ops => check m = None /\ filter is_copy ops = filter is_copy (program (choice Avx512 m) truncate m) /\
      forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i
  end.
Proof.
  intros truncate m few many scratch0 P. unfold ScanAvx512Moves.avx512_kernel. cbv zeta.
  pose proof (refuses_the_same m few many P) as X. cbv zeta in X. revert X.
  generalize (if nline m <=? ScanAvx512Moves.FEW then ScanAvx512Moves.seen_by_few m few else ScanAvx512Moves.seen_by_many m many) as s. intros s X.
  apply (kernel_repairs Avx512 (avx512_way m) ScanAvx512Moves.LANES truncate m scratch0 eq_refl P); [| |auto].
  - intros H R. exact (proj1 (X H R)).
  - intros V R. pose proof (proj2 (X (proj1 V) R) V) as T. rewrite (body_is m s T P V R).
    apply (told_repairs Avx512 truncate m scratch0 P (ScanAvx512Moves.words_to_be s) (ScanAvx512Moves.used_count s) (ScanAvx512Moves.left_count s)
      (ScanAvx512Moves.upper_to_be s) V). split; apply T.
Qed.
