(* SPDX-License-Identifier: PostgreSQL *)
(** * A page of any number of sectors, a crash, and recovery with three protections

    A page is a list of sectors.  A crash keeps, of each sector by itself, its durable content or that of a write since.
    The log is a list of records, the first one after the redo point being number 1.  Record [j] is an image, or a change that
    is right only on the page as record [j - 1] left it; a page knows, in its first sector, the last record it contains. *)
From Pgquern.common Require Import Naturals.

Section Recovery.
  Variable sector : Type.
  Definition page := list sector.

  (** What a crash may leave of a page, after writes that were not synced: tearing, and on a device with atomic writes. *)
  Definition leaves (durable : page) (written : list page) (left : page) : Prop :=
    length left = length durable /\
    forall i s, nth_error left i = Some s -> nth_error durable i = Some s \/ exists w, In w written /\ nth_error w i = Some s.
  Definition leaves_whole (durable : page) (written : list page) (left : page) : Prop :=
    left = durable \/ In left written.

  Variable is_image : nat -> bool.
  Variable image : nat -> page.            (* of record j, if it is one *)
  Variable change : nat -> page -> page.   (* what record j does, if it is none *)
  Variable lsn : page -> nat.              (* the last record that a page contains, by its first sector *)

  (** The replay of records first, first + 1, ..., so many as [count] says. *)
  Definition replay_one (j : nat) (p : page) : page :=
    if is_image j then image j else if j <=? lsn p then p else change j p.
  Fixpoint replay (first count : nat) (p : page) : page :=
    match count with
    | 0 => p
    | S count => replay (S first) count (replay_one first p)
    end.

  (** The log ends at the first record that is not whole. *)
  Fixpoint valid (whole : nat -> bool) (first room : nat) : nat :=
    match room with
    | 0 => 0
    | S room => if whole first then S (valid whole (S first) room) else 0
    end.

  (** Recovery, with a double-write area: the copy in the area counts if its CRC is right. *)
  Variable crc_is_right : page -> bool.
  Definition restore (area place : page) : page := if crc_is_right area then area else place.
  Definition recover (whole : nat -> bool) (room : nat) (place : page) : page := replay 1 (valid whole 1 room) place.
  Definition recover_double (whole : nat -> bool) (room : nat) (area place : page) : page :=
    recover whole room (restore area place).
End Recovery.
Arguments leaves {sector}.
Arguments leaves_whole {sector}.
Arguments replay {sector}.
Arguments replay_one {sector}.
Arguments restore {sector}.
Arguments recover {sector}.
Arguments recover_double {sector}.

(** A history: [state j] is the page after record j, [state 0] at the redo point. *)
Definition history {sector} is_image (image : nat -> page sector) change lsn (state : nat -> page sector) : Prop :=
  (forall j, lsn (state j) = j) /\
  (forall j, is_image (S j) = true -> image (S j) = state (S j)) /\
  (forall j, is_image (S j) = false -> change (S j) (state j) = state (S j)).
