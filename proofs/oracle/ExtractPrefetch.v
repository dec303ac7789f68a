(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the ring of recovery prefetching to OCaml

    [nat] and [Z] become OCaml's int, of 63 bits: the program built from this refuses LSNs of 2^62 and more. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From Pgquern.prefetch Require Import Ring.

Extraction Language OCaml.
Extraction "prefetch_proved.ml" lrq_alloc lrq_prefetch lrq_complete entries.
