(* SPDX-License-Identifier: PostgreSQL *)
(** * Numbers of compaction's extracted programs

    [Z] and [nat] become int, of 63 bits.  None overflows: a number of the algorithms is below 2^33; no lane of a register has more than
    64 bits, those of 64 are only moved, and none is multiplied but by 1. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ExtrOcamlNativeString ZArith.

Extract Constant Z.of_nat => "(fun n -> n)".
Extract Constant Z.to_nat => "(fun n -> if n < 0 then 0 else n)".
(* Coq rounds towards minus infinity, OCaml towards zero; no integer is divided by zero here. *)
Extract Constant Z.div => "(fun a b -> let q = a / b in if a mod b <> 0 && (a < 0) <> (b < 0) then q - 1 else q)".
Extract Constant Z.modulo => "(fun a b -> let r = a mod b in if r <> 0 && (r < 0) <> (b < 0) then r + b else r)".
Extract Constant Nat.div => "(fun a b -> if b = 0 then 0 else a / b)".
(* Shifts are by a few places. *)
Extract Constant Z.testbit => "(fun a n -> (a asr n) land 1 = 1)".
Extract Inlined Constant Z.land => "(land)".
Extract Inlined Constant Z.lor => "(lor)".
Extract Inlined Constant Z.lxor => "(lxor)".
Extract Inlined Constant Z.shiftl => "(lsl)".
Extract Inlined Constant Z.shiftr => "(asr)".
Extract Inlined Constant Z.max => "(fun (a : int) b -> if a < b then b else a)".
Extract Inlined Constant Z.eqb => "(fun (a : int) b -> a = b)".
Extract Inlined Constant Z.leb => "(fun (a : int) b -> a <= b)".
Extract Inlined Constant Z.ltb => "(fun (a : int) b -> a < b)".
(* Coq would count numbers of type nat down to compare them. *)
Extract Inlined Constant Nat.leb => "(fun (a : int) b -> a <= b)".
Extract Inlined Constant Nat.ltb => "(fun (a : int) b -> a < b)".
