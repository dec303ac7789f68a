(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    Rings as runs leave them, wrapped ones among them, and for each what a theorem assumes and what it concludes, both as
    a boolean.  Witness.v proves that all of them are true.  `make prove-mutants` computes them with a definition changed:
    where a hypothesis is true and its conclusion false, the theorem is false. *)
From Coq Require Import String ZArith Bool List.
From Pgquern.prefetch Require Import Ring Schedule.
Import ListNotations.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

(** ** What is assumed and concluded, decided *)
Definition consistent_b (r : ring) : bool :=
  (head r <? size r) && (tail r <? size r) && (inflight r =? ios (entries r)) &&
  (completed r =? length (entries r) - ios (entries r)) && (inflight r <=? max_inflight r).

Fixpoint ascending_b (l : list entry) : bool :=
  match l with a :: (b :: _) as l' => (entry_lsn a <=? entry_lsn b)%Z && ascending_b l' | _ => true end.

Definition entry_eqb (a b : entry) : bool := Bool.eqb (entry_io a) (entry_io b) && (entry_lsn a =? entry_lsn b)%Z.
Fixpoint same (l l' : list entry) : bool :=
  match l, l' with [], [] => true | a :: l, b :: l' => entry_eqb a b && same l l' | _, _ => false end.

(** ** Rings *)

(** A callback that answers from record n on: of three records one needs no I/O, and it never runs out. *)
Definition look_mixed (n : nat) : answer * nat :=
  ((if n mod 3 =? 0 then NoIo (Z.of_nat n) else Io (Z.of_nat n)), S n).
(** One that needs no I/O at all, so that the distance is what limits it. *)
Definition look_cached (n : nat) : answer * nat := (NoIo (Z.of_nat n), S n).

(** The ring, the next record to look at and the log, when the records below i have been replayed. *)
Fixpoint after (look : nat -> answer * nat) (N i : nat) : ring * (nat * list Z) :=
  let '(r, s) := match i with O => (lrq_alloc (4 * N) N, (0, [])) | S i' => after look N i' end in
  lrq_prefetch (logged look) s (lrq_complete (Z.of_nat i) r).

Definition runs : list ((nat -> answer * nat) * nat * nat) :=
  list_prod (list_prod [look_mixed; look_cached; look_eagerly 1000] [1; 2; 3; 10]) [0; 1; 2; 5; 6; 13; 50].

(** A ring that is being filled with entries without I/O, after k looks. *)
Definition filling (N k : nat) : ring := fst (lrq_prefetch_loop k look_cached 0 (lrq_alloc (4 * N) N)).

(** ** The instances *)
Definition never_overflows (r : ring) : instance :=
  Instance "ring_never_overflows" (consistent_b r) (negb (may_look r) || negb (following r (head r) =? tail r)).

Definition instances_of (run : (nat -> answer * nat) * nat * nat) : list instance :=
  let '(look, N, i) := run in
  let '(r, (n, log)) := after look N i in
  let freed := lrq_complete (Z.of_nat (S i)) r in
  [never_overflows freed;
   Instance "look_ahead_keeps_consistent" (consistent_b freed) (consistent_b (fst (lrq_prefetch look n freed)));
   Instance "complete_frees_exactly" (consistent_b r && ascending_b (entries r))
     (consistent_b freed && same (entries freed) (filter (fun e => negb (entry_lsn e <? Z.of_nat (S i))%Z) (entries r)));
   Instance "at_most_N_unreplayed" true (length (unreplayed (Z.of_nat i) log) <=? N)].

Definition eager_instance (N i : nat) : instance :=
  Instance "eager_has_exactly_N" ((1 <=? N) && (1 <=? i) && (i + N <=? 101)) 
    (let r := fst (before_read N 100 i) in (inflight r =? N) && same (entries r) (eager i N)).

Definition instances : list instance :=
  map (fun k => never_overflows (filling 3 k)) (seq 0 13) ++ flat_map instances_of runs ++
  map (fun p => eager_instance (fst p) (snd p)) (list_prod [1; 3; 10] [1; 2; 20; 60]).
