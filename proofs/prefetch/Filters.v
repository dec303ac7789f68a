(* SPDX-License-Identifier: PostgreSQL *)
(** * The filters of recovery prefetching: which blocks may not exist yet

    XLogPrefetcherAddFilter, ...CompleteFilters and ...IsFiltered of xlogprefetcher.c. The filters are a list in the order
    in which they were set, or set again, the oldest first. *)
From Pgquern.common Require Import Integers.

(** A RelFileLocator. *)
Record relation := Relation { tablespace : Z; database : Z; number : Z }.

Definition relation_eqb (a b : relation) : bool :=
  (tablespace a =? tablespace b) && (database a =? database b) && (number a =? number b).

(** In a filter's key, every tablespace and every relation of a database. *)
Definition whole_database (d : Z) : relation := Relation 0 d 0.

(** No block of [key] from [from_block] on exists before the record at [until] is replayed. *)
Record hiding := Hiding { key : relation; until : Z; from_block : Z }.

Definition has_key (k : relation) (f : hiding) : bool := relation_eqb (key f) k.
Definition find_filter (k : relation) (fs : list hiding) : option hiding := find (has_key k) fs.

(** A second reason for the same key extends the time and lowers the block. *)
Definition lowest (b : Z) (found : option hiding) : Z := match found with Some f => Z.min (from_block f) b | None => b end.
Definition add_filter (k : relation) (b lsn : Z) (fs : list hiding) : list hiding :=
  filter (fun f => negb (has_key k f)) fs ++ [Hiding k lsn (lowest b (find_filter k fs))].

(** The oldest leave, up to one whose record has not been replayed. *)
Fixpoint complete_filters (replayed_up_to : Z) (fs : list hiding) : list hiding :=
  match fs with
  | [] => []
  | f :: rest => if until f <? replayed_up_to then complete_filters replayed_up_to rest else fs
  end.

Definition hides (fs : list hiding) (r : relation) (b : Z) : bool :=
  match find_filter r fs with Some f => from_block f <=? b | None => false end ||
  match find_filter (whole_database (database r)) fs with Some _ => true | None => false end.
