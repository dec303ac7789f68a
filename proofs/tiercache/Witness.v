(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: runs that reach what the theorems speak of *)
From Coq Require Import List Bool Arith.
From Pgquern.tiercache Require Import Tiers FlatFile.
Import ListNotations.

Definition state_after (xs : list step) : state := fst (run_both (start 3 2) empty xs).
Definition file_after (xs : list step) : flat := snd (run_both (start 3 2) empty xs).
Definition first (_ : nat) : nat := 0.
Definition last (_ : nat) : nat := 9.

Definition only_on_ssd : list step := [Write 0; ToSsd 0 1 true].
(** Page 0 is written and goes to the SSD: the store does not have it, and it is dirty. *)
Theorem the_ssd_alone_has_a_page : let s := state_after only_on_ssd in
  read s 0 = Some 1 /\ dirty s 0 = true /\ memory s 0 = None /\ store s 0 = 0.
Proof. vm_compute. auto. Qed.

(** A crash that loses the SSD then loses the write; a crash that keeps the slot keeps it. *)
Theorem a_crash_may_lose_what_is_not_synced : let s := state_after only_on_ssd in
  read (do_crash s true first first) 0 = Some 0 /\ read (do_crash s false first (fun _ => 1)) 0 = Some 1 /\
  read (do_crash s false first last) 0 = Some 1.
Proof. vm_compute. auto. Qed.

Definition synced : list step := only_on_ssd ++ [WriteBack [0] true (Written [0] [] true); Fsync].
(** An fsync writes it to the store, succeeds, and what was synced survives, though it was on the SSD alone. *)
Theorem synced_from_the_ssd : let f := file_after synced in
  since_sync f 0 = [newest f 0] /\ read (do_crash (state_after synced) true first first) 0 = Some 1.
Proof. vm_compute. auto. Qed.

Definition sync_failed : list step := [Write 0; WriteBack [0] true (Written [0] [] false)].
(** An fsync whose sync fails gives an error, the page stays dirty, and the next one succeeds. *)
Theorem a_failed_fsync_is_tried_again : let s := state_after sync_failed in
  snd (do_fsync s) = false /\ dirty s 0 = true /\ store_may s 0 = [1; 0] /\
  snd (do_fsync (run s [Fsync; WriteBack [0] true (Written [0] [] true)])) = true.
Proof. vm_compute. auto. Qed.

Definition two_slots : list step :=
  [Write 0; ToSsd 0 0 true; Write 0; ToSsd 0 1 true; Crash false first (fun i => if i =? 0 then 1 else 1)].
(** Two slots are valid for page 0 after a crash: a restart takes the newer one, and calls the other stale. *)
Theorem the_newer_slot_counts : let s := state_after two_slots in
  disk s 0 = Some (Slot 0 1 true) /\ held s 0 = None /\ stale s 0 = true /\ held s 1 = Some (Slot 0 2 true) /\
  read s 0 = Some 2.
Proof. vm_compute. auto. Qed.

Definition retired : list step := [Write 0; ToSsd 0 0 true; Write 0; WriteBack [0] false (Written [0] [] true)].
(** If the SSD fails while old contents are to be taken off it, it is retired: no crash brings them back. *)
Theorem a_retired_ssd_is_not_trusted : let s := state_after retired in
  trusted s = false /\ In (Some (Slot 0 1 true)) (disk_may s 0) /\ read (do_crash s false first first) 0 = Some 2.
Proof. vm_compute. auto. Qed.
