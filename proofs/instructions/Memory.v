(* SPDX-License-Identifier: PostgreSQL *)
(** * Loads and stores: memory is a window of cells, some of which are not there

    An instruction that touches a cell which is not there has no result.  What the mask leaves out is not touched. *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

Definition cells := list (option Z).

(** One bit a byte, from one bit a lane of [w] bytes. *)
Definition byte_mask (w : nat) (k : list bool) : list bool := concat (map (fun t => repeat t w) k).

(** VPMASKMOVD and VMOVDQU with a mask: zero where the mask has no bit. *)
Fixpoint load_bytes (k : list bool) (m : cells) : option bytes :=
  match k, m with
  | true :: k, Some x :: m => option_map (cons x) (load_bytes k m)
  | true :: _, _ => None
  | false :: k, _ :: m => option_map (cons 0) (load_bytes k m)
  | _, _ => Some []
  end.
Definition load_masked (w : nat) (k : bytes) (m : cells) : option bytes := load_bytes (byte_mask w (bits k)) m.

Fixpoint store_bytes (k : list bool) (r : bytes) (m : cells) : option cells :=
  match k, r, m with
  | true :: k, x :: r, Some _ :: m => option_map (cons (Some x)) (store_bytes k r m)
  | true :: _, _, _ => None
  | false :: k, _ :: r, c :: m => option_map (cons c) (store_bytes k r m)
  | _, _, _ => Some m
  end.
Definition store_masked (w : nat) (k r : bytes) (m : cells) : option cells := store_bytes (byte_mask w (bits k)) r m.

(** Without a mask all of the register is loaded or stored. *)
Definition load (n : nat) (m : cells) : option bytes := load_bytes (repeat true n) m.
Definition store (r : bytes) (m : cells) : option cells := store_bytes (repeat true (length r)) r m.

(** VPMASKMOVD's mask is the signs of lanes of 32 bits. *)
Definition sign_mask (w : nat) (r : bytes) : list bool := map (fun lane => 128 <=? last lane 0) (pieces w r).
Definition load_by_signs (w : nat) (k : bytes) (m : cells) : option bytes := load_bytes (byte_mask w (sign_mask w k)) m.
