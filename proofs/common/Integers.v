(* SPDX-License-Identifier: PostgreSQL *)
(** * What files about lists of integers import *)
From Coq Require Export ZArith Lia List Bool.
Export ListNotations.
Open Scope Z_scope.
