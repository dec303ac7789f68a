(* SPDX-License-Identifier: PostgreSQL *)
(** * A page cache in three tiers: the steps of csrc/tiercache, in their order

    Contents are numbers: each write gives its page the next one.  A page is one sector here: the theorems hold of each
    sector of a page, since all that is done is done to each alike; slots of several sectors are in Sectors.v.  Where the code chooses (a victim, a slot), and where
    a device does (a failure, what a crash keeps), the step has an argument, so that what is proved holds for each choice.
    A step whose guard is false changes nothing: the code does not take it. *)
From Pgquern.common Require Import Naturals.

(** A page in memory: its contents, and whether the tiers below are older. *)
Record frame := Frame { frame_contents : nat; frame_dirty : bool }.
(** A page in a slot: whether the store is older. *)
Record slot := Slot { slot_page : nat; slot_contents : nat; slot_dirty : bool }.
(** The id of a store, and a nonce that was drawn for it: of a mount, or of the slots since an SSD was taken for empty. *)
Record mark := Mark { mark_id : nat; mark_nonce : nat }.
Record superblock := Superblock { super_mark : mark; super_generation : mark }.

(** What the process knows. *)
Record cache := Cache {
  memory : nat -> option frame;      (* by page *)
  held : nat -> option slot;         (* by slot: what the cache knows of the SSD *)
  stale : nat -> bool;               (* free, and perhaps valid on the SSD *)
  in_use : bool;                     (* pages may be put on the SSD *)
  retiring : bool;                   (* the control file is still to tell that the SSD is out of use *)
  identity : nat;                    (* the store's id *)
  generation : mark;                 (* of the slots that count *)
  failed : bool;                     (* a write-back has, since the last fsync *)
  up : bool;                         (* mounted *)
}.

(** The devices: what they give to a read, and what a power loss may leave. *)
Record ssd := Ssd {
  disk : nat -> option (mark * slot);          (* by slot; None: not valid *)
  disk_may : nat -> list (option (mark * slot));
  super : option superblock;
  super_may : list (option superblock);
  forgot : bool;                     (* a failed sync has made the kernel forget what it has not written *)
}.
Record control_file := Control { control : option mark; control_may : list (option mark) }.
Record store_file := Store {
  store : nat -> nat;
  store_may : nat -> list nat;
  unsynced : nat -> bool;            (* written since the last sync *)
}.

Record state := State {
  pages : nat;                       (* 0 to pages - 1 *)
  slots : nat;
  cache_of :> cache;
  ssd_of :> ssd;
  control_of :> control_file;
  store_of :> store_file;
  seen : list mark;                  (* all that were drawn, or met on an SSD *)
  next : nat;                        (* the contents of the next write *)
}.

Definition with_cache (s : state) (c : cache) : state := State (pages s) (slots s) c s s s (seen s) (next s).
Definition with_ssd (s : state) (d : ssd) : state := State (pages s) (slots s) s d s s (seen s) (next s).
Definition with_control (s : state) (c : control_file) : state := State (pages s) (slots s) s s c s (seen s) (next s).
Definition with_store (s : state) (t : store_file) : state := State (pages s) (slots s) s s s t (seen s) (next s).
Definition with_seen (s : state) (marks : list mark) : state := State (pages s) (slots s) s s s s (marks ++ seen s) (next s).

Definition down : cache :=
  Cache (fun _ => None) (fun _ => None) (fun _ => false) false false 0 (Mark 0 0) false false.
Definition first_mark : mark := Mark 1 1.
Definition start (n m : nat) : state :=
  State n m (Cache (fun _ => None) (fun _ => None) (fun _ => false) true false 1 first_mark false true)
    (Ssd (fun _ => None) (fun _ => [None]) (Some (Superblock first_mark first_mark))
       [Some (Superblock first_mark first_mark)] false)
    (Control (Some first_mark) [Some first_mark]) (Store (fun _ => 0) (fun _ => [0]) (fun _ => false)) [first_mark] 1.

Definition update {A : Type} (f : nat -> A) (i : nat) (a : A) : nat -> A := fun j => if j =? i then a else f j.

(** ** Where a page is *)
Definition same_mark (a b : mark) : bool := (mark_id a =? mark_id b) && (mark_nonce a =? mark_nonce b).
(** What a slot has, if it is of a generation. *)
Definition valid (g : mark) (w : option (mark * slot)) : option slot :=
  match w with Some (h, e) => if same_mark h g then Some e else None | None => None end.
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
  match valid (generation s) (disk s i) with Some e => if slot_page e =? p then Some (slot_contents e) else None | None => None end.
Definition read (s : state) (p : nat) : option nat :=
  match memory s p with
  | Some f => Some (frame_contents f)
  | None => match slot_of s p with Some i => read_slot s i p | None => Some (store s p) end
  end.

(** ** Steps *)

(** How a write that fails ends: nothing of it is there, or a part that no checksum fits, or the whole; or a part that completes,
    with what was there, something that was to be there earlier. *)
Inductive landing := Nothing | Torn | Whole | Earlier (k : nat).

(** How old contents are taken off the SSD before the store gets newer ones, or an fsync succeeds. *)
Inductive taking :=
| Taken (ssd_works : bool) (nonce : nat)
    (* the SSD is overwritten and synced, or, if that fails, the control file gets a nonce that no superblock has *)
| NotTaken (n : nat) (forgets lands : bool) (nonce : nat).
    (* the slots below n were overwritten, then the SSD failed, in a sync that made the kernel forget or not; and the
       control file failed, with the nonce there or not *)

(** What a mount draws, and what its operations come to. *)
Record mount := Mounting {
  new_id : nat;                      (* of the store, if the control file is new *)
  nonce : nat;
  other_nonce : nat;                 (* for a mount without its SSD *)
  again : list nat;                  (* pages that it writes again, as they are: a sync of them may have failed *)
  store_syncs : bool;
  store_forgets : bool;              (* if not: the kernel forgets what it has not written *)
  reads_super : bool;
  in_doubt : bool;                   (* a sync of the SSD may have failed: all slots are written again *)
  takes : nat -> bool;               (* the slots that are taken over; the others cannot be read, or are older *)
  super_lands : bool;                (* if the next is false: whether the superblock is there all the same *)
  super_works : bool;                (* it is written and synced *)
  control_lands : bool;
  control_works : bool;
}.

Inductive step :=
| Write (p : nat)
| Load (p : nat)                 (* a page comes to memory, unchanged *)
| ToSsd (p i : nat) (works : bool) (l : landing) (* a page leaves memory for a slot; if that fails, it stays *)
| Drop (p : nat)                 (* a clean page leaves memory *)
| DropSlot (i : nat)             (* a clean page leaves the SSD, because it could not be read *)
| WriteBack (ps : list nat) (k : taking) (whole part : list nat) (syncs forgets : bool)
    (* the pages asked for; those of the blocks that were written, and of those that failed midway; the store's sync *)
| Fsync (k : taking)             (* its write-backs, if anything is dirty, are steps of their own before it *)
| Kill                           (* the process ends; the kernel's cache stays *)
| PowerLoss (loses_ssd : bool) (keeps kept : nat -> nat) (u c : nat)
    (* picks by number of what may be left; a slot may be lost alone, which is pick 0 *)
| Exchange (u : option superblock) (what : nat -> option (mark * slot)) (* another SSD is put in place *)
| SecondLife                     (* store and control file are made anew *)
| Mount (m : mount).

(** Old contents of a page do not count any more. *)
Definition forget (s : state) (p : nat) : (nat -> option slot) * (nat -> bool) :=
  match slot_of s p with
  | Some i => (update (held s) i None, update (stale s) i true)
  | None => (held s, stale s)
  end.

Definition with_tiers (s : state) (m : nat -> option frame) (h : nat -> option slot) (st : nat -> bool) : state :=
  with_cache s (Cache m h st (in_use s) (retiring s) (identity s) (generation s) (failed s) (up s)).
Definition with_memory (s : state) (m : nat -> option frame) : state := with_tiers s m (held s) (stale s).

Definition do_write (s : state) (p : nat) : state :=
  let '(h, st) := forget s p in
  let t := with_tiers s (update (memory s) p (Some (Frame (next s) true))) h st in
  State (pages s) (slots s) t t t t (seen s) (S (next s)).

Definition do_load (s : state) (p : nat) : state :=
  match memory s p, read s p with
  | None, Some v => with_memory s (update (memory s) p (Some (Frame v false)))
  | _, _ => s
  end.

(** A slot that is free, or that holds a clean page. *)
Definition may_take (s : state) (i : nat) : bool :=
  (i <? slots s) && match held s i with Some e => negb (slot_dirty e) | None => true end.

Definition do_to_ssd (s : state) (p i : nat) (works : bool) (l : landing) : state :=
  match memory s p, slot_of s p with
  | Some f, None =>
      if in_use s && may_take s i then
        let e := Slot p (frame_contents f) (frame_dirty f) in
        let w := Some (generation s, e) in
        let there := if works then w else match l with Nothing => disk s i | Torn => None | Whole => w | Earlier k => nth k (disk_may s i) None end in
        with_ssd
          (with_tiers s (if works then update (memory s) p None else memory s)
             (update (held s) i (if works then Some e else None)) (update (stale s) i (negb works)))
          (Ssd (update (disk s) i there) (update (disk_may s) i (None :: w :: disk_may s i)) (super s) (super_may s) (forgot s))
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
  | Some e => if slot_dirty e then s else with_tiers s (memory s) (update (held s) i None) (update (stale s) i true)
  | None => s
  end.

(** *** Write-back *)

(** Overwrite the stale slots below n. *)
Definition overwritten (s : state) (n i : nat) : bool := stale s i && (i <? n).
Definition scrub (s : state) (n : nat) : state :=
  with_ssd (with_tiers s (memory s) (held s) (fun i => stale s i && negb (overwritten s n i)))
    (Ssd (fun i => if overwritten s n i then None else disk s i)
       (fun i => if overwritten s n i then None :: disk_may s i else disk_may s i) (super s) (super_may s) (forgot s)).

(** Slots of other generations never count again: a failed sync may have left them. *)
Definition is_other (g : mark) (w : option (mark * slot)) : bool :=
  match w with Some (h, _) => negb (same_mark h g) | None => false end.
Definition synced_slots (d : ssd) (g : mark) (i : nat) : list (option (mark * slot)) :=
  disk d i :: filter (is_other g) (disk_may d i).
Definition sync_ssd (s : state) : state :=
  with_ssd s (Ssd (disk s) (synced_slots s (generation s)) (super s) (super_may s) (forgot s)).

(** The SSD's clean pages go, its dirty ones stay.  The control file gets a nonce; [told]: and is synced. *)
Definition retire (s : state) (told lands : bool) (n : nat) : state :=
  let m := Some (Mark (identity s) n) in
  with_control
    (with_cache s
       (Cache (memory s)
          (fun i => match held s i with Some e => if slot_dirty e then Some e else None | None => None end)
          (fun i => match held s i with Some e => stale s i || negb (slot_dirty e) | None => stale s i end)
          false (negb told) (identity s) (generation s) (failed s) (up s)))
    (if told then Control m [m] else Control (if lands then m else control s) (m :: control_may s)).

Definition forgetting (s : state) (b : bool) : state :=
  with_ssd s (Ssd (disk s) (disk_may s) (super s) (super_may s) (forgot s || b)).

(** Before the store is written, no restart may find older contents on the SSD.  Whether that was reached. *)
Definition take_off (s : state) (k : taking) : state * bool :=
  match k with
  | Taken ssd_works n =>
      (if in_use s then if ssd_works then sync_ssd (scrub s (slots s)) else retire s true true n
       else if retiring s then retire s true true n else s, true)
  | NotTaken n forgets lands m =>
      (if in_use s then retire (forgetting (scrub s n) forgets) false lands m
       else if retiring s then retire s false lands m else s, false)
  end.
Definition drawn (s : state) (k : taking) : mark :=
  Mark (identity s) match k with Taken _ n => n | NotTaken _ _ _ n => n end.

Definition write_page (s : state) (p : nat) : state :=
  match read s p with
  | Some v =>
      if p <? pages s
      then with_store s (Store (update (store s) p v) (update (store_may s) p (v :: store_may s p)) (update (unsynced s) p true))
      else s
  | None => s
  end.
Definition write_store (s : state) (ps : list nat) : state := fold_left write_page ps s.

(** A sync that fails may have made durable any part.  If the kernel forgets, a later one does not know of it. *)
Definition sync_store (s : state) (works forgets : bool) : state :=
  with_store s
    (Store (store s) (if works then fun p => if unsynced s p then [store s p] else store_may s p else store_may s)
       (if works || forgets then fun _ => false else unsynced s)).

Definition contains (ps : list nat) (p : nat) : bool := existsb (Nat.eqb p) ps.
Definition call_clean (s : state) (ps : list nat) : state :=
  with_tiers s
    (fun p => match memory s p with
              | Some f => Some (if contains ps p then Frame (frame_contents f) false else f) | None => None end)
    (fun i => match held s i with
              | Some e => Some (if contains ps (slot_page e) then Slot (slot_page e) (slot_contents e) false else e)
              | None => None end)
    (stale s).

Definition with_failed (s : state) (b : bool) : state :=
  with_cache s (Cache (memory s) (held s) (stale s) (in_use s) (retiring s) (identity s) (generation s) b (up s)).

(** The steps before the pages are called clean, the pages to call clean, and whether all that was asked for is done. *)
Definition try_write_back (s : state) (ps : list nat) (k : taking) (whole part : list nat) (syncs forgets : bool)
    : state * list nat * bool :=
  let '(t, off) := take_off s k in
  if off
  then (sync_store (write_store t (whole ++ part)) syncs forgets,
        if syncs then filter (fun p => p <? pages s) whole else [], syncs && forallb (contains whole) ps)
  else (t, [], false).

Definition do_write_back (s : state) (ps : list nat) (k : taking) (whole part : list nat) (syncs forgets : bool) : state :=
  let '(t, clean, done) := try_write_back (with_seen s [drawn s k]) ps k whole part syncs forgets in
  if done then call_clean t clean else with_failed (call_clean t clean) true.

(** The answer of an fsync, after it has written back the blocks that were dirty: whether all is durable, nothing older is
    left on the SSD, and no write-back has failed since the last fsync. *)
Definition do_fsync (s : state) (k : taking) : state * bool :=
  let '(t, off) := take_off (with_seen s [drawn s k]) k in
  (with_failed t false, off && negb (failed s) && forallb (fun p => negb (dirty s p)) (seq 0 (pages s))).

(** *** The end of a mount, and what may happen to the devices then *)
Definition power_loss (s : state) (loses : bool) (keeps kept : nat -> nat) (u c : nat) : state :=
  let found i := if loses || (slots s <=? i) then None
                 else match kept i with O => None | S k => nth k (disk_may s i) (disk s i) end in
  let stored p := nth (keeps p) (store_may s p) (store s p) in
  let block := if loses then None else nth u (super_may s) (super s) in
  let told := nth c (control_may s) (control s) in
  State (pages s) (slots s) down (Ssd found (fun i => [found i]) block [block] false) (Control told [told])
    (Store stored (fun p => [stored p]) (fun _ => false)) (seen s) (next s).

Definition marks_on (n : nat) (u : option superblock) (what : nat -> option (mark * slot)) : list mark :=
  match u with Some b => [super_mark b; super_generation b] | None => [] end ++
  flat_map (fun i => match what i with Some (g, _) => [g] | None => [] end) (seq 0 n).
Definition exchange (s : state) (u : option superblock) (what : nat -> option (mark * slot)) : state :=
  let found i := if i <? slots s then what i else None in
  with_seen (with_ssd s (Ssd found (fun i => [found i]) u [u] false)) (marks_on (slots s) u what).

Definition second_life (s : state) : state :=
  with_control (with_store s (Store (fun _ => 0) (fun _ => [0]) (fun _ => false))) (Control None [None]).

(** *** Mounts *)

(** An SSD is trusted if its superblock has the control file's mark: the id, and the nonce of the last mount. *)
Definition is_trusted (s : state) : option mark :=
  match super s, control s with
  | Some u, Some m => if same_mark (super_mark u) m then Some (super_generation u) else None
  | _, _ => None
  end.
Definition id_of (s : state) (m : mount) : nat := match control s with Some c => mark_id c | None => new_id m end.
Definition mark_of (s : state) (m : mount) : mark := Mark (id_of s m) (nonce m).
Definition other_mark_of (s : state) (m : mount) : mark := Mark (id_of s m) (other_nonce m).

(** Of the slots that hold a page one is taken over; all others are stale. *)
Definition take_over (takes : nat -> bool) (found : nat -> option slot) (i : nat) : option slot :=
  match found i with
  | Some e => if takes i && negb (existsb (fun j => takes j && holds (found j) (slot_page e)) (seq 0 i)) then Some e else None
  | None => None
  end.
Definition is_left (doubt : bool) (taken found : option slot) : bool :=
  match taken, found with Some _, _ => false | None, Some _ => true | None, None => doubt end.

(** In doubt the slots that are not taken over may be anything, until they are overwritten. *)
Definition mounted_slots (s : state) (m : mount) (g : mark) (taken : nat -> option slot) (i : nat) : list (option (mark * slot)) :=
  match in_doubt m, taken i with true, None => disk_may s i | _, _ => synced_slots s g i end.

(** The slots and the superblock; whether the SSD is used. *)
Definition mount_ssd (s : state) (m : mount) (uses : bool) : state :=
  let trusted := if reads_super m then is_trusted s else None in
  let g := match trusted with Some g => g | None => mark_of s m end in
  let found i := match trusted with Some g => if i <? slots s then valid g (disk s i) else None | None => None end in
  let taken := take_over (takes m) found in
  let block := Some (Superblock (mark_of s m) g) in
  if uses then
    with_ssd
      (with_cache s
         (Cache (fun _ => None) taken (fun i => (i <? slots s) && is_left (in_doubt m) (taken i) (found i)) true false (id_of s m) g false false))
      (Ssd (disk s) (mounted_slots s m g taken) block [block] false)
  else
    with_ssd
      (with_cache s (Cache (fun _ => None) (fun _ => None) (fun _ => false) false false (id_of s m) g false false))
      (Ssd (disk s) (disk_may s) (if reads_super m && super_lands m then block else super s)
         (if reads_super m then block :: super_may s else super_may s) (forgot s)).

(** Without its SSD a mount tells another nonce than the one that the superblock may have. *)
Definition told_by (s : state) (m : mount) (uses : bool) : mark := if uses then mark_of s m else other_mark_of s m.
Definition mount_control (s : state) (m : mount) (told : mark) : state :=
  if control_works m then
    with_control
      (with_cache s
         (Cache (memory s) (held s) (stale s) (in_use s) (retiring s) (identity s) (generation s) false true))
      (Control (Some told) [Some told])
  else
    with_control (with_cache s down)
      (Control (if control_lands m then Some told else control s) (Some told :: control_may s)).

Definition written_again (s : state) (ps : list nat) : state :=
  with_store s (Store (store s) (store_may s) (fun p => contains ps p || unsynced s p)).

Definition do_mount (s : state) (m : mount) : state :=
  let t := sync_store (written_again (with_seen s [mark_of s m; other_mark_of s m]) (again m)) (store_syncs m) (store_forgets m) in
  let uses := reads_super m && super_works m in
  if store_syncs m then mount_control (mount_ssd t m uses) m (told_by s m uses) else t.

(** *** Runs *)
Definition run_step (s : state) (x : step) : state :=
  match x with
  | Kill => with_cache s down
  | PowerLoss loses keeps kept u c => power_loss s loses keeps kept u c
  | Exchange u what => if up s then s else exchange s u what
  | SecondLife => if up s then s else second_life s
  | Mount m => if up s then s else do_mount s m
  | _ =>
    if up s then
      match x with
      | Write p => if p <? pages s then do_write s p else s
      | Load p => if p <? pages s then do_load s p else s
      | ToSsd p i works l => do_to_ssd s p i works l
      | Drop p => do_drop s p
      | DropSlot i => do_drop_slot s i
      | WriteBack ps k whole part syncs forgets => do_write_back s ps k whole part syncs forgets
      | Fsync k => fst (do_fsync s k)
      | _ => s
      end
    else s
  end.

Definition run (s : state) (xs : list step) : state := fold_left run_step xs s.
