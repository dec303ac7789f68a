(* SPDX-License-Identifier: PostgreSQL *)
(** * Runs of small schedulers to compute with: those of Witness.v *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec.

(** Two classes with room for two and for three requests, the second with a warp; two or three in flight. *)
Definition small_classes : list class := [Class 2 0 2; Class 1 5 3].
Definition small : state := make small_classes (Limits 2 2 3 2 10).

(** Requests of different sizes, more than there is room for, of a class that is not there, and of forbidden sizes; some go, and
    some are completed, also more than are in flight. *)
Definition run : list op :=
  [Submit 0 0 1; Submit 0 0 2; Submit 0 0 3; Submit 1 0 5; Next; Submit 1 0 4; Submit 1 4 2; Submit 1 0 7; Submit 2 0 1; Submit 0 0 8; Submit 0 0 0;
   Next; Next; Complete 0 3; Complete 1 30; Complete 1 4; Next; Submit 0 0 (max_bytes + 1); Submit 0 0 max_bytes; Next;
   Complete 1 1; Next; Complete 0 1; Next; Next; Complete 0 50; Complete 0 50; Submit 0 0 9; Submit 1 0 3; Submit 1 0 2; Cancel 1 1;
   Cancel 0 0; Cancel 0 0; Cancel 1 5; Submit 1 0 8; Cancel 1 2; Next].

(** ** Tags that start again *)

(** Classes of shares 1, 10, 9973 and 9967: the first one's factor is nearly the largest that is accepted. It sends five requests
    of the largest size. After the fourth, at which tags start again, two classes may send one of 1 byte each instead. *)
Definition steep_classes : list class := map (fun n => Class n 0 8) [1; 10; 9973; 9967].
Definition steep : state := make steep_classes (Limits 1 1 1 1 1).
Definition alone : list op := List.concat (repeat [Submit 0 0 max_bytes; Next; Complete 0 1] 5).
