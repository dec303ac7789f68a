(* SPDX-License-Identifier: PostgreSQL *)
(** * CRC32, as the manual says it: the remainder of a polynomial, on bits in reverse *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

(** 0x11EDC6F41 without its highest bit; the highest of the others first. *)
Definition polynomial : list bool := rev (bits (bytes_of 4 517762881)).

(** The remainder after [n] steps of a division; bits from the highest on. *)
Fixpoint remainder (n : nat) (l : list bool) : list bool :=
  match n, l with
  | S n, t :: l => remainder n (if t then map2 xorb (firstn 32 l) polynomial ++ skipn 32 l else l)
  | _, _ => l
  end.

(** CRC32: the data, times 2^32, plus the old sum times 2 to the number of its bits, modulo the polynomial. *)
Definition crc (sum data : bytes) : bytes :=
  let data := bits data ++ repeat false 32 in
  let sum := bits sum ++ repeat false (length data - 32) in
  register_of_bits (remainder (length data - 32) (map2 xorb sum data)).

(** With data of 64 bits the sum comes in a register of 64, and the result leaves in one. *)
Definition crc_wide (sum data : bytes) : bytes := widened 8 (crc (firstn 4 sum) data).
