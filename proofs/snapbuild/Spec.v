(* SPDX-License-Identifier: PostgreSQL *)
(** * What the snapshot builder's kernels are for, said with lists *)
From Coq Require Import Sorted.
From Pgquern.common Require Import Integers Xid.

(** SnapBuildPurgeOlderTxn keeps an XID unless it precedes xmin. *)
Definition keeps (xmin x : Z) : bool := negb (precedes x xmin).
Definition kept (xmin : Z) (l : list Z) : list Z := List.filter (keeps xmin) l.

(** The same for FullTransactionIds. *)
Definition full_keeps (xmin x : Z) : bool := negb (full_precedes x xmin).
Definition full_kept (xmin : Z) (l : list Z) : list Z := List.filter (full_keeps xmin) l.

(** The arc [xmin, xmin + 2^31) of the ring. *)
Definition in_arc (xmin x : Z) : bool := distance xmin x <? HALF.

(** Sorted in raw order (xidComparator's), without duplicates; the order of FullTransactionIds is the same. *)
Definition sorted_unique (l : list Z) : Prop := StronglySorted Z.lt l.

(** [u] is the sorted union of [a] and [b]. *)
Definition sorted_union (a b u : list Z) : Prop :=
  sorted_unique u /\ forall x, In x u <-> In x a \/ In x b.

(** The entries of KnownAssignedXids whose valid flag (0 or 1) is set. *)
Fixpoint live (xids flags : list Z) : list Z :=
  match xids, flags with
  | x :: xids, v :: flags => if v =? 0 then live xids flags else x :: live xids flags
  | _, _ => []
  end.
