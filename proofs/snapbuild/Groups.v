(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge by groups of XIDs, as C has it without vectors

    purge_scalar.c.  Groups are looked at before they are moved, so some XIDs are loaded twice. *)
From Coq Require Import ZArith.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Algorithms Blocks.
Local Open Scope Z_scope.

Definition GROUP : Z := 16.

(** ** keep_scalar

    for (; end - from >= GROUP; from += GROUP) {
      if (all of the group stay) { group = from[0 .. GROUP); to[0 .. GROUP) = group; to += GROUP; }
      else if (not all of it go) for (i = 0; i < GROUP; i++) { x = from[i]; *to = x; to += !precedes(x, xmin); } }
    for (; from < end; from++) { x = *from; *to = x; to += !precedes(x, xmin); } *)
Definition group_test (end_ : Z) (s : state) : option bool := let '(from, to, a) := s in Some (GROUP <=? end_ - from).

Definition group_body (xmin : Z) (s : state) : option state :=
  let '(from, to, a) := s in
  looked_at ← loads a from (Z.to_nat GROUP);
  if all_stay xmin looked_at
  then group ← loads a from (Z.to_nat GROUP); a ← write a to group; Some (from + GROUP, to + GROUP, a)
  else if all_go xmin looked_at then Some (from + GROUP, to, a)
  else while (Z.to_nat GROUP) (slide_test (from + GROUP)) (branchless_body xmin) (from, to, a).

Definition keep_scalar (xmin end_ : Z) (s : state) : option state :=
  s ← while (Z.to_nat end_) (group_test end_) (group_body xmin) s;
  while (Z.to_nat end_) (slide_test end_) (branchless_body xmin) s.

(** A block is copied by 32 XIDs: four vectors of eight. *)
Definition purge_scalar (n xmin : Z) (a : memory) : option (Z * memory) :=
  purge_by_blocks 32 (keep_scalar xmin) n xmin a.
