(* SPDX-License-Identifier: PostgreSQL *)
(** * KnownAssignedXids: compressing by vector registers

    compress_neon.c and compress_avx2.c, with [lanes] entries a register: the loop of pack_neon.h and pack_avx2.h, then the
    loop for a rest.  A whole register is stored, also its lanes past the live XIDs; what it has there is left open: [pack].

    for (rounds = (end - from) / lanes; rounds > 0; rounds--, from += lanes, valid += lanes) { x = the XIDs at from;
      flags = those at valid; store the live lanes of x, packed, at to; to += how many are live; }
    to += slide_live(to, xids + rest, valid + rest, head - rest);
    memset(valid, true, to - xids); *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Spec Algorithms.
Import ListNotations.
Local Open Scope Z_scope.

(** Packing keeps the live XIDs, in order, on the left. *)
Definition packs_live (pack : list Z -> list Z -> list Z) : Prop :=
  forall xs flags, length xs = length flags -> exists others,
    pack xs flags = live xs flags ++ others /\ length (pack xs flags) = length xs.

(** NEON's look-up fills the other lanes with zeros. *)
Definition pack_live (xs flags : list Z) : list Z :=
  live xs flags ++ repeat 0 (length xs - length (live xs flags)).

Fixpoint compress_groups (pack : list Z -> list Z -> list Z) (lanes groups : nat) (r w : Z) (xids valid : memory) :
    option (Z * memory) :=
  match groups with
  | O => Some (w, xids)
  | S groups =>
      xs ← read xids r lanes;
      flags ← read valid r lanes;
      xids ← write xids w (pack xs flags);
      compress_groups pack lanes groups (r + Z.of_nat lanes) (w + zlength (live xs flags)) xids valid
  end.

Definition compress_registers (pack : list Z -> list Z -> list Z) (lanes : nat) (tail head : Z) (xids valid : memory) :
    option (Z * memory * memory) :=
  let n := Z.to_nat (head - tail) in
  '(w, xids) ← compress_groups pack lanes (n / lanes) tail 0 xids valid;
  '(_, w, xids) ← while (n mod lanes) (slide_test head) (compress_branchless_body valid)
                    (head - Z.of_nat (n mod lanes), w, xids);
  valid ← write valid 0 (List.repeat 1 (Z.to_nat w));
  Some (w, xids, valid).
