(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scan of avx2.c to the page

    What pgq_compaction_avx2 makes of its scan is the way that is proved, the line pointers of the specification, and the header. *)
From Coq Require Import ZArith List Bool Lia.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Pointers Repair Choice Chosen Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require Import ScanAvx2Page.
From Pgquern.compaction Require ScanAvx2.
Import ListNotations.
Local Open Scope Z_scope.

Section Valid.
  Variables (m : mem) (d : ScanAvx2.dirt).
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Hypothesis room : pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ.
  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  Let s := ScanAvx2.scanned m d.

  Lemma total_is : ScanAvx2.total_length s = total (items m).
  Proof.
    destruct (avx2_scan_refuses_the_same m d page_m header room) as (R & _ & T). apply T. fold s in R |- *.
    destruct (ScanAvx2.refused m s); [|reflexivity]. exfalso. apply R; [reflexivity|]. now apply check_iff_valid.
  Qed.

  Lemma offsets_are {A} (f : Z -> A) :
    map (fun i => f (ScanAvx2.tuple_off s i)) (seq 0 (Z.to_nat (ScanAvx2.nitems s))) = map (fun it => f (off it)) (items m).
  Proof.
    destruct (avx2_scan_finds m d page_m header room) as (T & _). fold s in T. apply (f_equal (map (fun p => f (fst p)))) in T.
    rewrite !map_map in T. exact T.
  Qed.

  Lemma forallb_mapped {A B} (f : A -> B) (g : B -> bool) l : forallb g (map f l) = forallb (fun x => g (f x)) l.
  Proof. induction l as [|x l IH]; [reflexivity|]. cbn [map forallb]. now rewrite IH. Qed.

  Lemma slots_are : ScanAvx2.find_slots m s = in_slots (longest (items m)) m.
  Proof.
    destruct (avx2_scan_finds m d page_m header room) as (_ & N & _ & _ & _ & _ & _ & L & _). fold s in N, L.
    unfold ScanAvx2.find_slots, in_slots. cbv zeta. rewrite L, total_is.
    pose proof (offsets_are (fun o => is_slot (longest (items m)) (pd_special m - o))) as F.
    pose proof (offsets_are (fun o => Z.to_nat (slot_below (longest (items m)) (pd_special m - o)))) as G. rewrite G.
    apply (f_equal (forallb (fun b : bool => b))) in F. rewrite !forallb_mapped in F. rewrite F, N. reflexivity.
  Qed.

  (** The way that C's tests choose is the one that is proved to suit the page. *)
  Lemma way_is : ScanAvx2.way m s = avx2_way m.
  Proof.
    destruct (avx2_scan_finds m d page_m header room) as (_ & N & _ & G & _ & _ & _ & L & U & _). fold s in N, G, L, U.
    unfold ScanAvx2.way, avx2_way, mostly_live. cbv zeta. rewrite N, G, L, U, slots_are, total_is.
    replace (Z.to_nat (Choice.nitems m)) with (length (items m)) by (unfold Choice.nitems; lia). reflexivity.
  Qed.

  Lemma moves_are : ScanAvx2.moves (avx2_way m) m = body (avx2_way m) m.
  Proof.
    unfold avx2_way. cbv zeta. repeat match goal with |- context [if ?b then _ else _] => destruct b end; reflexivity.
  Qed.

  (** All line pointers are stored. *)
  Definition all_words : list (Z * Z) := map (fun k => (Z.of_nat k + 1, new_word ItemOrder m (Z.of_nat k + 1))) (seq 0 (Z.to_nat (nline m))).

  Lemma words_stored : ScanAvx2.put_line_pointers m s = store_words all_words.
  Proof.
    pose proof (avx2_scan_knows_the_line_pointers m d page_m valid room) as W. cbv zeta in W. fold s in W.
    unfold ScanAvx2.put_line_pointers, store_words, all_words. rewrite map_map. apply map_ext_in. intros k K. apply in_seq in K.
    rewrite W by lia. unfold lp_address. cbn [fst snd]. f_equal. lia.
  Qed.

  Lemma all_rewrites : rewrites m ItemOrder all_words.
  Proof.
    split.
    - intros n w I. apply in_map_iff in I as (k & E & K). injection E as <- <-. apply in_seq in K. split; [lia|reflexivity].
    - intros n N. left. unfold all_words. rewrite map_map. cbn [fst]. apply in_map_iff. exists (Z.to_nat (n - 1)). split; [lia|]. apply in_seq. lia.
  Qed.

  Lemma free_says truncate : (ScanAvx2.used_count s <? nline_left truncate m) = negb (count_unused (line_pointers m) - (nline m - nline_left truncate m) =? 0).
  Proof.
    rewrite <- (used_left m page_m valid truncate). pose proof (left_says m page_m valid truncate) as Lf.
    destruct (avx2_scan_finds m d page_m header room) as (_ & _ & _ & _ & _ & C & _). fold s in C.
    destruct (scan_finds m page_m header) as (_ & _ & _ & _ & _ & U & _). rewrite C, U, <- Lf.
    match goal with |- (Z.of_nat ?a <? Z.of_nat ?b) = _ => destruct (Z.ltb_spec (Z.of_nat a) (Z.of_nat b)), (Nat.ltb_spec a b) end; try reflexivity; lia.
  Qed.
End Valid.

(** pgq_compaction_avx2, from the line pointers to the header, refuses what the check refuses, with its code and line pointer; on every
    other page it copies as the proved choice says, and leaves exactly the page of the specification.  What it copies is given by
    the tuples, and not by the arrays of C's scan. *)
Theorem avx2_repairs : forall truncate m d scratch0, is_page m ->
  match ScanAvx2.avx2_kernel truncate m d with
  | inl r => check m = Some r
  | inr ops => check m = None /\ filter is_copy ops = filter is_copy (program (choice Avx2 m) truncate m) /\
      forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i
  end.
Proof.
  intros truncate m d scratch0 P. unfold ScanAvx2.avx2_kernel. cbv zeta.
  pose proof (scalar_repairs truncate m scratch0 P) as Sc.
  destruct (check_header m) eqn:Hd; cbn [negb orb].
  2: { destruct (scalar_kernel truncate m) as [r|ops]; [exact Sc|]. destruct Sc as (C & _). unfold check in C. rewrite Hd in C. discriminate. }
  apply check_header_iff in Hd. destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * ScanAvx2.LANES)) as [L|L].
  - destruct (scalar_kernel truncate m) as [r|ops]; [exact Sc|]. destruct Sc as (C & F & E). split; [exact C|]. split; [|exact E]. rewrite F.
    unfold choice. destruct (Choice.ngaps m =? 0); [reflexivity|]. destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * 16)); [reflexivity|].
    unfold ScanAvx2.LANES in L. lia.
  - destruct (avx2_scan_refuses_the_same m d P Hd L) as (R & _ & _). cbv zeta in R.
    destruct (ScanAvx2.refused m (ScanAvx2.scanned m d)) eqn:Rf.
    + destruct (scalar_kernel truncate m) as [r|ops]; [exact Sc|]. destruct Sc as (C & _). exfalso. now apply R.
    + assert (C : check m = None) by (destruct (check m); [exfalso; apply (Bool.diff_false_true), R; discriminate|reflexivity]).
      pose proof (proj1 (check_iff_valid m) C) as V. split; [exact C|].
      destruct (avx2_scan_finds m d P Hd L) as (_ & _ & _ & G & _ & _ & Lc & _).
      assert (Lf : (if truncate then ScanAvx2.left_count (ScanAvx2.scanned m d) else nline m) = nline_left truncate m) by (unfold nline_left; now rewrite Lc).
      rewrite Lf, (words_stored m d P V L), (total_is m d P V L), (free_says m d P V L), (way_is m d P V L), moves_are, G.
      assert (Bd : (if Choice.ngaps m =? 0 then [] else body (avx2_way m) m) = body (choice Avx2 m) m).
      { destruct (Z.eqb_spec (Choice.ngaps m) 0) as [Z|Z].
        - destruct (nothing_to_move Avx2 m P V Z) as [N ->]. symmetry. exact N.
        - unfold choice. destruct (Z.eqb_spec (Choice.ngaps m) 0); [lia|]. destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * 16)); [|reflexivity].
          unfold ScanAvx2.LANES in L. lia. }
      rewrite Bd. clear Bd.
      assert (O : ours (choice Avx2 m)).
      { unfold ours, choice, avx2_way, scalar_way, nothing, runs_by_memmove. cbv zeta.
        split; repeat match goal with |- context [if ?b then _ else _] => destruct b end; discriminate. }
      split.
      * rewrite program_parts, !filter_app. rewrite (ours_words m _ O).
        assert (Q : forall w, filter is_copy (store_words w) = []) by (induction w; [reflexivity|assumption]).
        rewrite !Q. cbn [filter is_copy write_header app]. rewrite !app_nil_r. reflexivity.
      * intros i. rewrite app_assoc. apply rewritten_page; try assumption. now apply all_rewrites.
Qed.
