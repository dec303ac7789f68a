(* SPDX-License-Identifier: PostgreSQL *)
(** * What a user may rely on: a flat file, of which each page may fall back to what was synced, or to a later write *)
From Coq Require Import List Bool Arith.
From Pgquern.tiercache Require Import Tiers.
Import ListNotations.

Record flat := Flat {
  newest : nat -> nat;           (* what a read must give, by page *)
  since_sync : nat -> list nat;  (* the contents at the last successful fsync, and all written since *)
}.

Definition empty : flat := Flat (fun _ => 0) (fun _ => [0]).

(** The flat file beside a step of the cache.  A crash leaves what the cache then reads. *)
Definition flat_step (s : state) (f : flat) (x : step) : flat :=
  match x with
  | Write p =>
      if p <? pages s
      then Flat (update (newest f) p (next s)) (update (since_sync f) p (next s :: since_sync f p)) else f
  | Fsync => if snd (do_fsync s) then Flat (newest f) (fun p => [newest f p]) else f
  | Crash _ _ _ =>
      Flat (fun p => match read (run_step s x) p with Some v => v | None => newest f p end) (since_sync f)
  | _ => f
  end.

(** The cache and the flat file, side by side. *)
Fixpoint run_both (s : state) (f : flat) (xs : list step) : state * flat :=
  match xs with
  | [] => (s, f)
  | x :: xs => run_both (run_step s x) (flat_step s f x) xs
  end.
