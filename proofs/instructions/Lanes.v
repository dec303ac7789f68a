(* SPDX-License-Identifier: PostgreSQL *)
(** * A register is a list of bytes, the lowest first; the same bytes are lanes, and bits

    A mask and a general register are lists of bytes, too. *)
From Pgquern.common Require Import Integers.

Definition bytes := list Z.

Fixpoint number (r : bytes) : Z := match r with [] => 0 | b :: r => b + 256 * number r end.

(** The lowest [w] bytes of a number, also of a negative one: two's complement. *)
Fixpoint bytes_of (w : nat) (x : Z) : bytes := match w with O => [] | S w => x mod 256 :: bytes_of w (x / 256) end.

Fixpoint pieces_of {A} (n w : nat) (l : list A) : list (list A) :=
  match n with O => [] | S n => firstn w l :: pieces_of n w (skipn w l) end.
Definition pieces {A} (w : nat) (l : list A) : list (list A) := pieces_of (length l / w) w l.

(** Lanes of [w] bytes, as unsigned numbers. *)
Definition lanes (w : nat) (r : bytes) : list Z := map number (pieces w r).
Definition register_of (w : nat) (xs : list Z) : bytes := concat (map (bytes_of w) xs).

(** How many values [w] bytes have; an unsigned lane as a signed number. *)
Fixpoint span (w : nat) : Z := match w with O => 1 | S w => 256 * span w end.
Definition signed (w : nat) (x : Z) : Z := if 2 * x <? span w then x else x - span w.

Definition bits_of (b : Z) : list bool := map (Z.testbit b) [0; 1; 2; 3; 4; 5; 6; 7].
Definition bits (r : bytes) : list bool := concat (map bits_of r).
Fixpoint number_of_bits (l : list bool) : Z := match l with [] => 0 | t :: l => Z.b2z t + 2 * number_of_bits l end.
Definition register_of_bits (l : list bool) : bytes := map number_of_bits (pieces 8 l).

Fixpoint map2 {A B C} (f : A -> B -> C) (l : list A) (m : list B) : list C :=
  match l, m with x :: l, y :: m => f x y :: map2 f l m | _, _ => [] end.

Definition zeros (n : nat) : bytes := repeat 0 n.
(** A register or a mask of [n] bytes, of which the lowest are [r]. *)
Definition widened (n : nat) (r : bytes) : bytes := firstn n (r ++ zeros n).
