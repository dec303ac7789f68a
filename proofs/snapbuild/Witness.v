(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: arrays that fulfil the hypotheses of the theorems, and on which something is to be done

    A theorem whose hypotheses nothing fulfils says nothing.  The arrays are those of Examples.v. *)
From Coq Require Import ZArith Lia List Bool Sorted.
From stdpp Require Import base option list.
From Pgquern.common Require Import Premises Parts Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Examples.
From Pgquern.snapbuild Require Purge UpstreamFacts GroupsFacts KeepRegisters KeepRegistersFacts Vectors Search Arc SortedFacts PurgeSorted PurgeFull Merge SortBatch Insert KnownAssigned.
From Pgquern.snapbuild Require QuicksortSorts SideBySideFacts SortAllFacts Catchange Visibility Entry.
From Pgquern.instructions Require Program ProgramFacts.
From Pgquern.snapbuild Require Generated GeneratedFacts GeneratedAvx2 GeneratedNeon SlidesFacts.
Local Open Scope Z_scope.

Lemma sorted_b_sound l : sorted_b l = true -> sorted_unique l.
Proof.
  unfold sorted_unique. induction l as [|x [|y l] IH]; intros H; [constructor|repeat constructor|].
  cbn [sorted_b] in H. apply andb_true_iff in H as [L H]. apply Z.ltb_lt in L. specialize (IH H).
  constructor; [exact IH|]. apply StronglySorted_inv in IH as [_ F]. constructor; [exact L|].
  eapply Forall_impl; [exact F|]. simpl. lia.
Qed.

Lemma normal_b_sound l : forallb normal_b l = true -> Forall normal l.
Proof.
  rewrite forallb_forall, List.Forall_forall. intros H x I. specialize (H x I). unfold normal_b in H.
  apply andb_true_iff in H as [A B]. apply Z.leb_le in A. apply Z.ltb_lt in B. unfold normal, FIRST_NORMAL, RING. lia.
Qed.

(** 200 XIDs across the wrap meet the hypotheses of the purges, and an xmin among them keeps some and drops others. *)
Theorem wrapped_array_is_purged :
  sorted_unique wrapped /\ Forall normal wrapped /\ length wrapped = 200%nat /\ array (laid wrapped) 0 wrapped /\
  exists xmin, normal xmin /\ length (kept xmin wrapped) = 150%nat.
Proof.
  split; [now apply sorted_b_sound|]. split; [now apply normal_b_sound|]. split; [reflexivity|].
  split; [apply allocate_array|]. exists (2 ^ 32 - 350). split; [unfold normal, FIRST_NORMAL, RING; lia|reflexivity].
Qed.

(** These 200 XIDs lie within half the ring. *)
Theorem wrapped_array_is_within_half_ring : within_half_ring (fun x => In x wrapped).
Proof.
  exists (2 ^ 32 - 700). intros x X.
  assert (H : forallb (fun x => (0 <=? x) && (x <? RING) && (distance (2 ^ 32 - 700) x <? HALF)) wrapped = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in H. specialize (H x X). rewrite !andb_true_iff, Z.leb_le, !Z.ltb_lt in H. unfold valid. tauto.
Qed.

(** FullTransactionIds of two epochs meet the hypotheses of their purge, and an xmin among them drops some. *)
Theorem full_array_is_purged :
  sorted_unique full /\ Forall (fun x => normal (xid_of x)) (full_kept (7 * 2 ^ 32 + 3) full) /\
  (length (full_kept (7 * 2 ^ 32 + 3) full) = 108)%nat /\ length full = 200%nat.
Proof.
  split; [now apply sorted_b_sound|]. split; [|split; reflexivity].
  assert (H : forallb normal_b (map xid_of (full_kept (7 * 2 ^ 32 + 3) full)) = true) by (vm_compute; reflexivity).
  apply normal_b_sound in H. now rewrite Forall_map in H.
Qed.

(** ** The premises of each theorem, met together *)

(* Some of the 200 XIDs are kept, some not. *)
Definition xmin : Z := 2 ^ 32 - 350.

Lemma xmin_is_normal : normal xmin.
Proof. split; discriminate || reflexivity. Qed.

Lemma laid_array l : array (laid l) 0 l.
Proof. apply allocate_array. Qed.

Lemma wrapped_is_sorted : sorted_unique wrapped.
Proof. apply wrapped_array_is_purged. Qed.

Lemma wrapped_is_normal : Forall normal wrapped.
Proof. apply wrapped_array_is_purged. Qed.

Lemma wrapped_is_valid : Forall valid wrapped.
Proof. eapply Forall_impl; [exact wrapped_is_normal|]. unfold normal, valid, FIRST_NORMAL. lia. Qed.

Lemma purge_inplace_is_filter_witness : premises_of Purge.purge_inplace_is_filter.
Proof. exists wrapped, xmin, (laid wrapped). apply laid_array. Qed.
Lemma purge_branchless_is_filter_witness : premises_of Purge.purge_branchless_is_filter.
Proof. exact purge_inplace_is_filter_witness. Qed.
Lemma purge_scalar_is_filter_witness : premises_of GroupsFacts.purge_scalar_is_filter.
Proof. exact purge_inplace_is_filter_witness. Qed.
Lemma purge_upstream_is_filter_witness : premises_of UpstreamFacts.purge_upstream_is_filter.
Proof. exists wrapped, wrapped, xmin, (laid wrapped), (laid wrapped). repeat split; apply laid_array. Qed.
(* A batch of normal XIDs, and one with a permanent XID. *)
Ltac by_result T := edestruct T as (n & m & E & _); [..|exists n, m; split; [exact E|reflexivity]]; try apply laid_array; reflexivity.
Lemma append_adds_a_commit_witness : inner_premises_of UpstreamFacts.append_adds_a_commit.
Proof.
  split; [exists wrapped, [5; 6], [0; 0], [7], (laid [5; 6])|exists wrapped, [5; 2], [0; 0], [7], (laid [5; 2])];
    exists (laid (wrapped ++ [0; 0] ++ [7])); (split; [apply laid_array|]); (split; [reflexivity|]); (split; [apply laid_array|]);
    by_result UpstreamFacts.append_adds_a_commit.
Qed.
Lemma append_few_adds_a_commit_witness : inner_premises_of UpstreamFacts.append_few_adds_a_commit.
Proof.
  split; [exists wrapped, [5; 6], [0; 0], [7], (laid [5; 6])|exists wrapped, [5; 2], [0; 0], [7], (laid [5; 2])];
    exists (laid (wrapped ++ [0; 0] ++ [7])); (split; [apply laid_array|]); (split; [reflexivity|]); (split; [apply laid_array|]);
    by_result UpstreamFacts.append_few_adds_a_commit.
Qed.
Lemma snapshot_sorted_copies_witness : premises_of UpstreamFacts.snapshot_sorted_copies.
Proof.
  exists wrapped, (rev wrapped), (laid wrapped), (laid (rev wrapped)). split; [apply laid_array|].
  split; [apply laid_array|apply rev_length].
Qed.
Lemma quicksort_sorts_witness : premises_of QuicksortSorts.quicksort_sorts.
Proof. exists (fun xid => xid), wrapped, (laid wrapped), 0. apply laid_array. Qed.
Lemma snapshot_upstream_sorts_witness : premises_of QuicksortSorts.snapshot_upstream_sorts.
Proof. exact snapshot_sorted_copies_witness. Qed.
Lemma purge_inplace_one_array_witness : premises_of Purge.purge_inplace_one_array.
Proof. exists wrapped, xmin, (laid wrapped), 0, 0, (laid wrapped). split; [apply laid_array|constructor]. Qed.
Lemma simd_purges_are_filters_witness : inner_premises_of KeepRegistersFacts.simd_purges_are_filters.
Proof.
  exists (KeepRegisters.compress_zeros xmin), wrapped, xmin, (laid wrapped).
  split; [apply KeepRegistersFacts.compress_zeros_packs|]. split; [apply laid_array|]. eexists. now left.
Qed.
Lemma one_search_is_wrong_witness : inner_premises_of PurgeSorted.one_search_is_wrong.
Proof.
  destruct PurgeSorted.one_search_is_wrong as [(l & x & a & a' & S & N & H) (k & y & b & b' & T & M & G)].
  split; [exists l, x, a, a'|exists k, y, b, b']; repeat split; try apply H; try apply G; auto.
  - destruct l as [|z l]; [now destruct H as (_ & _ & _ & _ & D)|]. exists z. now left.
  - destruct k as [|z k]; [now destruct G as (_ & _ & _ & _ & D)|]. exists z. now left.
Qed.
Lemma catchange_incomplete_witness : inner_premises_of Catchange.catchange_incomplete.
Proof.
  destruct Catchange.catchange_incomplete as (x & l & S & N & X & W & H). destruct l as [|z l]; [now destruct H as (_ & _ & _ & D)|].
  assert (V : valid x) by (unfold normal, valid, FIRST_NORMAL in *; lia). split; exists x, (z :: l).
  - split; [exact S|]. split; [auto|]. exists z. now left.
  - split; [exact S|]. split; [exact N|]. split; [exact X|]. split; [exact H|]. exists z, x. split; [now left|].
    exact (proj2 (is_normal_spec x V) X).
Qed.

(* About xmin, where some are kept and some are not. *)
Lemma some_are_normal n m : Forall normal (firstn n (skipn m wrapped)).
Proof. apply Forall_take, Forall_drop. exact wrapped_is_normal. Qed.

Lemma avx512_step_is_its_instructions_witness : premises_of Vectors.avx512_step_is_its_instructions.
Proof. exists xmin, (firstn 16 (skipn 140 wrapped)). split; [exact xmin_is_normal|]. split; [apply some_are_normal|reflexivity]. Qed.
Lemma avx512_last_step_is_its_instructions_witness : premises_of Vectors.avx512_last_step_is_its_instructions.
Proof.
  exists xmin, (firstn 7 (skipn 146 wrapped)). split; [exact xmin_is_normal|]. split; [apply some_are_normal|]. vm_compute. lia.
Qed.
Lemma avx2_step_is_its_instructions_witness : premises_of Vectors.avx2_step_is_its_instructions.
Proof. exists xmin, (firstn 8 (skipn 146 wrapped)). split; [exact xmin_is_normal|]. split; [apply some_are_normal|reflexivity]. Qed.

(* Where 15 belongs in 3, 10, 17, 20. *)
Definition below : list Z := [3; 10].
Definition rest : list Z := [17; 20].

Lemma all_below : Forall (fun v => v < 15) below.
Proof. repeat constructor. Qed.

Lemma rest_above : Forall (fun v => 15 <= v) rest.
Proof. repeat constructor; discriminate. Qed.

Lemma bisect_spec_witness : premises_of Search.bisect_spec.
Proof.
  exists (fun v => v <? 15), (laid (below ++ rest)), 0, below, rest. split; [apply laid_array|].
  do 2 (split; [repeat constructor|]). exists 0, 4. cbn. lia.
Qed.
Lemma lower_bound_spec_witness : premises_of Search.lower_bound_spec.
Proof.
  exists (laid (below ++ rest)), 15, 0, below, rest. split; [apply laid_array|]. split; [exact all_below|].
  split; [exact rest_above|]. exists 0, 4. cbn. lia.
Qed.
Lemma lower_bound_near_spec_witness : premises_of Search.lower_bound_near_spec.
Proof.
  exists (laid (below ++ rest)), 15, 0, below, rest. split; [apply laid_array|]. split; [exact all_below|].
  split; [exact rest_above|]. exists 0, 4, 1. cbn. lia.
Qed.
Lemma gallop_spec_witness : premises_of Search.gallop_spec.
Proof.
  exists (laid (below ++ rest)), 15, below, rest, 3. split; [apply laid_array|]. split; [exact all_below|].
  split; [exact rest_above|]. cbn. lia.
Qed.
Lemma gallop_near_witness : premises_of Search.gallop_near.
Proof.
  exists (laid (below ++ rest)), 15, below, rest, 4. split; [apply laid_array|]. split; [exact all_below|].
  split; [exact rest_above|reflexivity].
Qed.
Lemma search_chunk_spec_witness : premises_of Search.search_chunk_spec.
Proof.
  exists (laid below), (laid ([1] ++ rest ++ [9])), below, [1], rest, [9]. do 2 (split; [now apply sorted_b_sound|]).
  do 2 (split; [apply laid_array|]). split; discriminate || reflexivity.
Qed.

Lemma keeps_is_arc_witness : premises_of Arc.keeps_is_arc.
Proof. exists xmin, 3. split; [exact xmin_is_normal|]. split; discriminate || reflexivity. Qed.
Lemma arc_in_raw_order_witness : premises_of Arc.arc_in_raw_order.
Proof. exact keeps_is_arc_witness. Qed.
Lemma kept_is_interval_or_ends_witness : premises_of Arc.kept_is_interval_or_ends.
Proof. exists wrapped, xmin. split; [exact wrapped_is_sorted|]. split; [exact wrapped_is_normal|exact xmin_is_normal]. Qed.
Lemma purge_sorted_is_filter_witness : premises_of PurgeSorted.purge_sorted_is_filter.
Proof.
  exists wrapped, xmin, (laid wrapped). split; [exact wrapped_is_sorted|]. split; [exact wrapped_is_normal|].
  split; [exact xmin_is_normal|apply laid_array].
Qed.
Lemma kept_sorted_unique_witness : premises_of PurgeSorted.kept_sorted_unique.
Proof. exists wrapped, xmin. exact wrapped_is_sorted. Qed.

Definition full_xmin : Z := 7 * 2 ^ 32 + 3.

Lemma full_is_sorted : sorted_unique full.
Proof. apply full_array_is_purged. Qed.

Lemma purge_full_is_filter_witness : premises_of PurgeFull.purge_full_is_filter.
Proof. exists full, full_xmin, (laid full). split; [exact full_is_sorted|apply laid_array]. Qed.
Lemma purge_full_lazy_head_is_filter_witness : premises_of PurgeFull.purge_full_lazy_head_is_filter.
Proof.
  exists full, full_xmin, 5, (allocate base.empty 5 full). split; [discriminate|]. split; [exact full_is_sorted|apply allocate_array].
Qed.
Lemma full_keeps_agrees_witness : premises_of PurgeFull.full_keeps_agrees.
Proof. exists full_xmin, (7 * 2 ^ 32 - 640). repeat split; discriminate || reflexivity. Qed.
Lemma full_purge_refines_witness : premises_of PurgeFull.full_purge_refines.
Proof. exists [7 * 2 ^ 32 - 640; 7 * 2 ^ 32 + 60], full_xmin. repeat split; repeat constructor; discriminate || reflexivity. Qed.
Lemma snapshot_full_sorted_witness : premises_of PurgeFull.snapshot_full_sorted.
Proof.
  exists [7 * 2 ^ 32 - 640; 7 * 2 ^ 32 + 60], (laid [7 * 2 ^ 32 - 640; 7 * 2 ^ 32 + 60]). split; [now apply sorted_b_sound|].
  split; [apply laid_array|]. intros x y [<-|[<-|[]]] [<-|[<-|[]]]; reflexivity.
Qed.

Lemma union_of_three : sorted_union below [5] [3; 5; 10].
Proof. split; [now apply sorted_b_sound|]. intros x. cbn. tauto. Qed.

Lemma sorted_union_unique_witness : premises_of SortedFacts.sorted_union_unique.
Proof. exists below, [5], [3; 5; 10], [3; 5; 10]. split; exact union_of_three. Qed.
Lemma merge_batch_is_union_witness : premises_of Merge.merge_batch_is_union.
Proof.
  exists below, rest, [0; 0], (laid (below ++ [0; 0])), (laid rest). do 2 (split; [now apply sorted_b_sound|]).
  split; [apply laid_array|]. split; [reflexivity|apply laid_array].
Qed.
Lemma merge_batch_in_place_witness : premises_of Merge.merge_batch_in_place.
Proof.
  exists below, rest, [0; 0], (laid (below ++ [0; 0])), (laid rest), 2, 2, 2, base.empty, 0, (laid (below ++ [0; 0])), (laid rest).
  do 2 (split; [now apply sorted_b_sound|]). split; [apply laid_array|]. split; [reflexivity|]. split; [apply laid_array|].
  constructor.
Qed.

(* A batch as it comes: out of order, with a duplicate. *)
Definition batch : list Z := [2 ^ 32 - 2; 900; 5; 900].

Lemma batch_is_not_zero : Forall (fun x => x <> 0) batch.
Proof. repeat constructor; discriminate. Qed.

Lemma sort_chunk_sorts_witness : premises_of SortBatch.sort_chunk_sorts.
Proof. exists batch, (laid batch). split; [apply laid_array|exact batch_is_not_zero]. Qed.
Lemma sort_batch_sorts_witness : premises_of SortBatch.sort_batch_sorts.
Proof. exact sort_chunk_sorts_witness. Qed.
Lemma insert_is_union_witness : premises_of Insert.insert_is_union.
Proof.
  exists wrapped, batch, [0; 0; 0; 0], (laid (wrapped ++ [0; 0; 0; 0])), (laid batch). split; [exact wrapped_is_sorted|].
  split; [apply laid_array|]. split; [reflexivity|]. split; [apply laid_array|exact batch_is_not_zero].
Qed.
Lemma insert_sorted_is_union_witness : inner_premises_of SideBySideFacts.insert_sorted_is_union.
Proof.
  split; [exists wrapped, batch, [0; 0; 0; 0], (laid (wrapped ++ [0; 0; 0; 0])), (laid batch)|
          exists wrapped, [2], [0], (laid (wrapped ++ [0])), (laid [2])];
    (split; [exact wrapped_is_sorted|]); (split; [apply laid_array|]); (split; [reflexivity|]); (split; [apply laid_array|]).
  - destruct (SideBySideFacts.insert_sorted_is_union wrapped batch [0; 0; 0; 0] (laid (wrapped ++ [0; 0; 0; 0])) (laid batch)
      wrapped_is_sorted (laid_array _) eq_refl (laid_array _)) as (n & m & E & _). exists n, m. split; [exact E|reflexivity].
  - destruct (SideBySideFacts.insert_sorted_is_union wrapped [2] [0] (laid (wrapped ++ [0])) (laid [2])
      wrapped_is_sorted (laid_array _) eq_refl (laid_array _)) as (n & m & E & _). exists n, m. split; [exact E|reflexivity].
Qed.
Lemma insert_unsorted_is_union_witness : inner_premises_of SortAllFacts.insert_unsorted_is_union.
Proof.
  split; [exists (rev wrapped), batch, [0; 0; 0; 0], (laid (rev wrapped ++ [0; 0; 0; 0])), (laid batch)|
          exists (rev wrapped), [2], [0], (laid (rev wrapped ++ [0])), (laid [2])];
    (split; [apply laid_array|]); (split; [reflexivity|]); (split; [apply laid_array|]).
  - destruct (SortAllFacts.insert_unsorted_is_union (rev wrapped) batch [0; 0; 0; 0] (laid (rev wrapped ++ [0; 0; 0; 0])) (laid batch)
      (laid_array _) eq_refl (laid_array _)) as (n & m & E & _). exists n, m. split; [exact E|reflexivity].
  - destruct (SortAllFacts.insert_unsorted_is_union (rev wrapped) [2] [0] (laid (rev wrapped ++ [0])) (laid [2])
      (laid_array _) eq_refl (laid_array _)) as (n & m & E & _). exists n, m. split; [exact E|reflexivity].
Qed.

Lemma compress_keeps_live_witness : premises_of KnownAssigned.compress_keeps_live.
Proof.
  exists assigned, flags, [8; 9], [1; 1], (laid ([8; 9] ++ assigned)), (laid ([1; 1] ++ flags)).
  do 2 (split; [reflexivity|]). split; apply laid_array.
Qed.

Lemma compress_branchless_keeps_live_witness : premises_of KnownAssigned.compress_branchless_keeps_live.
Proof. exact compress_keeps_live_witness. Qed.

Lemma four_within_half_ring : within_half_ring (fun x => x = 4 \/ In x [2 ^ 32 - 1; 3; 4]).
Proof.
  exists (2 ^ 32 - 1). intros x X. assert (E : x = 2 ^ 32 - 1 \/ x = 3 \/ x = 4) by (cbn in X; intuition).
  destruct E as [-> |[-> | ->]]; repeat split; discriminate || reflexivity.
Qed.

Lemma find_finds_witness : premises_of KnownAssigned.find_finds.
Proof.
  exists [2 ^ 32 - 1; 3; 4], 4, 7, (allocate base.empty 7 [2 ^ 32 - 1; 3; 4]). split; [apply allocate_array|].
  split; [exact four_within_half_ring|]. repeat constructor.
Qed.

Lemma purge_changes_no_answer_witness : premises_of Visibility.purge_changes_no_answer.
Proof.
  exists (fun _ => true), (2 ^ 32 - 1), 3, 10, [5], below, 4. split; [|now right]. destruct four_within_half_ring as [from W].
  exists from. intros x X. apply W. cbn. intuition.
Qed.
Lemma tracked_stays_visible_witness : premises_of Visibility.tracked_stays_visible.
Proof. exists (fun _ => true), 3, 20, below, 10. split; [right; now left|]. split; reflexivity. Qed.
Lemma snapshot_search_is_membership_witness : premises_of Visibility.snapshot_search_is_membership.
Proof. exists wrapped, 10, (laid wrapped). split; [exact wrapped_is_sorted|apply laid_array]. Qed.

Lemma run_purge_correct_witness : premises_of Entry.run_purge_correct.
Proof. exists wrapped, 1. split; [exact wrapped_is_valid|]. split; discriminate || reflexivity. Qed.
Lemma run_purge_sorted_correct_witness : premises_of Entry.run_purge_sorted_correct.
Proof. exact run_purge_correct_witness. Qed.
Lemma run_compress_correct_witness : premises_of Entry.run_compress_correct.
Proof. now exists assigned, flags. Qed.

Lemma purge_program_is_filter_witness : premises_of GeneratedFacts.purge_program_is_filter.
Proof. exists 10, [None], [7], wrapped, []. split; [easy|exact wrapped_is_normal]. Qed.
Lemma compress_program_keeps_live_witness : premises_of GeneratedFacts.compress_program_keeps_live.
Proof.
  exists [], [7], [3; 4], (ProgramFacts.there [1; 0]), [1; 0], 12%nat. split; [reflexivity|]. split; [repeat constructor; easy|].
  right. exists [], []. split; reflexivity.
Qed.

Lemma purge_avx2_program_is_filter_witness : premises_of GeneratedAvx2.purge_avx2_program_is_filter.
Proof. exists 10, [None], [7], wrapped, []. split; [easy|exact wrapped_is_normal]. Qed.
Lemma compress_avx2_program_keeps_live_witness : premises_of GeneratedAvx2.compress_avx2_program_keeps_live.
Proof.
  exists [], [7], [3; 4], (ProgramFacts.there [1; 0]), [1; 0], 12%nat. split; [reflexivity|].
  split; [constructor; [now right|constructor; [now left|constructor]]|]. right. exists [], []. split; reflexivity.
Qed.

Lemma purge_neon_program_is_filter_witness : premises_of GeneratedNeon.purge_neon_program_is_filter.
Proof. exists 10, [None], [7], wrapped, []. split; [easy|exact wrapped_is_normal]. Qed.
Lemma compress_neon_program_keeps_live_witness : premises_of GeneratedNeon.compress_neon_program_keeps_live.
Proof.
  exists [], [7], [3; 4], (ProgramFacts.there [1; 0]), [1; 0], 12%nat. split; [reflexivity|].
  split; [constructor; [now right|constructor; [now left|constructor]]|]. right. exists [], []. split; reflexivity.
Qed.

Lemma keep_neon_is_filter_witness : premises_of SlidesFacts.keep_neon_is_filter.
Proof. exists 10, [None], [7], wrapped, []. split; [easy|exact wrapped_is_normal]. Qed.
Lemma keep_avx2_is_filter_witness : premises_of SlidesFacts.keep_avx2_is_filter.
Proof. exact keep_neon_is_filter_witness. Qed.
Lemma compress_neon_keeps_live_witness : premises_of SlidesFacts.compress_neon_keeps_live.
Proof.
  exists [], [7], [3; 4], (ProgramFacts.there [1; 0]), [1; 0], 12%nat. split; [reflexivity|].
  split; [constructor; [now right|constructor; [now left|constructor]]|]. right. exists [], []. split; reflexivity.
Qed.
Lemma compress_avx2_keeps_live_witness : premises_of SlidesFacts.compress_avx2_keeps_live.
Proof. exact compress_neon_keeps_live_witness. Qed.

(** In each program of which C is printed a name is declared once, so that no block hides another name. *)
Theorem printed_programs_declare_once :
  Program.declares_once Generated.purge_program = true /\ Program.declares_once Generated.compress_program = true /\
  Program.declares_once Generated.purge_avx2_program = true /\ Program.declares_once Generated.compress_avx2_program = true /\
  Program.declares_once Generated.purge_neon_program = true /\ Program.declares_once Generated.compress_neon_program = true.
Proof. repeat split; reflexivity. Qed.
