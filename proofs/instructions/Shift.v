(* SPDX-License-Identifier: PostgreSQL *)
(** * Each lane's bits move; a register's bits are listed from the lowest *)
From Coq Require Import ZArith List.
From Pgquern.instructions Require Import Lanes.
Import ListNotations.

Definition per_lane (w : nat) (move : list bool -> list bool) (r : bytes) : bytes :=
  concat (map (fun lane => register_of_bits (move (bits lane))) (pieces w r)).

(** PSLL, PSRL: zeros come in.  PSRA: copies of the sign. *)
Definition shift_left (w n : nat) : bytes -> bytes :=
  per_lane w (fun l => firstn (length l) (repeat false n ++ l)).
Definition shift_right (w n : nat) : bytes -> bytes :=
  per_lane w (fun l => skipn n l ++ firstn n (repeat false (length l))).
Definition shift_right_signed (w n : nat) : bytes -> bytes :=
  per_lane w (fun l => skipn n l ++ firstn n (repeat (last l false) (length l))).

(** VPSLLDQ: bytes move up in each block of 16. *)
Definition shift_bytes_left (n : nat) (r : bytes) : bytes :=
  concat (map (fun block => firstn 16 (zeros n ++ block)) (pieces 16 r)).
