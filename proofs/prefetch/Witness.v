(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: rings and runs that fulfil the hypotheses of the theorems

    A theorem whose hypotheses nothing fulfils says nothing.  The rings are those of Examples.v. *)
From Coq Require Import ZArith Bool List Lia Sorted.
From Pgquern.common Require Import Premises Parts.
From Pgquern.prefetch Require Import Ring RingFacts Schedule ScheduleFacts Prefetcher Worlds Advised Examples.
Import ListNotations.

Lemma consistent_b_sound r : consistent_b r = true -> consistent r.
Proof.
  unfold consistent_b. rewrite !andb_true_iff, !Nat.ltb_lt, !Nat.eqb_eq, Nat.leb_le.
  intros ((((H & T) & I) & C) & M). now constructor.
Qed.

Lemma ascending_b_sound l : ascending_b l = true -> ascending l.
Proof.
  intros H. apply Sorted_StronglySorted; [intros a b c; lia|].
  induction l as [|a [|b l] IH]; [repeat constructor..|]. cbn [ascending_b] in H. apply andb_true_iff in H as [L H].
  constructor; [now apply IH|]. constructor. now apply Z.leb_le.
Qed.

(** A run with three I/Os allowed reaches a ring whose head has wrapped: it is consistent, its LSNs ascend, three
    I/Os are in flight, and completing record 11 frees an entry and keeps others, so that a look is allowed again. *)
Theorem wrapped_ring_is_consistent : let r := fst (after look_mixed 3 11) in let freed := lrq_complete 12 r in
  consistent r /\ ascending (entries r) /\ head r < tail r /\ inflight r = 3 /\ may_look freed = true /\
  0 < length (entries freed) < length (entries r).
Proof.
  cbv zeta. split; [apply consistent_b_sound; vm_compute; reflexivity|].
  split; [apply ascending_b_sound; vm_compute; reflexivity|]. vm_compute. lia.
Qed.

(** The callback that answers for mixed records goes forward. *)
Theorem mixed_goes_forward : forward look_mixed Z.of_nat.
Proof. intros n. unfold look_mixed. destruct (n mod 3 =? 0); lia. Qed.

(** It has a run in which three I/Os are allowed, and three advised blocks are unreplayed: the bound is reached. *)
Theorem bound_is_reached : exists r s, run look_mixed Z.of_nat 3 12 0 r s 1 /\ length (unreplayed 1 (snd s)) = 3.
Proof.
  eexists _, _. split.
  - apply run_step with (lsn := 0%Z); [apply run_step with (lsn := 0%Z)|].
    + apply run_start.
    + cbn. lia.
    + vm_compute. split; discriminate.
  - vm_compute. reflexivity.
Qed.

(** The reads of the small world are a run: none is refused. *)
Theorem few_reads_are_a_run i : i <= 8 -> replays always_there never_cached small_read_ahead 8 false 3 0 (few_reads i).
Proof.
  induction i as [|i IH]; intros L; [apply replays_start|].
  change (few_reads (S i)) with (snd (read_record always_there never_cached small_read_ahead 8 false (few_reads i))).
  apply replays_read; [apply IH; lia|]. do 8 (destruct i as [|i]; [vm_compute; reflexivity|]). lia.
Qed.

(** ** The premises of each theorem, met together *)

(** What the small world's log has at a place, the newest at 0. *)
Definition few_log : list told := history (few_reads 7).
Definition at_place (i : nat) : told := nth i few_log NoMore.
Definition later (i : nat) : list told := firstn i few_log.
Definition earlier (i : nat) : list told := skipn (S i) few_log.
Definition its_reference (i : nat) : reference := match at_place i with Judged _ r _ _ => r | _ => block_of 0 0 end.

Definition wrapped_ring : ring := fst (after look_mixed 3 11).

Lemma ring_never_overflows_witness : premises_of ring_never_overflows.
Proof. exists (lrq_complete 12 wrapped_ring). split; [apply consistent_b_sound; vm_compute; reflexivity|reflexivity]. Qed.
Lemma look_ahead_keeps_consistent_witness : premises_of (@look_ahead_keeps_consistent).
Proof. exists nat, look_mixed, 12, (lrq_complete 12 wrapped_ring). apply consistent_b_sound. vm_compute. reflexivity. Qed.
Lemma complete_frees_exactly_witness : premises_of complete_frees_exactly.
Proof. exists 12%Z, wrapped_ring. split; apply wrapped_ring_is_consistent. Qed.
Lemma eager_has_exactly_N_witness : premises_of eager_has_exactly_N.
Proof. exists 3, 100, 5. lia. Qed.
Lemma at_most_N_unreplayed_witness : premises_of (@at_most_N_unreplayed).
Proof.
  destruct bound_is_reached as (r & s & R & _). exists nat, look_mixed, Z.of_nat, 3, 12, 0, r, s, 1%Z.
  split; [exact mixed_goes_forward|exact R].
Qed.

Lemma a_few_read i : read_record always_there never_cached small_read_ahead 8 false (few_reads i) =
  (fst (read_record always_there never_cached small_read_ahead 8 false (few_reads i)), few_reads (S i)).
Proof. exact (surjective_pairing (read_record always_there never_cached small_read_ahead 8 false (few_reads i))). Qed.

Lemma few_reads_are_a_run_witness : premises_of few_reads_are_a_run.
Proof. exists 7. lia. Qed.

Local Ltac few := exists small_world, always_there, never_cached, small_read_ahead, 8, false, 3, 0%Z.
Local Ltac few_reads_run := apply few_reads_are_a_run; lia.

Lemma verdicts_are_the_history_s_witness : premises_of (@verdicts_are_the_history_s).
Proof.
  few. exists (few_reads 7), (later 4), 60%Z, (its_reference 4), Prefetch, (Buffer (Some 8%Z) None), (earlier 4).
  split; [few_reads_run|vm_compute; reflexivity].
Qed.
Lemma each_reference_is_judged_once_witness : premises_of (@each_reference_is_judged_once).
Proof.
  few. exists (few_reads 7), (later 6), (nth 4 few_records (record_of 0)), [block_of 10 6], (earlier 6).
  split; [few_reads_run|vm_compute; reflexivity].
Qed.
Lemma forgotten_only_at_a_limit_witness : premises_of (@forgotten_only_at_a_limit).
Proof.
  few. exists (few_reads 4), (nth 4 few_records (record_of 0)), (few_reads 5), [block_of 10 6], (skipn 1 (history (few_reads 5))).
  split; [few_reads_run|]. split; [vm_compute; reflexivity|]. split; [|vm_compute; reflexivity].
  rewrite (a_few_read 4). apply (f_equal (fun given => (given, few_reads 5))). vm_compute. reflexivity.
Qed.
Lemma advised_unless_excused_witness : premises_of (@advised_unless_excused).
Proof.
  few. exists (few_reads 7), (later 4), 60%Z, (its_reference 4), Prefetch, (Some 8%Z), (earlier 4).
  split; [few_reads_run|]. split; [reflexivity|vm_compute; reflexivity].
Qed.
(** The block of the relation that record 20 creates is advised for record 60. *)
Lemma advised_only_what_is_there_witness : inner_premises_of (@advised_only_what_is_there).
Proof.
  few. exists (few_reads 7), (later 4), 60%Z, (its_reference 4), (Buffer (Some 8%Z) None), (earlier 4).
  split; [few_reads_run|]. split; [vm_compute; reflexivity|]. exists (rel (its_reference 4)), 0%Z, 20%Z.
  split; [vm_compute; repeat first [left; reflexivity|right]|]. left. split; [reflexivity|vm_compute; discriminate].
Qed.
(** Block 0 of relation 10, for records 50 and 10. *)
Lemma advised_once_within_the_window_witness : premises_of (@advised_once_within_the_window).
Proof.
  few. exists (few_reads 7), (later 13), 50%Z, (its_reference 13), (Buffer (Some 8%Z) None),
    (firstn 12 (earlier 13)), 10%Z, (its_reference 26), (Buffer (Some 8%Z) None), (earlier 26).
  split; [few_reads_run|]. split; [vm_compute; reflexivity|]. split; vm_compute; reflexivity.
Qed.
Lemma hidden_for_a_reason_witness : premises_of (@hidden_for_a_reason).
Proof.
  few. exists (few_reads 7), (later 20), 30%Z, (its_reference 20), (earlier 20).
  split; [few_reads_run|vm_compute; reflexivity].
Qed.
Lemma never_ends_early_witness : premises_of (@never_ends_early).
Proof.
  few. exists (few_reads 6), (few_reads 7). split; [few_reads_run|]. split; [lia|]. split; [vm_compute; reflexivity|].
  rewrite (a_few_read 6). apply (f_equal (fun given => (given, few_reads 7))). vm_compute. reflexivity.
Qed.
Lemma effects_are_noted_witness : premises_of (@effects_are_noted).
Proof.
  exists small_world, small_read_ahead, 8, (Settings 3 0 0), (walked (start 3 0 (Small (skipn 1 few_records) 1))).
  exists (snd (decode small_read_ahead 8 (Settings 3 0 0) (walked (start 3 0 (Small (skipn 1 few_records) 1))))).
  split; [discriminate|vm_compute; reflexivity].
Qed.
Lemma nothing_is_decoded_beyond_a_timeline_witness : premises_of (@nothing_is_decoded_beyond_a_timeline).
Proof.
  pose (shutdown := Record_ 10 20 [] Timeline). pose (w := walked (start 3 0 (Small [shutdown; record_of 3] 1))).
  exists small_world, small_read_ahead, 8, (Settings 3 0 0), w, (snd (decode small_read_ahead 8 (Settings 3 0 0) w)).
  exists shutdown, (Settings 3 0 10). split; [discriminate|]. split; [vm_compute; reflexivity|]. split; [vm_compute; reflexivity|].
  split; [reflexivity|discriminate].
Qed.
Lemma missing_blocks_are_noted_witness : premises_of (@missing_blocks_are_noted).
Proof.
  exists small_world, always_there, never_cached, false, 60%Z, (block_of 10 9), (Judging [] [] (Small [] 1) []).
  exact I.
Qed.
Lemma begin_read_gives_its_record_witness : premises_of (@begin_read_gives_its_record).
Proof.
  exists small_world, always_there, never_cached, small_read_ahead, 8, false, stopping, last_record.
  exists (snd (small_read_ahead 0 false (world (judged (walked stopping))))).
  split; [lia|]. split; [vm_compute; reflexivity|]. cbn. lia.
Qed.
