(* SPDX-License-Identifier: PostgreSQL *)
(** * What files about lists of natural numbers import *)
From Coq Require Export Arith List Bool Lia.
Export ListNotations.
