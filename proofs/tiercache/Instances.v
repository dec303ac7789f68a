(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    Runs of three pages and two slots, and for each what a theorem assumes and what it concludes, both as a boolean.
    Witness.v proves that all of them are true.  `make prove-mutants` computes them with a definition changed: where a
    hypothesis is true and its conclusion false, the theorem is false. *)
From Coq Require Import String List Bool Arith.
From Pgquern.tiercache Require Import Tiers FlatFile.
Import ListNotations.
Local Open Scope list_scope.
Local Open Scope nat_scope.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

(** ** Runs *)
Definition state_after (xs : list step) : state := fst (run_both (start 3 2) empty xs).
Definition file_after (xs : list step) : flat := snd (run_both (start 3 2) empty xs).

(** A mount all of whose operations work. *)
Definition mounted (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => true) true true true true).
(** The superblock lands, though its write or sync fails. *)
Definition aside (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => true) true false true true).
(** What a failed sync may have made the kernel forget is written again. *)
Definition careful (n : nat) : step := Mount (Mounting 2 n (100 + n) [0; 1; 2] true false true true (fun _ => true) true true true true).
(** No slot can be read. *)
Definition blind (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => false) true true true true).
(** The second slot is the newer one. *)
Definition mounted_second (n : nat) : step :=
  Mount (Mounting 2 n (100 + n) [] true false true false (Nat.eqb 1) true true true true).
(** Superblock and control file are there, though the mount is refused. *)
Definition refused (n : nat) : step := Mount (Mounting 2 n (100 + n) [] true false true false (fun _ => true) true true true false).

(** Power losses: with the SSD; of all that may be there the last that was put there, or the first. *)
Definition lost : step := PowerLoss true (fun _ => 0) (fun _ => 0) 0 0.
Definition kept_newest : step := PowerLoss false (fun _ => 0) (fun _ => 2) 0 0.
Definition kept_oldest : step := PowerLoss false (fun _ => 9) (fun _ => 99) 9 9.
(** A superblock or a slot that was to be overwritten is as it was. *)
Definition kept_second : step := PowerLoss false (fun _ => 0) (fun i => if i =? 0 then 1 else 2) 0 0.

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
(** This SSD as it was before the last mount. *)
Definition older : list step :=
  [Kill; mounted 2; Kill; Exchange (Some (Superblock first_mark first_mark)) (fun i => if i =? 0 then Some (first_mark, Slot 0 99 true) else None)].
Definition second : list step := [Write 0; ToSsd 0 0 true Whole; Kill; SecondLife; mounted 1].
(** Syncs of the store and of the SSD fail, the control file too, and the kernel forgets what it has not written. *)
Definition store_forgotten : list step := [Write 0; WriteBack [0] (Taken true 2) [0] [] false true; Kill; careful 5; Fsync (Taken true 3)].
Definition slot_forgotten : list step :=
  [Write 0; ToSsd 0 0 true Whole; Write 0; WriteBack [0] (NotTaken 2 true false 2) [] [] false false; Kill; careful 5;
   Write 0; WriteBack [0] (Taken true 3) [0] [] true false; Fsync (Taken true 4)].
Definition retry_of_a_refused : list step := [Write 0; ToSsd 0 0 true Whole; Kill; refused 2].

(** ** What is concluded, decided *)
Definition nothing_is_lost (xs : list step) : bool :=
  let '(s, f) := run_both (start 3 2) empty xs in
  up s && forallb (fun p => match read s p with Some v => existsb (Nat.eqb v) (since_sync f p) | None => false end) (seq 0 3).
Definition read_is_newest (xs : list step) : bool :=
  let '(s, f) := run_both (start 3 2) empty xs in
  up s && forallb (fun p => match read s p with Some v => v =? newest f p | None => false end) (seq 0 3).

(** What may follow a run that is up, or down. *)
Definition ends (n : nat) : list (list step) :=
  [[Kill; mounted n]; [lost; mounted n]; [kept_newest; mounted n]; [kept_oldest; mounted n]; [kept_second; mounted n];
   [Kill; aside n; Kill; mounted (S n)]; [Kill; blind n; Fsync (Taken true (200 + n)); Kill; mounted (S n)];
   [Kill; refused n; Kill; mounted (S n)]; [kept_oldest; mounted n; kept_oldest; mounted (S n)]].

Definition runs : list (list step) :=
  [only_on_ssd; synced; retired; set_aside; unreadable; two_slots; exchanged; older; second; retry_of_a_refused; store_forgotten; slot_forgotten;
   two_slots ++ [Write 1; WriteBack [0; 1] (Taken true 3) [0; 1] [] true false; Fsync (Taken true 4)];
   two_slots ++ [WriteBack [0] (Taken true 3) [0] [] true false; Fsync (Taken true 4)];
   unreadable ++ [Fsync (Taken true 3)]; unreadable ++ [Fsync (Taken false 3)];
   second ++ [Write 0; WriteBack [0] (Taken true 3) [0] [] true false; Fsync (Taken true 4)];
   [Write 0; WriteBack [0] (Taken true 2) [0] [] false false; Fsync (Taken true 3); Fsync (Taken true 4)];
   [Write 0; WriteBack [0] (Taken true 2) [] [0] true false; Write 0; ToSsd 0 0 false Torn; Fsync (Taken true 3)]].

Definition instances_of (xs : list step) : list instance :=
  let assumes ys := assumed_of_all (start 3 2) ys in
  flat_map (fun e => [Instance "nothing_is_lost_and_nothing_comes_back" (assumes (xs ++ e)) (nothing_is_lost (xs ++ e));
                      Instance "reads_give_the_newest" (assumes (xs ++ e)) (read_is_newest (xs ++ e))]) (ends 10).

Definition instances : list instance := flat_map instances_of runs.
