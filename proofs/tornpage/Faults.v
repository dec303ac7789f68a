(* SPDX-License-Identifier: PostgreSQL *)
(** * A store under kills, failed syncs and power losses, with recovery in its steps

    One page of many, its log, the double-write area and the control file.  The log has the records of the other pages, too.
    Each call is a program of operations on the files, in the order of the C code.  The process may end at any of them.

    A block of a file is what a read gives, and all that the medium may hold of it without another write.  A failed sync makes
    the kernel forget: what was written is read, and may be on the medium or not.  So only what this process has written
    itself, and synced, is durable.  Which part of a block the medium has is left to the moment of a power loss. *)
From Pgquern.common Require Import Naturals.

Inductive protection := Images | DoubleWrite | Atomic.

(** ** A block of a file *)
Record block (A : Type) := Block {
  seen : A;            (* what a read gives *)
  may : list A;        (* what of it, or of which parts, the medium may hold *)
  mine : bool;         (* this process has written it: a sync speaks of it *)
}.
Arguments Block {A}.
Arguments seen {A}.
Arguments may {A}.
Arguments mine {A}.

Definition write {A} (x : A) (b : block A) : block A := Block x (x :: may b) true.
(** A write that fails: any part may be there. *)
Definition half_write {A} (x : A) (b : block A) : block A := Block (seen b) (x :: may b) (mine b).
Definition sync {A} (b : block A) : block A := if mine b then Block (seen b) [seen b] true else b.
(** The process has ended. *)
Definition abandon {A} (b : block A) : block A := Block (seen b) (may b) false.
(** The kernel has dropped the block from its cache, and reads the medium. *)
Definition reread {A} (x : A) (b : block A) : block A := Block x (may b) false.
(** A power loss. *)
Definition lost {A} (x : A) : block A := Block x [x] false.

(** What stands in a block that may hold these.  Of what has a CRC (None: it is wrong): one of them, or a mixture.  A CRC tells
    a mixture from whole ones; equal ones do not mix. *)
Definition whole_or_nothing {A} (m : list (option A)) (x : option A) : Prop :=
  In x m \/ x = None /\ exists y z, In y m /\ In z m /\ y <> z.
(** Of a page: each sector by itself is of one of them.  With a device that is atomic the page is one of them. *)
Definition sector_by_sector {sector} (m : list (list sector)) (q : list sector) : Prop :=
  (exists w, In w m /\ length q = length w) /\
  forall i s, nth_error q i = Some s -> exists w, In w m /\ nth_error w i = Some s.
Definition mixture {sector} (pr : protection) (m : list (list sector)) (q : list sector) : Prop :=
  match pr with Atomic => In q m | _ => sector_by_sector m q end.

Record control := Control { redo_point : nat; control_epoch : nat }.

Section Store.
  Variables sector delta : Type.
  Notation page := (list sector).
  Variable pr : protection.
  Variable room : nat.                               (* so many records has the log room for, after the redo point *)
  Variable lsn : page -> nat.                        (* the last record of the page that it contains *)
  Variable apply : nat -> delta -> page -> page.     (* the change of record n, which becomes the page's LSN *)
  Variable empty : page.

  (** ** The log: records have the numbers 1, 2, ... *)
  Inductive change := Delta (d : delta) | Image (p : page) | Elsewhere.   (* Elsewhere: of another page *)
  Record record := Record { record_epoch : nat; what : change }.
  Definition own (c : change) : bool := match c with Elsewhere => false | _ => true end.

  (** The page after the first k of some changes. *)
  Definition after (n : nat) (c : change) (p : page) : page :=
    match c with Delta d => apply n d p | Image q => q | Elsewhere => p end.
  Fixpoint play (n : nat) (h : list change) (p : page) : page :=
    match h with [] => p | c :: h => play (S n) h (after (S n) c p) end.
  Definition state (h : list change) (k : nat) : page := play 0 (firstn k h) empty.

  (** Replay: an image makes the page right, whatever it was; a change goes to a page that is older. *)
  Definition replay_one (n : nat) (c : change) (p : page) : page :=
    match c with Delta d => if n <=? lsn p then p else apply n d p | Image q => q | Elsewhere => p end.
  Fixpoint replay (n : nat) (h : list change) (p : page) : page :=
    match h with [] => p | c :: h => replay (S n) h (replay_one (S n) c p) end.

  (** The log from record n + 1 on: up to the first that is not whole, or of another epoch. *)
  Fixpoint read_log (e : nat) (l : nat -> option record) (n room : nat) : list change :=
    match room with
    | 0 => []
    | S room =>
      match l (S n) with
      | Some (Record e' c) => if e' =? e then c :: read_log e l (S n) room else []
      | None => []
      end
    end.

  (** ** Files and process *)
  Record device := Device {
    log : nat -> block (option record);
    data : block page;
    area : block (option page);    (* a copy of the page; None: none that is whole *)
    ctl : block control;
  }.

  Record process := Process {
    mem : page;
    first : nat;           (* the first change that is not written back; 0: none *)
    unsynced : bool;       (* the data file was written since its last sync, or that is not known *)
    redo : nat;            (* of the checkpoint that has begun *)
    durable_redo : nat;
    insert : nat;          (* so many records are logged *)
    flushed : nat;         (* so many of them are synced *)
    unflushed : list change;
    epoch : nat;
  }.

  (** [made] are the changes, of all pages; [acked]: so many of them are promised to survive.  No code knows these. *)
  Record store := Store { dev : device; proc : process; made : list change; acked : nat }.

  Inductive op :=
  | WriteLog (n : nat) (r : record) | SyncLog
  | WriteArea (p : page) | SyncArea
  | WriteData (p : page) | SyncData        (* SyncData: if the file was written *)
  | WriteControl (c : control) | SyncControl
  | Flushed | Cleaned | Moved | Opened.    (* in memory: a flush, a write-back, a checkpoint, a recovery has ended *)

  Definition with_dev (s : store) (d : device) : store := Store d (proc s) (made s) (acked s).
  Definition with_log (s : store) l := with_dev s (Device l (data (dev s)) (area (dev s)) (ctl (dev s))).
  Definition with_data (s : store) b := with_dev s (Device (log (dev s)) b (area (dev s)) (ctl (dev s))).
  Definition with_area (s : store) b := with_dev s (Device (log (dev s)) (data (dev s)) b (ctl (dev s))).
  Definition with_ctl (s : store) b := with_dev s (Device (log (dev s)) (data (dev s)) (area (dev s)) b).
  Definition with_proc (s : store) (p : process) : store := Store (dev s) p (made s) (acked s).

  Definition set_first (p : process) n := Process (mem p) n (unsynced p) (redo p) (durable_redo p) (insert p) (flushed p) (unflushed p) (epoch p).
  Definition set_unsynced (p : process) b := Process (mem p) (first p) b (redo p) (durable_redo p) (insert p) (flushed p) (unflushed p) (epoch p).
  Definition set_redo (p : process) n := Process (mem p) (first p) (unsynced p) n (durable_redo p) (insert p) (flushed p) (unflushed p) (epoch p).
  Definition set_durable_redo (p : process) := Process (mem p) (first p) (unsynced p) (redo p) (redo p) (insert p) (flushed p) (unflushed p) (epoch p).
  Definition set_flushed (p : process) := Process (mem p) (first p) (unsynced p) (redo p) (durable_redo p) (insert p) (insert p) [] (epoch p).
  Definition set_open (p : process) := Process (mem p) (first p) (unsynced p) (insert p) (insert p) (insert p) (insert p) [] (S (epoch p)).

  Definition update {A} (f : nat -> A) (n : nat) (x : A) : nat -> A := fun j => if j =? n then x else f j.

  (** An operation that works. *)
  Definition go (o : op) (s : store) : store :=
    match o with
    | WriteLog n r => with_log s (update (log (dev s)) n (write (Some r) (log (dev s) n)))
    | SyncLog => with_log s (fun n => sync (log (dev s) n))
    | WriteArea p => with_area s (write (Some p) (area (dev s)))
    | SyncArea => with_area s (sync (area (dev s)))
    | WriteData p => with_proc (with_data s (write p (data (dev s)))) (set_unsynced (proc s) true)
    | SyncData => if unsynced (proc s) then with_proc (with_data s (sync (data (dev s)))) (set_unsynced (proc s) false) else s
    | WriteControl c => with_ctl s (write c (ctl (dev s)))
    | SyncControl => with_ctl s (sync (ctl (dev s)))
    | Flushed => Store (dev s) (set_flushed (proc s)) (made s) (insert (proc s))
    | Cleaned => with_proc s (set_first (proc s) 0)
    | Moved => with_proc s (set_durable_redo (proc s))
    | Opened => Store (dev s) (set_open (proc s)) (firstn (insert (proc s)) (made s)) (insert (proc s))
    end.
  (** One that fails. A sync that fails makes nothing durable, as far as anyone knows. *)
  Definition half (o : op) (s : store) : store :=
    match o with
    | WriteLog n r => with_log s (update (log (dev s)) n (half_write (Some r) (log (dev s) n)))
    | WriteArea p => with_area s (half_write (Some p) (area (dev s)))
    | WriteData p => with_data s (half_write p (data (dev s)))
    | WriteControl c => with_ctl s (half_write c (ctl (dev s)))
    | _ => s
    end.

  (** ** The calls, as programs *)
  Fixpoint log_ops (e n : nat) (l : list change) : list op :=
    match l with [] => [] | c :: l => WriteLog (S n) (Record e c) :: log_ops e (S n) l end.
  Definition flush_ops (p : process) : list op :=
    log_ops (epoch p) (flushed p) (unflushed p) ++ [SyncLog; Flushed].
  (** A page goes to its place.  Before the area gets it, what the area held must be durable in its place. *)
  Definition place_ops (q : page) : list op :=
    match pr with DoubleWrite => [SyncData; WriteArea q; SyncArea] | _ => [] end ++ [WriteData q; Cleaned].
  Definition write_back_ops (p : process) : list op :=
    if first p =? 0 then [] else (if flushed p <? lsn (mem p) then flush_ops p else []) ++ place_ops (mem p).
  Definition checkpoint_ops (p : process) : list op :=
    flush_ops p ++
    (if negb (first p =? 0) && (first p <=? redo p) then place_ops (mem p) else []) ++
    [SyncData; WriteControl (Control (redo p) (epoch p)); SyncControl; Moved].

  (** *** Recovery: what it makes of what it reads, and what it writes.  What it read need not be durable: so it writes again
      all that it relies on. *)
  Definition restored (a : option page) : option page := match pr with DoubleWrite => a | _ => None end.
  Fixpoint first_own (n : nat) (l : list change) : nat :=
    match l with [] => 0 | c :: l => if own c then S n else first_own (S n) l end.
  Definition again (c : control) (found : list change) (a : option page) (p : process) : list op :=
    [WriteControl c; SyncControl] ++
    log_ops (control_epoch c) (redo_point c) found ++ [SyncLog] ++
    match restored a with Some q => [WriteArea q; SyncArea; WriteData q] | None => [] end ++
    (if first p =? 0 then [] else place_ops (mem p)) ++
    [SyncData] ++
    [WriteControl (Control (insert p) (S (epoch p))); SyncControl; Opened].
  Definition recover (c : control) (l : nat -> option record) (a : option page) (place : page) : process * list op :=
    let r := redo_point c in
    let found := read_log (control_epoch c) l r room in
    let start := match restored a with Some q => q | None => place end in
    let p := Process (replay r found start) (first_own r found) true r r (r + length found) (r + length found) [] (control_epoch c) in
    (p, again c found a p).

  (** A change.  With images, the first one of a page after the redo point logs the page. *)
  Definition log_change (s : store) (m : page) (n : nat) (c : change) : store :=
    let p := proc s in
    Store (dev s)
      (Process m n (unsynced p) (redo p) (durable_redo p) (S (insert p)) (flushed p) (unflushed p ++ [c]) (epoch p))
      (made s ++ [c]) (acked s).
  Definition needs_image (p : process) : bool :=
    match pr with Images => lsn (mem p) <=? redo p | _ => false end.
  Definition do_change (s : store) (d : delta) : store :=
    let p := proc s in
    let n := S (insert p) in
    let m := apply n d (mem p) in
    log_change s m (if first p =? 0 then n else first p) (if needs_image p then Image m else Delta d).

  (** ** Events *)
  Record contents := Contents { log_left : nat -> option record; data_left : page; area_left : option page; ctl_left : control }.

  Inductive event :=
  | Change (d : delta) | ChangeElsewhere
  | Flush | WriteBack | BeginCheckpoint | EndCheckpoint   (* calls *)
  | Go                                                    (* the next operation of the call works *)
  | Fail                                                  (* it fails: then the process ends *)
  | Kill
  | PowerLoss (kept : contents)
  | Reread (kept : contents)                              (* while no process runs *)
  | Recover.

  (** The program that runs; Some []: the store is open and idle; None: no process runs. *)
  Record world := World { now : store; program : option (list op) }.

  Definition everywhere (f : forall A, block A -> block A) (s : store) : store :=
    let d := dev s in
    with_dev s (Device (fun n => f _ (log d n)) (f _ (data d)) (f _ (area d)) (f _ (ctl d))).
  Definition ended (s : store) : world := World (everywhere (@abandon) s) None.
  Definition has_room (s : store) : bool := insert (proc s) <? durable_redo (proc s) + room.

  Definition call (s : store) (e : event) : world :=
    match e with
    | Change d => World (if has_room s then do_change s d else s) (Some [])
    | ChangeElsewhere => World (if has_room s then log_change s (mem (proc s)) (first (proc s)) Elsewhere else s) (Some [])
    | Flush => World s (Some (flush_ops (proc s)))
    | WriteBack => World s (Some (write_back_ops (proc s)))
    | BeginCheckpoint => World (with_proc s (set_redo (proc s) (insert (proc s)))) (Some [])
    | EndCheckpoint => World s (Some (checkpoint_ops (proc s)))
    | _ => World s (Some [])
    end.

  Definition step (w : world) (e : event) : world :=
    let s := now w in
    let d := dev s in
    match e, program w with
    | Kill, _ => ended s
    | PowerLoss kept, _ =>
        World (with_dev s (Device (fun n => lost (log_left kept n)) (lost (data_left kept)) (lost (area_left kept)) (lost (ctl_left kept)))) None
    | Reread kept, None =>
        World (with_dev s (Device (fun n => reread (log_left kept n) (log d n)) (reread (data_left kept) (data d))
          (reread (area_left kept) (area d)) (reread (ctl_left kept) (ctl d)))) None
    | Recover, None =>
        let '(p, ops) := recover (seen (ctl d)) (fun n => seen (log d n)) (seen (area d)) (seen (data d)) in
        World (with_proc s p) (Some ops)
    | Go, Some (o :: rest) => World (go o s) (Some rest)
    | Fail, Some (o :: rest) => ended (half o s)
    | _, Some [] => call s e
    | _, _ => w
    end.
  Definition run (w : world) (events : list event) : world := fold_left step events w.

  (** What a power loss may leave, and a kernel that drops blocks may read. *)
  Definition may_be_left (d : device) (kept : contents) : Prop :=
    (forall n, whole_or_nothing (may (log d n)) (log_left kept n)) /\ mixture pr (may (data d)) (data_left kept) /\
    whole_or_nothing (may (area d)) (area_left kept) /\ In (ctl_left kept) (may (ctl d)).
  Definition allowed (w : world) (e : event) : Prop :=
    match e, program w with
    | PowerLoss kept, _ | Reread kept, None => may_be_left (dev (now w)) kept
    | _, _ => True
    end.
  Fixpoint all_allowed (w : world) (events : list event) : Prop :=
    match events with [] => True | e :: events => allowed w e /\ all_allowed (step w e) events end.

  (** A new store, open. *)
  Definition new : world :=
    World (Store (Device (fun _ => Block None [None] false) (Block empty [empty] false) (Block None [None] false)
                    (Block (Control 0 1) [Control 0 1] false))
             (Process empty 0 false 0 0 0 0 [] 1) [] 0) (Some []).
End Store.
Arguments Delta {sector delta}.
Arguments Image {sector delta}.
Arguments Elsewhere {sector delta}.
Arguments Record {sector delta}.
Arguments record_epoch {sector delta}.
Arguments what {sector delta}.
Arguments own {sector delta}.
Arguments read_log {sector delta}.
Arguments first_own {sector delta}.
Arguments Device {sector delta}.
Arguments log {sector delta}.
Arguments data {sector delta}.
Arguments area {sector delta}.
Arguments ctl {sector delta}.
Arguments Process {sector delta}.
Arguments mem {sector delta}.
Arguments first {sector delta}.
Arguments unsynced {sector delta}.
Arguments redo {sector delta}.
Arguments durable_redo {sector delta}.
Arguments insert {sector delta}.
Arguments flushed {sector delta}.
Arguments unflushed {sector delta}.
Arguments epoch {sector delta}.
Arguments Store {sector delta}.
Arguments dev {sector delta}.
Arguments proc {sector delta}.
Arguments made {sector delta}.
Arguments acked {sector delta}.
Arguments WriteLog {sector delta}.
Arguments SyncLog {sector delta}.
Arguments WriteArea {sector delta}.
Arguments SyncArea {sector delta}.
Arguments WriteData {sector delta}.
Arguments SyncData {sector delta}.
Arguments WriteControl {sector delta}.
Arguments SyncControl {sector delta}.
Arguments Flushed {sector delta}.
Arguments Cleaned {sector delta}.
Arguments Moved {sector delta}.
Arguments Opened {sector delta}.
Arguments with_log {sector delta}.
Arguments with_data {sector delta}.
Arguments with_area {sector delta}.
Arguments with_ctl {sector delta}.
Arguments with_proc {sector delta}.
Arguments with_dev {sector delta}.
Arguments set_first {sector delta}.
Arguments set_unsynced {sector delta}.
Arguments set_redo {sector delta}.
Arguments set_durable_redo {sector delta}.
Arguments set_flushed {sector delta}.
Arguments set_open {sector delta}.
Arguments go {sector delta}.
Arguments half {sector delta}.
Arguments log_ops {sector delta}.
Arguments flush_ops {sector delta}.
Arguments place_ops {sector delta}.
Arguments log_change {sector delta}.
Arguments needs_image {sector delta}.
Arguments restored {sector}.
Arguments Change {sector delta}.
Arguments ChangeElsewhere {sector delta}.
Arguments Flush {sector delta}.
Arguments WriteBack {sector delta}.
Arguments BeginCheckpoint {sector delta}.
Arguments EndCheckpoint {sector delta}.
Arguments Go {sector delta}.
Arguments Fail {sector delta}.
Arguments Kill {sector delta}.
Arguments PowerLoss {sector delta}.
Arguments Reread {sector delta}.
Arguments Recover {sector delta}.
Arguments Contents {sector delta}.
Arguments log_left {sector delta}.
Arguments data_left {sector delta}.
Arguments area_left {sector delta}.
Arguments ctl_left {sector delta}.
Arguments World {sector delta}.
Arguments now {sector delta}.
Arguments program {sector delta}.
Arguments everywhere {sector delta}.
Arguments ended {sector delta}.
Arguments has_room {sector delta}.
Arguments may_be_left {sector delta}.
Arguments allowed {sector delta}.
Arguments after {sector delta}.
Arguments play {sector delta}.
Arguments state {sector delta}.
Arguments replay_one {sector delta}.
Arguments replay {sector delta}.
Arguments write_back_ops {sector delta}.
Arguments checkpoint_ops {sector delta}.
Arguments again {sector delta}.
Arguments recover {sector delta}.
Arguments do_change {sector delta}.
Arguments call {sector delta}.
Arguments step {sector delta}.
Arguments run {sector delta}.
Arguments all_allowed {sector delta}.
Arguments new {sector delta}.
