(* SPDX-License-Identifier: PostgreSQL *)
(** * Lanes change places *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes.

Definition item {A} (i : Z) (l : list (list A)) : list A := nth (Z.to_nat i) l [].
(** Block by block of 16 bytes, as most older instructions work. *)
Definition by_block (f : bytes -> bytes) (a : bytes) : bytes := concat (map f (pieces 16 a)).
Definition by_blocks (f : bytes -> bytes -> bytes) (a b : bytes) : bytes := concat (map2 f (pieces 16 a) (pieces 16 b)).

(** VPERMD, VPERMW, VPERMQ; VPERMT2W: lane i is that of the source which index i names, modulo the number of lanes.
    Two sources count as one, [a] below [b]. *)
Definition pick (w : nat) (source index : bytes) : bytes :=
  let l := pieces w source in concat (map (fun i => item (i mod Z.of_nat (length l)) l) (lanes w index)).
Definition pick_of_two (w : nat) (a index b : bytes) : bytes := pick w (a ++ b) index.

(** Of four lanes, those that the immediate's pairs of bits name: VPERMQ on a whole register, PSHUFD in each block. *)
Definition pick_four {A} (control : Z) (l : list (list A)) : list A :=
  concat (map (fun i => item (control / 4 ^ i mod 4) l) [0; 1; 2; 3]).
Definition permute_quarters (control : Z) (a : bytes) : bytes := pick_four control (pieces 8 a).
Definition shuffle (control : Z) : bytes -> bytes := by_block (fun block => pick_four control (pieces 4 block)).

(** VPERM2I128: for each half four bits; the low two name a half of [a] or [b], the high one makes zeros. *)
Definition permute_halves (control : Z) (a b : bytes) : bytes :=
  let half c := if Z.testbit c 3 then zeros 16 else item (c mod 4) (pieces 16 a ++ pieces 16 b) in
  half (control mod 16) ++ half (control / 16).

(** PSHUFB: in each block, byte i is that which the low four bits of index i name; zero if index i has its sign set. *)
Definition shuffle_bytes : bytes -> bytes -> bytes :=
  by_blocks (fun block index => map (fun i => if 128 <=? i then 0 else nth (Z.to_nat (i mod 16)) block 0) index).

(** PUNPCKL, PUNPCKH: in each block, the lanes of the lower, or upper, halves of [a] and [b] in turn. *)
Definition interleave (w : nat) (a b : bytes) : bytes := concat (map2 (@app Z) (pieces w a) (pieces w b)).
Definition unpack_low (w : nat) : bytes -> bytes -> bytes :=
  by_blocks (fun a b => interleave w (firstn 8 a) (firstn 8 b)).
Definition unpack_high (w : nat) : bytes -> bytes -> bytes :=
  by_blocks (fun a b => interleave w (skipn 8 a) (skipn 8 b)).

(** PACKUS, PACKSS: in each block, the signed lanes of [a], then those of [b], narrowed to half their width, no less
    than [low] and no more than [high]. *)
Definition pack (w : nat) (low high : Z) : bytes -> bytes -> bytes :=
  by_blocks (fun a b => register_of (w / 2) (map (fun x => Z.max low (Z.min high (signed w x))) (lanes w (a ++ b)))).

(** VALIGN: the lanes from the [n]-th on of [b], and above them those of [a]. *)
Definition align (w n : nat) (a b : bytes) : bytes := firstn (length a) (skipn (w * n) (b ++ a)).

(** VEXTRACT: the [n]-th piece of [w] bytes.  PEXTR: a lane as an int, zeros above. *)
Definition extract (w n : nat) (a : bytes) : bytes := nth n (pieces w a) [].
Definition extract_lane (w n : nat) (a : bytes) : bytes := widened 4 (extract w n a).

(** VPMOVDW keeps the low half of each lane; PMOVZX puts zeros above. *)
Definition narrow (from to : nat) (a : bytes) : bytes := concat (map (firstn to) (pieces from a)).
Definition widen (from to lanes : nat) (a : bytes) : bytes := concat (map (widened to) (firstn lanes (pieces from a))).

(** One lane in all [n]; lanes as they are listed in C, from the highest, or from the lowest, on. *)
Definition spread (n : nat) (x : bytes) : bytes := concat (repeat x n).
Definition from_highest (w : nat) (xs : bytes) : bytes := concat (rev (pieces w xs)).
