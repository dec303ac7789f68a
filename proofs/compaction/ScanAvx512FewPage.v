(* SPDX-License-Identifier: PostgreSQL *)
(** * AVX-512's scan of at most 16 line pointers finds what the page holds *)
From Coq Require Import String ZArith Lia List Bool.
From Pgquern.instructions Require Import Lanes Scalar Facts ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey ScanAvx2Facts ScanAvx2Page.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Decode Pointers Choice Chosen ScanAvx512FewLanes ScanAvx512FewFacts ScanAvx512FewTuples.
From Pgquern.compaction Require Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require ScanAvx2.
From Pgquern.compaction Require ScanAvx512Few.
Import ListNotations.
Local Open Scope Z_scope.

Section Page.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis room : pd_lower m + 4 * ScanAvx512Few.LANES <= BLCKSZ.
  Hypothesis few : nline m <= ScanAvx512Few.FEW.
  Let n := nline m.
  Let special := pd_special m.
  Let its := items m.

  #[local] Lemma room_16 : pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ.
  Proof. unfold ScanAvx512Few.LANES, ScanAvx2.LANES in *. lia. Qed.
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
    unfold total_low, l, n. rewrite (l_total m header room_16 16 enough). apply Z.mod_small. pose proof (Scanned.items_small m page_m header).
    fold its. unfold its. lia.
  Qed.

  Lemma lanes_moves : moves_of m l = move_words its special.
  Proof.
    unfold moves_of, l, n. rewrite (l_kept m header room_16 16 enough). apply moves_are.
    apply Forall_forall. intros it I. unfold its, items in I. now apply filter_In in I.
  Qed.

  Lemma lanes_count : kept_count l = length its.
  Proof. exact (l_count m header room_16 16 enough). Qed.

  Lemma bounds_are : ScanAvx512Few.out_of_bounds m (taken_lanes m l) = existsb (wrong m) its.
  Proof.
    pose proof special_fits as Sp. rewrite out_of_bounds_is by (apply l_length || apply l_sound || (fold special; lia)).
    unfold l, n. rewrite (over_any m header room_16 16 enough).
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

  (** A stored list, read again. *)
  Lemma store_reads w a xs k : (0 < w)%nat -> (k < length xs)%nat -> (k < 16)%nat ->
    ScanAvx512Few.store w a (register_of w xs) k = nth k xs 0 mod span w.
  Proof.
    intros W K L. unfold ScanAvx512Few.store. destruct (Nat.ltb_spec k 16); [|lia]. rewrite lanes_of_register by exact W.
    change 0 with (0 mod span w) at 1. apply (map_nth (fun x => x mod span w)).
  Qed.
End Page.
