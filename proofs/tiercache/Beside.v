(* SPDX-License-Identifier: PostgreSQL *)
(** * A write-back beside other calls, and mounts that stop: the steps of csrc/tiercache/write_back.c, one by one

    WriteBack of Tiers.v is one step.  Here it is several, and what other threads do stands between any two of them: they write
    pages, load them, and move them out of memory; or a crash comes.  Old contents are taken off the SSD in one step.  After a crash
    mounts may stop at any of their operations before one works. *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Stops.

(** How far it is: the pages are gathered; no old contents stand on the SSD; or some may, and it has failed; the store was synced. *)
Inductive stage := Taking | Storing | Failing | Synced (works : bool).
Record write_back := WritingBack {
  asked : list nat;              (* the pages that were dirty *)
  had : nat -> option nat;       (* what was read of each page then *)
  at_stage : stage;
  put : list nat;                (* written to the store, whole *)
}.

Inductive beside_step :=
| Call (x : step)                (* anything if no write-back is under way; else what may happen beside it *)
| Gather (ps : list nat)
| TakeOff (k : taking)
| Put (p : nat) (whole : bool)   (* a page goes to the store as it was gathered; or the write fails, though it is there *)
| SyncStore (works forgets : bool)
| Settle                         (* what was written, and not changed meanwhile, is clean *)
| Stops (m : mount) (x : stop).  (* a mount that ends before it works *)

Definition is_crash (x : step) : bool := match x with Kill | PowerLoss _ _ _ _ _ => true | _ => false end.
Definition is_move (x : step) : bool :=
  match x with Write _ | Load _ | ToSsd _ _ _ _ | Drop _ | DropSlot _ => true | _ => false end.

Definition put_page (s : state) (p v : nat) : state :=
  with_store s (Store (update (store s) p v) (update (store_may s) p (v :: store_may s p)) (update (unsynced s) p true)).

(** A page's version is the number of its contents. *)
Definition unchanged (w : write_back) (p v : nat) : bool :=
  contains (put w) p && match had w p with Some u => u =? v | None => false end.
Definition call_unchanged_clean (s : state) (w : write_back) : state :=
  with_tiers s
    (fun p => match memory s p with
              | Some f => Some (if unchanged w p (frame_contents f) then Frame (frame_contents f) false else f) | None => None end)
    (fun i => match held s i with
              | Some e => Some (if unchanged w (slot_page e) (slot_contents e) then Slot (slot_page e) (slot_contents e) false else e)
              | None => None end)
    (stale s).
Definition settle (s : state) (w : write_back) : state :=
  match at_stage w with
  | Synced true =>
      if forallb (contains (put w)) (asked w) then call_unchanged_clean s w else with_failed (call_unchanged_clean s w) true
  | _ => with_failed s true
  end.

(** The cache, and the write-back that is under way. *)
Notation both := (state * option write_back)%type.
Definition may_be_called (w : option write_back) (x : step) : bool :=
  match w with None => true | Some _ => is_move x || is_crash x end.
Definition do_beside (b : both) (y : beside_step) : both :=
  let '(s, w) := b in
  match y, w with
  | Call x, _ => if may_be_called w x then (run_step s x, if is_crash x then None else w) else b
  | Gather ps, None =>
      if up s then (s, Some (WritingBack (filter (dirty s) ps) (fun p => if p <? pages s then read s p else None) Taking [])) else b
  | TakeOff k, Some (WritingBack a h Taking l) =>
      let '(t, off) := take_off (with_seen s [drawn s k]) k in (t, Some (WritingBack a h (if off then Storing else Failing) l))
  | Put p whole, Some (WritingBack a h Storing l) =>
      match h p with
      | Some v => (put_page s p v, Some (WritingBack a h Storing (if whole then p :: l else l)))
      | None => b
      end
  | SyncStore works forgets, Some (WritingBack a h Storing l) => (sync_store s works forgets, Some (WritingBack a h (Synced works) l))
  | Settle, Some w => (settle s w, None)
  | Stops m x, None => if up s then b else (mount_until s m x, None)
  | _, _ => b
  end.

(** The flat file beside it: a write-back changes no contents, nor does a mount that stops. *)
Definition flat_beside (b : both) (f : flat) (y : beside_step) : flat :=
  match y with Call x => if may_be_called (snd b) x then flat_step (fst b) f x else f | _ => f end.
Fixpoint run_beside (b : both) (f : flat) (ys : list beside_step) : both * flat :=
  match ys with
  | [] => (b, f)
  | y :: ys => run_beside (do_beside b y) (flat_beside b f y) ys
  end.

Definition assumed_beside (b : both) (y : beside_step) : bool :=
  match y with
  | Call x => assumed (fst b) x
  | TakeOff k => is_fresh (fst b) (drawn (fst b) k)
  | Stops m _ => assumed_stop (fst b) m
  | _ => true
  end.
Fixpoint assumed_of_all_beside (b : both) (ys : list beside_step) : bool :=
  match ys with [] => true | y :: ys => assumed_beside b y && assumed_of_all_beside (do_beside b y) ys end.
