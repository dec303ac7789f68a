(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the recovery prefetcher to OCaml

    [nat] and [Z] become OCaml's int, of 63 bits: the program built from this refuses LSNs of 2^62 and more. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From Pgquern.prefetch Require Import Ring Filters Prefetcher.

Extraction Language OCaml.
Extraction "prefetch_proved.ml" entries start reconfigure begin_read read_record with_world_of.
