(* SPDX-License-Identifier: PostgreSQL *)
(** * Runs of three pages and two slots to compute with: those of Witness.v *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile.
Local Open Scope list_scope.
Local Open Scope nat_scope.

(** ** Runs *)
Definition state_after (xs : list step) : state := fst (run_both (start 3 2) empty xs).
Definition file_after (xs : list step) : flat := snd (run_both (start 3 2) empty xs).

(** A mount all of whose operations work. *)
Definition mounted (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => true) true true true true).
(** The superblock lands, though its write or sync fails. *)
Definition aside (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => true) true false true true).
(** No slot can be read. *)
Definition blind (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => false) true true true true).
(** The second slot is the newer one. *)
Definition mounted_second (n : nat) : step :=
  Mount (Mounting 2 n (100 + n) [] true false true false (Nat.eqb 1) true true true true).

(** Power losses: with the SSD; of all that may be there the last that was put there, or the first. *)
Definition lost : step := PowerLoss true (fun _ => 0) (fun _ => 0) 0 0.
Definition kept_newest : step := PowerLoss false (fun _ => 0) (fun _ => 2) 0 0.
Definition kept_oldest : step := PowerLoss false (fun _ => 9) (fun _ => 99) 9 9.

Definition only_on_ssd : list step := [Write 0; ToSsd 0 1 true Whole].
Definition synced : list step := only_on_ssd ++ [WriteBack [0] (Taken true 2) [0] [] true false; Fsync (Taken true 3)].
Definition sync_failed : list step := [Write 0; WriteBack [0] (Taken true 2) [0] [] false true].
Definition two_slots : list step := [Write 0; ToSsd 0 0 true Whole; Write 0; ToSsd 0 1 true Whole; Kill; mounted_second 2].
Definition retired : list step :=
  [Write 0; ToSsd 0 0 true Whole; Write 0; WriteBack [0] (Taken false 2) [0] [] true false; Fsync (Taken true 3)].
Definition set_aside : list step :=
  [Write 0; ToSsd 0 0 true Whole; Kill; aside 2; Write 0; WriteBack [0] (Taken true 3) [0] [] true false; Fsync (Taken true 4)].
Definition unreadable : list step := [Write 0; ToSsd 0 0 true Whole; Kill; blind 2].
(** Another store's SSD, with the nonce that this one's control file has. *)
Definition exchanged : list step :=
  [Kill; Exchange (Some (Superblock (Mark 7 1) (Mark 7 1))) (fun i => if i =? 0 then Some (Mark 7 1, Slot 0 99 true) else None)].
Definition second : list step := [Write 0; ToSsd 0 0 true Whole; Kill; SecondLife; mounted 1].
