(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the checksum, of recovery and of the steps of a store to OCaml; numbers become int, of 63 bits: a product has 57 bits at most *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZInt ExtrOcamlNatInt ZArith.
From Pgquern.tornpage Require Import Checksum Faults Runs.

Extraction Language OCaml.
Extract Inlined Constant Z.lxor => "(lxor)".
Extract Inlined Constant Z.shiftr => "(lsr)".
Extract Inlined Constant Z.shiftl => "(lsl)".
Extract Inlined Constant Nat.eq_dec => "(=)".
Extraction "tornpage_proved.ml" checksum page_checksum kernel next next_split recover new advance.
