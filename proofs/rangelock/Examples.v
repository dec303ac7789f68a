(* SPDX-License-Identifier: PostgreSQL *)
(** * Locks that calls have made, to compute with: those of Witness.v *)
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock.

(** ** Locks that calls have made *)

Inductive call := Ask (from to : Z) (mode : bool) | Try (from to : Z) (mode : bool) | Leave (number : Z).

Definition done (s : lock) (c : call) : lock :=
  match c with
  | Ask from to mode => fst (ask s from to mode)
  | Try from to mode => fst (try_ask s from to mode)
  | Leave number =>
      match find (fun r => ticket r =? number) (requests s) with Some x => fst (leave s x) | None => s end
  end.

(** Readers and writers that overlap, touch, and lie in one another; tries that go and that do not. Some leave, held or waiting. *)
Definition calls : list call :=
  [Ask 0 4 true; Ask 2 6 true; Ask 5 9 false; Try 4 6 false; Try 9 12 true; Ask 5 9 false; Ask 0 12 true; Ask 12 14 true;
   Ask 14 15 true; Ask 16 17 true; Ask 18 19 false; Leave 1; Leave 3; Ask 3 20 false; Try 30 40 false; Try 35 36 true; Leave 2;
   Leave 7; Leave 8; Ask 12 13 false; Leave 6; Leave 9; Leave 15; Try 0 50 true].

(** Readers in an order that rotates the tree, the longest range among them below its top; a writer waits for that one. *)
Definition rotating : list call :=
  [Ask 50 51 false; Ask 30 31 false; Ask 60 61 false; Ask 20 55 false; Ask 40 41 false; Ask 45 46 false; Ask 53 54 true;
   Try 52 53 true; Leave 4; Leave 1].

Definition after_each (cs : list call) : list lock :=
  map (fun n => fold_left done (firstn n cs) new_lock) (seq 0 (S (List.length cs))).

Definition locks : list lock := after_each rotating ++ after_each calls.
