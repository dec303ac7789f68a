(* SPDX-License-Identifier: PostgreSQL *)
(** * Bit by bit: no lanes *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

Definition bitwise (f : bool -> bool -> bool) (a b : bytes) : bytes := register_of_bits (map2 f (bits a) (bits b)).
Definition and : bytes -> bytes -> bytes := bitwise andb.
Definition or : bytes -> bytes -> bytes := bitwise orb.
Definition xor : bytes -> bytes -> bytes := bitwise xorb.
(** PANDN: not [a], and [b]. *)
Definition andnot : bytes -> bytes -> bytes := bitwise (fun x y => negb x && y).

(** VPTERNLOG: the three bits, that of [a] highest, say which bit of the immediate is the result. *)
Definition ternary (table : Z) (a b c : bytes) : bytes :=
  let rank x y z := 4 * Z.b2z x + 2 * Z.b2z y + Z.b2z z in
  let by_third := map2 (fun x y z => Z.testbit table (rank x y z)) (bits a) (bits b) in
  register_of_bits (map2 (fun f z => f z) by_third (bits c)).

(** PTEST's zero flag, as an int: 1 if no bit is set in both. *)
Definition test_zero (a b : bytes) : bytes := bytes_of 4 (Z.b2z (negb (existsb id (bits (and a b))))).
