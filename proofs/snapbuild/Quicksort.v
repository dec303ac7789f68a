(* SPDX-License-Identifier: PostgreSQL *)
(** * common/quicksort.h: the sort of a snapshot that is not kept sorted, comparison by comparison and swap by swap

    Quicksort after Bentley and McIlroy, as upstream's src/port/qsort.c.  Each function is the one of this name in C.  A
    pointer is an address; loads come in the order in which C has them.  PostgreSQL 13's compaction sorts its tuples by
    the same C: an element is then a number that holds a tuple, and the key is what the comparator takes from it. *)
From Coq Require Import ZArith.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Upstream.
Local Open Scope Z_scope.

(** t = *a; *a = *b; *b = t; *)
Definition swap (m : memory) (i j : Z) : option memory := t ← load m i; x ← load m j; m ← store m i x; store m j t.

Fixpoint swap_runs (m : memory) (i j : Z) (n : nat) : option memory :=
  match n with O => Some m | S n => m ← swap m i j; swap_runs m (i + 1) (j + 1) n end.

Section sort.
(** What C's comparator looks at: the number itself for XIDs, a part of it for other elements. *)
Context (key : Z -> Z).

Definition compare (m : memory) (i j : Z) : option comparison := x ← load m i; y ← load m j; Some (key x ?= key y).

Definition less (c : comparison) : bool := match c with Lt => true | _ => false end.
Definition greater (c : comparison) : bool := match c with Gt => true | _ => false end.

Definition median (m : memory) (a b c : Z) : option Z :=
  ab ← compare m a b;
  bc ← compare m b c;
  if less ab
  then if less bc then Some b else ac ← compare m a c; Some (if less ac then c else a)
  else if greater bc then Some b else ac ← compare m a c; Some (if less ac then a else c).

(** Whether the [n] elements from [i] on go on from the one before them. *)
Fixpoint goes_on (m : memory) (i : Z) (n : nat) : option bool :=
  match n with O => Some true | S n => c ← compare m (i - 1) i; if greater c then Some false else goes_on m (i + 1) n end.

Definition is_sorted (m : memory) (a n : Z) : option bool := goes_on m (a + 1) (Z.to_nat (n - 1)).

(** for (j = i; j > 0 && compare(a + j - 1, a + j) > 0; j--) swap(a + j - 1, a + j); *)
Fixpoint sink (m : memory) (a : Z) (j : nat) : option memory :=
  match j with
  | O => Some m
  | S k => c ← compare m (a + Z.of_nat j - 1) (a + Z.of_nat j);
           if greater c then m ← swap m (a + Z.of_nat j - 1) (a + Z.of_nat j); sink m a k else Some m
  end.

(** The [todo] elements from [i] on; those before them are sorted. *)
Fixpoint insertion_sort (m : memory) (a : Z) (i todo : nat) : option memory :=
  match todo with O => Some m | S todo => m ← sink m a i; insertion_sort m a (S i) todo end.

Definition pivot (m : memory) (a n : Z) : option Z :=
  let middle := a + n / 2 in
  let high := a + n - 1 in
  if n <=? 7 then Some middle
  else if 40 <? n then
    let d := n / 8 in
    low ← median m a (a + d) (a + 2 * d);
    middle ← median m (middle - d) middle (middle + d);
    high ← median m (high - 2 * d) (high - d) high;
    median m low middle high
  else median m a middle high.

(** for (; left <= right && (order = compare(left, a)) <= 0; left++) if (order == 0) swap(equal_left++, left); *)
Fixpoint from_left (rounds : nat) (m : memory) (a equal left right : Z) : option (memory * Z * Z) :=
  if right <? left then Some (m, equal, left)
  else
    match rounds with
    | O => None
    | S rounds =>
        order ← compare m left a;
        match order with
        | Gt => Some (m, equal, left)
        | Eq => m ← swap m equal left; from_left rounds m a (equal + 1) (left + 1) right
        | Lt => from_left rounds m a equal (left + 1) right
        end
    end.

(** for (; left <= right && (order = compare(right, a)) >= 0; right--) if (order == 0) swap(right, equal_right--); *)
Fixpoint from_right (rounds : nat) (m : memory) (a left right equal : Z) : option (memory * Z * Z) :=
  if right <? left then Some (m, right, equal)
  else
    match rounds with
    | O => None
    | S rounds =>
        order ← compare m right a;
        match order with
        | Lt => Some (m, right, equal)
        | Eq => m ← swap m right equal; from_right rounds m a left (right - 1) (equal - 1)
        | Gt => from_right rounds m a left (right - 1) equal
        end
    end.

(** Where the elements end that are less than the pivot, which stands at [a], and where those begin that are greater. *)
Record parts := Parts { equal_left : Z; left : Z; right : Z; equal_right : Z }.

Fixpoint partition (rounds : nat) (m : memory) (a : Z) (p : parts) : option (memory * parts) :=
  match rounds with
  | O => None
  | S more =>
      '(m, el, l) ← from_left rounds m a (equal_left p) (left p) (right p);
      '(m, r, er) ← from_right rounds m a l (right p) (equal_right p);
      if r <? l then Some (m, Parts el l r er)
      else m ← swap m l r; partition more m a (Parts el (l + 1) (r - 1) er)
  end.

(** The equal ones wait at both ends, and go to the middle: how many are less, how many are greater. *)
Definition bring_together (m : memory) (a n : Z) (p : parts) : option (memory * Z * Z) :=
  let below := left p - equal_left p in
  let above := equal_right p - right p in
  let d := Z.min (equal_left p - a) below in
  m ← swap_runs m a (left p - d) (Z.to_nat d);
  let d := Z.min above (a + n - equal_right p - 1) in
  m ← swap_runs m (left p) (a + n - d) (Z.to_nat d);
  Some (m, below, above).

(** One round: the pivot goes to the front, and the others to its sides. *)
Definition split (m : memory) (a n : Z) : option (memory * Z * Z) :=
  at_pivot ← pivot m a n;
  m ← swap m a at_pivot;
  '(m, p) ← partition (Z.to_nat n) m a (Parts (a + 1) (a + 1) (a + n - 1) (a + n - 1));
  bring_together m a n p.

(** [depth]: so many calls may lie inside each other. [rounds]: so often the loop of one call may go round. *)
Fixpoint quicksort (depth : nat) : nat -> memory -> Z -> Z -> option memory :=
  fix loop (rounds : nat) m a n :=
    if n <? 7 then insertion_sort m a 1 (Z.to_nat (n - 1))
    else
      sorted ← is_sorted m a n;
      if (sorted : bool) then Some m
      else
        match depth, rounds with
        | S depth, S rounds =>
            '(m, below, above) ← split m a n;
            if below <=? above
            then m ← quicksort depth (Z.to_nat below) m a below; loop rounds m (a + n - above) above
            else m ← quicksort depth (Z.to_nat above) m (a + n - above) above; loop rounds m a below
        | _, _ => None
        end.
End sort.

(** ** snapshot.c: upstream copies committed.xip, and sorts the copy, every time *)
Definition snapshot_upstream (n : Z) (xip snapshot : memory) : option memory :=
  snapshot ← memcpy snapshot 0 xip 0 n;
  quicksort (fun xid => xid) (Z.to_nat (Z.log2 n)) (Z.to_nat n) snapshot 0 n.
