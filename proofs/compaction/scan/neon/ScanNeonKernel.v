(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scan of neon.c to the page

    What pgq_compaction_neon makes of its scan, by its arrays, are the copies of the way that is proved, the line pointers of the
    specification, and the header. *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Windows Pointers Repair Choice Chosen Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require Import ScanNeonPage ByArraysFacts.
From Pgquern.compaction Require ByArrays ScanAvx2Kernel ScanNeon ScanNeonMoves.

Lemma u32_is x : 0 <= x < 4294967296 -> ScanNeonMoves.u32 x = x.
Proof. apply Z.mod_small. Qed.

Lemma by_windows_of s : ScanNeonMoves.gather_by_windows s = ScanNeonMoves.gather s (window (ScanNeon.longest_length s)).
Proof.
  unfold ScanNeonMoves.gather_by_windows, window. change PAIR with 32.
  replace (ScanNeon.longest_length s + 32 - 1) with (ScanNeon.longest_length s + 31) by lia. reflexivity.
Qed.

(** ** What the scan finds on a page that the contract accepts *)
Record tells (m : mem) (s : ScanNeon.scan) : Prop := Tells {
  t_count : ScanNeon.nitems s = length (items m);
  t_ends : forall i, (i < length (items m) + 16)%nat ->
    ScanNeonMoves.end_of s i = new_end (items m) (pd_special m) i /\ ScanNeonMoves.old_end_of s i = old_end (items m) (pd_special m) i;
  t_tuples : map (fun i => (ScanNeon.tuple_off s i, ScanNeon.tuple_len s i)) (seq 0 (length (items m))) = map (fun it => (off it, len it)) (items m);
  t_used : ScanNeon.used_count s = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)));
  t_left : ScanNeon.left_count s = last_used (line_pointers m);
  t_total : ScanNeon.total_length s = total (items m);
  t_upper : ScanNeon.upper_to_be s = new_upper m;
  t_longest : ScanNeon.longest_length s = longest (items m);
  t_falls : ScanNeon.is_falling s = unsorted Neon m;
  t_moves : negb (ScanNeon.ngaps s =? 0) || ScanNeon.is_falling s = negb (Choice.ngaps m =? 0);
  t_first : Choice.ngaps m <> 0 -> ScanNeonMoves.first s = hd O (gap_positions 0 (items m) (pd_special m));
  t_gaps : ScanNeon.is_falling s = false -> ScanNeon.ngaps s = Choice.ngaps m /\
    ScanNeonMoves.gaps_of s = gap_positions 0 (items m) (pd_special m);
  t_words : forall k, (k < Z.to_nat (nline m))%nat -> ScanNeon.words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1) }.

Lemma it_tells m d : is_page m -> valid_page m -> pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ -> tells m (ScanNeon.scan_line_pointers m d).
Proof.
  intros P V R. assert (H : header_ok m) by apply V. pose proof V as (_ & Ok & _ & Fit & _).
  destruct (neon_scan_finds m d P H R) as (N & E & U & Lf & T & L & _).
  destruct (neon_scan_finds_the_moves m d P H R Ok Fit) as (Tu & Be & Up & Fa & Mv & Fi & Ga & _).
  pose proof (neon_scan_knows_the_line_pointers m d P V R) as W. cbv zeta in W.
  revert N E U Lf T L Tu Be Up Fa Mv Fi Ga W. generalize (ScanNeon.scan_line_pointers m d) as s. intros s N E U Lf T L Tu Be Up Fa Mv Fi Ga W.
  rewrite N in E, Tu, Be. refine (Tells m s N _ Tu U Lf T Up L Fa _ _ Ga W).
  - intros i I. unfold ScanNeonMoves.end_of, ScanNeonMoves.old_end_of. destruct (Nat.lt_ge_cases i (length (items m))) as [J|J].
    + assert (X : map (fun p => ((snd p + len (fst p)) mod 65536, stop (fst p))) (placed ItemOrder m) =
        map (fun i => (new_end (items m) (pd_special m) i, old_end (items m) (pd_special m) i)) (seq 0 (length (items m)))).
      { rewrite <- ends_listed. apply map_ext_in. intros q In. f_equal. refine (ext_in_map (placed_ends_small m P H _) q In).
        destruct H as (Lo & _). unfold HEADER_SIZE in Lo. lia. }
      rewrite X in E. pose proof (ext_in_map E i ltac:(apply in_seq; lia)) as Q. injection Q as Q1 Q2. now split.
    + assert (Q : In i (seq (length (items m)) 16)) by (apply in_seq; lia).
      apply (in_map (fun i => (ScanNeon.end_in (ScanNeon.found_tuples s) i, ScanNeon.old_end_in (ScanNeon.found_tuples s) i))) in Q.
      rewrite Be in Q. apply repeat_spec in Q. injection Q as Q1 Q2. destruct (ends_behind (items m) (pd_special m) i J) as [O Nw].
      unfold new_upper in *. rewrite O, Nw. now split.
  - rewrite <- Mv. now destruct (ScanNeon.ngaps s =? 0), (ScanNeon.is_falling s).
  - intros Nz. unfold ScanNeonMoves.first. rewrite (Fi Nz). apply Nat2Z.id.
Qed.

(** ** What is done with it.  Of the scan nothing more is said here: its registers, unfolded, take Coq too long. *)
Section Moves.
  Variable s : ScanNeon.scan.
  Notation end_of := (ScanNeonMoves.end_of s).
  Notation old_end_of := (ScanNeonMoves.old_end_of s).

  Notation array k its upper := (known (ScanNeonMoves.end_of s) (ScanNeonMoves.old_end_of s) k its upper 0).

  (** [move_runs] *)
  Lemma runs_by_gaps r : Forall (fun it => 0 <= off it /\ 0 <= len it) r -> forall k run upper start_ stop_,
    array k r upper -> ScanNeon.nitems s = (k + length r)%nat -> end_of run = upper + (stop_ - start_) -> old_end_of run = stop_ ->
    0 <= start_ <= stop_ -> stop_ <= 8192 -> Forall (fun it => stop it <= 8192) r ->
    filter is_copy (runs_from Move r upper start_ stop_) = ScanNeonMoves.move_each_run s run (gap_positions k r start_).
  Proof.
    induction 1 as [|it r [O L] F IH]; intros k run upper start_ stop_ A N E Oe B T Fs; cbn [runs_from gap_positions length] in *.
    - destruct (A O) as [A0 _]. rewrite Nat.add_0_r in A0, N. specialize (A0 ltac:(cbn; lia)). cbn [new_end] in A0. cbn [filter is_copy ScanNeonMoves.move_each_run]. unfold ScanNeonMoves.move_run.
      rewrite N, E, Oe, A0. rewrite u32_is by lia. f_equal. f_equal; lia.
    - apply known_cons in A as (A1 & A2 & _ & A3). pose proof (Forall_inv Fs) as Fs1. pose proof (Forall_inv_tail Fs) as Fs2. unfold stop in *.
      destruct (Z.eqb_spec (off it + len it) start_) as [Q|Q]; cbn [app filter is_copy set_lp_off ScanNeonMoves.move_each_run].
      + apply IH; try assumption; lia.
      + f_equal.
        * unfold ScanNeonMoves.move_run. rewrite E, Oe, A1. rewrite u32_is by lia. f_equal; lia.
        * apply IH; try assumption; lia.
  Qed.

  (** [gather_each] *)
  Lemma gathered_each its : forall k upper, array k its upper ->
    map (fun i => (ScanNeon.tuple_off s i, ScanNeon.tuple_len s i)) (seq k (length its)) = map (fun it => (off it, len it)) its ->
    Algorithms.windows None its upper =
    map (fun i => Save (end_of i - ScanNeon.tuple_len s i) (ScanNeon.tuple_off s i) (ScanNeon.tuple_len s i)) (seq k (length its)).
  Proof.
    induction its as [|it r IH]; intros k upper A T; [reflexivity|]. apply known_cons in A as (A1 & A2 & _ & A3).
    cbn [length seq map] in T. injection T as T1 T2 T3. cbn [Algorithms.windows width length seq map]. rewrite A1, T1, T2, (IH _ _ A3 T3).
    unfold stop. do 2 f_equal. lia.
  Qed.
End Moves.

Section Told.
  Variables (m : mem) (s : ScanNeon.scan).
  Hypothesis told : tells m s.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.

  Lemma slots_are : ByArrays.slots_found m (ScanNeon.tuple_off s) (length (items m)) (longest (items m)) = slots_of m /\
    ByArrays.find_slots m (ScanNeon.tuple_off s) (length (items m)) (longest (items m)) (total (items m)) = in_slots (longest (items m)) m.
  Proof. apply slots_found_are. pose proof (t_tuples _ _ told) as T. apply (f_equal (map fst)) in T. rewrite !map_map in T. exact T. Qed.

  (** What C copies is what the way copies that is proved to suit the page; before runs C copies nothing once. *)
  Lemma moves_are : Choice.ngaps m <> 0 ->
    ScanNeonMoves.move_tuples m s = body (neon_way m) m \/
    exists to from, ScanNeonMoves.move_tuples m s = Move to from 0 :: body (neon_way m) m.
  Proof.
    intros Nz. pose proof (neon_suits m page_m valid Nz) as Suits. pose proof (t_first _ _ told Nz) as Fi.
    assert (Ord : unsorted Neon m = negb (presorted (pd_special m) (items m))) by (apply kernels_agree_on_order; assumption).
    destruct (gap_positions 0 (items m) (pd_special m)) as [|g gs] eqn:Gp.
    { pose proof (gap_positions_count (items m) 0 (pd_special m)) as X. rewrite Gp in X. cbn [length] in X. unfold Choice.ngaps in Nz. lia. }
    destruct (first_gap _ _ _ _ _ Gp) as (done & it & r & Its & Gd & Skip & Gs). cbn [Nat.add hd] in Gd, Fi.
    assert (St : Algorithms.start false m = (it :: r, start_of done (pd_special m))) by exact Skip.
    destruct (start_facts m page_m valid _ _ _ St) as (_ & Us & Up & _).
    set (upper := start_of done (pd_special m)) in *. set (rest := it :: r) in *.
    pose proof header as (Lo & Hi & _). unfold HEADER_SIZE, BLCKSZ in *.
    assert (Du : upper = pd_special m - total done).
    { assert (T : forall a b, total (a ++ b) = total a + total b) by (induction a as [|x a IH]; intros b; cbn [app total]; [lia|rewrite IH; lia]).
      pose proof (T done rest) as X. rewrite <- Its in X. unfold new_upper in Up. lia. }
    assert (Cnt : ScanNeon.nitems s = (ScanNeonMoves.first s + length rest)%nat) by (rewrite (t_count _ _ told), Its, app_length, Fi, Gd; reflexivity).
    assert (On : forall i, (i < length rest + 16)%nat ->
      ScanNeonMoves.end_of s (ScanNeonMoves.first s + i) = new_end rest upper i /\
      ScanNeonMoves.old_end_of s (ScanNeonMoves.first s + i) = old_end rest upper i).
    { intros i I. rewrite Fi, Gd. destruct (t_ends _ _ told (length done + i)) as [E O]; [rewrite Its, app_length; lia|].
      rewrite E, O, Its, new_end_app, old_end_app, Du. now split. }
    assert (Sound : Forall (fun x => 0 <= off x /\ 0 <= len x) rest /\ Forall (fun x => stop x <= 8192) rest).
    { pose proof valid as (_ & Ok & _). rewrite Its in Ok. apply Forall_app in Ok as [_ Ok]. fold rest in Ok.
      pose proof (items_nonneg m page_m header) as Nn. rewrite Its in Nn. apply Forall_app in Nn as [_ Nn]. fold rest in Nn.
      rewrite !Forall_forall in *. split; intros x X; specialize (Ok x X); destruct Ok as (O1 & _ & O3); [split; [lia|exact (Nn x X)]|lia]. }
    destruct Sound as [Sound Stops].
    assert (Ke : known (ScanNeonMoves.end_of s) (ScanNeonMoves.old_end_of s) (ScanNeonMoves.first s) rest upper 16).
    { intros i. split; intros J; apply On; lia. }
    assert (A : known (ScanNeonMoves.end_of s) (ScanNeonMoves.old_end_of s) (ScanNeonMoves.first s) rest upper 0).
    { intros i. split; intros J; apply On; lia. }
    assert (Moved : ByArrays.moved (ScanNeonMoves.first s) (ScanNeon.nitems s) = seq (ScanNeonMoves.first s) (length rest)).
    { unfold ByArrays.moved. rewrite Cnt. f_equal. lia. }
    assert (Back : ScanNeonMoves.u32 (ScanNeonMoves.end_of s (ScanNeonMoves.first s) - ScanNeon.upper_to_be s) = total rest).
    { destruct (On 0%nat ltac:(lia)) as [E _]. rewrite Nat.add_0_r, new_end_first in E. rewrite E, (t_upper _ _ told), <- Up.
      pose proof (total_nonneg rest) as Tn. assert (Nn : nonneg rest) by (eapply Forall_impl; [|exact Sound]; cbn; tauto).
      specialize (Tn Nn). destruct valid as (_ & _ & _ & Fit & _). unfold new_upper in Up. rewrite u32_is; lia. }
    assert (Scratch : forall l, ScanNeonMoves.move_by_scratch s l = l ++ [Restore (upper - total rest) (upper - total rest) (total rest)]).
    { intros l. unfold ScanNeonMoves.move_by_scratch. rewrite Back, (t_upper _ _ told), Up. reflexivity. }
    unfold ScanNeonMoves.move_tuples, neon_way in *. cbv zeta in *. destruct slots_are as [Sf Fs].
    rewrite (t_longest _ _ told), (t_total _ _ told), (t_falls _ _ told), (t_count _ _ told), Sf, Fs. fold (Choice.nitems m).
    change ScanNeonMoves.SMALL with SMALL. change ScanNeonMoves.WIDEST with WIDEST. change ScanNeon.UNIT with 8.
    set (small := (longest (items m) <=? SMALL) && (SMALL <=? pd_upper m + 8)) in *.
    assert (G : forall bound, negb (unsorted Neon m) && (negb small || (ScanNeon.ngaps s <=? bound)) =
      negb (unsorted Neon m) && (negb small || (Choice.ngaps m <=? bound))).
    { intros bound. rewrite <- (t_falls _ _ told). destruct (ScanNeon.is_falling s) eqn:Nf; [reflexivity|]. now rewrite (proj1 (t_gaps _ _ told Nf)). }
    rewrite G. clear G. destruct (negb (unsorted Neon m) && (negb small || (Choice.ngaps m <=? Choice.nitems m / 16))) eqn:B1.
    - right. apply andb_true_iff in B1 as [B1 _]. rewrite Ord, negb_involutive in B1.
      assert (Nf : ScanNeon.is_falling s = false) by (rewrite (t_falls _ _ told), Ord, B1; reflexivity).
      assert (Exact : body runs_by_memmove m = by_runs m rest upper).
      { cbn [body runs_by_memmove]. unfold Algorithms.gather. rewrite St. unfold windows_fit.
        destruct (forallb (fun it => len it <=? 0) (items m)) eqn:Z0; [|reflexivity]. exfalso.
        assert (I : In it (items m)) by (rewrite Its; apply in_or_app; right; left; reflexivity).
        rewrite forallb_forall in Z0. specialize (Z0 it I). apply Z.leb_le in Z0. pose proof (item_facts m page_m header it I). lia. }
      rewrite Exact. unfold by_runs. rewrite B1. unfold ScanNeonMoves.move_runs. rewrite (proj2 (t_gaps _ _ told Nf)), Gp, Fi.
      cbn [ScanNeonMoves.move_each_run]. exists (ScanNeonMoves.end_of s g), (ScanNeonMoves.old_end_of s g).
      rewrite Fi in A. unfold rest in A |- *. apply known_cons in A as (A1 & A2 & _ & A3). unfold runs. cbn [runs_from]. rewrite Z.eqb_refl. cbn [app filter is_copy set_lp_off].
      unfold ScanNeonMoves.move_run at 1. rewrite Z.sub_diag, (u32_is 0), Z.sub_0_r by lia. f_equal. rewrite Gs.
      pose proof (Forall_inv Sound) as [So Sl]. pose proof (Forall_inv_tail Sound) as Sr. pose proof (Forall_inv Stops) as Sp. pose proof (Forall_inv_tail Stops) as Spr.
      symmetry. apply runs_by_gaps; try assumption; unfold stop in *; try lia.
      rewrite Cnt, Fi. unfold rest. cbn [length]. lia.
    - left. destruct ((longest (items m) <=? PAIR) && negb (unsorted Neon m)) eqn:B2.
      + cbn [body suits] in *. unfold slide_pairs. rewrite St, Suits. unfold ScanNeonMoves.slide. rewrite Cnt. f_equal.
        apply (slide_walks _ _ _ rest upper 16 Ke); unfold PAIRS_AHEAD; lia.
      + destruct (small || ((longest (items m) <=? WIDEST) && (WIDEST <=? pd_upper m + 8))) eqn:B3.
        * cbn [body suits] in *. unfold Algorithms.gather. rewrite St. pose proof (window_positive (longest (items m))) as Wp.
          apply orb_true_iff in Suits as [Suits|Suits]; [apply Z.eqb_eq in Suits; lia|]. rewrite Suits, Scratch. unfold by_windows. f_equal.
          rewrite by_windows_of, (t_longest _ _ told). unfold ScanNeonMoves.gather, ByArrays.gather. rewrite Moved.
          exact (gather_walks _ _ _ rest _ upper A).
        * destruct (in_slots (longest (items m)) m) eqn:B4.
          -- cbn [body]. unfold by_slots. rewrite St, (in_slots_longest m), B4. reflexivity.
          -- cbn [body]. unfold Algorithms.gather. rewrite St, Scratch. unfold windows_fit, by_windows. f_equal.
             unfold ScanNeonMoves.gather_each. rewrite Moved. symmetry. apply gathered_each; [exact A|].
             pose proof (t_tuples _ _ told) as T. rewrite Its, app_length, map_app, seq_app, map_app in T.
             apply same_parts in T as [_ T]; [|now rewrite !map_length, seq_length]. rewrite Fi, Gd. exact T.
  Qed.

  Hypothesis room : pd_lower m + 4 * ScanNeon.LANES <= BLCKSZ.

  Lemma body_is : let ops := if negb (ScanNeon.ngaps s =? 0) || ScanNeon.is_falling s then ScanNeonMoves.move_tuples m s else [] in
    ops = body (choice Neon m) m \/ exists to from, ops = Move to from 0 :: body (choice Neon m) m.
  Proof.
    cbv zeta. rewrite (t_moves _ _ told), <- (moves_chosen Neon (neon_way m) ScanNeon.LANES m eq_refl page_m _ valid room (fun _ => eq_refl)).
    destruct (Z.eqb_spec (Choice.ngaps m) 0); cbn [negb]; [now left|now apply moves_are].
  Qed.
End Told.

Lemma copies_are_copies : forall o, ScanNeonMoves.copies_bytes o = true -> is_copy o = true.
Proof. now intros []. Qed.

Lemma copies_filtered p : filter ScanNeonMoves.copies_bytes (filter is_copy p) = filter ScanNeonMoves.copies_bytes p.
Proof.
  induction p as [|o p IH]; [reflexivity|]. cbn [filter]. pose proof (copies_are_copies o) as C. destruct (is_copy o).
  - cbn [filter]. now rewrite IH.
  - destruct (ScanNeonMoves.copies_bytes o); [discriminate (C eq_refl)|exact IH].
Qed.

(** A copy of no bytes leaves the page as it is. *)
Lemma nothing_copied to from p s i : page (exec (Move to from 0 :: p) s) i = page (exec p s) i.
Proof.
  rewrite exec_cons. apply exec_same. split; intros j; cbn [step page scratch]; [|reflexivity]. unfold copy. rewrite Z.add_0_r.
  destruct (Z.leb_spec to j), (Z.ltb_spec j to); cbn [andb]; try reflexivity; lia.
Qed.

(** pgq_compaction_neon, from the line pointers to the header, refuses what the check refuses, with its code and line pointer; on every
    other page it copies by its arrays what the proved choice copies, copies of no bytes left out, and leaves exactly the page of the
    specification. *)
Theorem neon_repairs : forall truncate m d scratch0, is_page m ->
  match ScanNeonMoves.neon_kernel truncate m d with
  | inl r => check m = Some r
  | inr ops => check m = None /\
      filter ScanNeonMoves.copies_bytes ops = filter ScanNeonMoves.copies_bytes (program (choice Neon m) truncate m) /\
      forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i
  end.
Proof.
  intros truncate m d scratch0 P. unfold ScanNeonMoves.neon_kernel. cbv zeta.
  assert (Same : forall p, filter is_copy p = filter is_copy (program (choice Neon m) truncate m) ->
    filter ScanNeonMoves.copies_bytes p = filter ScanNeonMoves.copies_bytes (program (choice Neon m) truncate m)).
  { intros p F. now rewrite <- (copies_filtered p), F, copies_filtered. }
  apply (kernel_repairs Neon (neon_way m) ScanNeon.LANES truncate m scratch0 eq_refl P); [| |auto].
  - intros H R. exact (proj1 (neon_scan_refuses_the_same m d P H R)).
  - intros V R. pose proof (it_tells m d P V R) as T. revert T. generalize (ScanNeon.scan_line_pointers m d) as s. intros s T.
    destruct (told_repairs Neon truncate m scratch0 P (ScanNeon.words_to_be s) (ScanNeon.used_count s) (ScanNeon.left_count s)
      (ScanNeon.upper_to_be s) V ltac:(split; apply T)) as [F E]. apply Same in F.
    destruct (body_is m s T P V R) as [->|(to & from & ->)]; [exact (conj F E)|]. split; [exact F|].
    intros i. cbn [app]. rewrite nothing_copied. apply E.
Qed.
