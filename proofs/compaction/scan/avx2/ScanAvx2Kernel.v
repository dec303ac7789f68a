(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scan of avx2.c to the page

    What pgq_compaction_avx2 makes of its scan is the way that is proved, the line pointers of the specification, and the header. *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Pointers Repair Choice Chosen Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require Import ScanAvx2Loop ScanAvx2Page ByArraysFacts.
From Pgquern.compaction Require ByArrays ScanAvx2 ScanAvx2Moves.

(** ** What C's loops make of the tuples: where each must end, and where it ends now *)
Lemma ends_below lens its extra : forall k upper, map lens (seq k (length its + extra)) = map len its ++ repeat 0 extra ->
  forall i, (i <= length its + extra)%nat -> ScanAvx2Moves.end_below lens upper k i = new_end its upper i.
Proof.
  induction its as [|it r IH]; intros k upper E i I.
  - cbn [length map app Nat.add] in *. replace (new_end [] upper i) with upper by now destruct i. revert k upper i I E.
    induction extra as [|extra IH]; intros k upper [|i] I E; try reflexivity; [lia|]. cbn [seq map repeat] in E. injection E as E0 E1.
    cbn [ScanAvx2Moves.end_below]. rewrite E0, Z.sub_0_r. apply IH; [lia|exact E1].
  - destruct i as [|i]; [reflexivity|]. cbn [length Nat.add seq map app] in E. injection E as E0 E1. cbn [ScanAvx2Moves.end_below new_end].
    rewrite E0. apply IH; [exact E1|cbn [length] in I; lia].
Qed.

Lemma ends_now offs lens its extra : forall k upper,
  map (fun i => (offs i, lens i)) (seq k (length its + extra)) = map (fun it => (off it, len it)) its ++ repeat (upper - total its, 0) extra ->
  forall i, (i < length its + extra)%nat -> offs (k + i)%nat + lens (k + i)%nat = old_end its upper i.
Proof.
  induction its as [|it r IH]; intros k upper E i I.
  - cbn [length map app Nat.add total old_end] in *. rewrite Z.sub_0_r in E.
    assert (J : In (offs (k + i)%nat, lens (k + i)%nat) (repeat (upper, 0) extra)).
    { rewrite <- E. apply in_map_iff. exists (k + i)%nat. split; [reflexivity|]. apply in_seq. lia. }
    apply repeat_spec in J. injection J as -> ->. now rewrite Z.add_0_r.
  - cbn [length Nat.add seq map app total] in E. injection E as E0 E1 E2. destruct i as [|i]; cbn [old_end].
    + rewrite Nat.add_0_r, E0, E1. reflexivity.
    + rewrite Nat.add_succ_r. change (S (k + i)) with (S k + i)%nat. apply IH; [|cbn [length] in I; lia].
      replace (upper - len it - total r) with (upper - (len it + total r)) by lia. exact E2.
Qed.

Lemma tuples_known offs lens k its upper extra :
  map (fun i => (offs i, lens i)) (seq k (length its + extra)) = map (fun it => (off it, len it)) its ++ repeat (upper - total its, 0) extra ->
  known (fun t => ScanAvx2Moves.end_below lens upper k (t - k)) (fun t => offs t + lens t) k its upper extra.
Proof.
  intros E i. split; intros I; [|exact (ends_now _ _ _ _ _ _ E i I)]. replace (k + i - k)%nat with i by lia.
  apply (ends_below lens its extra); [|lia]. apply (f_equal (map snd)) in E. rewrite map_app, !map_map in E. cbn [snd] in E.
  etransitivity; [exact E|]. f_equal. clear. induction extra as [|n IH]; [reflexivity|]. cbn [repeat map snd]. now rewrite IH.
Qed.

(** ** What the scan finds on a page that the contract accepts *)
Record tells (m : mem) (s : ScanAvx2.scan) : Prop := Tells {
  t_tuples : map (fun i => (ScanAvx2.tuple_off s i, ScanAvx2.tuple_len s i)) (seq 0 (length (items m))) = map (fun it => (off it, len it)) (items m);
  t_count : ScanAvx2.nitems s = Choice.nitems m;
  t_gaps : map (fun i => (Z.land (ScanAvx2.found_gaps s i) 65535, Z.shiftr (ScanAvx2.found_gaps s i) 16)) (seq 0 (Z.to_nat (ScanAvx2.ngaps s))) =
    ScanAvx2.gap_list (items m) (pd_special m);
  t_ngaps : ScanAvx2.ngaps s = Choice.ngaps m;
  t_first : ScanAvx2.ngaps s <> 0 -> ScanAvx2.first_moved s = Z.of_nat (hd O (gap_positions 0 (items m) (pd_special m)));
  t_longest : ScanAvx2.longest_length s = longest (items m);
  t_unsorted : ScanAvx2.is_unsorted s = unsorted Avx2 m;
  t_total : ScanAvx2.total_length s = total (items m);
  t_special : ScanAvx2.found_tuples s O = pd_special m;
  t_told : told m (ScanAvx2.words_to_be s) (ScanAvx2.used_count s) (ScanAvx2.left_count s) (pd_special m - ScanAvx2.total_length s) }.

Lemma it_tells m d : is_page m -> valid_page m -> pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ -> tells m (ScanAvx2.scanned m d).
Proof.
  intros P V R. assert (H : header_ok m) by apply V. destruct (avx2_scan_finds m d P H R) as (T & N & Ga & G & Fm & C & Lf & L & U & _).
  rewrite N in T. unfold Choice.nitems in T. rewrite Nat2Z.id in T.
  assert (To : ScanAvx2.total_length (ScanAvx2.scanned m d) = total (items m)).
  { destruct (avx2_scan_refuses_the_same m d P H R) as (Rf & _ & To). apply To. apply not_true_is_false. intros X. apply Rf in X. now apply X, check_iff_valid. }
  refine (Tells _ _ T N Ga G Fm L U To _ _).
  - destruct (the_loop m P H R d) as (count & _ & X). exact (g_special _ _ _ X).
  - split; [exact (avx2_scan_knows_the_line_pointers m d P V R)|exact C|exact Lf|now rewrite To].
Qed.

(** ** What is done with it.  Of the scan nothing more is said here: its registers, unfolded, take Coq too long. *)
Section Told.
  Variables (m : mem) (s : ScanAvx2.scan).
  Hypothesis it_told : tells m s.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  Let tuples_are := t_tuples m s it_told.

  Lemma slots_are :
    ByArrays.slots_found m (ScanAvx2.tuple_off s) (Z.to_nat (ScanAvx2.nitems s)) (ScanAvx2.longest_length s) = slots_of m /\
    ScanAvx2.find_slots m s = in_slots (longest (items m)) m.
  Proof.
    pose proof (t_count _ _ it_told) as N. pose proof (t_longest _ _ it_told) as L.
    assert (E : ScanAvx2.find_slots m s = ByArrays.find_slots m (ScanAvx2.tuple_off s) (Z.to_nat (ScanAvx2.nitems s)) (ScanAvx2.longest_length s) (ScanAvx2.total_length s)).
    { unfold ScanAvx2.find_slots, ByArrays.find_slots, ByArrays.slots_found, ByArrays.below_special. cbv zeta.
      rewrite forallb_mapped, map_map, Z2Nat.id by (rewrite N; unfold Choice.nitems; lia). reflexivity. }
    rewrite E, N, L, (t_total _ _ it_told). unfold Choice.nitems. rewrite Nat2Z.id. apply slots_found_are.
    pose proof tuples_are as T. apply (f_equal (map fst)) in T. rewrite !map_map in T. exact T.
  Qed.

  (** The way that C's tests choose is the one that is proved to suit the page. *)
  Lemma way_is : ScanAvx2.way m s = avx2_way m.
  Proof.
    unfold ScanAvx2.way, avx2_way, mostly_live. cbv zeta.
    rewrite (proj2 slots_are), (t_count _ _ it_told), (t_ngaps _ _ it_told), (t_longest _ _ it_told), (t_unsorted _ _ it_told), (t_total _ _ it_told).
    replace (Z.to_nat (Choice.nitems m)) with (length (items m)) by (unfold Choice.nitems; lia). reflexivity.
  Qed.

  (** [off_above]: lp_off of the tuple before, pd_special for the first. *)
  Lemma above_are done rest : items m = done ++ rest -> ScanAvx2Moves.off_above s (length done) = last (map off done) (pd_special m).
  Proof.
    intros I. pose proof (t_special _ _ it_told) as Z0.
    destruct done as [|it r] using rev_ind.
    - unfold ScanAvx2Moves.off_above. cbn [length map last]. rewrite Z0. change 65535 with (Z.ones 16). rewrite Z.land_ones by lia. apply Z.mod_small.
      change (2 ^ 16) with 65536. destruct header as (A & B & _). unfold HEADER_SIZE, BLCKSZ in *. lia.
    - clear IHr. rewrite app_length, map_app. cbn [length map]. rewrite last_last, Nat.add_1_r.
      change (ScanAvx2Moves.off_above s (S (length r))) with (ScanAvx2.tuple_off s (length r)).
      pose proof tuples_are as T. rewrite I, <- app_assoc, app_length, seq_app, !map_app in T. cbn [app length seq map Nat.add] in T.
      apply same_parts in T as [_ T]; [|now rewrite !map_length, seq_length]. now injection T.
  Qed.

  Lemma with_hole_has first (F : (first <= length (items m))%nat) : let h := ScanAvx2Moves.with_hole m s in
    ScanAvx2Moves.off_above h first = ScanAvx2Moves.off_above s first /\
    map (fun i => (ScanAvx2.tuple_off h i, ScanAvx2.tuple_len h i)) (seq 0 (length (items m) + 16)) =
      map (fun it => (off it, len it)) (items m) ++ repeat (new_upper m, 0) 16.
  Proof.
    intros h. pose proof (t_count _ _ it_told) as N. assert (Nn : Z.to_nat (ScanAvx2.nitems s) = length (items m)) by (rewrite N; unfold Choice.nitems; apply Nat2Z.id).
    split.
    - unfold ScanAvx2Moves.off_above, h, ScanAvx2Moves.with_hole. cbn [ScanAvx2.found_tuples]. rewrite Nn.
      destruct (Nat.leb_spec (1 + length (items m)) first); [lia|reflexivity].
    - rewrite seq_app, map_app. f_equal.
      + rewrite <- tuples_are. apply map_ext_in. intros i I. apply in_seq in I. unfold ScanAvx2.tuple_off, ScanAvx2.tuple_len, h, ScanAvx2Moves.with_hole.
        cbn [ScanAvx2.found_tuples]. rewrite Nn. destruct (Nat.leb_spec (1 + length (items m)) (1 + i)); [lia|reflexivity].
      + cbn [Nat.add]. assert (E : forall i, In i (seq (length (items m)) 16) -> (ScanAvx2.tuple_off h i, ScanAvx2.tuple_len h i) = (new_upper m, 0)).
        { intros i I. apply in_seq in I. unfold ScanAvx2.tuple_off, ScanAvx2.tuple_len, h, ScanAvx2Moves.with_hole. cbn [ScanAvx2.found_tuples]. rewrite Nn.
          destruct (Nat.leb_spec (1 + length (items m)) (1 + i)); [|lia]. destruct (Nat.ltb_spec (1 + i) (1 + length (items m) + 16)); [|lia]. cbn [andb].
          rewrite (t_total _ _ it_told). fold (new_upper m). assert (B : 0 <= new_upper m < 65536).
          { destruct valid as ((A & B & _) & _ & _ & C & _). pose proof (Scanned.items_small m page_m header). unfold new_upper, HEADER_SIZE, BLCKSZ in *. lia. }
          change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536. f_equal; [apply Z.mod_small|apply Z.div_small]; exact B. }
        rewrite (map_ext_in _ (fun _ => (new_upper m, 0)) _ E). reflexivity.
  Qed.

  (** What C copies by its arrays is what the way copies that is proved to suit the page. *)
  Lemma moves_are : Choice.ngaps m <> 0 -> ScanAvx2Moves.moves (avx2_way m) m s = body (avx2_way m) m.
  Proof.
    intros Nz. pose proof (avx2_suits m page_m valid Nz) as Suits.
    pose proof it_told as [_ N Ga G Fm L U Tot _ _].
    assert (Nn : Z.to_nat (ScanAvx2.nitems s) = length (items m)) by (rewrite N; unfold Choice.nitems; apply Nat2Z.id).
    destruct (in_place_splits (items m) (pd_special m) Nz) as (done & it & r & I & Ns & Sk & La & Hd & _ & Gl). cbv zeta in *.
    set (upper := pd_special m - total done) in *. set (rest := it :: r) in *.
    assert (St : Algorithms.start false m = (rest, upper)) by exact Sk.
    destruct (start_facts m page_m valid _ _ _ St) as (_ & _ & Up & _).
    assert (F : Z.to_nat (ScanAvx2.first_moved s) = length done) by (rewrite Fm, Hd by (rewrite G; exact Nz); apply Nat2Z.id).
    assert (Len : length (items m) = (length done + length rest)%nat) by (rewrite I; apply app_length).
    (* from the first tuple that moves, and from the first *)
    assert (K : known (ScanAvx2Moves.new_ends s (length done)) (ScanAvx2Moves.old_ends s) (length done) rest upper 0).
    { unfold ScanAvx2Moves.new_ends. rewrite (above_are done rest I), La. apply tuples_known. rewrite Nat.add_0_r, app_nil_r.
      pose proof tuples_are as T. rewrite Len, I, map_app, seq_app, map_app in T. apply same_parts in T as [_ T]; [exact T|now rewrite !map_length, seq_length]. }
    assert (K0 : known (ScanAvx2Moves.new_ends s 0) (ScanAvx2Moves.old_ends s) 0 (items m) (pd_special m) 0).
    { unfold ScanAvx2Moves.new_ends. pose proof (above_are [] (items m) eq_refl) as A0. cbn [map last length] in A0. rewrite A0.
      apply tuples_known. rewrite Nat.add_0_r, app_nil_r. exact tuples_are. }
    assert (Back : forall window, ScanAvx2Moves.move_by_scratch s window = by_windows window rest upper).
    { intros window. unfold ScanAvx2Moves.move_by_scratch, by_windows. cbv zeta. rewrite Nn, F. destruct (K (length rest)) as [Kl _].
      rewrite Len, Kl, new_end_last, (scratch_walks _ _ _ _ _ K) by lia. f_equal. unfold ByArrays.gather, ByArrays.gather_each, ByArrays.moved.
      replace (length done + length rest - length done)%nat with (length rest) by lia.
      destruct window as [w|]; [exact (gather_walks _ _ w _ _ _ K)|exact (gather_each_walks _ _ _ _ _ K)]. }
    unfold avx2_way in *. cbv zeta in *. rewrite (unsorted_says m page_m valid Avx2), negb_involutive in *.
    set (small := (longest (items m) <=? 64) && (64 <=? pd_upper m + 8)) in *.
    destruct ((longest (items m) <=? 32) && (Choice.nitems m <=? 16)) eqn:B1.
    { cbn [ScanAvx2Moves.moves body suits] in *. unfold Algorithms.permute, Algorithms.start. rewrite Suits.
      unfold ScanAvx2Moves.permute_few. change ScanAvx2.VECTOR with 32. rewrite Nn, Tot.
      pose proof (windows_loaded _ _ 0 (items m) (pd_special m) 0 K0 32 0 (length (items m)) ltac:(lia)) as Ld. cbn [Nat.add] in Ld. rewrite Ld.
      pose proof (windows_stored _ _ 0 (items m) (pd_special m) 0 K0 32 0 (length (items m)) ltac:(lia)) as Sd. cbn [Nat.add] in Sd. rewrite Sd.
      unfold reads, writes. rewrite !seq_S, !map_app. cbn [map Nat.add]. rewrite old_end_last, new_end_last, <- !app_assoc. reflexivity. }
    assert (Gathered : forall window, suits (Gather window) m = true -> window <> Some 0 ->
      ScanAvx2Moves.moves (Gather window) m s = body (Gather window) m).
    { intros window W Nw. cbn [ScanAvx2Moves.moves body]. rewrite Back. unfold Algorithms.gather. rewrite St.
      destruct window as [w|]; [|reflexivity]. cbn [suits] in W. apply orb_true_iff in W as [W|W]; [apply Z.eqb_eq in W; congruence|]. now rewrite W. }
    assert (Positive : Some (window (longest (items m))) <> Some 0).
    { pose proof (window_positive (longest (items m))). intros E. injection E as E. lia. }
    destruct (presorted (pd_special m) (items m) && (negb small || (Choice.ngaps m <=? Choice.nitems m / 16))) eqn:B3.
    { cbn [ScanAvx2Moves.moves body suits] in *. unfold Algorithms.move_runs. rewrite St, Suits. unfold ScanAvx2Moves.move_runs. cbv zeta. f_equal.
      assert (Ng : (0 < Z.to_nat (ScanAvx2.ngaps s))%nat).
      { rewrite G. pose proof (Chosen.gaps_count (items m) (pd_special m)). unfold Choice.ngaps in *. lia. }
      pose proof (above_are (items m) [] (eq_sym (app_nil_r _))) as Bo. rewrite Nn, Bo. set (gaps := Scan.put _ _ _).
      assert (Gn : Z.shiftr (gaps (Z.to_nat (ScanAvx2.ngaps s))) 16 = last (map off (items m)) (pd_special m)).
      { unfold gaps, Scan.put. rewrite Nat.eqb_refl, Z.shiftr_shiftl_l, Z.sub_diag by lia. apply Z.shiftl_0_r. }
      assert (Gi : forall i, (i < Z.to_nat (ScanAvx2.ngaps s))%nat -> gaps i = ScanAvx2.found_gaps s i).
      { intros i Ii. unfold gaps, Scan.put. destruct (Nat.eqb_spec i (Z.to_nat (ScanAvx2.ngaps s))); [lia|reflexivity]. }
      clearbody gaps. rewrite gaps_by_arrays. cbn [Nat.add]. rewrite Gn, (Gi O Ng).
      rewrite (map_ext_in _ (fun i => (Z.land (ScanAvx2.found_gaps s i) 65535, Z.shiftr (ScanAvx2.found_gaps s i) 16)))
        by (intros i Ii; apply in_seq in Ii; now rewrite Gi by lia).
      assert (Fi : Z.shiftr (ScanAvx2.found_gaps s 0) 16 = upper).
      { destruct (Z.to_nat (ScanAvx2.ngaps s)); [lia|]. rewrite Gl in Ga. cbn [seq map] in Ga. now injection Ga. }
      assert (Lo : last (map off (items m)) (pd_special m) = last (map off r) (off it)).
      { rewrite I. unfold rest. rewrite map_app. apply last_app_cons. }
      rewrite Ga, Gl, Fi, Lo. change (runs Move rest upper) with (runs_from Move rest upper (stop it) (stop it)). rewrite (gaps_walk rest upper (stop it) (stop it) upper).
      unfold rest. cbn [ScanAvx2.gap_list map]. rewrite Z.eqb_refl. cbn [app]. rewrite last_of_cons, Z.sub_diag, Z.add_0_r. reflexivity. }
    destruct ((longest (items m) <=? 32) && presorted (pd_special m) (items m)) eqn:B4.
    { cbn [ScanAvx2Moves.moves body suits] in *. unfold Algorithms.slide. rewrite St, Suits. unfold ScanAvx2Moves.slide.
      change (ScanAvx2.first_moved (ScanAvx2Moves.with_hole m s)) with (ScanAvx2.first_moved s). change (ScanAvx2.nitems (ScanAvx2Moves.with_hole m s)) with (ScanAvx2.nitems s).
      rewrite F, Nn, Len. destruct (with_hole_has (length done) ltac:(lia)) as [Ho Ht].
      change ScanAvx2.VECTOR with 32. apply (slide_walks _ _ _ rest upper 16); [|unfold AHEAD; lia|unfold AHEAD; lia].
      unfold ScanAvx2Moves.new_ends. rewrite Ho, (above_are done rest I), La. apply tuples_known. rewrite Up.
      rewrite Len, <- Nat.add_assoc, seq_app, map_app, I, map_app, <- app_assoc in Ht. apply same_parts in Ht as [_ Ht]; [exact Ht|now rewrite !map_length, seq_length]. }
    destruct (small || ((longest (items m) <=? WIDEST) && (WIDEST <=? pd_upper m + 8))) eqn:B5; [now apply Gathered|].
    destruct (in_slots (longest (items m)) m) eqn:B6.
    { cbn [ScanAvx2Moves.moves body suits] in *. unfold by_slots. rewrite St, Suits, (proj1 slots_are), L. reflexivity. }
    destruct (mostly_live m); [|now apply Gathered].
    cbn [ScanAvx2Moves.moves body]. unfold ScanAvx2Moves.move_by_area, area. rewrite F, St, Nn. f_equal. unfold ByArrays.restore_each, ByArrays.moved.
    replace (length (items m) - length done)%nat with (length rest) by lia. exact (restore_each_walks _ _ _ _ _ K).
  Qed.
End Told.

(** pgq_compaction_avx2, from the line pointers to the header, refuses what the check refuses, with its code and line pointer; on every
    other page it copies, by the arrays of its scan alone, what the proved choice copies, and leaves exactly the page of the
    specification. *)
Theorem avx2_repairs : forall truncate m d scratch0, is_page m ->
  match ScanAvx2Moves.avx2_kernel truncate m d with
  | inl r => check m = Some r
  | inr ops => check m = None /\ filter is_copy ops = filter is_copy (program (choice Avx2 m) truncate m) /\
      forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i
  end.
Proof.
  intros truncate m d scratch0 P. unfold ScanAvx2Moves.avx2_kernel. cbv zeta.
  apply (kernel_repairs Avx2 (avx2_way m) ScanAvx2.LANES truncate m scratch0 eq_refl P); [| |auto].
  - intros H R. exact (proj1 (avx2_scan_refuses_the_same m d P H R)).
  - intros V R. pose proof (it_tells m d P V R) as T. revert T. generalize (ScanAvx2.scanned m d) as s. intros s T.
    rewrite (way_is m s T), (t_ngaps _ _ T), (moves_chosen Avx2 (avx2_way m) ScanAvx2.LANES m eq_refl P _ V R) by (intros Z; now apply moves_are).
    exact (told_repairs Avx2 truncate m scratch0 P _ _ _ _ V (t_told _ _ T)).
Qed.
