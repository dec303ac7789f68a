(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the range lock to OCaml; numbers become int, of 63 bits *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZInt ZArith.
From Pgquern.rangelock Require Import Tree Lock.

Extraction Language OCaml.
Extraction "rangelock_proved.ml" new_lock ask try_ask leave is_held present.
