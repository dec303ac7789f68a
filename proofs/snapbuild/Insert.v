(* SPDX-License-Identifier: PostgreSQL *)
(** * An insert is the sorted union *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms SortBatch Merge.
Local Open Scope Z_scope.

(** An insert turns a sorted array without duplicates, in place, into its sorted union with a commit's XIDs. These may
    have any order; none of them may be 0. *)
Theorem insert_is_union : forall l batch space a b, sorted_unique l -> array a 0 (l ++ space) ->
  length space = length batch -> array b 0 batch -> Forall (fun x => x <> 0) batch ->
  exists u a', insert (zlength l) (zlength batch) b a = Some (zlength u, a') /\ sorted_union l batch u /\
    array a' 0 u /\ unchanged_outside 0 (zlength l + zlength batch) a a'.
Proof.
  intros l batch space a b S A LS B N. unfold insert.
  destruct (sort_batch_sorts batch b B N) as (ub & b' & E & SU & In' & B' & L & U). rewrite E. cbn [mbind option_bind].
  destruct (cut_at space (length ub)) as (s1 & s2 & -> & L1 & L2); [lia|].
  rewrite app_assoc in A. apply array_app in A. destruct A as [A _].
  destruct (merge_batch_is_union l ub s1 a b') as (u & stale & a' & M & [Su Iu] & A' & _ & U'); auto.
  apply array_app in A'. destruct A' as [A' _]. rewrite M. exists u, a'. split; [auto|]. split.
  - split; [auto|]. intros x. now rewrite Iu, In'.
  - split; [auto|]. intros k K. apply U'. lia.
Qed.
