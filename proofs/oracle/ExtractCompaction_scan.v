(* SPDX-License-Identifier: PostgreSQL *)
(** * The proved scans of avx2 and of avx512 as OCaml, register by register: extraction

    Numbers become int, of 63 bits: no lane has more than 64, those of 64 are only moved, and none is multiplied but by 1.  An intrinsic is what the table of
    instructions/ says of its name, as in oracle/ExtractInstructions.v. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ExtrOcamlNativeString ZArith.
From Pgquern.compaction Require Import Page.
From Pgquern.compaction Require ScanAvx2 ScanAvx512 ScanAvx512Few.

Extract Constant Z.of_nat => "fun n -> n".
Extract Constant Z.to_nat => "fun z -> if z < 0 then 0 else z".
Extract Constant Nat.div => "fun a b -> if b = 0 then 0 else a / b".
(* Divisors are positive constants here; Coq rounds down. *)
Extract Constant Z.modulo => "fun a b -> let r = a mod b in if r < 0 then r + b else r".
Extract Constant Z.div => "fun a b -> let q = a / b in if q * b > a then q - 1 else q".
Extract Constant Z.testbit => "fun a n -> (a asr n) land 1 = 1".
Extract Inlined Constant Z.land => "(land)".
Extract Inlined Constant Z.lor => "(lor)".
Extract Inlined Constant Z.lxor => "(lxor)".
Extract Inlined Constant Z.shiftr => "(asr)".
(* Coq would count numbers of type nat down to compare them. *)
Extract Inlined Constant Nat.leb => "(fun (a : int) b -> a <= b)".
Extract Inlined Constant Nat.ltb => "(fun (a : int) b -> a < b)".
Extract Inlined Constant Z.eqb => "(fun (a : int) b -> a = b)".
Extract Inlined Constant Z.leb => "(fun (a : int) b -> a <= b)".
Extract Inlined Constant Z.ltb => "(fun (a : int) b -> a < b)".

Extraction Language OCaml.
Extraction "compaction_scan_proved.ml" check_header nline ScanAvx2.LANES ScanAvx2.HALF ScanAvx2.scanned
  ScanAvx512.LANES ScanAvx512.scan_line_pointers ScanAvx512Few.FEW ScanAvx512Few.scan_few.
