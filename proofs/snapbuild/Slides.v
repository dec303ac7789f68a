(* SPDX-License-Identifier: PostgreSQL *)
(** * The AVX2 and NEON kernels whole: the printed loop over registers, and the loop of C for what fills none

    The second loop and the place where it begins are written in C by hand: `slide_survivors` of purge.h, `slide_live` of
    known_assigned.h, and their callers in purge_neon.c, purge_avx2.c, compress_neon.c and compress_avx2.c.  Here they load and
    store in the same memory as the printed loop, word by word. *)
From Pgquern.common Require Import Integers Xid.
From Pgquern.instructions Require Import Lanes Memory Program.
From Pgquern.snapbuild Require Import Generated.

Local Notation "x <-- a ; b" := (bind a (fun x => b)) (at level 100, a at next level, right associativity).

(** In C: [x = from[i]; to[kept] = x; kept += !xid_normal_precedes(x, xmin);] *)
Fixpoint slide_survivors (xmin : Z) (n : nat) (to from : Z) (m : cells) : option (Z * cells) :=
  match n with
  | O => Some (to, m)
  | S n =>
      x <-- load_from (Whole 4) [] m from;
      m <-- store_to (Whole 4) [] x m to;
      slide_survivors xmin n (to + 4 * Z.b2z ((number x - xmin) mod RING <? HALF)) (from + 4) m
  end.

(** In C: [to[kept] = from[i]; kept += valid[i];] *)
Fixpoint slide_live (n : nat) (to from valid : Z) (m : cells) : option (Z * cells) :=
  match n with
  | O => Some (to, m)
  | S n =>
      x <-- load_from (Whole 4) [] m from;
      m <-- store_to (Whole 4) [] x m to;
      flag <-- load_from (Whole 1) [] m valid;
      slide_live n (to + 4 * number flag) (from + 4) (valid + 1) m
  end.

(** How many words lie between two addresses. *)
Definition words_between (from last : Z) : Z := (last - from) / 4.

(** Of the XIDs, [loop] moves those that fill registers. *)
Definition keep_by (loop : program) (lanes xmin to from last : Z) (m : cells) : option (Z * cells) :=
  let rest := words_between from last mod lanes in
  r <-- run loop [Address 4 to; Address 4 from; Address 4 last; Register (bytes_of 4 xmin)] m;
  match r with
  | (Address _ to, m) => slide_survivors xmin (Z.to_nat rest) to (last - 4 * rest) m
  | _ => None
  end.

Definition keep_neon : Z -> Z -> Z -> Z -> cells -> option (Z * cells) := keep_by purge_neon_program 4.
Definition keep_avx2 : Z -> Z -> Z -> Z -> cells -> option (Z * cells) := keep_by purge_avx2_program 8.

(** How many of [n] words fill registers of so many. *)
Definition in_registers (lanes n : Z) : Z := n / lanes * lanes.

(** Of the entries, [loop] moves those that fill registers. *)
Definition compress_by (loop : program) (lanes to from last valid : Z) (m : cells) : option (Z * cells) :=
  let n := words_between from last in let rest := in_registers lanes n in
  r <-- run loop [Address 4 to; Address 4 from; Address 4 last; Address 1 valid] m;
  match r with
  | (Address _ to, m) => slide_live (Z.to_nat (n - rest)) to (from + 4 * rest) (valid + rest) m
  | _ => None
  end.

Definition compress_neon : Z -> Z -> Z -> Z -> cells -> option (Z * cells) := compress_by compress_neon_program 4.
Definition compress_avx2 : Z -> Z -> Z -> Z -> cells -> option (Z * cells) := compress_by compress_avx2_program 8.
