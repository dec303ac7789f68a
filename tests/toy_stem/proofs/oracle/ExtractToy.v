(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the algorithm to OCaml; numbers become int, of 63 bits *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZInt ZArith.
From Pgquern.toy Require Import Algorithms.

Extraction Language OCaml.
Extraction "toy_proved.ml" largest.
