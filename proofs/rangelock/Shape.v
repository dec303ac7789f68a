(* SPDX-License-Identifier: PostgreSQL *)
(** * What is said of the shape of a tree *)
From Coq Require Import ZArith.
From Pgquern.rangelock Require Import Tree.
Local Open Scope Z_scope.

(** Each node knows its height, and the heights of its children differ by one at most. *)
Fixpoint balanced (t : tree) : Prop :=
  match t with
  | Leaf => True
  | Node l _ r h _ =>
      balanced l /\ balanced r /\ h = 1 + Z.max (height l) (height r) /\ -1 <= height l - height r <= 1
  end.

(** How many ranges are in a tree. *)
Definition size (t : tree) : Z := Z.of_nat (length (elements t)).

(** How many steps the longest way down has. *)
Fixpoint depth (t : tree) : Z := match t with Leaf => 0 | Node l _ r _ _ => 1 + Z.max (depth l) (depth r) end.

(** Fibonacci's numbers. *)
Fixpoint fib_pair (n : nat) : Z * Z := match n with O => (0, 1) | S n => let '(a, b) := fib_pair n in (b, a + b) end.
Definition fib (n : nat) : Z := fst (fib_pair n).
