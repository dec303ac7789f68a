(* SPDX-License-Identifier: PostgreSQL *)
(** * Runs that a test observed: what it saw of a store, taken for a run of Faults.v if it is one

    A test runs a real store on a device with faults, and tells each step: a call, an operation that works or fails, the end of
    the process, and what can be read after a fault.  [advance] makes the same step in the proof's world.  It refuses what no
    power loss, and no kernel that drops blocks, may leave there. *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Faults.

(** What recovery would read: the control file, the records from its redo point on, the page in its place and the copy. *)
Record observed (sector delta : Type) := Observed {
  control_read : control;
  records_read : list (change sector delta);
  place_read : list sector;
  copy_read : option (list sector);
}.
Arguments Observed {sector delta}.
Arguments control_read {sector delta}.
Arguments records_read {sector delta}.
Arguments place_read {sector delta}.
Arguments copy_read {sector delta}.

(** Events that the store or its user makes; and what is read after a fault. *)
Inductive input (sector delta : Type) :=
| Happens (e : event sector delta)     (* not PowerLoss, not Reread *)
| LosesPower (o : observed sector delta)
| Reads (o : observed sector delta).   (* no process runs *)
Arguments Happens {sector delta}.
Arguments LosesPower {sector delta}.
Arguments Reads {sector delta}.

Section Runs.
  Context {sector delta : Type}.
  Notation page := (list sector).
  Notation record := (record sector delta).
  Context (sector_dec : forall x y : sector, {x = y} + {x <> y}) (delta_dec : forall x y : delta, {x = y} + {x <> y}).
  Context (pr : protection) (room : nat) (lsn : page -> nat) (apply : nat -> delta -> page -> page) (empty : page).

  Definition page_dec (p q : page) : {p = q} + {p <> q} := list_eq_dec sector_dec p q.
  Definition change_dec (c d : change sector delta) : {c = d} + {c <> d}.
  Proof. decide equality; apply page_dec. Defined.
  Definition record_dec (r s : record) : {r = s} + {r <> s}.
  Proof. decide equality; [apply change_dec|apply Nat.eq_dec]. Defined.
  Definition option_dec {A} (dec : forall x y : A, {x = y} + {x <> y}) (x y : option A) : {x = y} + {x <> y}.
  Proof. decide equality. Defined.
  Definition control_dec (c d : control) : {c = d} + {c <> d}.
  Proof. decide equality; apply Nat.eq_dec. Defined.

  Definition among {A} (dec : forall x y : A, {x = y} + {x <> y}) (m : list A) (x : A) : bool :=
    if in_dec dec x m then true else false.
  Definition torn_b {A} (dec : forall x y : option A, {x = y} + {x <> y}) (m : list (option A)) : bool :=
    match m with [] => false | x :: m => negb (forallb (fun y => if dec y x then true else false) m) end.
  Definition whole_or_nothing_b {A} (dec : forall x y : option A, {x = y} + {x <> y}) (m : list (option A)) (x : option A) : bool :=
    among dec m x || (match x with None => true | Some _ => false end && torn_b dec m).

  (** Column by column, each sector is of one of the pages. *)
  Fixpoint columns_b (m : list page) (q : page) : bool :=
    match q with
    | [] => true
    | s :: q => existsb (fun w => match w with x :: _ => if sector_dec x s then true else false | [] => false end) m &&
        columns_b (map (@tl sector) m) q
    end.
  Definition mixture_b (m : list page) (q : page) : bool :=
    match pr with
    | Atomic => among page_dec m q
    | _ => existsb (fun w => List.length w =? List.length q) m && columns_b m q
    end.

  (** Where the log ends for a reader of epoch e: at nothing whole, or at a record of another epoch. *)
  Definition ends_log (e : nat) (m : list (option record)) : option record :=
    if whole_or_nothing_b (option_dec record_dec) m None then None
    else match find (fun x => match x with Some r => negb (record_epoch r =? e) | None => false end) m with
         | Some x => x
         | None => None
         end.
  (** The log as it was read; of what nobody reads, what a read would give. *)
  Definition log_of (d : device sector delta) (o : observed sector delta) (n : nat) : option record :=
    let r := redo_point (control_read o) in
    let e := control_epoch (control_read o) in
    let last := r + List.length (records_read o) in
    if n <=? r then seen (log d n)
    else if n <=? last then
      match nth_error (records_read o) (n - S r) with Some c => Some (Record e c) | None => None end
    else if n =? S last then ends_log e (may (log d n))
    else seen (log d n).
  Definition contents_of (d : device sector delta) (o : observed sector delta) : contents sector delta :=
    Contents (log_of d o) (place_read o) (copy_read o) (control_read o).
  Definition may_be_read (d : device sector delta) (o : observed sector delta) : bool :=
    let r := redo_point (control_read o) in
    forallb (fun n => whole_or_nothing_b (option_dec record_dec) (may (log d n)) (log_of d o n))
      (seq (S r) (S (List.length (records_read o)))) &&
    mixture_b (may (data d)) (place_read o) &&
    whole_or_nothing_b (option_dec page_dec) (may (area d)) (copy_read o) &&
    among control_dec (may (ctl d)) (control_read o).

  Definition event_told (w : world sector delta) (i : input sector delta) : option (event sector delta) :=
    match i with
    | Happens (PowerLoss _) | Happens (Reread _) => None
    | Happens e => Some e
    | LosesPower o => if may_be_read (dev (now w)) o then Some (PowerLoss (contents_of (dev (now w)) o)) else None
    | Reads o => if may_be_read (dev (now w)) o then Some (Reread (contents_of (dev (now w)) o)) else None
    end.
  Definition advance (w : world sector delta) (i : input sector delta) : option (world sector delta) :=
    match event_told w i with Some e => Some (step pr room lsn apply w e) | None => None end.
  Fixpoint told (w : world sector delta) (inputs : list (input sector delta)) : option (world sector delta) :=
    match inputs with
    | [] => Some w
    | i :: inputs => match advance w i with Some w => told w inputs | None => None end
    end.
End Runs.
