(* SPDX-License-Identifier: PostgreSQL *)
(** * What vac_update_datfrozenxid computes, said with lists

    Upstream: src/backend/commands/vacuum.c, vac_update_datfrozenxid.  An id is an XID or a MultiXactId, a [Z] with [valid] its range.  0 is invalid
    in both sorts.  Places count from 1. *)
From Pgquern.common Require Import Integers Xid.

Inductive sort := Xids | Multis.

(** TransactionIdPrecedes, or MultiXactIdPrecedes, which has no permanent values. *)
Definition before (s : sort) (a b : Z) : bool :=
  match s with Xids => precedes a b | Multis => to_int32 (a - b) <? 0 end.

(** The least id that is neither invalid nor permanent. *)
Definition first_normal (s : sort) : Z := match s with Xids => 3 | Multis => 1 end.
Definition usual (s : sort) (x : Z) : Prop := first_normal s <= x < RING.

(** An id lies in the future if the next one to be assigned precedes it. *)
Definition in_future (s : sort) (sane x : Z) : bool := negb (x =? 0) && before s sane x.

(** What a call may be given: the next id to be assigned, and a start of the minimum that does not lie in the future. *)
Definition bounds (s : sort) (start sane : Z) : Prop :=
  usual s start /\ usual s sane /\ before s sane start = false.

(** Shall [new] replace the stored value [dat]? *)
Definition need_update (s : sort) (dat new sane : Z) : bool :=
  negb (dat =? new) && (before s dat new || before s sane dat).

Inductive answer := Oldest (x : Z) | Future (place : Z).

(** Upstream's loop: invalid values are skipped, the first one in the future ends it. *)
Fixpoint scan (s : sort) (sane : Z) (l : list Z) (place oldest : Z) : answer :=
  match l with
  | [] => Oldest oldest
  | x :: l =>
      if x =? 0 then scan s sane l (place + 1) oldest
      else if before s sane x then Future place
      else scan s sane l (place + 1) (if before s x oldest then x else oldest)
  end.

(** The loop without the look at the future. *)
Fixpoint unchecked (s : sort) (l : list Z) (oldest : Z) : Z :=
  match l with
  | [] => oldest
  | x :: l => unchecked s l (if negb (x =? 0) && before s x oldest then x else oldest)
  end.

(** ** The whole scan of pg_class *)

Record row := Row { holds : bool; relfrozenxid : Z; relminmxid : Z }.
(** [holds]: relkind is one of those that hold ids. *)

Inductive rows_answer := OldestOf (xid multi : Z) | FutureXid (place : Z) | FutureMulti (place : Z).

Fixpoint scan_rows (xid_sane multi_sane : Z) (rows : list row) (place xid multi : Z) : rows_answer :=
  match rows with
  | [] => OldestOf xid multi
  | r :: rows =>
      if negb (holds r) then scan_rows xid_sane multi_sane rows (place + 1) xid multi
      else match scan Xids xid_sane [relfrozenxid r] place xid with
           | Future place => FutureXid place
           | Oldest xid =>
               match scan Multis multi_sane [relminmxid r] place multi with
               | Future place => FutureMulti place
               | Oldest multi => scan_rows xid_sane multi_sane rows (place + 1) xid multi
               end
           end
  end.
