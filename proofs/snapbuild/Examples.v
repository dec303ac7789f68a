(* SPDX-License-Identifier: PostgreSQL *)
(** * XID arrays across the wrap to compute with: those of Witness.v *)
From Coq Require Import Bool ZArith List.
From stdpp Require Import base option zmap.
From Pgquern.snapbuild Require Import Memory.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Arrays *)

(** 200 XIDs around the wrap, in raw order: 100 from 3 on, then 100 up to 2^32 - 7. *)
Definition wrapped : list Z :=
  map (fun k => 3 + 7 * Z.of_nat k) (seq 0 100) ++ map (fun k => 2 ^ 32 - 700 + 7 * Z.of_nat k) (seq 0 100).
(** As they were assigned. *)
Definition assigned : list Z := map (fun k => 2 ^ 32 - 700 + 7 * Z.of_nat k) (seq 0 100) ++ map (fun k => 3 + 7 * Z.of_nat k) (seq 0 100).
(** FullTransactionIds of two epochs. *)
Definition full : list Z := map (fun k => 7 * 2 ^ 32 - 640 + 7 * Z.of_nat k) (seq 0 200).

(** ** What is assumed, decided *)
Fixpoint sorted_b (l : list Z) : bool :=
  match l with x :: (y :: _) as r => (x <? y) && sorted_b r | _ => true end.
Definition normal_b (x : Z) : bool := (3 <=? x) && (x <? 2 ^ 32).

(** ** The instances *)

Definition laid (l : list Z) : memory := allocate ∅ 0 l.

(** A nearly full array, entries cleared here and there, one more behind the head that must not be looked at. *)
Definition flags : list Z := map (fun k => if Nat.eqb (Nat.modulo k 3) 1 then 0 else 1) (seq 0 200).
