(* SPDX-License-Identifier: PostgreSQL *)
(** * The loops of the kernels in plain C, and of the ones that take rows by vector registers, load by load

    An array is a memory that is only read; a load past its end has no value.  A program yields [None] as soon as it does
    such a load: so "it yields [Some]" says that it stays in bounds.  [scan] is csrc/datfrozenxid/scan.c, [scalar] is
    scalar.c with the walk of chunks.h; the rows of strided_avx2.c and strided_neon.c come last. *)
From Coq Require Import ZArith List Arith.
From stdpp Require Import base option.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms.
Import ListNotations.
Local Open Scope Z_scope.

Definition values : Type := list Z.
Definition load (a : values) (i : nat) : option Z := nth_error a i.

(** ** ids.h, scan_values: upstream's loop over [count] values from [i] on

    for (; i < to; i++) { x = a[i]; if (x == 0) continue; if (precedes(sane, x)) return i; if (precedes(x, oldest)) oldest = x; } *)
Fixpoint scan_loads (s : sort) (sane : Z) (a : values) (i count : nat) (oldest : Z) : option answer :=
  match count with
  | O => Some (Oldest oldest)
  | S count =>
      x ← load a i;
      if x =? 0 then scan_loads s sane a (S i) count oldest
      else if before s sane x then Some (Future (Z.of_nat i + 1))
      else scan_loads s sane a (S i) count (if before s x oldest then x else oldest)
  end.

(** ** scalar.c, greatest_age: two chains, one of the values at even places, one of those at odd places

    for (; i + 1 < n; i += 2) { even = max(even, age(a[i])); odd = max(odd, age(a[i + 1])); }
    if (i < n) even = max(even, age(a[i])); return max(even, odd); *)
Fixpoint chain_loads (s : sort) (sane : Z) (a : values) (i pairs : nat) (even odd : Z) : option (Z * Z) :=
  match pairs with
  | O => Some (even, odd)
  | S pairs =>
      x ← load a i;
      y ← load a (S i);
      chain_loads s sane a (S (S i)) pairs (Z.max even (age s sane x)) (Z.max odd (age s sane y))
  end.

Definition greatest_loads (s : sort) (sane : Z) (a : values) (from count : nat) : option Z :=
  '(even, odd) ← chain_loads s sane a from (count / 2) 0 0;
  even ← (if Nat.odd count then x ← load a (from + count - 1); Some (Z.max even (age s sane x)) else Some even);
  Some (Z.max even odd).

(** ** chunks.h, min_frozen_by_age: chunk by chunk, [chunks] at most

    for (from = 0; from < n; from += CHUNK) {
      g = greatest_age(a + from, min(CHUNK, n - from));
      if (g < HALF) lower(&oldest, g); else if ((i = scan_values(a, from, to, &oldest)) < to) return i + 1; } *)
Fixpoint walk_loads (s : sort) (sane : Z) (a : values) (chunks from n : nat) (oldest : Z) : option answer :=
  if Nat.leb n from then Some (Oldest oldest)
  else match chunks with
       | O => None
       | S chunks =>
           let count := Nat.min CHUNK (n - from) in
           g ← greatest_loads s sane a from count;
           if g <? HALF then walk_loads s sane a chunks (from + count) n (lower s sane oldest g)
           else
             found ← scan_loads s sane a from count oldest;
             match found with
             | Oldest oldest => walk_loads s sane a chunks (from + count) n oldest
             | Future place => Some (Future place)
             end
       end.

Definition scan_kernel (s : sort) (start sane : Z) (n : nat) (a : values) : option answer :=
  scan_loads s sane a 0 n start.

Definition scalar_kernel (s : sort) (start sane : Z) (n : nat) (a : values) : option answer :=
  walk_loads s sane a n 0 n start.

(** ** Rows: of each, relkind is one load, and both ids are another one *)

Definition table : Type := list row.
Definition load_relkind (t : table) (i : nat) : option bool := holds <$> nth_error t i.
Definition load_ids (t : table) (i : nat) : option (Z * Z) := (fun r => (relfrozenxid r, relminmxid r)) <$> nth_error t i.

(** ids.h, scan_rows: the ids of a row that holds none are not loaded. *)
Fixpoint scan_row_loads (xs ms : Z) (t : table) (i count : nat) (xid multi : Z) : option rows_answer :=
  match count with
  | O => Some (OldestOf xid multi)
  | S count =>
      kind ← load_relkind t i;
      if negb kind then scan_row_loads xs ms t (S i) count xid multi
      else
        '(x, m) ← load_ids t i;
        match scan Xids xs [x] (Z.of_nat i + 1) xid with
        | Future place => Some (FutureXid place)
        | Oldest xid =>
            match scan Multis ms [m] (Z.of_nat i + 1) multi with
            | Future place => Some (FutureMulti place)
            | Oldest multi => scan_row_loads xs ms t (S i) count xid multi
            end
        end
  end.

(** scalar.c, greatest_ages: the ids of a row that holds none are loaded, and count as 0. *)
Fixpoint greatest_row_loads (xs ms : Z) (t : table) (i count : nat) (x m : Z) : option (Z * Z) :=
  match count with
  | O => Some (x, m)
  | S count =>
      kind ← load_relkind t i;
      '(xid, multi) ← load_ids t i;
      greatest_row_loads xs ms t (S i) count (Z.max x (age Xids xs (if (kind : bool) then xid else 0)))
        (Z.max m (age Multis ms (if (kind : bool) then multi else 0)))
  end.

(** kernels.h, min_frozen_strided_by_age, with a kernel's own way to the greatest ages of [count] rows from row [from] on. *)
Fixpoint walk_row_loads (greatest : table -> nat -> nat -> option (Z * Z)) (xs ms : Z) (t : table)
    (chunks from n : nat) (xid multi : Z) : option rows_answer :=
  if Nat.leb n from then Some (OldestOf xid multi)
  else match chunks with
       | O => None
       | S chunks =>
           let count := Nat.min ROW_CHUNK (n - from) in
           '(x, m) ← greatest t from count;
           if (x <? HALF) && (m <? HALF)
           then walk_row_loads greatest xs ms t chunks (from + count) n (lower Xids xs xid x) (lower Multis ms multi m)
           else
             found ← scan_row_loads xs ms t from count xid multi;
             match found with
             | OldestOf xid multi => walk_row_loads greatest xs ms t chunks (from + count) n xid multi
             | future => Some future
             end
       end.

Definition scan_rows_kernel (xid multi xs ms : Z) (n : nat) (t : table) : option rows_answer :=
  scan_row_loads xs ms t 0 n xid multi.

Definition scalar_rows_kernel (xid multi xs ms : Z) (n : nat) (t : table) : option rows_answer :=
  walk_row_loads (fun t from count => greatest_row_loads xs ms t from count 0 0) xs ms t n 0 n xid multi.

(** ** strided_avx2.c and strided_neon.c: a register holds both ids of [rows] rows, of four or of two *)

(** ids_at: those of a row that holds none count as 0; its relkind is loaded after them. *)
Definition counted_loads (t : table) (i : nat) : option (Z * Z) :=
  '(x, m) ← load_ids t i;
  kind ← load_relkind t i;
  Some (if (kind : bool) then (x, m) else (0, 0)).

(** _mm256_setr_epi64x(ids_at(row), ids_at(row + stride), ids_at(row + 2 * stride), ids_at(row + 3 * stride)), or
    older(a, ids_at(row), ids_at(row + stride), ...), from row [i] on.  C leaves open which of them comes first: [order] says it. *)
Fixpoint lanes_loads (order : list nat) (t : table) (i : nat) : option (list (nat * (Z * Z))) :=
  match order with
  | [] => Some []
  | lane :: order =>
      ids ← counted_loads t (i + lane);
      rest ← lanes_loads order t i;
      Some ((lane, ids) :: rest)
  end.

Fixpoint lane_of (loaded : list (nat * (Z * Z))) (lane : nat) : Z * Z :=
  match loaded with
  | [] => (0, 0)
  | (l, ids) :: loaded => if Nat.eqb l lane then ids else lane_of loaded lane
  end.

Definition register_loads (rows : nat) (order : list nat) (t : table) (i : nat) : option (list (Z * Z)) :=
  loaded ← lanes_loads order t i;
  Some (map (lane_of loaded) (seq 0 rows)).

(** older: the greatest age so far in each lane. *)
Definition lanes_older (xs ms : Z) (greatest ids : list (Z * Z)) : list (Z * Z) :=
  map (fun lane => let '((x, m), (xid, multi)) := lane in (Z.max x (age Xids xs xid), Z.max m (age Multis ms multi)))
    (combine greatest ids).

(** for (; left >= 8; left -= 8, row += 8 * stride) { a = older(a, four rows); b = older(b, the next four); }
    with two rows for four, and four for eight, in strided_neon.c. *)
Fixpoint steps_loads (rows : nat) (order : list nat) (xs ms : Z) (t : table) (i steps : nat) (a b : list (Z * Z)) :
    option (list (Z * Z) * list (Z * Z)) :=
  match steps with
  | O => Some (a, b)
  | S steps =>
      first ← register_loads rows order t i;
      next ← register_loads rows order t (i + rows);
      steps_loads rows order xs ms t (i + 2 * rows) steps (lanes_older xs ms a first) (lanes_older xs ms b next)
  end.

(** for (i = to - left; i < to; i++) a = older(a, { row i, 0, 0, 0 }); *)
Fixpoint few_loads (rows : nat) (xs ms : Z) (t : table) (i few : nat) (a : list (Z * Z)) : option (list (Z * Z)) :=
  match few with
  | O => Some a
  | S few =>
      ids ← counted_loads t i;
      few_loads rows xs ms t (S i) few (lanes_older xs ms a (ids :: repeat (0, 0) (rows - 1)))
  end.

Definition pair_max (a b : Z * Z) : Z * Z := (Z.max (fst a) (fst b), Z.max (snd a) (snd b)).

(** a = max(a, b); m = max(the lower half of a, its upper half); then, of four rows, the two rows of m. *)
Definition greatest_lane (a b : list (Z * Z)) : option (Z * Z) :=
  match map (fun lane => pair_max (fst lane) (snd lane)) (combine a b) with
  | [p; q; r; s] => Some (pair_max (pair_max p r) (pair_max q s))
  | [p; q] => Some (pair_max p q)
  | _ => None
  end.

Definition greatest_rows_loads (rows : nat) (order : list nat) (xs ms : Z) (t : table) (from count : nat) :
    option (Z * Z) :=
  let zero := repeat (0, 0) rows in
  let step := (2 * rows)%nat in
  '(a, b) ← steps_loads rows order xs ms t from (count / step) zero zero;
  a ← few_loads rows xs ms t (from + step * (count / step)) (count mod step) a;
  greatest_lane a b.

Definition avx2_rows_kernel (order : list nat) (xid multi xs ms : Z) (n : nat) (t : table) : option rows_answer :=
  walk_row_loads (greatest_rows_loads 4 order xs ms) xs ms t n 0 n xid multi.

Definition neon_rows_kernel (order : list nat) (xid multi xs ms : Z) (n : nat) (t : table) : option rows_answer :=
  walk_row_loads (greatest_rows_loads 2 order xs ms) xs ms t n 0 n xid multi.
