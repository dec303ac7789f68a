(* SPDX-License-Identifier: PostgreSQL *)
(** * Sums, products, least and greatest lanes.  A lane wraps; only [register_of] cuts *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

Definition lanewise (w : nat) (f : Z -> Z -> Z) (a b : bytes) : bytes :=
  register_of w (map2 f (lanes w a) (lanes w b)).

(** PADD, PSUB, PMULL, PMAXU, PMINU; PMAXS. *)
Definition add (w : nat) : bytes -> bytes -> bytes := lanewise w Z.add.
Definition sub (w : nat) : bytes -> bytes -> bytes := lanewise w Z.sub.
Definition mullo (w : nat) : bytes -> bytes -> bytes := lanewise w Z.mul.
Definition max_unsigned (w : nat) : bytes -> bytes -> bytes := lanewise w Z.max.
Definition min_unsigned (w : nat) : bytes -> bytes -> bytes := lanewise w Z.min.
Definition max_signed (w : nat) : bytes -> bytes -> bytes := lanewise w (fun x y => Z.max (signed w x) (signed w y)).

(** PMADDWD: signed products of 16 bits, two neighbours added into 32 bits. *)
Fixpoint pair_sums (l : list Z) : list Z := match l with x :: y :: l => x + y :: pair_sums l | _ => [] end.
Definition multiply_add (a b : bytes) : bytes :=
  register_of 4 (pair_sums (map2 (fun x y => signed 2 x * signed 2 y) (lanes 2 a) (lanes 2 b))).

(** PHMINPOSUW: the least lane of 16 bits in the lowest lane, its first place in the next, 0 in the others. *)
Definition least (l : list Z) : Z := fold_right Z.min 65535 l.
Fixpoint place_of (x : Z) (l : list Z) : Z :=
  match l with [] => 0 | y :: l => if y =? x then 0 else 1 + place_of x l end.
Definition least_place (a : bytes) : bytes :=
  let l := lanes 2 a in widened (length a) (register_of 2 [least l; place_of (least l) l]).

(** The sum, or the greatest, of all lanes; the compiler makes it of several instructions. *)
Definition reduce_add (w : nat) (a : bytes) : bytes := bytes_of w (fold_right Z.add 0 (lanes w a)).
Definition reduce_max (w : nat) (a : bytes) : bytes := bytes_of w (fold_right Z.max 0 (lanes w a)).
