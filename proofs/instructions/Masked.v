(* SPDX-License-Identifier: PostgreSQL *)
(** * A mask chooses between lanes *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

(** Lane i of [r] where bit i of [k] is set, of [source] elsewhere; [maskz_] takes zeros as source. *)
Fixpoint choose {A} (k : list bool) (l source : list A) : list A :=
  match k, l, source with
  | t :: k, x :: l, y :: source => (if t then x else y) :: choose k l source
  | _, _, _ => []
  end.
Definition masked (w : nat) (source k r : bytes) : bytes := concat (choose (bits k) (pieces w r) (pieces w source)).
Definition masked_zero (w : nat) (k r : bytes) : bytes := masked w (zeros (length r)) k r.

(** PBLENDVB: the byte of [b] where the sign of the mask's byte is set.  VPBLENDD: the lane of [b] where the immediate
    has a bit. *)
Definition blend_bytes (a b mask : bytes) : bytes := choose (map (fun m => 128 <=? m) mask) b a.
Definition blend (w : nat) (k : Z) (a b : bytes) : bytes := masked w a [k] b.

(** VPCOMPRESS with zeroing: the lanes that the mask has, in their order, at the bottom; zeros above. *)
Fixpoint selected {A} (k : list bool) (l : list A) : list A :=
  match k, l with t :: k, x :: l => (if t then [x] else []) ++ selected k l | _, _ => [] end.
Definition compress (w : nat) (k r : bytes) : bytes := widened (length r) (concat (selected (bits k) (pieces w r))).
