(* SPDX-License-Identifier: PostgreSQL *)
(** * What the checksums load, one by one: extraction to OCaml

    The functions are those that are proved.  Their pages are another memory here: an array of words, and a function that is told
    of the place of each load. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From stdpp Require Import base option.
From Pgquern.tornpage Require Import Checksum Loads.

Extract Inlined Constant Z.lxor => "(lxor)".
Extract Inlined Constant Z.shiftr => "(lsr)".
Extract Inlined Constant Z.shiftl => "(lsl)".

Extract Constant words => "((int -> unit) * int array)".
Extract Constant load => "fun (tell, page) i -> tell i; if i < Array.length page then Some page.(i) else None".

Extraction Inline mbind option_bind.

Extraction Language OCaml.
Extraction "tornpage_operations_proved.ml" upstream_fold scalar_fold avx2_sums avx512_sums neon_sums.
