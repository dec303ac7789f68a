(* SPDX-License-Identifier: PostgreSQL *)
(** * What a user may rely on: a flat file, of which each page may fall back to what was synced, or to a later write *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers.

Record flat := Flat {
  newest : nat -> nat;           (* what a read must give, by page *)
  since_sync : nat -> list nat;  (* the contents at the last successful fsync, and all written since *)
}.

Definition empty : flat := Flat (fun _ => 0) (fun _ => [0]).
Definition all_synced (f : flat) : flat := Flat (newest f) (fun p => [newest f p]).
Definition reads (s : state) (f : flat) : flat :=
  Flat (fun p => match read s p with Some v => v | None => newest f p end) (since_sync f).

(** The flat file beside a step of the cache.  What a mount leaves is what the cache then reads. *)
Definition flat_step (s : state) (f : flat) (x : step) : flat :=
  match x with
  | Write p =>
      if up s && (p <? pages s)
      then Flat (update (newest f) p (next s)) (update (since_sync f) p (next s :: since_sync f p)) else f
  | Fsync k => if up s && snd (do_fsync s k) then all_synced f else f
  | Mount m => if negb (up s) && up (do_mount s m) then reads (do_mount s m) f else f
  | SecondLife => if up s then f else empty
  | _ => f
  end.

(** The cache and the flat file, side by side. *)
Fixpoint run_both (s : state) (f : flat) (xs : list step) : state * flat :=
  match xs with
  | [] => (s, f)
  | x :: xs => run_both (run_step s x) (flat_step s f x) xs
  end.

(** ** What is assumed of a run *)

(** No id and nonce are drawn that were drawn before, or met on an SSD. *)
Definition is_fresh (s : state) (m : mark) : bool := negb (existsb (same_mark m) (seen s)).

(** After a kill the kernel's cache is trusted.  What a failed sync has made the kernel forget must be written again. *)
Definition a_restart_may_trust (s : state) : bool :=
  existsb (fun u => existsb (fun c => match u, c with Some b, Some m => same_mark (super_mark b) m | _, _ => false end)
                      (control_may s)) (super_may s).
Definition remembers (s : state) (m : mount) : bool :=
  (negb (forgot s && a_restart_may_trust s) || in_doubt m) &&
  forallb (fun p => contains (again m) p || unsynced s p || forallb (Nat.eqb (store s p)) (store_may s p)) (seq 0 (pages s)).

(** An SSD that is put in place is no copy from within the last mount: it lacks the control file's nonce. *)
Definition is_not_of_the_last_mount (s : state) (u : option superblock) : bool :=
  match u with
  | Some b => negb (existsb (fun c => match c with Some m => same_mark (super_mark b) m | None => false end) (control_may s))
  | None => true
  end.

Definition assumed (s : state) (x : step) : bool :=
  match x with
  | WriteBack _ k _ _ _ _ | Fsync k => is_fresh s (drawn s k)
  | Exchange u _ => is_not_of_the_last_mount s u
  | Mount m =>
      remembers s m && is_fresh s (mark_of s m) && is_fresh s (other_mark_of s m) &&
      negb (same_mark (mark_of s m) (other_mark_of s m))
  | _ => true
  end.
Fixpoint assumed_of_all (s : state) (xs : list step) : bool :=
  match xs with [] => true | x :: xs => assumed s x && assumed_of_all (run_step s x) xs end.
