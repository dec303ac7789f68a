(* SPDX-License-Identifier: PostgreSQL *)
(** * Bits of one general register of 32 bits *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

Definition count (l : list bool) : Z := fold_right (fun t n => Z.b2z t + n) 0 l.
(** How many bits are clear before the first that is set. *)
Fixpoint clear_before (l : list bool) : Z := match l with false :: l => 1 + clear_before l | _ => 0 end.

(** POPCNT, TZCNT, LZCNT. *)
Definition population (a : bytes) : bytes := bytes_of 4 (count (bits a)).
Definition trailing (a : bytes) : bytes := bytes_of 4 (clear_before (bits a)).
Definition leading (a : bytes) : bytes := bytes_of 4 (clear_before (rev (bits a))).

(** BZHI: the bits below that which the lowest byte of the index names. *)
Definition low_bits (a index : bytes) : bytes :=
  let n := Z.to_nat (hd 0 index) in register_of_bits (map2 (fun t i => t && (i <? n)%nat) (bits a) (seq 0 32)).
