(* SPDX-License-Identifier: PostgreSQL *)
(** * The page checksum: PostgreSQL's loop, and the forms in which our kernels run it

    A page is a list of rows of 32-bit words; [bases] has a start value for each column.  Source: pg_checksum_block and
    pg_checksum_page, src/include/storage/checksum_impl.h. *)
From Coq Require Import ZArith List.
Import ListNotations.
Local Open Scope Z_scope.

Definition WORD : Z := 2 ^ 32.
Definition PRIME : Z := 16777619.

(** CHECKSUM_COMP: one round of a column. *)
Definition mix (sum word : Z) : Z :=
  let m := Z.lxor sum word in Z.lxor ((m * PRIME) mod WORD) (Z.shiftr m 17).

Fixpoint map2 (f : Z -> Z -> Z) (a b : list Z) : list Z :=
  match a, b with
  | x :: a, y :: b => f x y :: map2 f a b
  | _, _ => []
  end.

Definition fold_xor (l : list Z) : Z := fold_right Z.lxor 0 l.

(** Upstream: row by row over all columns, two rows of zeroes, and the xor of all sums. *)
Definition zeroes (bases : list Z) : list Z := map (fun _ => 0) bases.
Definition block_sum (bases : list Z) (rows : list (list Z)) : Z :=
  fold_xor (fold_left (map2 mix) (rows ++ [zeroes bases; zeroes bases]) bases).

(** The value stored in pd_checksum. *)
Definition finish (sum block : Z) : Z := Z.lxor sum block mod 65535 + 1.
Definition checksum (bases : list Z) (rows : list (list Z)) (block : Z) : Z := finish (block_sum bases rows) block.

(** One column by itself, as a lane of a register sees it. *)
Definition column_sum (base : Z) (words : list Z) : Z := fold_left mix (words ++ [0; 0]) base.
Definition column (rows : list (list Z)) (k : nat) : list Z := map (fun row => nth k row 0) rows.

(** Our chain.  It keeps m = sum xor word; [next] is csrc/tornpage/{avx2,avx512}.c:next. *)
Definition next (m word : Z) : Z := Z.lxor ((m * PRIME) mod WORD) (Z.lxor (Z.shiftr m 17) word).
(** scalar.c:next, with the prime in two parts, each product cut to 32 bits. *)
Definition next_split (m word : Z) : Z :=
  Z.lxor (((m * (PRIME - 2 ^ 24)) mod WORD + Z.shiftl m 24 mod WORD) mod WORD) (Z.lxor (Z.shiftr m 17) word).

Definition chain (step : Z -> Z -> Z) (base : Z) (words : list Z) : Z :=
  match words with
  | [] => 0
  | first :: rest => fold_left step (rest ++ [0; 0; 0]) (Z.lxor base first)
  end.

(** A kernel takes the columns in the order of [lanes], as its registers and loops group them. *)
Definition kernel (step : Z -> Z -> Z) (lanes : list nat) (bases : list Z) (rows : list (list Z)) (block : Z) : Z :=
  finish (fold_xor (map (fun k => chain step (nth k bases 0) (column rows k)) lanes)) block.
