(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: locks that can be reached, on which the theorems say something *)
From Coq Require Import ZArith Bool List Lia.
From Pgquern.rangelock Require Import Tree Lock.
Import ListNotations.
Local Open Scope Z_scope.

(** A writer of bytes 0 to 3, a writer of 2 to 5, a reader of 5 to 8. *)
Definition first := Request 1 0 4 true.
Definition second := Request 2 2 6 true.
Definition third := Request 3 5 9 false.

Definition three : lock := fst (ask (fst (ask (fst (ask new_lock 0 4 true)) 2 6 true)) 5 9 false).

(** Three requests, of which two wait, make a lock that can be reached. *)
Theorem three_can_be_reached : reachable three /\ requests three = [third; first; second].
Proof. split; [repeat constructor|vm_compute; reflexivity]. Qed.

(** The third conflicts with nothing that is held, and still waits: the second, which waits, came first. *)
Theorem the_third_waits_for_the_second :
  held three = [first] /\ waiting three = [third; second] /\ conflict first third = false /\
  snd (leave three first) = [2] /\ snd (leave three second) = [3].
Proof. vm_compute. auto. Qed.

Definition crowd : lock :=
  fold_left (fun s i => fst (ask s (Z.of_nat i) (Z.of_nat i + 1) false)) (seq 0 100) (fst (ask new_lock 0 100 true)).

Lemma crowd_can_be_reached l : forall s, reachable s ->
  reachable (fold_left (fun s i => fst (ask s (Z.of_nat i) (Z.of_nat i + 1) false)) l s).
Proof. induction l as [|i l IH]; intros s R; [exact R|]. cbn [fold_left]. apply IH. now apply after_ask. Qed.

(** A hundred readers of one byte each wait for a writer of all; when it leaves, all go. *)
Theorem a_hundred_go_at_once : reachable crowd /\ length (waiting crowd) = 100%nat /\
  length (snd (leave crowd (Request 1 0 100 true))) = 100%nat /\ height (shareds crowd) = 7.
Proof. split; [apply crowd_can_be_reached, after_ask, at_the_start|]. vm_compute. auto. Qed.
