(* SPDX-License-Identifier: PostgreSQL *)
(** * The SIMD purges, load by load and store by store, with the blocks of long arrays

    purge_avx2.c, purge_avx512.c, purge_neon.c: the inner loop around which blocks.h goes.  What a register has in the lanes
    past its survivors is left open: [pack]. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Spec Algorithms Blocks.
Local Open Scope Z_scope.

(** ** Registers

    They are loaded, all of them, before each is stored packed, where the survivors of those before it end. *)
Fixpoint load_registers (a : memory) (r : Z) (widths : list nat) : option (list (list Z)) :=
  match widths with
  | [] => Some []
  | width :: widths =>
      register ← read a r width;
      registers ← load_registers a (r + Z.of_nat width) widths;
      Some (register :: registers)
  end.

Fixpoint store_registers (pack : list Z -> list Z) (xmin : Z) (a : memory) (w : Z) (registers : list (list Z)) :
    option (Z * memory) :=
  match registers with
  | [] => Some (w, a)
  | register :: registers =>
      a ← write a w (pack register);
      store_registers pack xmin a (w + zlength (kept xmin register)) registers
  end.

(** Packing keeps the lanes that stay, in order, on the left; what the other lanes hold is left open. *)
Definition packs (xmin : Z) (pack : list Z -> list Z) : Prop :=
  forall register, exists others,
    pack register = kept xmin register ++ others /\ length (pack register) = length register.

(** AVX-512 fills the other lanes with zeros (VPCOMPRESSD with a zero mask). *)
Definition compress_zeros (xmin : Z) (register : list Z) : list Z :=
  kept xmin register ++ repeat 0 (length register - length (kept xmin register)).

(** ** The inner loop *)

Definition registers_test (widths : list nat) (end_ : Z) (s : state) : option bool :=
  let '(from, to, a) := s in Some (Z.of_nat (list_sum widths) <=? end_ - from).

Definition registers_body (pack : list Z -> list Z) (xmin : Z) (widths : list nat) (s : state) : option state :=
  let '(from, to, a) := s in
  registers ← load_registers a from widths;
  '(to, a) ← store_registers pack xmin a to registers;
  Some (from + Z.of_nat (list_sum widths), to, a).

(** for (; end - from >= 4 * lanes; from += 4 * lanes) { a, b, c, d = the registers at from; to += keep_register(to, a); ... }
    for (; end - from >= lanes; from += lanes) to += keep_register(to, the register at from);
    and what does not fill a register. *)
Definition keep_registers (pack : list Z -> list Z) (xmin : Z) (lanes : nat) (rest : Z -> state -> option state)
    (end_ : Z) (s : state) : option state :=
  let four := [lanes; lanes; lanes; lanes] in
  s ← while (Z.to_nat end_) (registers_test four end_) (registers_body pack xmin four) s;
  s ← while (Z.to_nat end_) (registers_test [lanes] end_) (registers_body pack xmin [lanes]) s;
  rest end_ s.

(** slide_survivors: XID by XID. *)
Definition slide_rest (xmin end_ : Z) (s : state) : option state :=
  while (Z.to_nat end_) (slide_test end_) (branchless_body xmin) s.

(** AVX-512: one more register, of which a mask has the lanes that are left. *)
Definition masked_rest (pack : list Z -> list Z) (xmin end_ : Z) (s : state) : option state :=
  let '(from, to, a) := s in
  if from =? end_ then Some s else registers_body pack xmin [Z.to_nat (end_ - from)] s.

(** Blocks are looked at and copied by vectors of eight XIDs, with AVX-512 of sixteen. *)
Definition purge_avx2 (pack : list Z -> list Z) (n xmin : Z) (a : memory) : option (Z * memory) :=
  purge_by_blocks 32 (keep_registers pack xmin 8 (slide_rest xmin)) n xmin a.

Definition purge_avx512 (pack : list Z -> list Z) (n xmin : Z) (a : memory) : option (Z * memory) :=
  purge_by_blocks 64 (keep_registers pack xmin 16 (masked_rest pack xmin)) n xmin a.

Definition purge_neon (pack : list Z -> list Z) (n xmin : Z) (a : memory) : option (Z * memory) :=
  purge_by_blocks 32 (keep_registers pack xmin 4 (slide_rest xmin)) n xmin a.
