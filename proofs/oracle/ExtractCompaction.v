(* SPDX-License-Identifier: PostgreSQL *)
(** * The proved compaction as OCaml: check, planner and interpreter, verbatim

    A page is a function from addresses to bytes here, which the main program gives as a look-up in its buffer.  What
    extraction adds to the trusted base: Coq's extraction and the OCaml compiler; that [Z] and [nat] as 63-bit integers
    don't overflow (every number here is below 2^33); the realisations below; and, where the main program runs a program of
    operations on its buffers and not by the extracted [exec], its interpreter of five cases. *)
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From Pgquern.compaction Require Import Page Memory Algorithms Choice Scan.

(* Z.div and Z.modulo round towards minus infinity, OCaml's towards zero; nothing is divided by zero here. *)
Extract Inlined Constant Z.eqb => "(fun (a : int) b -> a = b)".
Extract Inlined Constant Z.leb => "(fun (a : int) b -> a <= b)".
Extract Inlined Constant Z.ltb => "(fun (a : int) b -> a < b)".
Extract Inlined Constant Z.max => "(fun (a : int) b -> if a < b then b else a)".
(* Of bits only those of numbers that are not negative, and shifts by a few places up. *)
Extract Inlined Constant Z.lor => "(lor)".
Extract Inlined Constant Z.land => "(land)".
Extract Inlined Constant Z.shiftl => "(lsl)".
Extract Inlined Constant Z.shiftr => "(asr)".
Extract Constant Z.div => "(fun a b -> let q = a / b in if a mod b <> 0 && (a < 0) <> (b < 0) then q - 1 else q)".
Extract Constant Z.modulo => "(fun a b -> let r = a mod b in if r <> 0 && (r < 0) <> (b < 0) then r + b else r)".
Extract Constant Z.to_nat => "(fun n -> if n < 0 then 0 else n)".
Extract Constant Z.of_nat => "(fun n -> n)".

Extraction "compaction_proved.ml" page_repair_fragmentation repair_by scan_line_pointers scalar_kernel exec.
