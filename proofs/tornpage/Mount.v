(* SPDX-License-Identifier: PostgreSQL *)
(** * The double writes of `pgquern mount`: many pages, one area, failures, kills and power losses

    tools/mount: write_back.c ([collect], [step], [in_place]), area.c ([area_write], [area_recover]).  Pages of all files have one
    row of numbers.  A batch of any pages goes to the area, is synced, goes in place, is synced; then its pages leave memory.
    Writes of the server come at any moment between these operations.  An operation may fail: then the batch that is durable in the
    area waits, and is tried again before any other.

    A block of a file is as in [Faults].  A failed sync makes the kernel forget, of every block, that it must be written. *)
From Coq Require Import Arith List Bool.
From Pgquern.tornpage Require Import Faults.
Import ListNotations.

Section Mount.
  Variable sector : Type.
  Notation page := (list sector).
  (** What the program does, and must: recovery writes again what it has found in the area, which may not be durable; and a batch of which
      something failed in place is written there again, and not only synced. *)
  Variables rewrites replaces : bool.

  (** What the area holds: pages, each with its number. *)
  Definition batch : Type := list (nat * page).
  (** What the program keeps of a batch: each page with its version, the number of its writes before. *)
  Record slot := Slot { number : nat; version : nat; bytes : page }.
  Definition batch_of (s : list slot) : batch := map (fun x => (number x, bytes x)) s.

  Inductive phase :=
  | Down                                        (* no program runs *)
  | Idle
  | Gathered (s : list slot)                    (* next: the area is written *)
  | InArea (s : list slot)                      (* next: the area is synced *)
  | Placing (s : list slot) (todo : batch)      (* next: the first of these is written in place *)
  | Syncing (s : list slot) (todo : batch)      (* next: the first of these is synced *)
  | Pending (s : list slot)                     (* that failed: idle, and the batch waits *)
  | Found (b : batch)                           (* recovery: next, the area is written again *)
  | Rewritten (b : batch)                       (* next: it is synced *)
  | Repairing (b todo : batch)
  | Resyncing (b todo : batch)
  | Emptying                                    (* next: the area becomes one that holds none *)
  | Emptied.                                    (* next: it is synced, and the mount is up *)

  (** [versions] and [promised] no code knows: all that a page has been, the first one first, and which of these an fsync has covered. *)
  Record mount := Mount {
    area : block (option batch);                (* None: its checksums are wrong, or it holds none *)
    place : nat -> block page;
    state : phase;
    memory : nat -> option page;                (* pages that wait *)
    clean : nat -> nat;                         (* the version that is durable in place *)
    versions : nat -> list page;
    promised : nat -> nat;
  }.
  Definition newest (m : mount) (k : nat) : nat := pred (length (versions m k)).
  Definition nth_version (m : mount) (k j : nat) : page := nth j (versions m k) [].
  Definition up (p : phase) : bool :=
    match p with Idle | Gathered _ | InArea _ | Placing _ _ | Syncing _ _ | Pending _ => true | _ => false end.
  (** What the server reads. *)
  Definition read (m : mount) (k : nat) : page := match memory m k with Some p => p | None => seen (place m k) end.

  Definition with_area (m : mount) (b : block (option batch)) : mount :=
    Mount b (place m) (state m) (memory m) (clean m) (versions m) (promised m).
  Definition with_place (m : mount) (f : nat -> block page) : mount :=
    Mount (area m) f (state m) (memory m) (clean m) (versions m) (promised m).
  Definition goes_to (p : phase) (m : mount) : mount :=
    Mount (area m) (place m) p (memory m) (clean m) (versions m) (promised m).
  Definition abandoned (m : mount) : mount :=
    with_place (with_area m (abandon (area m))) (fun k => abandon (place m k)).
  Definition put (f : forall A, A -> block A -> block A) (m : mount) (k : nat) (p : page) : mount :=
    with_place m (update (place m) k (f _ p (place m k))).
  Definition sync_one (m : mount) (k : nat) : mount := with_place m (update (place m) k (sync (place m k))).

  (** A batch is in place: its pages leave memory, but those that were written meanwhile. *)
  Definition slot_of (s : list slot) (k : nat) : option slot := find (fun x => number x =? k) s.
  Definition leave (m : mount) (s : list slot) : mount :=
    Mount (area m) (place m) Idle
      (fun k => match slot_of s k with Some x => if version x =? newest m k then None else memory m k | None => memory m k end)
      (fun k => match slot_of s k with Some x => version x | None => clean m k end)
      (versions m) (promised m).
  (** Recovery has ended.  What it has found of a page is its newest version now. *)
  Definition opened (m : mount) : mount :=
    Mount (area m) (place m) Idle (fun _ => None) (fun k => length (versions m k))
      (fun k => versions m k ++ [seen (place m k)]) (promised m).
  Definition gathered (m : mount) (ks : list nat) : list slot :=
    flat_map (fun k => match memory m k with Some p => [Slot k (newest m k) p] | None => [] end) (nodup Nat.eq_dec ks).

  (** The next operation works. *)
  Definition go (m : mount) : mount :=
    match state m with
    | Gathered s => goes_to (InArea s) (with_area m (write (Some (batch_of s)) (area m)))
    | InArea s => goes_to (Placing s (batch_of s)) (with_area m (sync (area m)))
    | Placing s [] => goes_to (Syncing s (batch_of s)) m
    | Placing s ((k, p) :: todo) => goes_to (Placing s todo) (put (@write) m k p)
    | Syncing s [] => leave m s
    | Syncing s ((k, _) :: todo) => goes_to (Syncing s todo) (sync_one m k)
    | Found b => goes_to (Rewritten b) (with_area m (write (Some b) (area m)))
    | Rewritten b => goes_to (Repairing b b) (with_area m (sync (area m)))
    | Repairing b [] => goes_to (Resyncing b b) m
    | Repairing b ((k, p) :: todo) => goes_to (Repairing b todo) (put (@write) m k p)
    | Resyncing b [] => goes_to Emptying m
    | Resyncing b ((k, _) :: todo) => goes_to (Resyncing b todo) (sync_one m k)
    | Emptying => goes_to Emptied (with_area m (write None (area m)))
    | Emptied => opened (with_area m (sync (area m)))
    | Down | Idle | Pending _ => m
    end.
  (** It fails.  A program that recovers ends then. *)
  Definition fail (m : mount) : mount :=
    match state m with
    | Gathered s => goes_to Idle (abandoned (with_area m (half_write (Some (batch_of s)) (area m))))
    | InArea s => goes_to Idle (abandoned m)
    | Placing s ((k, p) :: _) => goes_to (Pending s) (abandoned (put (@half_write) m k p))
    | Syncing s (_ :: _) => goes_to (Pending s) (abandoned m)
    | Found b => goes_to Down (abandoned (with_area m (half_write (Some b) (area m))))
    | Repairing b ((k, p) :: _) => goes_to Down (abandoned (put (@half_write) m k p))
    | Emptying => goes_to Down (abandoned (with_area m (half_write None (area m))))
    | Rewritten _ | Resyncing _ (_ :: _) | Emptied => goes_to Down (abandoned m)
    | _ => m
    end.

  Inductive event :=
  | Write (k : nat) (p : page)                  (* by the server *)
  | WriteBack (ks : list nat)                   (* of these pages, as far as they wait; or of the batch that waits *)
  | Fsynced (k j : nat)                         (* an fsync that has begun after version j returns *)
  | Go
  | Fail
  | Kill
  | PowerLoss (a : option batch) (ps : nat -> page)
  | RereadArea (a : option batch)               (* the kernel has dropped the block, and reads the medium *)
  | Reread (k : nat) (p : page)
  | Start.                                      (* the next mount *)

  Definition step (m : mount) (e : event) : mount :=
    match e with
    | Write k p =>
        if up (state m)
        then Mount (area m) (place m) (state m) (update (memory m) k (Some p)) (clean m) (update (versions m) k (versions m k ++ [p])) (promised m)
        else m
    | WriteBack ks =>
        match state m with
        | Idle => goes_to (Gathered (gathered m ks)) m
        | Pending s => goes_to (if replaces then Placing s (batch_of s) else Syncing s (batch_of s)) m
        | _ => m
        end
    | Fsynced k j =>
        if up (state m) && (j <=? clean m k)
        then Mount (area m) (place m) (state m) (memory m) (clean m) (versions m) (update (promised m) k (Nat.max j (promised m k)))
        else m
    | Go => go m
    | Fail => fail m
    | Kill => goes_to Down (abandoned m)
    | PowerLoss a ps => goes_to Down (with_place (with_area m (lost a)) (fun k => lost (ps k)))
    | RereadArea a => if mine (area m) then m else with_area m (reread a (area m))
    | Reread k p => if mine (place m k) then m else with_place m (update (place m) k (reread p (place m k)))
    | Start =>
        match state m, seen (area m) with
        | Down, Some b => goes_to (if rewrites then Found b else Repairing b b) m
        | Down, None => goes_to Emptying m
        | _, _ => m
        end
    end.
  Definition run (m : mount) (events : list event) : mount := fold_left step events m.

  (** What the medium may give: of the area one batch or none, as its checksums tell; of a page each sector by itself. *)
  Definition allowed (m : mount) (e : event) : Prop :=
    match e with
    | PowerLoss a ps => whole_or_nothing (may (area m)) a /\ forall k, sector_by_sector (may (place m k)) (ps k)
    | RereadArea a => whole_or_nothing (may (area m)) a
    | Reread k p => sector_by_sector (may (place m k)) p
    | _ => True
    end.
  Fixpoint all_allowed (m : mount) (events : list event) : Prop :=
    match events with [] => True | e :: events => allowed m e /\ all_allowed (step m e) events end.

  (** A mount of files that are whole and durable, with an area that holds none. *)
  Definition new (files : nat -> page) : mount :=
    Mount (lost None) (fun k => lost (files k)) Idle (fun _ => None) (fun _ => 0) (fun k => [files k]) (fun _ => 0).
End Mount.
