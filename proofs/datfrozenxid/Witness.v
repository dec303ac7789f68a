(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: arrays and tables that fulfil the hypotheses of the theorems, and on which there is something to find *)
From Coq Require Import Permutation.
From Pgquern.common Require Import Integers Premises Parts Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Minimum Decision Kernels Rows LoadsFacts RowLoadsFacts
  Patch Call.
From Pgquern.datfrozenxid Require Import Examples.
From Pgquern.instructions Require Program.
From Pgquern.datfrozenxid Require Generated GeneratedFacts GeneratedNeon.

(** They meet the hypotheses of the scan; its minimum lies before the wrap, though plain comparison finds the number 4. *)
Theorem wrapped_array_has_a_minimum : bounds Xids 50 50 /\ Forall valid wrapped /\
  scan Xids 50 wrapped 1 50 = Oldest (2 ^ 32 - 59) /\ min_frozen avx512_age Xids 50 50 wrapped = Oldest (2 ^ 32 - 59) /\
  In 4 wrapped.
Proof.
  split; [repeat split; cbn; unfold RING; lia|]. split.
  - apply Forall_forall. intros x X.
    assert (H : forallb (fun x => (0 <=? x) && (x <? RING)) wrapped = true) by (vm_compute; reflexivity).
    rewrite forallb_forall in H. specialize (H x X). apply andb_true_iff in H as [A B].
    apply Z.leb_le in A. apply Z.ltb_lt in B. split; auto.
  - repeat split; try (vm_compute; reflexivity). vm_compute. tauto.
Qed.

(** With one value in the future behind them, each kernel gives up at its place. *)
Theorem future_value_is_found : forall find, In find [scalar_age; avx2_age; avx512_age] ->
  min_frozen find Xids 50 50 (wrapped ++ [51] ++ wrapped) = Future 100.
Proof. intros find [<-|[<-|[<-|[]]]]; vm_compute; reflexivity. Qed.

(** A permanent XID makes a chunk suspect, and is its minimum. *)
Theorem permanent_xid_is_found : min_frozen avx2_age Xids 50 50 (wrapped ++ [2] ++ wrapped) = Oldest 2.
Proof. vm_compute. reflexivity. Qed.

(** A table: rows of other kinds do not count, whatever they hold; the MultiXactId at fault is found. *)
Theorem rows_are_scanned :
  min_frozen_rows row_age 900 90 1000 100 [Row true 800 80; Row false 5000 5000; Row true 0 70; Row true 850 0] =
    OldestOf 800 70 /\
  min_frozen_rows row_age 900 90 1000 100 [Row true 800 80; Row false 5000 5000; Row true 1000 101; Row true 1001 0] =
    FutureMulti 3.
Proof. split; vm_compute; reflexivity. Qed.

(** A cache that lags behind what is stored, in XIDs and in MultiXactIds, meets all hypotheses of lagging_cache_skips_nothing:
    the lock is not taken. *)
Theorem lagging_cache_exists : exists c dat new sane,
  bounds Xids (xid new) (xid sane) /\ bounds Multis (multi new) (multi sane) /\
  survives Xids (xid sane) (xid c) /\ survives Xids (xid sane) (xid dat) /\ before Xids (xid c) (xid dat) = true /\
  before Xids (xid dat) (xid c) = false /\
  survives Multis (multi sane) (multi c) /\ survives Multis (multi sane) (multi dat) /\
  before Multis (multi c) (multi dat) = true /\ before Multis (multi dat) (multi c) = false /\
  locked (update_patched (Some c) dat new sane) = false.
Proof.
  exists (Pair 900 80), (Pair 950 90), (Pair 900 80), (Pair 1000 100).
  repeat split; cbn; try (unfold RING; lia); discriminate || reflexivity.
Qed.

(** Of two fields one may change while the other stays: datfrozenxid moves on, and datminmxid, newer already, does not. *)
Theorem one_field_changes_alone :
  update (Pair 900 95) (Pair 950 90) (Pair 1000 100) = Outcome (Pair 950 95) (Some (Pair 950 95)) true true /\
  bounds Xids 950 1000 /\ bounds Multis 90 100 /\ valid 900 /\ valid 95.
Proof. repeat split; cbn; try (unfold RING; lia); reflexivity. Qed.

(** ** The premises of each theorem, met together *)

Definition behind : list Z := wrapped ++ [51] ++ wrapped.

Lemma fifty_bounds s : bounds s 50 50.
Proof. destruct s; repeat split; discriminate || reflexivity. Qed.

Lemma fifty_is_usual s : usual s 50.
Proof. apply fifty_bounds. Qed.

Lemma wrapped_is_valid : Forall valid wrapped.
Proof. apply wrapped_array_has_a_minimum. Qed.

Lemma behind_is_valid : Forall valid behind.
Proof.
  apply Forall_app. split; [exact wrapped_is_valid|]. constructor; [split; discriminate || reflexivity|exact wrapped_is_valid].
Qed.

(* Before the wrap, and after it. *)
Lemma two_survive s : survives s 50 (2 ^ 32 - 59) /\ survives s 50 4.
Proof. destruct s; repeat split; reflexivity. Qed.

Lemma age_is_the_order_witness : premises_of age_is_the_order.
Proof. exists Xids, 50, (2 ^ 32 - 59), 4. split; [apply fifty_is_usual|apply two_survive]. Qed.
Lemma suspect_age_witness : premises_of suspect_age.
Proof. exists Xids, 50, 51. split; [apply fifty_is_usual|]. split; discriminate || reflexivity. Qed.
Lemma survivors_lie_within_half_a_ring_witness : inner_premises_of survivors_lie_within_half_a_ring.
Proof. exists 50. split; [exact (fifty_is_usual Xids)|]. exists 4, 4. split; [apply two_survive|reflexivity]. Qed.
Lemma scan_gives_up_at_the_first_in_the_future_witness : premises_of scan_gives_up_at_the_first_in_the_future.
Proof. exists Xids, 50, 50, behind, 100. split; [apply fifty_bounds|exact behind_is_valid]. Qed.
Lemma scan_finds_the_minimum_witness : inner_premises_of scan_finds_the_minimum.
Proof.
  exists Xids, 50, 50, wrapped, (2 ^ 32 - 59). split; [apply fifty_bounds|]. split; [exact wrapped_is_valid|].
  split; [apply wrapped_array_has_a_minimum|]. exists 4. split; [right; apply wrapped_array_has_a_minimum|discriminate].
Qed.
Lemma without_the_check_the_order_matters_witness : inner_premises_of without_the_check_the_order_matters.
Proof.
  destruct without_the_check_the_order_matters as (l & l' & start & P & _ & R). exists l, l', start.
  split; [exact P|]. split; [exact R|].
  destruct l as [|x l]; [apply Permutation_nil in P as ->; now destruct R as [_ []]|]. exists x. now left.
Qed.
Lemma fresh_cache_changes_only_the_lock_witness : inner_premises_of Patch.fresh_cache_changes_only_the_lock.
Proof. now exists (Pair 45 45), (Pair 50 50), (Pair 60 60). Qed.
Lemma minimum_does_not_depend_on_the_order_witness : premises_of minimum_does_not_depend_on_the_order.
Proof.
  exists Xids, 50, 50, wrapped, (rev wrapped), (2 ^ 32 - 59). split; [apply fifty_bounds|]. split; [exact wrapped_is_valid|].
  split; [apply Permutation_rev|apply wrapped_array_has_a_minimum].
Qed.
Lemma giving_up_does_not_depend_on_the_order_witness : premises_of giving_up_does_not_depend_on_the_order.
Proof.
  exists Xids, 50, 50, behind, (rev behind), 100. split; [apply fifty_bounds|]. split; [exact behind_is_valid|].
  split; [apply Permutation_rev|vm_compute; reflexivity].
Qed.
Lemma without_the_check_sound_ids_give_the_same_witness : premises_of without_the_check_sound_ids_give_the_same.
Proof. exists Xids, 50, wrapped, 1, 50, (2 ^ 32 - 59). apply wrapped_array_has_a_minimum. Qed.
Lemma kept_value_is_newer_witness : premises_of kept_value_is_newer.
Proof.
  exists Xids, 45, (2 ^ 32 - 59), 50. split; [repeat split; discriminate || reflexivity|].
  split; [split; discriminate || reflexivity|reflexivity].
Qed.
Lemma replaced_value_was_older_or_in_the_future_witness : premises_of replaced_value_was_older_or_in_the_future.
Proof. now exists Xids, (2 ^ 32 - 59), 45, 50. Qed.
Lemma stored_value_is_sane_afterwards_witness : premises_of stored_value_is_sane_afterwards.
Proof. exists Xids, 51, 50, 50. split; [apply fifty_bounds|]. split; discriminate || reflexivity. Qed.
Lemma one_comparison_decides_witness : premises_of one_comparison_decides.
Proof. exact stored_value_is_sane_afterwards_witness. Qed.
Lemma any_schedule_finds_the_greatest_age_witness : premises_of any_schedule_finds_the_greatest_age.
Proof.
  exists Xids, 50, 2%nat, 1%nat, [(0%nat, [4; 9]); (1%nat, [7; 0])], [4; 9; 7]. split; [apply fifty_is_usual|].
  split; [now left|]. split; [repeat constructor|]. split; intros x X; cbn in *; intuition.
Qed.
Lemma each_kernel_finds_the_greatest_age_witness : premises_of each_kernel_finds_the_greatest_age.
Proof. exists Xids, 50, wrapped. apply fifty_is_usual. Qed.
Lemma walk_by_age_is_the_scan_witness : premises_of walk_by_age_is_the_scan.
Proof.
  exists Xids, 50, 50, (fun c => greatest (map (age Xids 50) c)), [wrapped; [51]; wrapped]. split; [apply fifty_bounds|].
  split; [reflexivity|exact behind_is_valid].
Qed.
Lemma min_frozen_is_the_scan_witness : premises_of min_frozen_is_the_scan.
Proof. exists Xids, 50, 50, behind. split; [apply fifty_bounds|exact behind_is_valid]. Qed.

Definition three_rows : list row := [Row true 40 80; Row false 51 0; Row true (2 ^ 32 - 59) 90].

Lemma three_rows_are_valid : Forall valid_row three_rows.
Proof. repeat constructor; discriminate || reflexivity. Qed.

Lemma walk_over_rows_is_the_scan_witness : premises_of walk_over_rows_is_the_scan.
Proof.
  exists (fun s sane l => greatest (map (age s sane) l)), [three_rows; three_rows], 50, 50, 50, 50.
  do 2 (split; [apply fifty_bounds|]). split; [reflexivity|]. apply Forall_app. split; [exact three_rows_are_valid|].
  apply Forall_app. split; [exact three_rows_are_valid|constructor].
Qed.
Lemma min_frozen_rows_is_the_scan_witness : premises_of min_frozen_rows_is_the_scan.
Proof. exists 50, 50, 50, 50, three_rows. do 2 (split; [apply fifty_bounds|]). exact three_rows_are_valid. Qed.
Lemma a_call_stores_what_its_rows_say_witness : inner_premises_of a_call_stores_what_its_rows_say.
Proof.
  split; [exists [Row true 40 30], (Pair 50 50), (Pair 49 90), (Pair 50 50)
    |exists three_rows, (Pair 50 50), (Pair 49 90), (Pair 50 50)]; do 2 (split; [apply fifty_bounds|]).
  - split; repeat constructor; discriminate || reflexivity.
  - split; [exact three_rows_are_valid|]. intros F. inversion F as [|r rows [_ H] _]. now vm_compute in H.
Qed.
Lemma plain_kernels_are_the_scan_witness : premises_of plain_kernels_are_the_scan.
Proof. exact min_frozen_is_the_scan_witness. Qed.
Lemma plain_kernels_on_rows_are_the_scan_witness : premises_of plain_kernels_on_rows_are_the_scan.
Proof. exact min_frozen_rows_is_the_scan_witness. Qed.
Lemma registers_of_rows_are_the_scan_witness : premises_of registers_of_rows_are_the_scan.
Proof.
  exists [3; 2; 1; 0]%nat. destruct min_frozen_rows_is_the_scan_witness as (xid & multi & xs & ms & rows & B).
  exists xid, multi, xs, ms, rows. split; [|exact B]. apply (Permutation_sym (Permutation_rev [0; 1; 2; 3]%nat)).
Qed.
Lemma registers_of_two_rows_are_the_scan_witness : premises_of registers_of_two_rows_are_the_scan.
Proof.
  exists [1; 0]%nat. destruct min_frozen_rows_is_the_scan_witness as (xid & multi & xs & ms & rows & B).
  exists xid, multi, xs, ms, rows. split; [|exact B]. apply (Permutation_sym (Permutation_rev [0; 1]%nat)).
Qed.
Lemma lagging_cache_skips_nothing_witness : premises_of lagging_cache_skips_nothing.
Proof. destruct lagging_cache_exists as (c & dat & new & sane & H). exists c, dat, new, sane. tauto. Qed.
Lemma future_value_is_found_witness : premises_of future_value_is_found.
Proof. exists avx512_age. right. right. now left. Qed.
Lemma both_values_are_sane_afterwards_witness : premises_of both_values_are_sane_afterwards.
Proof.
  exists (Pair 50 50), (Pair 50 50), (Pair 50 50). do 2 (split; [apply fifty_bounds|]). vm_compute.
  repeat split; discriminate || reflexivity.
Qed.

Lemma greatest_program_finds_the_greatest_age_witness : premises_of GeneratedFacts.greatest_program_finds_the_greatest_age.
Proof. exists Xids, 50, [None], wrapped, []. split; [easy|]. exact (proj1 (proj2 wrapped_array_has_a_minimum)). Qed.
Lemma greatest_avx2_program_finds_the_greatest_age_witness :
  premises_of GeneratedFacts.greatest_avx2_program_finds_the_greatest_age.
Proof. exact greatest_program_finds_the_greatest_age_witness. Qed.

Lemma greatest_neon_program_finds_the_greatest_age_witness :
  premises_of GeneratedNeon.greatest_neon_program_finds_the_greatest_age.
Proof. exact greatest_program_finds_the_greatest_age_witness. Qed.

(** In each program of which C is printed a name is declared once, so that no block hides another name. *)
Theorem printed_programs_declare_once :
  Program.declares_once Generated.greatest_program = true /\ Program.declares_once Generated.greatest_avx2_program = true /\
  Program.declares_once Generated.greatest_neon_program = true.
Proof. repeat split. Qed.
