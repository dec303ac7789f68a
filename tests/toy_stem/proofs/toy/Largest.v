(* SPDX-License-Identifier: PostgreSQL *)
(** * That the algorithm is right *)
From Coq Require Import ZArith List Lia.
From Pgquern.toy Require Import Algorithms.
Import ListNotations.
Local Open Scope Z_scope.

Lemma larger_of_two a b : (larger a b = a \/ larger a b = b) /\ a <= larger a b /\ b <= larger a b.
Proof. unfold larger. destruct (Z.ltb_spec a b); lia. Qed.

Lemma fold_larger rest : forall first,
  In (fold_left larger rest first) (first :: rest) /\
  forall x, In x (first :: rest) -> x <= fold_left larger rest first.
Proof.
  induction rest as [|y rest IH]; intros first; cbn [fold_left].
  - split; [now left|]. intros x [<-|[]]. lia.
  - destruct (IH (larger first y)) as [I U], (larger_of_two first y) as (E & F & Y).
    assert (H : larger first y <= fold_left larger rest (larger first y)) by (apply U; now left). split.
    + destruct I as [I|I]; [|now do 2 right]. rewrite <- I. destruct E as [->| ->]; [now left|now right; left].
    + intros x [<-|[<-|X]]; [lia|lia|apply U; now right].
Qed.

(** What the algorithm returns is in the array, and no number of the array is larger. *)
Theorem largest_is_the_largest array m :
  largest array = Some m -> In m array /\ forall x, In x array -> x <= m.
Proof. destruct array; [discriminate|]. intros [= <-]. apply fold_larger. Qed.

(** Only an empty array has no largest number. *)
Theorem only_an_empty_array_has_none array : largest array = None <-> array = [].
Proof. destruct array; cbn; split; congruence. Qed.
