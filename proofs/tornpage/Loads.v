(* SPDX-License-Identifier: PostgreSQL *)
(** * The checksums in plain C and by vector registers, load by load

    Pages are a memory that is only read, word by word; a load past its end has no value.  A program yields [None] as soon as
    it does such a load: so "it yields [Some]" says that it stays within the pages. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.instructions Require Import Lanes.
From Pgquern.tornpage Require Import Checksum.
Import ListNotations.
Local Open Scope Z_scope.

Definition words : Type := list Z.
Definition load (page : words) (i : nat) : option Z := nth_error page i.

Definition LANES : nat := 32.

(** memcpy(first, page + i, n) *)
Fixpoint copy_loads (page : words) (i n : nat) : option (list Z) :=
  match n with
  | O => Some []
  | S n => w ← load page i; rest ← copy_loads page (S i) n; Some (w :: rest)
  end.

(** for (lane = 0; lane < LANES; lane++) sums[lane] = step(sums[lane], page[i + lane]); *)
Fixpoint row_loads (step : Z -> Z -> Z) (page : words) (i : nat) (sums : list Z) : option (list Z) :=
  match sums with
  | [] => Some []
  | sum :: sums => w ← load page i; rest ← row_loads step page (S i) sums; Some (step sum w :: rest)
  end.

Fixpoint rows_loads (step : Z -> Z -> Z) (page : words) (i rows : nat) (sums : list Z) : option (list Z) :=
  match rows with
  | O => Some sums
  | S rows => sums ← row_loads step page i sums; rows_loads step page (i + LANES)%nat rows sums
  end.

(** upstream_loop.h, upstream_fold: a round of all columns by each row, and two by zeroes. *)
Definition upstream_fold (rows : nat) (page : words) : option Z :=
  first ← copy_loads page 0 LANES;
  sums ← rows_loads mix page LANES (rows - 1) (map2 mix base_offsets (without_checksum first));
  Some (fold_xor (map2 mix (map2 mix sums (zeroes sums)) (zeroes sums))).

(** scalar.c, fold_scalar: m = sum xor word is kept; the last row's own round, and two by zeroes, come at the end. *)
Definition scalar_fold (rows : nat) (page : words) : option Z :=
  first ← copy_loads page 0 LANES;
  mixed ← rows_loads next_split page LANES (rows - 1) (map2 Z.lxor base_offsets (without_checksum first));
  let round := map (fun m => next_split m 0) in
  Some (fold_xor (round (round (round mixed)))).

(** ** fold.h: [n] words a register, and the pages of a group side by side

    Here a register is its lanes.  What the instructions of a round make of them is said in VectorsFacts.v. *)

(** for (r = 0; r < REGISTERS; r++) mixed[r] = f(r, mixed[r], words_at(row, r)); the row begins at word [i]. *)
Fixpoint registers_loads (f : nat -> list Z -> list Z -> list Z) (n : nat) (pages : words) (i r : nat)
    (mixed : list (list Z)) : option (list (list Z)) :=
  match mixed with
  | [] => Some []
  | m :: mixed =>
      row ← copy_loads pages (i + n * r) n;
      rest ← registers_loads f n pages i (S r) mixed;
      Some (f r m row :: rest)
  end.

(** for (p = 0; p < n; p++): a row of each page.  That of the first one begins at word [i]; a page has [size] words. *)
Fixpoint pages_loads (f : nat -> list Z -> list Z -> list Z) (n size : nat) (pages : words) (i : nat)
    (group : list (list (list Z))) : option (list (list (list Z))) :=
  match group with
  | [] => Some []
  | mixed :: group =>
      mixed ← registers_loads f n pages i 0 mixed;
      rest ← pages_loads f n size pages (i + size) group;
      Some (mixed :: rest)
  end.

(** for (row = 1; row < rows; row++) *)
Fixpoint group_loads (n size : nat) (pages : words) (i rows : nat) (group : list (list (list Z))) :
    option (list (list (list Z))) :=
  match rows with
  | O => Some group
  | S rows =>
      group ← pages_loads (fun _ => map2 next) n size pages i group;
      group_loads n size pages (LANES + i) rows group
  end.

(** The first row of a page: pd_checksum, which is in its first register, counts as zero. *)
Definition first_register (r : nat) (bases row : list Z) : list Z :=
  map2 Z.lxor bases (if Nat.eqb r 0 then without_checksum row else row).

(** fold_pages: the sums of [count] pages from word [i] on. *)
Definition fold_pages (n rows : nat) (pages : words) (i count : nat) : option (list Z) :=
  let size := (rows * LANES)%nat in
  first ← pages_loads first_register n size pages i (repeat (pieces_of (LANES / n) n base_offsets) count);
  mixed ← group_loads n size pages (LANES + i) (rows - 1) first;
  let zeros := map (map (map (fun m => next m 0))) in
  Some (map (fun registers => fold_xor (concat registers)) (zeros (zeros (zeros mixed)))).

(** for (; count - i >= GROUP; i += GROUP): [groups] times. *)
Fixpoint groups_loads (n rows group : nat) (pages : words) (i groups : nat) : option (list Z) :=
  match groups with
  | O => Some []
  | S groups =>
      sums ← fold_pages n rows pages i group;
      rest ← groups_loads n rows group pages (i + group * (rows * LANES)) groups;
      Some (sums ++ rest)
  end.

(** fold_groups, and then page by page those that are no group. *)
Definition vector_sums (n group rows count : nat) (pages : words) : option (list Z) :=
  let groups := (count / group)%nat in
  sums ← groups_loads n rows group pages 0 groups;
  rest ← groups_loads n rows 1 pages (groups * group * (rows * LANES)) (count mod group);
  Some (sums ++ rest).

(** avx2.c, avx512.c and neon.c. *)
Definition avx2_sums : nat -> nat -> words -> option (list Z) := vector_sums 8 2.
Definition avx512_sums : nat -> nat -> words -> option (list Z) := vector_sums 16 4.
Definition neon_sums : nat -> nat -> words -> option (list Z) := vector_sums 4 2.

(** From the sums of pages to their checksums; and what these must be, for pages of [size] words.  The first page is that of
    block [block]. *)
Fixpoint finish_all (sums : list Z) (block : Z) : list Z :=
  match sums with
  | [] => []
  | sum :: sums => finish sum block :: finish_all sums (block + 1)
  end.

Fixpoint page_checksums (size count : nat) (pages : words) (block : Z) : list Z :=
  match count with
  | O => []
  | S count => page_checksum (firstn size pages) block :: page_checksums size count (skipn size pages) (block + 1)
  end.
