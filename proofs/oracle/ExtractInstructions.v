(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the instructions' meanings to OCaml

    Numbers become int, of 63 bits.  A product of two lanes of 32 bits, and a lane of 64, may wrap there; both are only
    taken modulo a power of two that divides 2^63. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ExtrOcamlNativeString ZArith.
From Pgquern.instructions Require Import Table.

Extract Constant Z.of_nat => "fun n -> n".
Extract Constant Z.to_nat => "fun z -> if z < 0 then 0 else z".
Extract Constant Nat.div => "fun a b -> if b = 0 then 0 else a / b".
(* Divisors are positive constants here; Coq rounds down. *)
Extract Constant Z.modulo => "fun a b -> let r = a mod b in if r < 0 then r + b else r".
Extract Constant Z.div => "fun a b -> let q = a / b in if q * b > a then q - 1 else q".
Extract Constant Z.testbit => "fun a n -> (a asr n) land 1 = 1".

Extraction Language OCaml.
Extraction "instructions_proved.ml" table.
