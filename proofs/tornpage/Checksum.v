(* SPDX-License-Identifier: PostgreSQL *)
(** * The page checksum: PostgreSQL's loop, and the forms in which our kernels run it

    A page is a list of rows of 32-bit words; [bases] has a start value for each column.  Source: pg_checksum_block and
    pg_checksum_page, src/include/storage/checksum_impl.h. *)
From Pgquern.common Require Import Integers.

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

(** As upstream: row by row over all columns, two rows of zeroes, and the xor of all sums. *)
Definition zeroes (bases : list Z) : list Z := map (fun _ => 0) bases.
Definition block_sum (bases : list Z) (rows : list (list Z)) : Z :=
  fold_xor (fold_left (map2 mix) (rows ++ [zeroes bases; zeroes bases]) bases).

(** The value stored in pd_checksum. *)
Definition finish (sum block : Z) : Z := Z.lxor sum block mod 65535 + 1.
Definition checksum (bases : list Z) (rows : list (list Z)) (block : Z) : Z := finish (block_sum bases rows) block.

(** ** pg_checksum_page, of the words of a page *)

(** checksumBaseOffsets: where each of the 32 columns starts. *)
Definition base_offsets : list Z :=
  [0x5b1f36e9; 0xb8525960; 0x02ab50aa; 0x1de66d2a; 0x79ff467a; 0x9bb9f8a3; 0x217e7cd2; 0x83e13d2c;
   0xf8d4474f; 0xe39eb970; 0x42c6ae16; 0x993216fa; 0x7b093b5d; 0x98daff3c; 0xf718902a; 0x0b1c9cdb;
   0xe58f764b; 0x187636bc; 0x5d7b3bb1; 0xe73de7de; 0x92bec979; 0xcca6c0b2; 0x304a0979; 0x85aa43d4;
   0x783125bb; 0x6ca8eaa2; 0xe407eac6; 0x4b5cfc3e; 0x9fbf8c76; 0x15ca20be; 0xf2ca9fd3; 0x959bd756].

(** pd_checksum, the lower half of the third word, counts as zero. *)
Definition without_checksum (words : list Z) : list Z :=
  match words with
  | a :: b :: w :: rest => a :: b :: (w - w mod 65536) :: rest
  | _ => words
  end.

Fixpoint in_rows (rows : nat) (words : list Z) : list (list Z) :=
  match rows with
  | O => []
  | S rows => firstn (length base_offsets) words :: in_rows rows (skipn (length base_offsets) words)
  end.

Definition page_checksum (words : list Z) (block : Z) : Z :=
  checksum base_offsets (in_rows (Nat.div (length words) (length base_offsets)) (without_checksum words)) block.

(** ** Our kernels *)

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
