(* SPDX-License-Identifier: PostgreSQL *)
(** * A page cache in three tiers: the steps of csrc/tiercache, in their order

    Contents are numbers: each write gives its page the next one.  A page is one sector here: the theorems hold of each
    sector of a page, since all that is done is done to each alike.  Where the code chooses (a victim, a slot), and where
    a device does (a failure, what a crash keeps), the step has an argument, so that what is proved holds for each choice.
    A step whose guard is false changes nothing: the code does not take it. *)
From Coq Require Import List Bool Arith.
Import ListNotations.

(** A page in memory: its contents, and whether the tiers below are older. *)
Record frame := Frame { frame_contents : nat; frame_dirty : bool }.
(** A page in a slot: whether the store is older. *)
Record slot := Slot { slot_page : nat; slot_contents : nat; slot_dirty : bool }.

Record state := State {
  pages : nat;                       (* 0 to pages - 1 *)
  slots : nat;
  memory : nat -> option frame;      (* by page *)
  held : nat -> option slot;         (* by slot: what the cache knows of the SSD *)
  stale : nat -> bool;               (* free, and perhaps valid on the SSD *)
  disk : nat -> option slot;         (* what the SSD gives to a read; None: not valid *)
  disk_may : nat -> list (option slot); (* what a crash may leave there *)
  in_use : bool;                     (* pages may be put on the SSD *)
  trusted : bool;                    (* control file and SSD tell the same mount *)
  store : nat -> nat;                (* what the store gives to a read *)
  store_may : nat -> list nat;       (* what a crash may leave there *)
  unsynced : nat -> bool;            (* written since the last sync *)
  failed : bool;                     (* a write-back has, since the last fsync *)
  next : nat;                        (* the contents of the next write *)
}.

Definition start (n m : nat) : state :=
  State n m (fun _ => None) (fun _ => None) (fun _ => false) (fun _ => None) (fun _ => [None]) true true
    (fun _ => 0) (fun _ => [0]) (fun _ => false) false 1.

Definition update {A : Type} (f : nat -> A) (i : nat) (a : A) : nat -> A := fun j => if j =? i then a else f j.

(** ** Where a page is *)
Definition holds (what : option slot) (p : nat) : bool :=
  match what with Some e => slot_page e =? p | None => false end.
(** The slot that has a page. *)
Definition slot_of (s : state) (p : nat) : option nat := find (fun i => holds (held s i) p) (seq 0 (slots s)).
Definition dirty_in_memory (s : state) (p : nat) : bool :=
  match memory s p with Some f => frame_dirty f | None => false end.
Definition dirty_on_ssd (s : state) (p : nat) : bool :=
  match slot_of s p with Some i => match held s i with Some e => slot_dirty e | None => false end | None => false end.
Definition dirty (s : state) (p : nat) : bool := dirty_in_memory s p || dirty_on_ssd s p.

(** What a read gives: from memory, from the SSD, from the store.  A slot that does not hold what it should gives nothing;
    the code then reads the store if the page is clean, and fails otherwise. *)
Definition read_slot (s : state) (i p : nat) : option nat :=
  match disk s i with Some e => if slot_page e =? p then Some (slot_contents e) else None | None => None end.
Definition read (s : state) (p : nat) : option nat :=
  match memory s p with
  | Some f => Some (frame_contents f)
  | None => match slot_of s p with Some i => read_slot s i p | None => Some (store s p) end
  end.

(** ** Steps *)

(** What a write-back came to. *)
Inductive outcome :=
| Written (whole part : list nat) (syncs : bool)
    (* the pages of the blocks that were written, and of those that failed midway; whether the store's sync works *)
| Scrubbed (n : nat). (* the slots below n were overwritten, then the SSD failed, and the control file *)

Inductive step :=
| Write (p : nat)
| Load (p : nat)                 (* a page comes to memory, unchanged *)
| ToSsd (p i : nat) (works : bool) (* a page leaves memory for a slot; if that fails, it stays *)
| Drop (p : nat)                 (* a clean page leaves memory *)
| DropSlot (i : nat)             (* a clean page leaves the SSD, because it could not be read *)
| WriteBack (ps : list nat) (ssd_works : bool) (o : outcome)
| Fsync                          (* its write-backs, one or more, are steps of their own before it *)
| Crash (loses_ssd : bool) (left : nat -> nat) (kept : nat -> nat). (* picks by number of what may be left *)

(** Old contents of a page do not count any more. *)
Definition forget (s : state) (p : nat) : (nat -> option slot) * (nat -> bool) :=
  match slot_of s p with
  | Some i => (update (held s) i None, update (stale s) i true)
  | None => (held s, stale s)
  end.

Definition do_write (s : state) (p : nat) : state :=
  let '(h, st) := forget s p in
  State (pages s) (slots s) (update (memory s) p (Some (Frame (next s) true))) h st (disk s) (disk_may s) (in_use s)
    (trusted s) (store s) (store_may s) (unsynced s) (failed s) (S (next s)).

Definition with_memory (s : state) (m : nat -> option frame) : state :=
  State (pages s) (slots s) m (held s) (stale s) (disk s) (disk_may s) (in_use s)
    (trusted s) (store s) (store_may s) (unsynced s) (failed s) (next s).

Definition do_load (s : state) (p : nat) : state :=
  match memory s p, read s p with
  | None, Some v => with_memory s (update (memory s) p (Some (Frame v false)))
  | _, _ => s
  end.

(** A slot that is free, or that holds a clean page. *)
Definition may_take (s : state) (i : nat) : bool :=
  (i <? slots s) && match held s i with Some e => negb (slot_dirty e) | None => true end.

Definition do_to_ssd (s : state) (p i : nat) (works : bool) : state :=
  match memory s p, slot_of s p with
  | Some f, None =>
      if in_use s && may_take s i then
        let e := Slot p (frame_contents f) (frame_dirty f) in
        State (pages s) (slots s) (if works then update (memory s) p None else memory s)
          (update (held s) i (if works then Some e else None)) (update (stale s) i (negb works))
          (update (disk s) i (if works then Some e else disk s i))
          (update (disk_may s) i (None :: Some e :: disk_may s i))
          (in_use s) (trusted s) (store s) (store_may s) (unsynced s) (failed s) (next s)
      else s
  | _, _ => s
  end.

Definition do_drop (s : state) (p : nat) : state :=
  match memory s p with
  | Some f => if frame_dirty f then s else with_memory s (update (memory s) p None)
  | None => s
  end.

Definition do_drop_slot (s : state) (i : nat) : state :=
  match held s i with
  | Some e =>
      if slot_dirty e then s else
      State (pages s) (slots s) (memory s) (update (held s) i None) (update (stale s) i true) (disk s) (disk_may s)
        (in_use s) (trusted s) (store s) (store_may s) (unsynced s) (failed s) (next s)
  | None => s
  end.

(** *** Write-back *)

(** Overwrite the stale slots below n. *)
Definition overwritten (s : state) (n i : nat) : bool := stale s i && (i <? n).
Definition scrub (s : state) (n : nat) : state :=
  State (pages s) (slots s) (memory s) (held s) (fun i => stale s i && negb (overwritten s n i))
    (fun i => if overwritten s n i then None else disk s i) (fun i => if overwritten s n i then None :: disk_may s i else disk_may s i)
    (in_use s) (trusted s) (store s) (store_may s) (unsynced s) (failed s) (next s).

Definition sync_ssd (s : state) : state :=
  State (pages s) (slots s) (memory s) (held s) (stale s) (disk s) (fun i => [disk s i])
    (in_use s) (trusted s) (store s) (store_may s) (unsynced s) (failed s) (next s).

(** The SSD's clean pages go, its dirty ones stay.  [told]: the control file says so. *)
Definition retire (s : state) (told : bool) : state :=
  State (pages s) (slots s) (memory s)
    (fun i => match held s i with Some e => if slot_dirty e then Some e else None | None => None end)
    (fun i => match held s i with Some e => stale s i || negb (slot_dirty e) | None => stale s i end)
    (disk s) (disk_may s) false (trusted s && negb told) (store s) (store_may s) (unsynced s) (failed s) (next s).

(** Before the store is written, no restart may find older contents on the SSD. *)
Definition take_old_off (s : state) (ssd_works : bool) : state :=
  if in_use s && ssd_works then sync_ssd (scrub s (slots s)) else retire s true.

Definition write_page (s : state) (p : nat) : state :=
  match read s p with
  | Some v =>
      State (pages s) (slots s) (memory s) (held s) (stale s) (disk s) (disk_may s) (in_use s) (trusted s)
        (update (store s) p v) (update (store_may s) p (v :: store_may s p)) (update (unsynced s) p true)
        (failed s) (next s)
  | None => s
  end.
Definition write_store (s : state) (ps : list nat) : state := fold_left write_page ps s.

(** A sync that fails may have made durable any part, and a later one does not know of it. *)
Definition sync_store (s : state) (works : bool) : state :=
  State (pages s) (slots s) (memory s) (held s) (stale s) (disk s) (disk_may s) (in_use s) (trusted s) (store s)
    (if works then fun p => if unsynced s p then [store s p] else store_may s p else store_may s)
    (fun _ => false) (failed s) (next s).

Definition contains (ps : list nat) (p : nat) : bool := existsb (Nat.eqb p) ps.
Definition call_clean (s : state) (ps : list nat) : state :=
  State (pages s) (slots s)
    (fun p => match memory s p with
              | Some f => Some (if contains ps p then Frame (frame_contents f) false else f) | None => None end)
    (fun i => match held s i with
              | Some e => Some (if contains ps (slot_page e) then Slot (slot_page e) (slot_contents e) false else e)
              | None => None end)
    (stale s) (disk s) (disk_may s) (in_use s) (trusted s) (store s) (store_may s) (unsynced s) (failed s) (next s).

Definition with_failed (s : state) (b : bool) : state :=
  State (pages s) (slots s) (memory s) (held s) (stale s) (disk s) (disk_may s) (in_use s)
    (trusted s) (store s) (store_may s) (unsynced s) b (next s).

(** The steps before the pages are called clean, the pages to call clean, and whether all that was asked for is done. *)
Definition try_write_back (s : state) (ps : list nat) (ssd_works : bool) (o : outcome) : state * list nat * bool :=
  match o with
  | Written whole part syncs =>
      (sync_store (write_store (take_old_off s ssd_works) (whole ++ part)) syncs,
       if syncs then whole else [], syncs && forallb (contains whole) ps)
  | Scrubbed n => (retire (if in_use s then scrub s n else s) false, [], false)
  end.

Definition do_write_back (s : state) (ps : list nat) (ssd_works : bool) (o : outcome) : state :=
  let '(t, whole, done) := try_write_back s ps ssd_works o in
  if done then call_clean t whole else with_failed (call_clean t whole) true.

(** The answer of an fsync, after it has written back the blocks that were dirty: whether all is durable, and no
    write-back has failed since the last fsync. *)
Definition do_fsync (s : state) : state * bool :=
  (with_failed s false, negb (failed s) && forallb (fun p => negb (dirty s p)) (seq 0 (pages s))).

(** *** Crash and restart *)

(** Of the slots that hold a page a restart takes over the newest; the others are stale. *)
Definition newer (found : nat -> option slot) (i : nat) (e : slot) (j : nat) : bool :=
  match found j with
  | Some d => (slot_page d =? slot_page e) &&
              ((slot_contents e <? slot_contents d) || (slot_contents e =? slot_contents d) && (j <? i))
  | None => false
  end.
Definition take_over (m : nat) (found : nat -> option slot) (i : nat) : option slot :=
  match found i with
  | Some e => if existsb (newer found i e) (seq 0 m) then None else Some e
  | None => None
  end.

Definition do_crash (s : state) (loses_ssd : bool) (keeps kept : nat -> nat) : state :=
  let found i := if loses_ssd || negb (trusted s) || (slots s <=? i) then None else nth (kept i) (disk_may s i) (disk s i) in
  let stored p := nth (keeps p) (store_may s p) (store s p) in
  State (pages s) (slots s) (fun _ => None) (take_over (slots s) found)
    (fun i => match found i, take_over (slots s) found i with Some _, None => true | _, _ => false end)
    found (fun i => [found i]) true true stored (fun p => [stored p]) (fun _ => false) false (next s).

Definition run_step (s : state) (x : step) : state :=
  match x with
  | Write p => if p <? pages s then do_write s p else s
  | Load p => if p <? pages s then do_load s p else s
  | ToSsd p i works => do_to_ssd s p i works
  | Drop p => do_drop s p
  | DropSlot i => do_drop_slot s i
  | WriteBack ps ssd_works o => do_write_back s ps ssd_works o
  | Fsync => fst (do_fsync s)
  | Crash loses keeps kept => do_crash s loses keeps kept
  end.

Definition run (s : state) (xs : list step) : state := fold_left run_step xs s.
