(* SPDX-License-Identifier: PostgreSQL *)
(** * Slots of several sectors, below the steps of Tiers.v, Beside.v and Stops.v

    A slot is a sector with a header and those of a page (csrc/tiercache/ssd.c).  One write writes them all; of a write that
    failed, and of all writes that are not synced, a crash may leave any sector.  The checksum in the header covers all of them.
    Of the page's sectors one is followed, any: Tiers.v has its contents.  The others are arbitrary. *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Stops Beside.

(** The generation has the store's id in it. *)
Record header := Header { head_generation : mark; head_page : nat; head_dirty : bool; head_sum : nat }.
Inductive sector := Zeros | Damaged | Head (h : header) | Data (d : nat).
Definition image := list sector.

(** What the SSD gives to a read, by slot; what a power loss may leave, sector by sector; and all images that were ever to be
    written there, or came with another SSD. *)
Record slots_file := Slots {
  there : nat -> image;
  may_be : nat -> list image;
  written : nat -> list image;
}.
Definition blank : slots_file := Slots (fun _ => []) (fun _ => [[]]) (fun _ => []).

(** The steps of Beside.v, where those that put something on slots say it sector by sector. *)
Inductive sector_step :=
| Same (y : beside_step)
| SlotWrite (p i : nat) (works : bool) (others : nat -> nat) (lands : nat -> bool)
    (* ToSsd: the page's other sectors; if it fails, the sectors of the slot that are there all the same *)
| SectorLoss (loses_ssd : bool) (keeps : nat -> nat) (u c : nat) (kept : nat -> nat -> nat)
    (* PowerLoss: for each slot and sector the number of the image that it is left of; 0: it is damaged *)
| OtherSsd (u : option superblock) (images : nat -> image). (* Exchange *)

Section Sectors.
Variable size : nat.                             (* sectors of a page *)
Variable followed : nat.
Variable sum : header -> list sector -> nat.     (* the checksum, of a header without one and a page *)

Definition unsealed (h : header) : header := Header (head_generation h) (head_page h) (head_dirty h) 0.
Definition sealed (h : header) (ds : list sector) : image :=
  Head (Header (head_generation h) (head_page h) (head_dirty h) (sum (unsealed h) ds)) :: ds.
Definition is_sound (m : image) : bool :=
  match m with Head h :: ds => head_sum h =? sum (unsealed h) ds | _ => false end.

(** What a mount or a read makes of a slot's bytes. *)
Definition parse (m : image) : option (mark * slot) :=
  match m with
  | Head h :: ds =>
      if is_sound m
      then match nth followed ds Damaged with
           | Data d => Some (head_generation h, Slot (head_page h) d (head_dirty h))
           | _ => None
           end
      else None
  | _ => None
  end.

(** Each sector is of one of some images, or damaged. *)
Definition mixed (pick : nat -> nat) (images : list image) : image :=
  map (fun k => match pick k with O => Damaged | S n => nth k (nth n images []) Damaged end) (seq 0 (S size)).

(** *** A page to a slot *)
Definition data_of (contents : nat) (others : nat -> nat) : list sector :=
  map (fun k => Data (if k =? followed then contents else others k)) (seq 0 size).
Definition image_of (s : state) (p : nat) (others : nat -> nat) : image :=
  match memory s p with
  | Some f => sealed (Header (generation s) p (frame_dirty f) 0) (data_of (frame_contents f) others)
  | None => []
  end.
Definition writes_slot (s : state) (p i : nat) : bool :=
  up s && match memory s p, slot_of s p with Some _, None => in_use s && may_take s i | _, _ => false end.
Definition landed (s : state) (d : slots_file) (p i : nat) (works : bool) (others : nat -> nat) (lands : nat -> bool) : image :=
  if works then image_of s p others
  else mixed (fun k => if lands k then 1 else 2) [image_of s p others; there d i].
Definition slot_written (s : state) (d : slots_file) (p i : nat) (works : bool) (others : nat -> nat) (lands : nat -> bool) : slots_file :=
  let w := image_of s p others in
  let now := landed s d p i works others lands in
  Slots (update (there d) i now) (update (may_be d) i (now :: w :: may_be d i)) (update (written d) i (w :: written d i)).

(** *** Old contents are taken off: the header's sector alone is overwritten *)
Definition without_header (m : image) : image := Zeros :: tl m.
Definition zeroed (s : state) (d : slots_file) (n : nat) : slots_file :=
  let now i := if overwritten s n i then without_header (there d i) else there d i in
  Slots now (fun i => if overwritten s n i then now i :: may_be d i else may_be d i) (written d).

(** A sync leaves of this generation what is there; what an earlier, failed one was to write of others may still be left. *)
Definition is_of (g : mark) (m : image) : bool := match parse m with Some (h, _) => same_mark h g | None => false end.
Definition after_sync (d : slots_file) (g : mark) (i : nat) : list image := there d i :: filter (fun m => negb (is_of g m)) (may_be d i).
Definition slots_synced (d : slots_file) (g : mark) : slots_file := Slots (there d) (after_sync d g) (written d).

Definition taken_off (s : state) (d : slots_file) (k : taking) : slots_file :=
  match k with
  | Taken works _ => if in_use s && works then slots_synced (zeroed s d (slots s)) (generation s) else d
  | NotTaken n _ _ _ => if in_use s then zeroed s d n else d
  end.

(** *** A mount: what it takes over is written again if it is in doubt, and all is synced *)
Definition slots_mounted (s : state) (d : slots_file) (m : mount) (uses : bool) : slots_file :=
  let trusted := if reads_super m then is_trusted s else None in
  let g := match trusted with Some g => g | None => mark_of s m end in
  let found i := match trusted with Some g => if i <? slots s then valid g (parse (there d i)) else None | None => None end in
  let taken := take_over (takes m) found in
  if uses then Slots (there d) (fun i => match in_doubt m, taken i with true, None => may_be d i | _, _ => after_sync d g i end) (written d)
  else d.
Definition slots_stopped (s : state) (d : slots_file) (m : mount) (x : stop) : slots_file :=
  match x with
  | AfterTheSsd => slots_mounted s d m (reads_super m)
  | AtTheControl _ => slots_mounted s d m (reads_super m && super_works m)
  | _ => d
  end.

Definition left_there (s : state) (d : slots_file) (loses : bool) (kept : nat -> nat -> nat) (i : nat) : image :=
  if loses || (slots s <=? i) then [] else mixed (kept i) (may_be d i).

Definition slots_of_call (s : state) (d : slots_file) (x : step) : slots_file :=
  match x with
  | WriteBack _ k _ _ _ _ | Fsync k => if up s then taken_off s d k else d
  | Mount m => if up s then d else slots_mounted s d m (store_syncs m && (reads_super m && super_works m))
  | _ => d
  end.

(** No write-back is under way, and the cache is not up. *)
Definition is_closed (b : both) : bool := match snd b with None => negb (up (fst b)) | Some _ => false end.

Definition slots_step (b : both) (d : slots_file) (y : sector_step) : slots_file :=
  let s := fst b in
  match y with
  | SlotWrite p i works others lands => if writes_slot s p i then slot_written s d p i works others lands else d
  | SectorLoss loses _ _ _ kept => Slots (left_there s d loses kept) (fun i => [left_there s d loses kept i]) (written d)
  | OtherSsd _ images =>
      let found i := if i <? slots s then images i else [] in
      if is_closed b then Slots found (fun i => [found i]) (fun i => found i :: written d i) else d
  | Same (Call x) => if may_be_called (snd b) x then slots_of_call s d x else d
  | Same (TakeOff k) => match snd b with Some (WritingBack _ _ Taking _) => taken_off s d k | _ => d end
  | Same (Stops m x) => if is_closed b then slots_stopped s d m x else d
  | Same _ => d
  end.

(** *** The step of Beside.v: its choices are what the sectors are read as *)
Definition same_slot (a b : option (mark * slot)) : bool :=
  match a, b with
  | Some (g, e), Some (h, d) =>
      same_mark g h && (slot_page e =? slot_page d) && (slot_contents e =? slot_contents d) && Bool.eqb (slot_dirty e) (slot_dirty d)
  | None, None => true
  | _, _ => false
  end.
Fixpoint index_of (x : option (mark * slot)) (l : list (option (mark * slot))) : nat :=
  match l with [] => 0 | y :: l => if same_slot x y then 0 else S (index_of x l) end.

Definition landing_of (s : state) (p i : nat) (others : nat -> nat) (now : image) : landing :=
  match parse now with
  | None => Torn
  | e => if same_slot e (parse (image_of s p others)) then Whole else Earlier (index_of e (disk_may s i))
  end.
Definition step_of (s : state) (d : slots_file) (y : sector_step) : beside_step :=
  match y with
  | Same y => y
  | SlotWrite p i works others lands =>
      Call (ToSsd p i works (landing_of s p i others (landed s d p i works others lands)))
  | SectorLoss loses keeps u c kept =>
      Call (PowerLoss loses keeps
        (fun i => match parse (left_there s d loses kept i) with None => 0 | e => S (index_of e (disk_may s i)) end) u c)
  | OtherSsd u images => Call (Exchange u (fun i => parse (images i)))
  end.

(** *** Runs *)
Definition sectors_step (c : both * slots_file) (y : sector_step) : both * slots_file :=
  (do_beside (fst c) (step_of (fst (fst c)) (snd c) y), slots_step (fst c) (snd c) y).
Definition run_sectors (c : both * slots_file) (ys : list sector_step) : both * slots_file := fold_left sectors_step ys c.
Fixpoint steps_of (c : both * slots_file) (ys : list sector_step) : list beside_step :=
  match ys with [] => [] | y :: ys => step_of (fst (fst c)) (snd c) y :: steps_of (sectors_step c y) ys end.

(** What a read gives, by the sectors of the slot. *)
Definition read_sectors (s : state) (d : slots_file) (p : nat) : option nat :=
  match memory s p with
  | Some f => Some (frame_contents f)
  | None =>
      match slot_of s p with
      | Some i =>
          match valid (generation s) (parse (there d i)) with
          | Some e => if slot_page e =? p then Some (slot_contents e) else None
          | None => None
          end
      | None => Some (store s p)
      end
  end.

(** ** What is assumed: the checksum tells a mixture of several images from them *)
Definition told_apart (s : state) (d : slots_file) (y : sector_step) : Prop :=
  match y with
  | SlotWrite p i works others lands =>
      let now := landed s d p i works others lands in
      is_sound now = true -> In now (image_of s p others :: may_be d i)
  | SectorLoss loses _ _ _ kept =>
      forall i, let now := left_there s d loses kept i in is_sound now = true -> In now (may_be d i)
  | OtherSsd _ _ => True
  | Same (Call (ToSsd _ _ _ _)) | Same (Call (PowerLoss _ _ _ _ _)) | Same (Call (Exchange _ _)) => False
  | Same _ => True
  end.
Fixpoint sectors_assumed (c : both * slots_file) (ys : list sector_step) : Prop :=
  match ys with
  | [] => True
  | y :: ys =>
      told_apart (fst (fst c)) (snd c) y /\ assumed_beside (fst c) (step_of (fst (fst c)) (snd c) y) = true /\
      sectors_assumed (sectors_step c y) ys
  end.
End Sectors.
