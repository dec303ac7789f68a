(* SPDX-License-Identifier: PostgreSQL *)
(** * Arrays to compute with: those of Witness.v *)
From Pgquern.common Require Import Integers Xid.

(** 100 XIDs across the wrap, an invalid one among every five. The oldest stands in the middle. *)
Definition wrapped : list Z :=
  map (fun i => if i mod 5 =? 0 then 0 else (2 ^ 32 - 60 + i) mod RING + (if 59 <? i then 3 else 0))
    (map Z.of_nat (seq 30 70 ++ seq 1 29)).
