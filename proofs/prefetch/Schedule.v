(* SPDX-License-Identifier: PostgreSQL *)
(** * Two schedules: the eager one, and any one, with a ghost log of what was advised *)
From Coq Require Import Bool ZArith List.
From Pgquern.prefetch Require Import Ring.
Import ListNotations.

(** ** The eager schedule

    Every record has one block that is cold, distinct and read by replay; all of the WAL has arrived. Record j starts at
    LSN j, of [last] records. The callback is given the next record to look at. *)
Definition look_eagerly (last n : nat) : answer * nat := if n <=? last then (Io (Z.of_nat n), S n) else (Again, n).

(** The ring, and the next record to look at, when replay reads the block of record i for the first time: entries of
    records before it are complete, then look-ahead ran. *)
Fixpoint before_read (N last i : nat) : ring * nat :=
  match i with
  | O => (lrq_alloc (4 * N) N, 1)
  | S i' => let '(r, n) := before_read N last i' in lrq_prefetch (look_eagerly last) n (lrq_complete (Z.of_nat i) r)
  end.

(** The entries of [count] records from [first] on, each with an I/O. *)
Definition eager (first count : nat) : list entry := map (fun j => Entry true (Z.of_nat j)) (seq first count).

(** ** Any schedule

    The ghost log has the LSN of every record for which an I/O was ever started. The callback goes along the WAL: [at_lsn s]
    is where it stands; it answers an LSN from there on, and never goes back. *)
Section Ghost.
Context {State : Type} (look : State -> answer * State) (at_lsn : State -> Z).

Definition forward : Prop := forall s, match look s with
  | (Again, s') => (at_lsn s <= at_lsn s')%Z
  | (Io lsn, s') | (NoIo lsn, s') => (at_lsn s <= lsn <= at_lsn s')%Z
  end.

Definition logged (s : State * list Z) : answer * (State * list Z) :=
  match look (fst s) with
  | (Io lsn, s') => (Io lsn, (s', snd s ++ [lsn]))
  | (a, s') => (a, (s', snd s))
  end.

(** A run: the ring, the callback's state with the log, and the LSN up to which the WAL has been replayed. Replay never
    overtakes look-ahead. *)
Inductive run (N distance : nat) (s0 : State) : ring -> State * list Z -> Z -> Prop :=
  | run_start : run N distance s0 (lrq_alloc distance N) (s0, []) (at_lsn s0)
  | run_step r s lsn lsn' : run N distance s0 r s lsn -> (lsn <= lsn' <= at_lsn (fst s))%Z ->
      run N distance s0 (fst (lrq_prefetch logged s (lrq_complete lsn' r)))
        (snd (lrq_prefetch logged s (lrq_complete lsn' r))) lsn'.
End Ghost.

(** What the log has of records from [lsn] on, which have not been replayed. *)
Definition unreplayed (lsn : Z) (log : list Z) : list Z := filter (fun x => negb (x <? lsn)%Z) log.
