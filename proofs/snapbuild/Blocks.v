(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge of long arrays by blocks, around a kernel's inner loop

    blocks.h.  A state is where the next XID is read, where the next survivor goes, and the array.  Blocks are looked at
    before they are moved, so some XIDs are loaded twice. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Spec.
Local Open Scope Z_scope.

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

(** ** keep_blocks

    for (stay = go = true; from < end; from = next) {
      for (; stay && end - from >= BLOCK && all of the block stay; from += BLOCK, to += BLOCK)
        if (to != from) copy_block(to, from);
      while (go && end - from >= BLOCK && all of the block go) from += BLOCK;
      next = end - from > SPAN ? from + SPAN : end;
      begin = to; to = keep(to, from, next); stay = to - begin == SPAN; go = to == begin; }

    copy_block loads a piece of four vectors before it stores them. *)
Fixpoint copy_pieces (piece : nat) (a : memory) (to from : Z) (pieces : nat) : option memory :=
  match pieces with
  | O => Some a
  | S pieces =>
      l ← loads a from piece;
      a ← write a to l;
      copy_pieces piece a (to + Z.of_nat piece) (from + Z.of_nat piece) pieces
  end.

Definition block_test (of_block : list Z -> bool) (n : Z) (s : state) : option bool :=
  let '(from, to, a) := s in
  if BLOCK <=? n - from then block ← loads a from (Z.to_nat BLOCK); Some (of_block block) else Some false.

Definition stay_body (piece : nat) (s : state) : option state :=
  let '(from, to, a) := s in
  a ← (if to =? from then Some a else copy_pieces piece a to from (Z.to_nat BLOCK / piece));
  Some (from + BLOCK, to + BLOCK, a).

Definition go_body (s : state) : option state := let '(from, to, a) := s in Some (from + BLOCK, to, a).

Definition span_test (n : Z) (s : bool * bool * state) : option bool := let '(_, _, (from, _, _)) := s in Some (from <? n).

(** [keep] is the inner loop, up to a place. *)
Definition span_body (piece : nat) (keep : Z -> state -> option state) (n xmin : Z) (s : bool * bool * state) :
    option (bool * bool * state) :=
  let '(stay, go, s) := s in
  s ← (if stay then while (Z.to_nat n) (block_test (all_stay xmin) n) (stay_body piece) s else Some s);
  s ← (if go then while (Z.to_nat n) (block_test (all_go xmin) n) go_body s else Some s);
  let '(from, begin, _) := s in
  let next := if SPAN <? n - from then from + SPAN else n in
  '(from, to, a) ← keep next s;
  Some (to - begin =? SPAN, to =? begin, (from, to, a)).

(** ** DEFINE_PURGE: a short array has no blocks *)
Definition purge_by_blocks (piece : nat) (keep : Z -> state -> option state) (n xmin : Z) (a : memory) :
    option (Z * memory) :=
  '(_, to, a) ← (
    if LONG_ARRAY <=? n
    then
      '(_, _, s) ← while (Z.to_nat n) (span_test n) (span_body piece keep n xmin) (true, true, (0, 0, a));
      Some s
    else keep n (0, 0, a));
  Some (to, a).
