(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the scan, the kernels and the decision to OCaml

    [Z] and [nat] become OCaml's int, of 63 bits.  All numbers here stay below 2^34. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From Pgquern.datfrozenxid Require Import Spec Algorithms Kernels Rows Patch.

(* Both are the identity on int, as ExtrOcamlZInt has it for N. *)
Extract Constant Z.of_nat => "fun n -> n".
Extract Constant Z.to_nat => "fun z -> if z < 0 then 0 else z".

Extraction Language OCaml.
Extraction "datfrozenxid_proved.ml" scan scan_rows need_update need_update_by_age scalar_age avx2_age avx512_age
  scalar_row_age row_age min_frozen min_frozen_rows update update_patched.
