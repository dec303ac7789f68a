(* SPDX-License-Identifier: PostgreSQL *)
(** * The word of csrc/rangelock/interval.c, with which who is alone needs neither the mutex nor a tree *)
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock.

(** [alone]: NULL, a hold, or SHUT. *)
Inductive word := Open | Alone (from to : Z) (mode : bool) | Shut.

Record guarded := Guarded { alone : word; inside : lock; has_log : bool }.

Definition new_guarded : guarded := Guarded Open new_lock false.

(** [shut]: who is alone goes into a tree, with the next number. These are all that are there. *)
Definition everybody (g : guarded) : lock :=
  match alone g with
  | Alone from to mode => stay (inside g) (Entry (Request (arrivals (inside g) + 1) from to mode) 0)
  | _ => inside g
  end.

(** [open_if_empty] *)
Definition opened_if_empty (s : lock) (log : bool) : guarded :=
  match shareds s, exclusives s with
  | Leaf, Leaf => Guarded (if log then Shut else Open) s log
  | _, _ => Guarded Shut s log
  end.

(** [ask], and whether it is granted: [come_alone] if the word is open. *)
Definition come (g : guarded) (from to : Z) (mode : bool) : guarded * bool :=
  match alone g with
  | Open => (Guarded (Alone from to mode) (inside g) (has_log g), true)
  | _ => let '(s, x) := ask (everybody g) from to mode in (Guarded Shut s (has_log g), is_held x)
  end.

(** [try], and whether it is granted. *)
Definition try_come (g : guarded) (from to : Z) (mode : bool) : guarded * bool :=
  match alone g with
  | Open => (Guarded (Alone from to mode) (inside g) (has_log g), true)
  | _ =>
      let '(s, answer) := try_ask (everybody g) from to mode in
      (Guarded Shut s (has_log g), match answer with Some _ => true | None => false end)
  end.

(** [leave_alone] *)
Definition go_alone (g : guarded) : guarded :=
  match alone g with Alone _ _ _ => Guarded Open (inside g) (has_log g) | _ => g end.

(** [release_from_tree], [cancel] and [gave_up]. *)
Definition go (g : guarded) (x : request) : guarded * list Z :=
  let '(s, granted) := leave (everybody g) x in (opened_if_empty s (has_log g), granted).

(** [release_from_tree] of what is not there, and [set_log]. *)
Definition look (g : guarded) (log : bool) : guarded := opened_if_empty (everybody g) log.

(** What calls can do. *)
Inductive used : guarded -> Prop :=
  | unused : used new_guarded
  | used_by_come g from to mode : used g -> used (fst (come g from to mode))
  | used_by_try g from to mode : used g -> used (fst (try_come g from to mode))
  | used_by_go_alone g : used g -> used (go_alone g)
  | used_by_go g x : used g -> In x (requests (everybody g)) -> used (fst (go g x))
  | used_by_look g log : used g -> used (look g log).
