(* SPDX-License-Identifier: PostgreSQL *)
(** * What ARM's NEON has, and the others have not *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Arithmetic Logic Compare Permute.

(** ORN: [a], or not [b].  BSL: each bit of [a] where the mask has one, of [b] elsewhere. *)
Definition or_not : bytes -> bytes -> bytes := bitwise (fun x y => x || negb y).
Definition bit_select (mask a b : bytes) : bytes := or (and mask a) (andnot mask b).

(** CMGE, CMHS, CMLT and others: -1 or 0.  CMTST: -1 where a bit is set in both. *)
Definition compare_lanes (w : nat) (f : Z -> Z -> bool) (a b : bytes) : bytes := as_lanes w (compared w f a b).
Definition compare_zero (w : nat) (f : Z -> Z -> bool) (a : bytes) : bytes :=
  as_lanes w (map (fun x => f (signed w x) 0) (lanes w a)).
Definition test_lanes (w : nat) (a b : bytes) : bytes := as_lanes w (map (fun x => negb (x =? 0)) (lanes w (and a b))).

(** UADALP: two unsigned neighbours added into a lane of twice their width, and to what it held. *)
Definition add_pairs (w : nat) (sums a : bytes) : bytes :=
  add (2 * w) sums (register_of (2 * w) (pair_sums (lanes w a))).
(** UMINV. *)
Definition reduce_min (w : nat) (a : bytes) : bytes := bytes_of w (fold_right Z.min (span w - 1) (lanes w a)).

(** UZP1, UZP2: every other lane of [a], then of [b], from the first or the second on. *)
Fixpoint every_other {A} (l : list A) : list A := match l with x :: _ :: l => x :: every_other l | _ => l end.
Definition evens (w : nat) (a b : bytes) : bytes := concat (every_other (pieces w (a ++ b))).
Definition odds (w : nat) (a b : bytes) : bytes := concat (every_other (tl (pieces w (a ++ b)))).

(** EXT: the lanes from the [n]-th on of [a], and above them those of [b]. *)
Definition extract_from (w n : nat) (a b : bytes) : bytes := align w n b a.
(** TBL: byte i is that which index i names; zero if there is none. *)
Definition look_up (table index : bytes) : bytes := map (fun i => nth (Z.to_nat i) table 0) index.
(** INS. *)
Definition insert (w n : nat) (x a : bytes) : bytes := firstn (w * n) a ++ x ++ skipn (w * n + w) a.
(** LD2: the even lanes into one register, the odd ones into the next. *)
Definition two_lanes (w : nat) (m : bytes) : bytes := evens w m [] ++ odds w m [].
