(* SPDX-License-Identifier: PostgreSQL *)
(** * What a compression leaves between the live XIDs and those that it has not read

    Registers are stored whole, and each XID of a rest is stored, live or not: so something stands in each cell. *)
From Coq Require Import ZArith Lia List.
From Pgquern.snapbuild Require Import Spec.
Import ListNotations.
Local Open Scope Z_scope.

(** After [k] registers; [stale] stood before the first.  The next register's live XIDs are stored over the first of these,
    and its other lanes over the next ones. *)
Fixpoint leftovers (pack : list Z -> list Z -> list Z) (lanes k : nat) (stale data flags : list Z) : list Z :=
  match k with
  | O => stale
  | S k =>
      let x := firstn lanes (skipn (k * lanes) data) in
      let f := firstn lanes (skipn (k * lanes) flags) in
      skipn (length (live x f)) (pack x f) ++ skipn lanes (leftovers pack lanes k stale data flags ++ x)
  end.

(** After the rest, too, XID by XID: one that is not live is still the first of what is left. *)
Fixpoint leftovers_of_rest (left data flags : list Z) : list Z :=
  match data, flags with
  | x :: data, v :: flags =>
      let moved := skipn 1 (left ++ [x]) in
      leftovers_of_rest (if v =? 0 then x :: moved else moved) data flags
  | _, _ => left
  end.

(** After all of them. *)
Definition left_by (pack : list Z -> list Z -> list Z) (lanes : nat) (stale data flags : list Z) : list Z :=
  let k := (length data / lanes)%nat in
  leftovers_of_rest (leftovers pack lanes k stale data flags) (skipn (k * lanes) data) (skipn (k * lanes) flags).

(* The [n] entries that come next. *)
Lemma next_entries {A} n (done next rest : list A) : length next = n ->
  firstn n (skipn (length done) (done ++ next ++ rest)) = next.
Proof.
  intros <-. rewrite skipn_app, skipn_all, Nat.sub_diag. cbn [skipn app]. rewrite firstn_app, firstn_all, Nat.sub_diag.
  apply app_nil_r.
Qed.
