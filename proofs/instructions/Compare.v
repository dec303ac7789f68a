(* SPDX-License-Identifier: PostgreSQL *)
(** * Comparisons: into lanes of ones and zeros, or into a mask *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic.

Definition compared (w : nat) (f : Z -> Z -> bool) (a b : bytes) : list bool := map2 f (lanes w a) (lanes w b).
Definition on_signed (w : nat) (f : Z -> Z -> bool) (x y : Z) : bool := f (signed w x) (signed w y).

(** PCMPEQ, PCMPGT (signed): -1 or 0. *)
Definition as_lanes (w : nat) (l : list bool) : bytes := register_of w (map (fun t : bool => if t then -1 else 0) l).
Definition compare_equal (w : nat) (a b : bytes) : bytes := as_lanes w (compared w Z.eqb a b).
Definition compare_greater (w : nat) (a b : bytes) : bytes := as_lanes w (compared w (on_signed w Z.gtb) a b).

(** VPCMP and VPCMPU: a mask.  Under a mask [k], only its lanes can be set. *)
Definition mask_compare (w : nat) (f : Z -> Z -> bool) (a b : bytes) : bytes := register_of_bits (compared w f a b).
Definition under_mask (k m : bytes) : bytes := and k m.

(** VPTESTM: the lanes in which a bit is set in both. *)
Definition mask_test (w : nat) (a b : bytes) : bytes :=
  register_of_bits (map (fun x => negb (x =? 0)) (lanes w (and a b))).

(** The signs of the lanes: VPMOV2M as a mask; PMOVMSK and MOVMSKPS as an int, zeros above. *)
Definition signs (w : nat) (a : bytes) : bytes := register_of_bits (map (fun lane => 128 <=? last lane 0) (pieces w a)).
Definition signs_as_int (w : nat) (a : bytes) : bytes := widened 4 (signs w a).
