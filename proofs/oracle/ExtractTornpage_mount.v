(* SPDX-License-Identifier: PostgreSQL *)
(** * Extraction of the mount's double writes to OCaml *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Pgquern.tornpage Require Import Mount.

Extraction Language OCaml.
Extraction "tornpage_mount_proved.ml" new step read newest.
