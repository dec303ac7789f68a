(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the cache's steps to OCaml; numbers become int, of 63 bits *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Pgquern.tiercache Require Import Tiers FlatFile.

Extraction Language OCaml.
Extraction "tiercache_proved.ml" start run_step do_fsync read dirty valid assumed.
