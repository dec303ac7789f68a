(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: rings and runs that fulfil the hypotheses of the theorems

    A theorem whose hypotheses nothing fulfils says nothing.  The rings are those of Instances.v. *)
From Coq Require Import ZArith Bool List Lia Sorted.
From Pgquern.common Require Import Premises.
From Pgquern.prefetch Require Import Ring RingFacts Schedule ScheduleFacts Instances.
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

(** On these instances the theorems' hypotheses are true, and so are their conclusions: both were computed. *)
Theorem instances_hold : Forall (fun i => hypothesis i = true /\ conclusion i = true) instances.
Proof.
  assert (H : forallb holds instances = true) by vm_cast_no_check (eq_refl true).
  rewrite forallb_forall in H. apply Forall_forall. intros i I. now apply andb_true_iff, H.
Qed.

(** ** The premises of each theorem, met together *)

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
