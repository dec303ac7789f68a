(* SPDX-License-Identifier: PostgreSQL *)
(** * Arrays in memory, and loops over them, as C has them

    A memory maps addresses (array indices) to values; an address that isn't allocated has no value.  A program yields
    [None] as soon as it reads or writes an unallocated address, or when a loop runs longer than its bound: so "it
    yields [Some]" says that it stays in bounds and terminates.  [memmove] is that of the C library: as if by way of a
    copy. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option list zmap.
Local Open Scope Z_scope.

Notation zlength l := (Z.of_nat (length l)).

Definition memory : Type := Zmap Z.

Definition load (m : memory) (i : Z) : option Z := m !! i.

Definition store (m : memory) (i x : Z) : option memory :=
  match m !! i with Some _ => Some (<[i := x]> m) | None => None end.

(** The [n] cells from [i] on, in front of [l]; the last one is read first. *)
Fixpoint read_onto (m : memory) (i : Z) (n : nat) (l : list Z) : option (list Z) :=
  match n with
  | O => Some l
  | S n => x ← load m (i + Z.of_nat n); read_onto m i n (x :: l)
  end.

Definition read (m : memory) (i : Z) (n : nat) : option (list Z) := read_onto m i n [].

Fixpoint write (m : memory) (i : Z) (l : list Z) : option memory :=
  match l with
  | [] => Some m
  | x :: l => m ← store m i x; write m (i + 1) l
  end.

Definition memmove (m : memory) (dst src n : Z) : option memory :=
  l ← read m src (Z.to_nat n); write m dst l.

(** A fresh memory that holds [l] from address [i] on. *)
Fixpoint allocate (m : memory) (i : Z) (l : list Z) : memory :=
  match l with [] => m | x :: l => allocate (<[i := x]> m) (i + 1) l end.

(** [while (test) body], at most [fuel] times round. *)
Fixpoint while {S : Type} (fuel : nat) (test : S -> option bool) (body : S -> option S) (s : S) : option S :=
  again ← test s;
  if (again : bool)
  then match fuel with O => None | Datatypes.S fuel => s ← body s; while fuel test body s end
  else Some s.

(** The states that a loop passes through, seen before each test. *)
Inductive passes_through {S : Type} (test : S -> option bool) (body : S -> option S) : S -> S -> Prop :=
  | pass_here s : passes_through test body s s
  | pass_on s s1 s' : test s = Some true -> body s = Some s1 -> passes_through test body s1 s' ->
      passes_through test body s s'.

(** [l] stands in [m] from address [i] on. *)
Fixpoint array (m : memory) (i : Z) (l : list Z) : Prop :=
  match l with [] => True | x :: l => m !! i = Some x /\ array m (i + 1) l end.

(** Nothing but [lo, hi) differs between two memories. *)
Definition unchanged_outside (lo hi : Z) (m m' : memory) : Prop := forall i, ~ lo <= i < hi -> m' !! i = m !! i.

(** How often [n] can be halved down to nothing: the steps of a binary search in [n] elements. *)
Definition halvings (n : Z) : Z := if n <=? 0 then 0 else Z.log2 n + 1.
