(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: runs that reach what the theorems speak of, and that meet what they assume *)
From Pgquern.common Require Import Naturals Premises Parts.
From Pgquern.tiercache Require Import Tiers FlatFile Refines Examples Stops Beside BesideHolds Sectors SectorsHold.
Local Open Scope list_scope.
Local Open Scope nat_scope.

(** Page 0 is written and goes to the SSD: the store does not have it, and it is dirty. *)
Theorem the_ssd_alone_has_a_page : let s := state_after only_on_ssd in
  read s 0 = Some 1 /\ dirty s 0 = true /\ memory s 0 = None /\ store s 0 = 0.
Proof. vm_compute. auto. Qed.

(** A power loss that loses the SSD then loses the write; one that keeps the slot keeps it, and so does a kill. *)
Theorem a_crash_may_lose_what_is_not_synced :
  read (state_after (only_on_ssd ++ [lost; mounted 2])) 0 = Some 0 /\ read (state_after (only_on_ssd ++ [kept_newest; mounted 2])) 0 = Some 1 /\
  read (state_after (only_on_ssd ++ [Kill; mounted 2])) 0 = Some 1 /\ assumed_of_all (start 3 2) (only_on_ssd ++ [Kill; mounted 2]) = true.
Proof. vm_compute. auto. Qed.

(** An fsync writes it to the store, succeeds, and what was synced survives, though it was on the SSD alone. *)
Theorem synced_from_the_ssd : let f := file_after synced in
  since_sync f 0 = [newest f 0] /\ read (state_after (synced ++ [lost; mounted 4])) 0 = Some 1 /\
  assumed_of_all (start 3 2) (synced ++ [lost; mounted 4]) = true.
Proof. vm_compute. auto. Qed.

(** An fsync whose sync fails gives an error, the page stays dirty, and the next one succeeds. *)
Theorem a_failed_fsync_is_tried_again : let s := state_after sync_failed in
  snd (do_fsync s (Taken true 8)) = false /\ dirty s 0 = true /\ store_may s 0 = [1; 0] /\
  snd (do_fsync (run s [Fsync (Taken true 8); WriteBack [0] (Taken true 9) [0] [] true false]) (Taken true 10)) = true.
Proof. vm_compute. auto. Qed.

(** Two slots are valid for page 0 after a crash: a restart takes the newer one, and calls the other stale. *)
Theorem the_newer_slot_counts : let s := state_after two_slots in
  disk s 0 = Some (first_mark, Slot 0 1 true) /\ held s 0 = None /\ stale s 0 = true /\ held s 1 = Some (Slot 0 2 true) /\
  read s 0 = Some 2.
Proof. vm_compute. auto. Qed.

(** If the SSD fails while old contents are to be taken off it, it is retired: no crash brings them back. *)
Theorem a_retired_ssd_is_not_trusted : let s := state_after retired in
  in_use s = false /\ In (Some (first_mark, Slot 0 1 true)) (disk_may s 0) /\
  read (state_after (retired ++ [kept_oldest; mounted 4])) 0 = Some 2 /\
  assumed_of_all (start 3 2) (retired ++ [kept_oldest; mounted 4]) = true.
Proof. vm_compute. auto. Qed.

(** The superblock of a mount is written, its sync fails, and the mount goes on without the SSD. Page 0 is written and
    synced. The next mount finds that superblock and the old slot, and trusts neither. *)
Theorem a_superblock_that_landed_is_not_trusted : let s := state_after set_aside in
  in_use s = false /\ super s = Some (Superblock (Mark 1 2) first_mark) /\ control s = Some (Mark 1 102) /\
  disk s 0 = Some (first_mark, Slot 0 1 true) /\ read (state_after (set_aside ++ [Kill; mounted 5])) 0 = Some 2.
Proof. vm_compute. auto. Qed.

(** A slot that a mount cannot read is stale: an fsync with nothing dirty takes it off the SSD before it says what the page
    holds. *)
Theorem an_unreadable_slot_is_taken_off : let s := state_after unreadable in
  read s 0 = Some 0 /\ stale s 0 = true /\ disk s 0 = Some (first_mark, Slot 0 1 true) /\
  dirty s 0 = false /\ snd (do_fsync s (Taken true 3)) = true /\
  disk (fst (do_fsync s (Taken true 3))) 0 = None /\
  read (state_after (unreadable ++ [Fsync (Taken true 3); Kill; mounted 4])) 0 = Some 0.
Proof. vm_compute. auto 10. Qed.

(** Another store's SSD has the nonce of this one's control file, and is taken for empty. *)
Theorem another_ssd_is_not_trusted : let s := state_after exchanged in
  option_map (fun u => mark_nonce (super_mark u)) (super s) = Some 1 /\ control s = Some first_mark /\
  read (run s [mounted 2]) 0 = Some 0.
Proof. vm_compute. auto. Qed.

(** Store and control file are made anew, and the first life's nonces are drawn again under another id. *)
Theorem a_second_life_may_draw_the_same_nonces : let s := state_after second in
  assumed_of_all (start 3 2) second = true /\ control s = Some (Mark 2 1) /\ up s = true /\ read s 0 = Some 0.
Proof. vm_compute. auto. Qed.

(** ** Slots of several sectors: a header and two of the page, the second of which is followed *)
Definition checksum (h : header) (ds : list sector) : nat :=
  fold_left (fun a x => 4 * a + match x with Data v => S v | _ => 0 end) ds (head_page h).
Definition sectors_after (ys : list sector_step) : state * slots_file :=
  let c := run_sectors 2 1 checksum (start 3 2, None, blank) ys in (fst (fst c), snd c).
Definition read_slots (c : state * slots_file) : nat -> option nat := read_sectors 1 checksum (fst c) (snd c).
(** Page 0 stands on slot 0, is written again, and its way to that slot fails after the header. *)
Definition torn : list sector_step :=
  [Same (Call (Write 0)); SlotWrite 0 0 true (fun _ => 7) (fun _ => true); Same (Call (Write 0));
   SlotWrite 0 0 false (fun _ => 8) (Nat.eqb 0)].
(** Of slot 0 the header of one image is left, and the page of another. *)
Definition leaves (header page : nat) : list sector_step :=
  [SectorLoss false (fun _ => 0) 0 0 (fun i k => if i =? 0 then if k =? 0 then header else page else 0); Same (Call (mounted 9))].

(** A power loss may leave the newer image whole, or the older one, and a mount takes it over; of a mixture it takes nothing,
    though the header is whole. *)
Theorem a_torn_slot_is_no_slot :
  read_slots (sectors_after (torn ++ leaves 2 2)) 0 = Some 2 /\
  read_slots (sectors_after (torn ++ leaves 3 3)) 0 = Some 1 /\
  let c := sectors_after (torn ++ leaves 3 2) in
  nth 0 (there (snd c) 0) Damaged = Head (Header first_mark 0 true 34) /\ nth 2 (there (snd c) 0) Damaged = Data 2 /\
  held (fst c) 0 = None /\ read_slots c 0 = Some 0.
Proof. vm_compute. auto 10. Qed.

(** ** Write-backs beside other calls *)
Definition beside_after (ys : list beside_step) : both := fst (run_beside (start 3 2, None) empty ys).
Definition begun : list beside_step := [Call (Write 0); Call (ToSsd 0 0 true Whole); Gather [0]].
Definition ended (n : nat) : list beside_step := [TakeOff (Taken true n); Put 0 true; SyncStore true false; Settle].

(** A page that nobody changes meanwhile is clean then; one that is written between two steps stays dirty, though the store has what
    was gathered, and the next write-back brings it there. *)
Theorem a_write_between_two_steps_is_kept :
  dirty (fst (beside_after (begun ++ ended 2))) 0 = false /\
  (let s := fst (beside_after (begun ++ Call (Write 0) :: ended 2)) in
   dirty s 0 = true /\ read s 0 = Some 2 /\ store s 0 = 1 /\ snd (do_fsync s (Taken true 3)) = false) /\
  (let s := fst (beside_after (begun ++ Call (Write 0) :: ended 2 ++ Gather [0] :: ended 3)) in
   dirty s 0 = false /\ store s 0 = 2 /\ snd (do_fsync s (Taken true 4)) = true).
Proof. vm_compute. auto 12. Qed.

(** The power fails after the store has what was gathered, and before it is synced: a restart finds the page in its slot, or in the
    store. *)
Theorem a_crash_between_two_steps_loses_nothing :
  let ys := begun ++ [TakeOff (Taken true 2); Put 0 true] in
  read (fst (beside_after (ys ++ [Call kept_newest; Call (mounted 9)]))) 0 = Some 1 /\
  read (fst (beside_after (ys ++ [Call lost; Call (mounted 9)]))) 0 = Some 1 /\
  assumed_of_all_beside (start 3 2, None) (ys ++ [Call lost; Call (mounted 9)]) = true.
Proof. vm_compute. auto. Qed.

(** ** Mounts that stop *)
Definition stops (n : nat) (x : stop) : beside_step :=
  Stops (Mounting 2 n (100 + n) [] true false true false (fun _ => true) true true true true) x.
Definition everywhere : list stop :=
  [BeforeTheStore; AmongTheBlocks [0]; AtTheStoreSync false; AtTheStoreSync true; AmongTheSlots; AtTheSuperblock; AfterTheSsd;
   AtTheControl true; AtTheControl false].
Definition stopped (xs : list step) (x : stop) (ys : list step) : list beside_step :=
  map Call (xs ++ [Kill]) ++ stops 20 x :: map Call ys.
Definition read_after (ys : list beside_step) : option nat := read (fst (beside_after ys)) 0.

(** A mount stops at each of its operations, the power fails or not, and the next one has what was synced. *)
Theorem a_mount_may_stop_anywhere :
  forallb (fun x => forallb (fun e => assumed_of_all_beside (start 3 2, None) (stopped synced x e) &&
                                      match read_after (stopped synced x e) with Some v => v =? 1 | None => false end)
                      [[mounted 30]; [lost; mounted 30]; [kept_newest; mounted 30]; [kept_oldest; mounted 30]]) everywhere = true.
Proof. vm_compute. reflexivity. Qed.

(** What stood on the SSD alone, not synced, is there after a mount that stopped among the slots, and after one that had told the control
    file; it is lost if only the superblock of the mount that stopped is there. *)
Theorem a_mount_that_stops_may_lose_what_is_not_synced :
  read_after (stopped only_on_ssd AmongTheSlots [mounted 30]) = Some 1 /\
  read_after (stopped only_on_ssd (AtTheControl true) [mounted 30]) = Some 1 /\
  read_after (stopped only_on_ssd AtTheSuperblock [mounted 30]) = Some 0.
Proof. vm_compute. auto. Qed.

(** ** The premises of each theorem, met together *)

Lemma reads_give_the_newest_witness : inner_premises_of reads_give_the_newest.
Proof. exists 3, 2, (two_slots ++ [lost; mounted 4]), 0. do 2 (split; [reflexivity|]). repeat constructor. Qed.
Lemma nothing_is_lost_and_nothing_comes_back_witness : inner_premises_of nothing_is_lost_and_nothing_comes_back.
Proof. exact reads_give_the_newest_witness. Qed.
Lemma fsynced_pages_survive_witness : premises_of fsynced_pages_survive.
Proof.
  exists 3, 2, (only_on_ssd ++ [WriteBack [0] (Taken true 2) [0] [] true false]), (Taken true 3), [lost; mounted 4], 0, 1.
  split; [reflexivity|]. split; [repeat constructor|]. do 3 (split; [reflexivity|]). split; [|reflexivity].
  intros y [<-|[<-|[]]]; split; discriminate.
Qed.
Lemma an_fsync_leaves_nothing_else_witness : inner_premises_of an_fsync_leaves_nothing_else.
Proof.
  split; exists 3, 2, (two_slots ++ [WriteBack [0] (Taken true 3) [0] [] true false]), (Taken true 9); do 3 (split; [reflexivity|]).
  - exists 0. eexists. split; [repeat constructor|]. vm_compute. now left.
  - exists 1. do 2 eexists. split; [vm_compute; now left|]. split; vm_compute; now left.
Qed.
Lemma an_unused_ssd_is_not_trusted_witness : premises_of an_unused_ssd_is_not_trusted.
Proof. exists 3, 2, set_aside. repeat (split; [reflexivity|]). now exists 0, (Slot 0 1 true). Qed.
Lemma a_failed_write_back_is_told_witness : inner_premises_of a_failed_write_back_is_told.
Proof.
  split; [exists 3, 2, only_on_ssd, [], (Taken true 2), [], [], true, true|now exists 3, 2, only_on_ssd, [0], (Taken true 2), [0], [], false, true].
  do 2 (split; [reflexivity|]). exists 0. split; [reflexivity|]. vm_compute. tauto.
Qed.
Lemma a_mount_that_writes_again_remembers_witness : premises_of a_mount_that_writes_again_remembers.
Proof.
  exists (start 3 2), (Mounting 2 5 105 [0; 1; 2] true false true true (fun _ => true) true true true true). split; [reflexivity|].
  cbn. intros p L. destruct p as [|[|[|p]]]; auto. do 3 apply Nat.succ_lt_mono in L. now apply Nat.nlt_0_r in L.
Qed.
Lemma what_is_not_forgotten_is_remembered_witness : premises_of what_is_not_forgotten_is_remembered.
Proof. now exists 3, 2, two_slots, (Mounting 2 5 105 [] true false true false (fun _ => true) true true true true). Qed.

Ltac sectors := vm_compute; repeat split; try (intros [|[|i]]; vm_compute); auto 10; let H := fresh in intros H; discriminate H.
Lemma a_mixture_is_never_trusted_witness : premises_of a_mixture_is_never_trusted.
Proof.
  exists 2, 1, checksum. split; [repeat constructor|]. exists 3, 2, (torn ++ leaves 2 2), 0, (Slot 0 2 true). split; [sectors|reflexivity].
Qed.
Lemma torn_slots_lose_nothing_witness : premises_of torn_slots_lose_nothing.
Proof.
  exists 2, 1, checksum. split; [repeat constructor|]. exists 3, 2, (torn ++ leaves 3 2), 0. split; [sectors|]. split; [reflexivity|repeat constructor].
Qed.
Lemma synced_pages_survive_torn_slots_witness : premises_of synced_pages_survive_torn_slots.
Proof.
  exists 2, 1, checksum. split; [repeat constructor|].
  exists 3, 2, (torn ++ [Same (Call (WriteBack [0] (Taken true 2) [0] [] true false))]), (Taken true 3),
    (Same (Gather [1]) :: firstn 1 (leaves 3 2) ++ [Same (stops 20 AtTheSuperblock); Same (Call (mounted 30))]), 0, 2.
  split; [sectors|]. split; [repeat constructor|]. do 4 (split; [reflexivity|]). split; [|reflexivity].
  intros y I. repeat (destruct I as [<-|I]; [split; discriminate|]). destruct I.
Qed.
Lemma reads_beside_a_write_back_witness : inner_premises_of reads_beside_a_write_back.
Proof.
  exists 3, 2, (begun ++ [TakeOff (Taken true 2); Call (Write 0); Put 0 true; Call lost; Call (mounted 9)]), 0.
  do 2 (split; [reflexivity|]). repeat constructor.
Qed.
Lemma a_page_written_beside_stays_dirty_witness : premises_of a_page_written_beside_stays_dirty.
Proof.
  exists 3, 2, begun, 0, [TakeOff (Taken true 2); Call (ToSsd 0 1 true Whole); Put 0 true; SyncStore true false].
  split; [reflexivity|]. split; [repeat constructor|]. split; [discriminate|].
  intros z [<-|[<-|[<-|[<-|[]]]]]; (split; [discriminate|]); intros x X; (discriminate X || now injection X as <-).
Qed.
Lemma a_write_back_beside_is_done_or_told_witness : premises_of a_write_back_beside_is_done_or_told.
Proof.
  exists 3, 2, [Call (Write 0)], [0], 0, [TakeOff (Taken true 2); Call (Write 0); Put 0 true; SyncStore true false].
  split; [reflexivity|]. split; [repeat constructor|]. do 2 (split; [reflexivity|]). split; [now left|]. split; [reflexivity|].
  intros z [<-|[<-|[<-|[<-|[]]]]]; (split; [discriminate|]); intros x X; (discriminate X || now injection X as <-).
Qed.
Lemma synced_pages_survive_beside_witness : premises_of synced_pages_survive_beside.
Proof.
  exists 3, 2, (begun ++ ended 2), (Taken true 3),
    [Call (Write 1); Gather [0; 1]; TakeOff (Taken true 4); Put 1 true; Call lost; stops 20 (AmongTheBlocks [0; 1]);
     stops 21 AtTheSuperblock; Call kept_oldest; stops 22 (AtTheControl true); Call (mounted 30)], 0, 1.
  split; [reflexivity|]. split; [repeat constructor|]. do 4 (split; [reflexivity|]). split; [|reflexivity].
  intros y I. repeat (destruct I as [<-|I]; [split; discriminate|]). destruct I.
Qed.
