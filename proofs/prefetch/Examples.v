(* SPDX-License-Identifier: PostgreSQL *)
(** * Rings to compute with: those of Witness.v *)
From Coq Require Import Bool ZArith List.
From Pgquern.prefetch Require Import Ring Schedule.
Import ListNotations.

(** ** What is assumed and concluded, decided *)
Definition consistent_b (r : ring) : bool :=
  (head r <? size r) && (tail r <? size r) && (inflight r =? ios (entries r)) &&
  (completed r =? length (entries r) - ios (entries r)) && (inflight r <=? max_inflight r).

Fixpoint ascending_b (l : list entry) : bool :=
  match l with a :: (b :: _) as l' => (entry_lsn a <=? entry_lsn b)%Z && ascending_b l' | _ => true end.

(** ** Rings *)

(** A callback that answers from record n on: of three records one needs no I/O, and it never runs out. *)
Definition look_mixed (n : nat) : answer * nat :=
  ((if n mod 3 =? 0 then NoIo (Z.of_nat n) else Io (Z.of_nat n)), S n).

(** The ring, the next record to look at and the log, when the records below i have been replayed. *)
Fixpoint after (look : nat -> answer * nat) (N i : nat) : ring * (nat * list Z) :=
  let '(r, s) := match i with O => (lrq_alloc (4 * N) N, (0, [])) | S i' => after look N i' end in
  lrq_prefetch (logged look) s (lrq_complete (Z.of_nat i) r).
