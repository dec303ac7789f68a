(* SPDX-License-Identifier: PostgreSQL *)
(** * The largest number of an array, with one look at each element *)
From Coq Require Import ZArith List.
Import ListNotations.
Local Open Scope Z_scope.

Definition larger (a b : Z) : Z := if a <? b then b else a.

Definition largest (array : list Z) : option Z :=
  match array with
  | [] => None
  | first :: rest => Some (fold_left larger rest first)
  end.
