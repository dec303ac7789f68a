(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: pages that fulfil the hypotheses of the theorems, and on which something is to be done

    A theorem whose hypotheses nothing fulfils says nothing.  The pages are those of Examples.v. *)
From Pgquern.common Require Import Integers Premises.
From Pgquern.compaction Require Import Page Memory Layout Slots Repair Contents Again AnySort ScanUpstreamFacts Copies Algorithms Spec Choice Chosen Scan ScanFacts Scanned ScannedPage ScanAvx2Page
  ScanAvx2Kernel ScanAvx512Page ScanAvx512FewPage ScanAvx512Kernel ScanNeonPage ScanNeonKernel
  Examples Decode.
From Pgquern.compaction Require ScanAvx2 ScanAvx512 ScanAvx512Few ScanAvx512MarkLive ScanNeon.

Lemma page_with_is_page upper special words : is_page (page_with upper special words).
Proof.
  intros i I. unfold page_with.
  repeat match goal with |- context [if ?c then _ else _] => destruct c end;
    auto using byte_of_range; try lia. pose proof (Z.mod_pos_bound i 251). lia.
Qed.

(** The pages of Examples.v are valid: 200 tuples among dead, unused and redirected line pointers, 291 tuples, and eight more. *)
Theorem pages_are_valid : Forall (fun m => is_page m /\ valid_page m) (crowded_page :: full_page :: pages).
Proof.
  assert (V : forallb (fun m => match check m with None => true | _ => false end) (crowded_page :: full_page :: pages) = true)
    by (vm_compute; reflexivity).
  rewrite forallb_forall in V. apply Forall_forall. intros m M. split.
  - unfold pages in M. cbn [In] in M. repeat destruct M as [<-|M]; [..|easy]; apply page_with_is_page.
  - specialize (V m M). apply check_iff_valid. now destruct (check m).
Qed.

(** The crowded page has 200 tuples in item order, and compaction moves some of them. *)
Theorem crowded_page_is_crowded :
  length (items crowded_page) = 200%nat /\ length (line_pointers crowded_page) = 240%nat /\
  presorted (pd_special crowded_page) (items crowded_page) = true /\ pd_upper crowded_page < new_upper crowded_page.
Proof. vm_compute. auto. Qed.

(** For each of our ways there is one of these pages on which its own program runs, and not its fallback. *)
Theorem every_way_is_taken :
  presorted (pd_special presorted_page) (items presorted_page) = true /\
  presorted (pd_special unsorted_page) (items unsorted_page) = false /\
  any_overlap (sort (items overlapping_page)) = true /\ is_sparse sparse_page = true /\
  windows_fit unsorted_page (Some 64) = true /\ windows_fit low_page (Some 64) = false /\
  LINE <= new_upper_of presorted_page /\ registers_fit presorted_page 64 = true /\ (length (items sparse_page) <= 8)%nat /\
  registers_fit sparse_page 64 = true /\ presorted (pd_special crowded_page) (items crowded_page) = true /\
  registers_fit crowded_page PAIR = true /\ pieces_fit long_runs 6 = false /\ pieces_fit pieces_page 6 = true /\
  LINE <= pd_upper long_runs + 8 /\ slots_fit slots_page = true.
Proof. vm_compute. repeat split; try discriminate; repeat constructor. Qed.

(** Of the ways that the kernels have, these pages take each. *)
Theorem kernels_take_their_ways :
  choice Scalar presorted_page = runs_by_memmove /\ choice Scalar two_sizes_page = Gather (Some 64) /\
  choice Scalar crowded_page = Gather (Some 32) /\ choice Scalar slots_page = Slots /\ choice Scalar long_page = Area /\
  choice Avx2 crowded_page = Slide 32 /\ choice Avx2 unsorted_page = Gather (Some 64) /\ choice Avx2 climbing_page = Runs false /\
  choice Avx2 wide_page = Gather (Some 128) /\ choice Avx2 slots_page = Slots /\ choice Avx2 long_page = Area /\
  choice Avx2 overlapping_page = Gather None /\ choice Avx512 presorted_page = Permute 64 16 /\
  choice Avx512 long_runs = Runs true /\ choice Avx512 crowded_page = Slide 32 /\ choice Avx512 climbing_page = Climb 5 /\
  choice Avx512 squeezing_page = Squeeze /\ choice Avx512 wide_page = Gather (Some 128) /\ choice Avx512 slots_page = Slots /\
  choice Avx512 one_slot_page = ByDepth /\ choice Avx512 long_page = Lines /\ choice Avx512 overlapping_page = Gather None /\
  choice Avx512 full_page = nothing /\
  choice Neon crowded_page = SlidePairs /\ choice Neon long_runs = runs_by_memmove /\ choice Neon unsorted_page = Gather (Some 64) /\
  choice Neon wide_page = Gather (Some 128) /\ choice Neon slots_page = Slots /\ choice Neon long_page = Gather None /\
  choice Neon full_page = nothing.
Proof. vm_compute. repeat split. Qed.

(** ** The premises of each theorem, met together *)

Definition first_tuple : item := Item 1 (Examples.normal 8160 30).
Definition last_tuple : item := Item 3 (Examples.normal 8120 32).

(** Two tuples with a gap between them, and an unused line pointer; then a third tuple is added. *)
Definition small_page : mem := page_with 8000 8192 [word first_tuple; 0; word last_tuple].
Definition small_page_and_one : mem := page_with 7968 8192 [word first_tuple; 0; word last_tuple; Examples.normal 7968 30].

Lemma small_is_page : is_page small_page.
Proof. apply page_with_is_page. Qed.

Lemma small_is_valid : valid_page small_page.
Proof. apply check_iff_valid. vm_compute. reflexivity. Qed.

Lemma small_items : items small_page = [first_tuple; last_tuple].
Proof. vm_compute. reflexivity. Qed.

Lemma packed_is_unpacked_witness : premises_of packed_is_unpacked.
Proof. exists 8160, 1, 30. repeat split; discriminate || reflexivity. Qed.
Lemma unpacked_is_packed_witness : premises_of unpacked_is_packed.
Proof. exists (2 ^ 32 - 2). repeat split; discriminate || reflexivity. Qed.
Lemma stored_line_pointer_is_read_witness : premises_of stored_line_pointer_is_read.
Proof. exists dirt, 1, (2 ^ 32 - 2). repeat split; discriminate || reflexivity. Qed.
Lemma stored_header_is_read_witness : premises_of stored_header_is_read.
Proof. exists dirt, 65535, 513, 1027, 2049. repeat split; discriminate || reflexivity. Qed.
Lemma slots_are_found_witness : premises_of slots_are_found.
Proof. exists 264, 792. repeat split; discriminate || reflexivity. Qed.

(* What all theorems on valid pages have in common; the algorithm is one of ours where it is free. *)
Ltac small a := exists a, true, small_page, dirt.
Ltac is_small := split; [exact small_is_page|]; try exact small_is_valid; try (split; [exact small_is_valid|]).

Lemma page_is_repaired_witness : premises_of page_is_repaired.
Proof. small Lines. is_small. now exists 0. Qed.
Lemma refused_is_unchanged_witness : premises_of refused_is_unchanged.
Proof. exists Lines, true, (fun _ => 0), dirt. intros [[H _] _]. vm_compute in H. destruct H as [H _]. now apply H. Qed.
Lemma stays_in_bounds_witness : premises_of stays_in_bounds.
Proof. exists Lines, true, small_page. is_small. Qed.
Lemma kernels_agree_on_order_witness : premises_of kernels_agree_on_order.
Proof. exists Avx2, small_page. is_small. Qed.
Lemma choice_suits_witness : premises_of choice_suits.
Proof. exists Avx512, small_page. is_small. Qed.
Lemma neon_runs_are_presorted_witness : premises_of neon_runs_are_presorted.
Proof.
  exists long_runs. split; [apply page_with_is_page|]. split; [apply check_iff_valid; vm_compute; reflexivity|].
  vm_compute. reflexivity.
Qed.
Lemma nothing_to_move_witness : premises_of nothing_to_move.
Proof.
  exists Avx512, (page_with 8160 8192 [word first_tuple]). split; [apply page_with_is_page|].
  split; [apply check_iff_valid; vm_compute; reflexivity|reflexivity].
Qed.
Lemma kernels_repair_witness : premises_of kernels_repair.
Proof. exists Scalar, true, small_page, dirt. is_small. Qed.
Lemma small_has_a_header : header_ok small_page.
Proof. destruct small_is_valid as [H _]. exact H. Qed.
Lemma check_in_order_is_the_check_witness : premises_of check_in_order_is_the_check.
Proof. exists small_page. exact small_is_page. Qed.
Lemma scan_refuses_the_same_witness : premises_of scan_refuses_the_same.
Proof. exists small_page. split; [exact small_is_page|exact small_has_a_header]. Qed.
Lemma scan_finds_witness : premises_of scan_finds.
Proof. exists small_page. split; [exact small_is_page|exact small_has_a_header]. Qed.
Lemma scan_stays_in_its_arrays_witness : premises_of scan_stays_in_its_arrays.
Proof. exists small_page. split; [exact small_is_page|exact small_has_a_header]. Qed.
Lemma scan_knows_the_line_pointers_witness : premises_of scan_knows_the_line_pointers.
Proof. exists small_page. is_small. Qed.
Lemma scalar_repairs_witness : premises_of scalar_repairs.
Proof. exists true, small_page, dirt. exact small_is_page. Qed.
Lemma small_has_room : pd_lower small_page + 4 * ScanAvx2.LANES <= BLCKSZ.
Proof. vm_compute. discriminate. Qed.
Lemma avx2_scan_finds_witness : premises_of avx2_scan_finds.
Proof. exists small_page, dirty_arrays. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_room]. Qed.
Lemma avx2_scan_refuses_the_same_witness : premises_of avx2_scan_refuses_the_same.
Proof. exists small_page, dirty_arrays. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_room]. Qed.
Lemma avx2_scan_knows_the_line_pointers_witness : premises_of avx2_scan_knows_the_line_pointers.
Proof. exists small_page, dirty_arrays. is_small. split; [exact small_has_room|]. exists 0%nat. vm_compute. auto. Qed.
Lemma avx2_repairs_witness : premises_of avx2_repairs.
Proof. exists true, small_page, dirty_arrays, dirt. exact small_is_page. Qed.
Lemma small_has_room_512 : pd_lower small_page + 4 * ScanAvx512.LANES <= BLCKSZ.
Proof. vm_compute. discriminate. Qed.
Lemma avx512_scan_finds_witness : premises_of avx512_scan_finds.
Proof. exists small_page, dirty_scan. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_room_512]. Qed.
Lemma avx512_scan_finds_the_runs_witness : premises_of avx512_scan_finds_the_runs.
Proof.
  exists small_page, dirty_scan. split; [exact small_is_page|]. split; [exact small_has_a_header|]. split; [exact small_has_room_512|].
  destruct small_is_valid as (_ & I & _ & T & _). split; [exact I|exact T].
Qed.
Lemma avx512_scan_refuses_the_same_witness : premises_of avx512_scan_refuses_the_same.
Proof. exists small_page, dirty_scan. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_room_512]. Qed.
Lemma avx512_scan_knows_the_line_pointers_witness : premises_of avx512_scan_knows_the_line_pointers.
Proof. exists small_page, dirty_scan. is_small. split; [exact small_has_room_512|]. exists 0%nat. vm_compute. auto. Qed.

Lemma small_has_few : pd_lower small_page + 4 * ScanAvx512Few.LANES <= BLCKSZ /\ nline small_page <= ScanAvx512Few.FEW.
Proof. split; vm_compute; discriminate. Qed.
Lemma avx512_few_scan_finds_witness : premises_of avx512_few_scan_finds.
Proof. exists small_page, dirty_vectors. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_few]. Qed.
Lemma avx512_few_scan_knows_the_moves_witness : premises_of avx512_few_scan_knows_the_moves.
Proof.
  exists small_page, dirty_vectors. split; [exact small_is_page|]. destruct small_is_valid as (H & I & _ & T & _). split; [exact H|].
  destruct small_has_few as [R F]. split; [exact R|]. split; [exact F|]. split; [exact I|exact T].
Qed.
Lemma avx512_few_scan_refuses_the_same_witness : premises_of avx512_few_scan_refuses_the_same.
Proof. exists small_page, dirty_vectors. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_few]. Qed.
Lemma avx512_few_scan_knows_the_line_pointers_witness : premises_of avx512_few_scan_knows_the_line_pointers.
Proof.
  exists small_page, dirty_vectors. is_small. destruct small_has_few as [R F]. split; [exact R|]. split; [exact F|].
  exists 0%nat. vm_compute. auto.
Qed.
Lemma mark_live_counts_witness : premises_of ScanAvx512MarkLive.mark_live_counts.
Proof. exists (fun _ => 0), (fun _ => 0), 0%nat, 0%nat. apply Nat.ltb_lt. reflexivity. Qed.
Lemma avx512_repairs_witness : premises_of avx512_repairs.
Proof. exists true, small_page, dirty_vectors, dirty_scan, dirt. exact small_is_page. Qed.
Lemma small_has_room_neon : pd_lower small_page + 4 * ScanNeon.LANES <= BLCKSZ.
Proof. vm_compute. discriminate. Qed.
Lemma neon_scan_finds_witness : premises_of neon_scan_finds.
Proof. exists small_page, dirty_neon. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_room_neon]. Qed.
Lemma neon_scan_finds_the_moves_witness : premises_of neon_scan_finds_the_moves.
Proof.
  exists small_page, dirty_neon. split; [exact small_is_page|]. split; [exact small_has_a_header|]. split; [exact small_has_room_neon|].
  destruct small_is_valid as (_ & I & _ & T & _). split; [exact I|exact T].
Qed.
Lemma neon_scan_refuses_the_same_witness : premises_of neon_scan_refuses_the_same.
Proof. exists small_page, dirty_neon. split; [exact small_is_page|]. split; [exact small_has_a_header|exact small_has_room_neon]. Qed.
Lemma neon_scan_knows_the_line_pointers_witness : premises_of neon_scan_knows_the_line_pointers.
Proof. exists small_page, dirty_neon. is_small. split; [exact small_has_room_neon|]. exists 0%nat. vm_compute. auto. Qed.
Lemma neon_repairs_witness : premises_of neon_repairs.
Proof. exists true, small_page, dirty_neon, dirt. exact small_is_page. Qed.
Lemma contents_preserved_witness : premises_of contents_preserved.
Proof. small Lines. exists last_tuple. is_small. rewrite small_items. right. now left. Qed.
Lemma other_line_pointers_witness : premises_of other_line_pointers.
Proof. small Lines. exists 2. is_small. split; [vm_compute; split; discriminate|reflexivity]. Qed.
Lemma rest_untouched_witness : premises_of rest_untouched.
Proof. small Lines. exists 16. is_small. lia. Qed.
Lemma header_after_witness : premises_of header_after.
Proof. small Lines. is_small. Qed.
Lemma truncation_cuts_unused_witness : premises_of truncation_cuts_unused.
Proof. exists Lines, small_page, dirt. is_small. Qed.
Lemma flags_after_witness : premises_of flags_after.
Proof. small Lines. is_small. Qed.
Lemma packed_and_disjoint_witness : premises_of packed_and_disjoint.
Proof. small Lines. exists 8191. is_small. vm_compute. split; [discriminate|reflexivity]. Qed.
Lemma tuples_inside_witness : premises_of tuples_inside.
Proof. exact contents_preserved_witness. Qed.
Lemma pd_upper_maximal_witness : premises_of pd_upper_maximal.
Proof.
  small Lines. exists off, 8120. is_small. split; [vm_compute; discriminate|]. rewrite small_items. split.
  - intros it [<-|[<-|[]]]; vm_compute; split; discriminate.
  - intros it it' [<-|[<-|[]]] [<-|[<-|[]]] N; try easy; [right|left]; vm_compute; discriminate.
Qed.
Lemma algorithms_agree_on_contents_witness : premises_of algorithms_agree_on_contents.
Proof. exists PG13, Lines, true, false, small_page, dirt, (fun _ => 0), last_tuple. is_small. rewrite small_items. right. now left. Qed.
Lemma ours_equals_pg14_witness : premises_of ours_equals_pg14.
Proof. small Lines. exists (fun _ => 0). is_small. split; [reflexivity|]. now exists 0. Qed.
Lemma valid_afterwards_witness : premises_of valid_afterwards.
Proof. small Lines. is_small. Qed.
Lemma presorted_afterwards_witness : premises_of presorted_afterwards.
Proof. small Lines. is_small. reflexivity. Qed.
Lemma pg13_keeps_physical_order_witness : premises_of pg13_keeps_physical_order.
Proof.
  exists true, small_page, dirt, first_tuple, last_tuple. is_small. rewrite small_items.
  split; [now left|]. split; [right; now left|]. reflexivity.
Qed.
Lemma pg13_by_any_sort_witness : premises_of pg13_by_any_sort.
Proof.
  exists small_page, (sort (items small_page)), (sort (items small_page)). is_small. split; [exact (proj1 small_is_valid)|].
  assert (S : Sorted.Sorted by_falling_offset_then_index (sort (items small_page))) by apply sort_in_order, numbers_rise.
  split; (split; [apply Permutation.Permutation_sym, sort_permutation|]); [now apply in_order_falls|exact S].
Qed.
Lemma pg13_repairs_witness : premises_of pg13_repairs.
Proof.
  exists small_page, (sort (items small_page)), (sort (items small_page)), true. split; [exact small_is_page|].
  assert (S : Sorted.Sorted by_falling_offset_then_index (sort (items small_page))) by apply sort_in_order, numbers_rise.
  split; (split; [apply Permutation.Permutation_sym, sort_permutation|]); [now apply in_order_falls|exact S].
Qed.
Lemma pg14_repairs_witness : premises_of pg14_repairs.
Proof. exists small_page, true. exact small_is_page. Qed.
Lemma others_order_by_item_witness : premises_of others_order_by_item.
Proof.
  small Lines. exists first_tuple, last_tuple. is_small. rewrite small_items.
  split; [reflexivity|]. split; [now left|]. split; [right; now left|]. reflexivity.
Qed.
Lemma idempotent_witness : premises_of idempotent.
Proof. small Lines. exists (fun _ => 0). is_small. now exists 0. Qed.
Lemma append_keeps_presorted_witness : premises_of append_keeps_presorted.
Proof.
  exists small_page, small_page_and_one. is_small. split; [|split; reflexivity].
  repeat split. intros n [L U]. change (nline small_page) with 3 in U.
  assert (N : n = 1 \/ n = 2 \/ n = 3) by lia. destruct N as [-> |[-> | ->]]; reflexivity.
Qed.
