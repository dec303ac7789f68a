(* SPDX-License-Identifier: PostgreSQL *)
(** * The checksums in plain C, load by load

    A page is a memory that is only read, word by word; a load past its end has no value.  A program yields [None] as soon as
    it does such a load: so "it yields [Some]" says that it stays within the page. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.tornpage Require Import Checksum.
Import ListNotations.
Local Open Scope Z_scope.

Definition words : Type := list Z.
Definition load (page : words) (i : nat) : option Z := nth_error page i.

Definition LANES : nat := 32.

(** memcpy(first, page + i, n) *)
Fixpoint copy_loads (page : words) (i n : nat) : option (list Z) :=
  match n with
  | O => Some []
  | S n => w ← load page i; rest ← copy_loads page (S i) n; Some (w :: rest)
  end.

(** for (lane = 0; lane < LANES; lane++) sums[lane] = step(sums[lane], page[i + lane]); *)
Fixpoint row_loads (step : Z -> Z -> Z) (page : words) (i : nat) (sums : list Z) : option (list Z) :=
  match sums with
  | [] => Some []
  | sum :: sums => w ← load page i; rest ← row_loads step page (S i) sums; Some (step sum w :: rest)
  end.

Fixpoint rows_loads (step : Z -> Z -> Z) (page : words) (i rows : nat) (sums : list Z) : option (list Z) :=
  match rows with
  | O => Some sums
  | S rows => sums ← row_loads step page i sums; rows_loads step page (i + LANES)%nat rows sums
  end.

(** upstream_loop.h, upstream_fold: a round of all columns by each row, and two by zeroes. *)
Definition upstream_fold (rows : nat) (page : words) : option Z :=
  first ← copy_loads page 0 LANES;
  sums ← rows_loads mix page LANES (rows - 1) (map2 mix base_offsets (without_checksum first));
  Some (fold_xor (map2 mix (map2 mix sums (zeroes sums)) (zeroes sums))).

(** scalar.c, fold_scalar: m = sum xor word is kept; the last row's own round, and two by zeroes, come at the end. *)
Definition scalar_fold (rows : nat) (page : words) : option Z :=
  first ← copy_loads page 0 LANES;
  mixed ← rows_loads next_split page LANES (rows - 1) (map2 Z.lxor base_offsets (without_checksum first));
  let round := map (fun m => next_split m 0) in
  Some (fold_xor (round (round (round mixed)))).
