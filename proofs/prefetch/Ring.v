(* SPDX-License-Identifier: PostgreSQL *)
(** * The ring that limits what recovery prefetching has in flight: LsnReadQueue of xlogprefetcher.c

    The fields and the loops are those of lrq_alloc, lrq_prefetch and lrq_complete_lsn. The callback is any function on
    any state, so that what is proved holds for all of its answers. *)
From Coq Require Import Bool ZArith List Sorted.
Import ListNotations.

(** An entry: the LSN at which its record starts, and whether an I/O was started for it. *)
Record entry := Entry { entry_io : bool; entry_lsn : Z }.

Record ring := Ring {
  size : nat;
  max_inflight : nat;
  head : nat;
  tail : nat;
  inflight : nat;
  completed : nat;
  queue : nat -> entry;
}.

(** lrq_alloc: one slot more than may be filled, so that a full ring differs from an empty one. *)
Definition lrq_alloc (max_distance max_in : nat) : ring :=
  Ring (S max_distance) max_in 0 0 0 0 (fun _ => Entry false 0).

Definition following (r : ring) (i : nat) : nat := if S i =? size r then 0 else S i.

(** What the callback answers: LRQ_NEXT_AGAIN, LRQ_NEXT_IO or LRQ_NEXT_NO_IO, the last two with the record's LSN. *)
Inductive answer := Again | Io (lsn : Z) | NoIo (lsn : Z).

Definition push (r : ring) (io : bool) (lsn : Z) : ring :=
  Ring (size r) (max_inflight r) (following r (head r)) (tail r)
    (if io then S (inflight r) else inflight r) (if io then completed r else S (completed r))
    (fun i => if i =? head r then Entry io lsn else queue r i).

(** The condition of lrq_prefetch's loop. *)
Definition may_look (r : ring) : bool := (inflight r <? max_inflight r) && (inflight r + completed r <? size r - 1).

(** lrq_prefetch. [fuel] bounds the turns; [size r] is enough, since each turn fills a slot. *)
Fixpoint lrq_prefetch_loop {S : Type} (fuel : nat) (look : S -> answer * S) (s : S) (r : ring) : ring * S :=
  match fuel with
  | O => (r, s)
  | Datatypes.S fuel =>
      if may_look r then
        match look s with
        | (Again, s) => (r, s)
        | (Io lsn, s) => lrq_prefetch_loop fuel look s (push r true lsn)
        | (NoIo lsn, s) => lrq_prefetch_loop fuel look s (push r false lsn)
        end
      else (r, s)
  end.
Definition lrq_prefetch {S : Type} (look : S -> answer * S) (s : S) (r : ring) : ring * S :=
  lrq_prefetch_loop (size r) look s r.

Definition pop (r : ring) : ring :=
  let io := entry_io (queue r (tail r)) in
  Ring (size r) (max_inflight r) (head r) (following r (tail r))
    (if io then inflight r - 1 else inflight r) (if io then completed r else completed r - 1) (queue r).

(** lrq_complete_lsn, without the look-ahead that follows it. *)
Fixpoint lrq_complete_loop (fuel : nat) (lsn : Z) (r : ring) : ring :=
  match fuel with
  | O => r
  | S fuel =>
      if negb (tail r =? head r) && (entry_lsn (queue r (tail r)) <? lsn)%Z
      then lrq_complete_loop fuel lsn (pop r) else r
  end.
Definition lrq_complete (lsn : Z) (r : ring) : ring := lrq_complete_loop (size r) lsn r.

(** ** What the ring holds, said with a list *)

Definition used (r : ring) : nat := if tail r <=? head r then head r - tail r else head r + size r - tail r.
Definition slot (r : ring) (k : nat) : nat := if tail r + k <? size r then tail r + k else tail r + k - size r.

(** The entries between tail and head, the oldest first. *)
Definition entries (r : ring) : list entry := map (fun k => queue r (slot r k)) (seq 0 (used r)).

Definition ios (l : list entry) : nat := length (filter entry_io l).

(** The ring is consistent: its counters count its entries, no more than N are in flight, and one slot is free. *)
Record consistent (r : ring) : Prop := {
  head_inside : head r < size r;
  tail_inside : tail r < size r;
  inflight_counts : inflight r = ios (entries r);
  completed_counts : completed r = length (entries r) - ios (entries r);
  at_most_max : inflight r <= max_inflight r;
}.

(** The LSNs in the ring never fall, from tail to head: records are looked at in the order of the WAL. *)
Definition ascending (l : list entry) : Prop := Sorted.StronglySorted (fun a b => (entry_lsn a <= entry_lsn b)%Z) l.
