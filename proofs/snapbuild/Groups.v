(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge by groups of XIDs, and by blocks of long arrays, as C has it without vectors

    purge_scalar.c and blocks.h.  A state is where the next XID is read, where the next survivor goes, and the array.  Groups
    and blocks are looked at before they are moved, so some XIDs are loaded twice. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Spec Algorithms.
Local Open Scope Z_scope.

Definition GROUP : Z := 16.
Definition BLOCK : Z := 256.
Definition SPAN : Z := 1024.
Definition LONG_ARRAY : Z := 4096.

(** [n] cells from [i] on, the first one first *)
Fixpoint loads (a : memory) (i : Z) (n : nat) : option (list Z) :=
  match n with
  | O => Some []
  | S n => x ← load a i; rest ← loads a (i + 1) n; Some (x :: rest)
  end.

Definition all_stay (xmin : Z) (l : list Z) : bool := forallb (keeps xmin) l.
Definition all_go (xmin : Z) (l : list Z) : bool := forallb (fun x => negb (keeps xmin x)) l.

Definition state : Type := Z * Z * memory.

(** ** purge_scalar.c, keep_scalar

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

(** ** blocks.h, keep_blocks

    for (stay = go = true; from < end; from = next) {
      for (; stay && end - from >= BLOCK && all of the block stay; from += BLOCK, to += BLOCK)
        if (to != from) copy_block(to, from);
      while (go && end - from >= BLOCK && all of the block go) from += BLOCK;
      next = end - from > SPAN ? from + SPAN : end;
      begin = to; to = keep(to, from, next); stay = to - begin == SPAN; go = to == begin; }

    copy_block loads 32 XIDs before it stores them. *)
Definition PIECE : Z := 32.
Fixpoint copy_pieces (a : memory) (to from : Z) (pieces : nat) : option memory :=
  match pieces with
  | O => Some a
  | S pieces => l ← loads a from (Z.to_nat PIECE); a ← write a to l; copy_pieces a (to + PIECE) (from + PIECE) pieces
  end.

Definition block_test (of_block : list Z -> bool) (n : Z) (s : state) : option bool :=
  let '(from, to, a) := s in
  if BLOCK <=? n - from then block ← loads a from (Z.to_nat BLOCK); Some (of_block block) else Some false.

Definition stay_body (s : state) : option state :=
  let '(from, to, a) := s in
  a ← (if to =? from then Some a else copy_pieces a to from 8);
  Some (from + BLOCK, to + BLOCK, a).

Definition go_body (s : state) : option state := let '(from, to, a) := s in Some (from + BLOCK, to, a).

Definition span_test (n : Z) (s : bool * bool * state) : option bool := let '(_, _, (from, _, _)) := s in Some (from <? n).

Definition span_body (n xmin : Z) (s : bool * bool * state) : option (bool * bool * state) :=
  let '(stay, go, s) := s in
  s ← (if stay then while (Z.to_nat n) (block_test (all_stay xmin) n) stay_body s else Some s);
  s ← (if go then while (Z.to_nat n) (block_test (all_go xmin) n) go_body s else Some s);
  let '(from, begin, _) := s in
  let next := if SPAN <? n - from then from + SPAN else n in
  '(from, to, a) ← keep_scalar xmin next s;
  Some (to - begin =? SPAN, to =? begin, (from, to, a)).

Definition purge_scalar (n xmin : Z) (a : memory) : option (Z * memory) :=
  '(_, to, a) ← (
    if LONG_ARRAY <=? n
    then '(_, _, s) ← while (Z.to_nat n) (span_test n) (span_body n xmin) (true, true, (0, 0, a)); Some s
    else keep_scalar xmin n (0, 0, a));
  Some (to, a).
