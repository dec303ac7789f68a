(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scans of avx512vbmi2.c to the page

    What pgq_compaction_avx512 makes of its scan, of many line pointers or of at most 16, is the way that is proved, the line pointers of
    the specification, and the header. *)
From Coq Require Import ZArith List Bool Lia.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Pointers Repair Choice Chosen Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require Import ScanAvx512Page ScanAvx512FewPage.
From Pgquern.compaction Require ScanAvx2Kernel ScanAvx512 ScanAvx512Few ScanAvx512Moves.
Import ListNotations.
Local Open Scope Z_scope.

(** If all lengths add up as if each were the longest, each is. *)
Lemma all_longest its n : Forall (fun it => len it <= n) its -> total its = Z.of_nat (length its) * n -> Forall (fun it => len it = n) its.
Proof.
  intros F. induction F as [|it r L F IH]; intros T; constructor; cbn [total length] in T;
    (assert (U : total r <= Z.of_nat (length r) * n) by (clear - F; induction F as [|x r L F IH]; cbn [total length]; lia)); [lia|].
  apply IH. lia.
Qed.

Lemma old_ends_only its : forall top, map snd (ScanAvx512Few.end_list its top) = map stop its.
Proof. induction its as [|it r IH]; intros top; [reflexivity|]. cbn [ScanAvx512Few.end_list map snd]. now rewrite IH. Qed.

Lemma shortest_says its : (32 <=? fold_right (fun it n => Z.min (len it) n) 65535 its) = all_at_least 32 its.
Proof.
  unfold all_at_least. induction its as [|it r IH]; [reflexivity|]. cbn [fold_right forallb]. rewrite <- IH.
  set (n := fold_right _ _ _). destruct (Z.leb_spec 32 (Z.min (len it) n)), (Z.leb_spec 32 (len it)), (Z.leb_spec 32 n); try reflexivity; lia.
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
  t_ends : Choice.ngaps m <> 0 -> map (ScanAvx512Moves.old_ends s) (seq 0 (Z.to_nat (Choice.nitems m))) = map stop (items m);
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
    constructor; cbn [ScanAvx512Moves.words_to_be ScanAvx512Moves.old_ends ScanAvx512Moves.nitems ScanAvx512Moves.used_count ScanAvx512Moves.left_count
      ScanAvx512Moves.total_length ScanAvx512Moves.upper_to_be ScanAvx512Moves.longest_length ScanAvx512Moves.shortest_length ScanAvx512Moves.ngaps
      ScanAvx512Moves.is_falling]; try assumption.
    - rewrite Sh. symmetry. apply andb_false_iff. left. apply Z.ltb_ge. exact few.
    - intros Nz. destruct (M Nz) as (_ & E & _). apply (f_equal (map snd)) in E. rewrite map_map, old_ends_only, N in E. exact E.
  Qed.

  Lemma many_tells d : ScanAvx512Moves.FEW < nline m -> tells m (ScanAvx512Moves.seen_by_many m d).
  Proof.
    intros many. destruct tuples_ok as [Ok Fit]. unfold ScanAvx512Moves.seen_by_many. cbv zeta.
    destruct (avx512_scan_finds m d page_m header room) as (N & O & _ & _ & _ & C & Lf & L & Sh & _).
    destruct (avx512_scan_finds_the_runs m d page_m header room Ok Fit) as (T & U & F & G & Mv & _).
    pose proof (avx512_scan_knows_the_line_pointers m d page_m valid room) as W. cbv zeta in W.
    revert N O C Lf L Sh T U F G Mv W. generalize (ScanAvx512.refused m (ScanAvx512.scan_line_pointers m d)) as r. generalize (ScanAvx512.scan_line_pointers m d) as s.
    intros s r N O C Lf L Sh T U F G Mv W.
    constructor; cbn [ScanAvx512Moves.words_to_be ScanAvx512Moves.old_ends ScanAvx512Moves.nitems ScanAvx512Moves.used_count ScanAvx512Moves.left_count
      ScanAvx512Moves.total_length ScanAvx512Moves.upper_to_be ScanAvx512Moves.longest_length ScanAvx512Moves.shortest_length ScanAvx512Moves.ngaps
      ScanAvx512Moves.is_falling]; try assumption.
    - rewrite N. reflexivity.
    - rewrite Sh, shortest_says. replace (16 <? nline m) with true by (symmetry; apply Z.ltb_lt; exact many). reflexivity.
    - intros Nf. apply G, Nf.
    - rewrite <- Mv. f_equal. destruct (ScanAvx512.ngaps s); reflexivity.
    - intros _. unfold Choice.nitems. rewrite Nat2Z.id, <- N. exact O.
  Qed.
End Scans.

(** ** What is done with it.  Of the scans nothing more is said here: their registers, unfolded, take Coq too long. *)
Section Told.
  Variables (m : mem) (s : ScanAvx512Moves.seen).
  Hypothesis told : tells m s.

  Lemma slots_are : Choice.ngaps m <> 0 -> ScanAvx512Moves.find_slots m s = in_slots (longest (items m)) m.
  Proof.
    intros Nz. unfold ScanAvx512Moves.find_slots, in_slots. cbv zeta. rewrite (t_longest _ _ told), (t_total _ _ told), (t_count _ _ told).
    destruct (SHORTEST_IN_SLOTS <=? longest (items m)); [|reflexivity]. cbn [andb].
    destruct (Z.eqb_spec (total (items m)) (Choice.nitems m * longest (items m))) as [Q|Q]; [|reflexivity]. cbn [andb].
    pose proof (all_longest _ _ (longest_spec (items m)) Q) as A. rewrite Forall_forall in A.
    assert (O : forall {B} (f : Z -> B), map (fun i => f (pd_special m - (ScanAvx512Moves.old_ends s i - longest (items m)))) (seq 0 (Z.to_nat (Choice.nitems m))) =
      map (fun it => f (pd_special m - off it)) (items m)).
    { intros B f. pose proof (f_equal (map (fun e => f (pd_special m - (e - longest (items m))))) (t_ends _ _ told Nz)) as E. rewrite !map_map in E.
      etransitivity; [exact E|]. apply map_ext_in. intros it I. f_equal. unfold stop. rewrite (A it I). lia. }
    rewrite (O nat (fun b => Z.to_nat (slot_below (longest (items m)) b))). f_equal.
    pose proof (O bool (is_slot (longest (items m)))) as F. apply (f_equal (forallb (fun b : bool => b))) in F.
    rewrite !ScanAvx2Kernel.forallb_mapped in F. exact F.
  Qed.

  (** The way that C's tests choose is the one that is proved to suit the page. *)
  Lemma way_is : Choice.ngaps m <> 0 -> ScanAvx512Moves.way m s = avx512_way m.
  Proof.
    intros Nz. unfold ScanAvx512Moves.way, ScanAvx512Moves.permute_few, avx512_way, mostly_live. cbv zeta. change (LINE / 2) with 32.
    rewrite (slots_are Nz), (t_count _ _ told), (t_longest _ _ told), (t_total _ _ told), (t_shortest _ _ told), (t_upper _ _ told).
    change (new_upper_of m) with (new_upper m). change ScanAvx512Moves.FEW with 16. change (16 / 2) with 8. change (3 * LINE) with 192. change LINE with 64.
    change ScanAvx512Moves.FEW_GAPS with 10. change ScanAvx512Moves.DEEPEST with 512. change (Z.to_nat 16) with 16%nat. change (Z.to_nat 8) with 8%nat.
    replace (32 <? longest (items m)) with (negb (longest (items m) <=? 32))
      by (destruct (Z.ltb_spec 32 (longest (items m))), (Z.leb_spec (longest (items m)) 32); try reflexivity; lia).
    assert (G : forall bound, negb (ScanAvx512Moves.is_falling s) && (ScanAvx512Moves.ngaps s <=? bound) = negb (unsorted Avx512 m) && (Choice.ngaps m <=? bound)).
    { intros bound. rewrite <- (t_falls _ _ told). pose proof (t_gaps _ _ told) as E. destruct (ScanAvx512Moves.is_falling s); [reflexivity|]. now rewrite E. }
    rewrite !G, (t_falls _ _ told). destruct (longest (items m) <=? 32), (Choice.nitems m <=? 8); reflexivity.
  Qed.

  Lemma words_stored : ScanAvx512Moves.put_line_pointers m s = store_words (ScanAvx2Kernel.all_words m).
  Proof.
    unfold ScanAvx512Moves.put_line_pointers, store_words, ScanAvx2Kernel.all_words. rewrite map_map. apply map_ext_in. intros k K. apply in_seq in K.
    rewrite (t_words _ _ told) by lia. unfold lp_address. cbn [fst snd]. f_equal. lia.
  Qed.

  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Lemma free_says truncate : (ScanAvx512Moves.used_count s <? nline_left truncate m) = negb (count_unused (line_pointers m) - (nline m - nline_left truncate m) =? 0).
  Proof.
    rewrite <- (used_left m page_m valid truncate). pose proof (left_says m page_m valid truncate) as Lf.
    destruct (scan_finds m page_m (proj1 valid)) as (_ & _ & _ & _ & _ & U & _). rewrite (t_used _ _ told), U, <- Lf.
    match goal with |- (Z.of_nat ?a <? Z.of_nat ?b) = _ => destruct (Z.ltb_spec (Z.of_nat a) (Z.of_nat b)), (Nat.ltb_spec a b) end; try reflexivity; lia.
  Qed.

  Hypothesis room : pd_lower m + 4 * ScanAvx512Moves.LANES <= BLCKSZ.

  Lemma moves_are : ScanAvx512Moves.moves (avx512_way m) m = body (avx512_way m) m.
  Proof.
    unfold avx512_way. cbv zeta. repeat match goal with |- ScanAvx512Moves.moves (if ?b then _ else _) _ = _ => destruct b end; reflexivity.
  Qed.

  Lemma body_is : (if (ScanAvx512Moves.ngaps s =? 0) && negb (ScanAvx512Moves.is_falling s) then [] else ScanAvx512Moves.moves (ScanAvx512Moves.way m s) m) =
    body (choice Avx512 m) m.
  Proof.
    rewrite (t_moves _ _ told). destruct (Z.eqb_spec (Choice.ngaps m) 0) as [Z|Z].
    - destruct (nothing_to_move Avx512 m page_m valid Z) as [N ->]. symmetry. exact N.
    - rewrite (way_is Z), moves_are. unfold choice. destruct (Z.eqb_spec (Choice.ngaps m) 0); [lia|].
      destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * 32)); [|reflexivity]. unfold ScanAvx512Moves.LANES in room. lia.
  Qed.
End Told.

Lemma choice_is_ours m : ours (choice Avx512 m).
Proof.
  unfold ours, choice, avx512_way, scalar_way, nothing, runs_by_memmove. cbv zeta.
  split; repeat match goal with |- (if ?b then _ else _) <> _ => destruct b end; discriminate.
Qed.

Lemma refuses_the_same m few many : is_page m -> header_ok m -> pd_lower m + 4 * ScanAvx512Moves.LANES <= BLCKSZ ->
  let s := if nline m <=? ScanAvx512Moves.FEW then ScanAvx512Moves.seen_by_few m few else ScanAvx512Moves.seen_by_many m many in
  (ScanAvx512Moves.is_refused s = true <-> check m <> None) /\ (valid_page m -> tells m s).
Proof.
  intros P H R s. subst s. destruct (Z.leb_spec (nline m) ScanAvx512Moves.FEW) as [F|F].
  - split; [exact (proj1 (avx512_few_scan_refuses_the_same m few P H R F))|]. intros V. now apply few_tells.
  - split; [exact (proj1 (avx512_scan_refuses_the_same m many P H R))|]. intros V. now apply many_tells.
Qed.

(** pgq_compaction_avx512, from the line pointers to the header, refuses what the check refuses, with its code and line pointer; on every
    other page it copies as the proved choice says, and leaves exactly the page of the specification.  What it copies is given by
    the tuples, and not by the arrays of C's scan. *)
Theorem avx512_repairs : forall truncate m few many scratch0, is_page m ->
  match ScanAvx512Moves.avx512_kernel truncate m few many with
  | inl r => check m = Some r
  | inr ops => check m = None /\ filter is_copy ops = filter is_copy (program (choice Avx512 m) truncate m) /\
      forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i
  end.
Proof.
  intros truncate m few many scratch0 P. unfold ScanAvx512Moves.avx512_kernel. cbv zeta.
  pose proof (scalar_repairs truncate m scratch0 P) as Sc.
  destruct (check_header m) eqn:Hd; cbn [negb orb].
  2: { destruct (scalar_kernel truncate m) as [r|ops]; [exact Sc|]. destruct Sc as (C & _). unfold check in C. rewrite Hd in C. discriminate. }
  apply check_header_iff in Hd. destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * ScanAvx512Moves.LANES)) as [L|L].
  - destruct (scalar_kernel truncate m) as [r|ops]; [exact Sc|]. destruct Sc as (C & F & E). split; [exact C|]. split; [|exact E]. rewrite F.
    unfold choice. destruct (Choice.ngaps m =? 0); [reflexivity|]. destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * 32)); [reflexivity|].
    unfold ScanAvx512Moves.LANES in L. lia.
  - pose proof (refuses_the_same m few many P Hd L) as X. cbv zeta in X. revert X.
    generalize (if nline m <=? ScanAvx512Moves.FEW then ScanAvx512Moves.seen_by_few m few else ScanAvx512Moves.seen_by_many m many) as s. intros s [R T].
    destruct (ScanAvx512Moves.is_refused s) eqn:Rf.
    + destruct (scalar_kernel truncate m) as [r|ops]; [exact Sc|]. destruct Sc as (C & _). exfalso. now apply R.
    + assert (C : check m = None) by (destruct (check m); [exfalso; apply (Bool.diff_false_true), R; discriminate|reflexivity]).
      pose proof (proj1 (check_iff_valid m) C) as V. specialize (T V). split; [exact C|].
      assert (Lf : (if truncate then ScanAvx512Moves.left_count s else nline m) = nline_left truncate m) by (unfold nline_left; now rewrite (t_left _ _ T)).
      rewrite Lf, (words_stored m s T), (t_upper _ _ T), (free_says m s T P V), (body_is m s T P V L). unfold new_upper.
      split.
      * rewrite program_parts, !filter_app. rewrite (ours_words m _ (choice_is_ours m)).
        assert (Q : forall w, filter is_copy (store_words w) = []) by (induction w; [reflexivity|assumption]).
        rewrite !Q. cbn [filter is_copy write_header app]. rewrite !app_nil_r. reflexivity.
      * intros i. rewrite app_assoc. apply rewritten_page; try assumption; [apply choice_is_ours|now apply ScanAvx2Kernel.all_rewrites].
Qed.
