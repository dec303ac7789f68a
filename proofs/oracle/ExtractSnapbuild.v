(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the snapshot builder's kernels to OCaml

    [Z] and [nat] become OCaml's int, of 63 bits: the program built from this refuses numbers of 2^62 and more.  Division
    is extracted as it is defined, not mapped. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Entry.

(* Both are the identity on int, as ExtrOcamlZInt has it for N. *)
Extract Constant Z.of_nat => "fun n -> n".
Extract Constant Z.to_nat => "fun z -> if z < 0 then 0 else z".

(* So that loops become loops, without a closure and a stack frame for each time round. *)
Extraction Inline mbind option_bind.

Extraction Language OCaml.
Extraction "snapbuild_proved.ml" run_purge run_purge_sorted run_purge_full run_insert run_compress.
