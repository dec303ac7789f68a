(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    XID arrays across the wrap, and for each what a theorem assumes and what it concludes, both as a boolean.  Witness.v proves
    that all of them are true.  `make prove-mutants` computes them with a definition changed: where a hypothesis is true and its
    conclusion false, the theorem is false. *)
From Coq Require Import String ZArith List Bool.
From stdpp Require Import base option zmap.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory Spec Algorithms.
Import ListNotations.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

(** ** Arrays *)

(** 200 XIDs around the wrap, in raw order: 100 from 3 on, then 100 up to 2^32 - 7. *)
Definition wrapped : list Z :=
  map (fun k => 3 + 7 * Z.of_nat k) (seq 0 100) ++ map (fun k => 2 ^ 32 - 700 + 7 * Z.of_nat k) (seq 0 100).
(** As they were assigned. *)
Definition assigned : list Z := map (fun k => 2 ^ 32 - 700 + 7 * Z.of_nat k) (seq 0 100) ++ map (fun k => 3 + 7 * Z.of_nat k) (seq 0 100).
(** Around the other end of the arc of an xmin near 0. *)
Definition halfway : list Z := map (fun k => 2 ^ 31 - 50 + Z.of_nat k) (seq 0 100).
(** FullTransactionIds of two epochs. *)
Definition full : list Z := map (fun k => 7 * 2 ^ 32 - 640 + 7 * Z.of_nat k) (seq 0 200).
Definition xmins : list Z := [3; 4; 10; 52; 53; 350; 696; 2 ^ 31; 2 ^ 31 + 10; 2 ^ 32 - 1; 2 ^ 32 - 7; 2 ^ 32 - 300; 2 ^ 32 - 700].

(** Commits: in order, in disorder, with duplicates, larger than a chunk, and partly there already. *)
Definition batches : list (list Z) :=
  [[5]; [3; 10; 17]; [4; 5; 6; 2 ^ 32 - 1]; [2 ^ 32 - 2; 900; 5; 5; 2 ^ 32 - 2; 901]; [];
   map (fun k => 3 + (Z.of_nat k * 37) mod 211) (seq 0 150); map (fun k => 1000 + Z.of_nat k) (seq 0 70) ++ [999]].

(** ** What is assumed, decided *)
Fixpoint sorted_b (l : list Z) : bool :=
  match l with x :: (y :: _) as r => (x <? y) && sorted_b r | _ => true end.
Definition normal_b (x : Z) : bool := (3 <=? x) && (x <? 2 ^ 32).

(** ** The instances *)
Fixpoint same (l l' : list Z) : bool :=
  match l, l' with [], [] => true | x :: l, x' :: l' => (x =? x') && same l l' | _, _ => false end.

Definition laid (l : list Z) : memory := allocate ∅ 0 l.

(** That a program ends with [want] at the front of its array. *)
Definition leaves (r : option (Z * memory)) (want : list Z) : bool :=
  match r with
  | Some (n, a) => (n =? zlength want) && match read a 0 (Z.to_nat n) with Some l => same l want | None => false end
  | None => false
  end.

(** The sorted union of two lists, by insertion. *)
Fixpoint add (x : Z) (l : list Z) : list Z :=
  match l with [] => [x] | y :: r => if x <? y then x :: l else if x =? y then l else y :: add x r end.
Definition union (l batch : list Z) : list Z := fold_right add l batch.

Definition purges (l : list Z) (xmin : Z) : list instance :=
  [Instance "purge_inplace_is_filter" (forallb normal_b l) (leaves (purge_inplace (zlength l) xmin (laid l)) (kept xmin l));
   Instance "purge_branchless_is_filter" (forallb normal_b l) (leaves (purge_branchless (zlength l) xmin (laid l)) (kept xmin l))].
Definition purges_sorted (l : list Z) (xmin : Z) : instance :=
  Instance "purge_sorted_is_filter" (sorted_b l && forallb normal_b l && normal_b xmin)
    (leaves (purge_sorted (zlength l) xmin (laid l)) (kept xmin l)).
Definition purges_full (l : list Z) (xmin : Z) : instance :=
  Instance "purge_full_is_filter" (sorted_b l) (leaves (purge_full (zlength l) xmin (laid l)) (full_kept xmin l)).
Definition inserts (l batch : list Z) : instance :=
  Instance "insert_is_union" (sorted_b l && forallb normal_b batch)
    (leaves (insert (zlength l) (zlength batch) (laid batch) (laid (l ++ map (fun _ => 0) batch))) (union l batch)).

(** A nearly full array, entries cleared here and there, one more behind the head that must not be looked at. *)
Definition flags : list Z := map (fun k => if Nat.eqb (Nat.modulo k 3) 1 then 0 else 1) (seq 0 200).
Definition compresses (program : Z -> Z -> memory -> memory -> option (Z * memory * memory)) (name : string) : instance :=
  Instance name (Nat.eqb (length assigned) (length flags))
    (let r := program 2 202 (laid (8 :: 9 :: assigned ++ [7])) (laid (1 :: 1 :: flags ++ [1])) in
     let want := live assigned flags in
     match r with
     | Some (n, xids, valid) =>
         leaves (Some (n, xids)) want &&
         match read valid 0 (Z.to_nat n) with Some v => forallb (Z.eqb 1) v | None => false end
     | None => false
     end).

Definition finds (xid place : Z) : instance :=
  Instance "find_finds" true (match find 0 200 xid (laid assigned) with Some i => i =? place | None => false end).

Definition instances : list instance :=
  flat_map (fun xmin => purges wrapped xmin ++ [purges_sorted wrapped xmin; purges_sorted halfway xmin;
                                                purges_sorted [3] xmin; purges_sorted [2 ^ 32 - 1] xmin]) xmins ++
  map (purges_full full) [3; 7 * 2 ^ 32 - 640; 7 * 2 ^ 32; 7 * 2 ^ 32 + 300; 8 * 2 ^ 32] ++
  flat_map (fun batch => [inserts wrapped batch; inserts [] batch]) batches ++
  [compresses compress "compress_keeps_live"; finds (2 ^ 32 - 700) 0; finds 3 100; finds 696 199; finds 4 200; finds 697 200].
