(* SPDX-License-Identifier: PostgreSQL *)
(** * Witness: an array on which the theorem's hypothesis holds *)
From Coq Require Import ZArith List.
From Pgquern.common Require Import Parts.
From Pgquern.toy Require Import Algorithms Largest.
Import ListNotations.
Local Open Scope Z_scope.

(** Three numbers, the largest of them in the middle. *)
Theorem three_numbers_have_a_largest : largest [3; 2 ^ 32 - 1; 5] = Some (2 ^ 32 - 1).
Proof. reflexivity. Qed.

Lemma largest_is_the_largest_witness : inner_premises_of largest_is_the_largest.
Proof. exists [3; 2 ^ 32 - 1; 5], (2 ^ 32 - 1). split; [exact three_numbers_have_a_largest|]. exists 3. now left. Qed.
