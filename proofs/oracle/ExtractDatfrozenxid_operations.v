(* SPDX-License-Identifier: PostgreSQL *)
(** * What the kernels of datfrozenxid load, one by one: extraction to OCaml

    The functions are those that are proved.  Their memories are other ones here: an array, or rows, and a function that is told of
    each load: at, and how many elements.  Of rows the elements are bytes, 12 a row: relkind first, both ids from byte 4 on. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From stdpp Require Import base option.
From Pgquern.datfrozenxid Require Import Spec Loads.

(* Both are the identity on int, as ExtrOcamlZInt has it for N. *)
Extract Constant Z.of_nat => "fun n -> n".
Extract Constant Z.to_nat => "fun z -> if z < 0 then 0 else z".

Extract Constant values => "((int -> int -> unit) * int array)".
Extract Constant load => "fun (tell, a) i -> tell i 1; if i < Array.length a then Some a.(i) else None".

(* The rows' three columns. *)
Extract Constant table => "((int -> int -> unit) * bool array * int array * int array)".
Extract Constant load_relkind =>
  "fun (tell, holds, _, _) i -> tell (12 * i) 1; if i < Array.length holds then Some holds.(i) else None".
Extract Constant load_ids =>
  "fun (tell, holds, xids, multis) i -> tell (12 * i + 4) 8;
   if i < Array.length holds then Some (xids.(i), multis.(i)) else None".

Extraction Inline mbind option_bind.

Extraction Language OCaml.
Extraction "datfrozenxid_operations_proved.ml" scan_kernel scalar_kernel scan_rows_kernel scalar_rows_kernel
  avx2_rows_kernel neon_rows_kernel.
