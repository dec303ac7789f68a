(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the scheduler to OCaml

    [Z] and [nat] become OCaml's int, of 63 bits: the program built from this is for requests whose cost, with the warp, is
    below 2^59. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From Pgquern.ioshares Require Import Algorithms.

Extract Constant Z.of_nat => "fun n -> n".

Extraction Language OCaml.
Extraction "ioshares_proved.ml" make submit cancel next_rebased complete set_shares limit lead.
