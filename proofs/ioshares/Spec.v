(* SPDX-License-Identifier: PostgreSQL *)
(** * What is claimed: runs, what a consistent scheduler is, service, and the bound *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms.

(** A call. One that is refused changes nothing. *)
Inductive op := Submit (i : nat) (op size : Z) | Next | Complete (i : nat) (lat : Z) | Cancel (i k : nat).

Definition step (s : state) (o : op) : state :=
  match o with
  | Submit i op size => match submit i op size s with Some s' => s' | None => s end
  | Next => match next s with Some (_, _, s') => s' | None => s end
  | Complete i lat => match complete i lat s with Some s' => s' | None => s end
  | Cancel i k => match cancel i k s with Some (_, s') => s' | None => s end
  end.

Definition steps (s : state) (os : list op) : state := fold_left step os s.

(** What a call answers: was it done, which request went, and which one was taken back? *)
Inductive answer := Refused | Done | Went (i : nat) (cost : Z) | Back (i : nat) (cost : Z).

Definition answered {A} (o : option A) : answer := match o with Some _ => Done | None => Refused end.

Definition reply (s : state) (o : op) : answer :=
  match o with
  | Submit i op size => answered (submit i op size s)
  | Next => match next s with Some (i, size, _) => Went i size | None => Refused end
  | Complete i lat => answered (complete i lat s)
  | Cancel i k => match cancel i k s with Some (size, _) => Back i size | None => Refused end
  end.

Fixpoint replies (s : state) (os : list op) : list answer :=
  match os with [] => [] | o :: os => reply s o :: replies (step s o) os end.

(** What C runs: pgq_ioshares_next with its rebase. *)
Definition step_rebased (s : state) (o : op) : state :=
  match o with
  | Next => match next_rebased s with Some (_, _, s') => s' | None => s end
  | _ => step s o
  end.

Definition steps_rebased (s : state) (os : list op) : state := fold_left step_rebased os s.

Definition reply_rebased (s : state) (o : op) : answer :=
  match o with
  | Next => match next_rebased s with Some (i, size, _) => Went i size | None => Refused end
  | _ => reply s o
  end.

Fixpoint replies_rebased (s : state) (os : list op) : list answer :=
  match os with [] => [] | o :: os => reply_rebased s o :: replies_rebased (step_rebased s o) os end.

(** What the answers tell of class i, oldest first: the requests that were accepted, those that went, those that
    were taken back, and how many completions counted. *)
Fixpoint came (i : nat) (os : list op) (rs : list answer) : list Z :=
  match os, rs with
  | Submit j op size :: os, Done :: rs => (if Nat.eqb j i then [op + size] else []) ++ came i os rs
  | _ :: os, _ :: rs => came i os rs
  | _, _ => []
  end.

Fixpoint went (i : nat) (rs : list answer) : list Z :=
  match rs with
  | [] => []
  | Went j size :: rs => (if Nat.eqb j i then [size] else []) ++ went i rs
  | _ :: rs => went i rs
  end.

Fixpoint taken_back (i : nat) (rs : list answer) : list Z :=
  match rs with
  | [] => []
  | Back j size :: rs => (if Nat.eqb j i then [size] else []) ++ taken_back i rs
  | _ :: rs => taken_back i rs
  end.

(** [keeps xs ys]: ys is xs, in its order, but for some that are left out. *)
Inductive keeps : list Z -> list Z -> Prop :=
  | keeps_none : keeps [] []
  | keeps_one x xs ys : keeps xs ys -> keeps (x :: xs) (x :: ys)
  | leaves_one x xs ys : keeps xs ys -> keeps (x :: xs) ys.

Fixpoint ended (i : nat) (os : list op) (rs : list answer) : Z :=
  match os, rs with
  | Complete j _ :: os, Done :: rs => (if Nat.eqb j i then 1 else 0) + ended i os rs
  | _ :: os, _ :: rs => ended i os rs
  | _, _ => 0
  end.

(** Class i's requests that wait, oldest first, and how many of it are in flight; nothing if there is no such class. *)
Definition queue_of (i : nat) (s : state) : list Z :=
  match nth_error (flows s) i with Some f => queue f | None => [] end.

Definition flying_of (i : nat) (s : state) : Z :=
  match nth_error (flows s) i with Some f => flying f | None => 0 end.

(** All requests of a run cost M bytes at most, operations at least nothing; all latencies are at least 0. *)
Definition within (M : Z) (o : op) : Prop :=
  match o with
  | Submit _ op size => 0 <= op /\ op + size <= M
  | Complete _ lat => 0 <= lat
  | Next | Cancel _ _ => True
  end.

(** P holds at first and after each call. *)
Fixpoint throughout (P : state -> Prop) (s : state) (os : list op) : Prop :=
  P s /\ match os with [] => True | o :: os => throughout P (step s o) os end.

Definition backlogged (i : nat) (s : state) : Prop :=
  exists f, nth_error (flows s) i = Some f /\ queue f <> [].

(** What a class has paid: what has gone, bytes and operations, times its factor. *)
Definition paid (f : flow) : Z := factor f * charged f.

(** A class at virtual time v: its tag is not far ahead, and not behind while requests wait. *)
Record near (M W v : Z) (f : flow) : Prop := Near {
  factor_positive : 1 <= factor f;
  warp_in_range : 0 <= warp f <= W;
  handicap_is_rest : handicap f = W - warp f;
  sizes_within : Forall (fun cost => 1 <= cost <= M) (queue f);
  flying_not_negative : 0 <= flying f;
  tag_not_far : tag f <= v + warp f + factor f * M;
  tag_not_behind : queue f <> [] -> v <= tag f;
  warp_is_whole : (factor f | warp f) }.

Definition total (of : flow -> Z) (fs : list flow) : Z := fold_right (fun f n => of f + n) 0 fs.

Definition queued (f : flow) : Z := Z.of_nat (length (queue f)).

Record sound (l : limits) : Prop := Sound {
  least_positive : 1 <= least l;
  least_below_start : least l <= start l;
  start_below_most : start l <= most l;
  window_in_range : 1 <= window l <= max_window;
  target_in_range : 0 <= target l <= max_latency }.

Record consistent (M W : Z) (s : state) : Prop := Consistent {
  size_bound : 1 <= M;
  tags_near : Forall (near M W (vtime s)) (flows s);
  counts_waiting : waiting s = total queued (flows s);
  counts_flying : in_flight s = total flying (flows s);
  limits_sound : sound (bounds s);
  level_in_range : least (bounds s) <= level (pacing s) <= most (bounds s);
  floor_in_range : 0 <= floor (pacing s) <= max_latency;
  age_in_range : 0 <= age (pacing s) <= probe_every /\ (probing (pacing s) = false -> age (pacing s) < probe_every);
  at_most_most : in_flight s <= most (bounds s);
  completed_in_range : 0 <= completed s < Z.max (window (bounds s)) (level (pacing s));
  latency_in_range : 0 <= latency s <= completed s * max_latency }.

(** By how much the service of two classes, by their factors, may differ: a request and the warp of each. *)
Definition bound (M : Z) (f g : flow) : Z := warp f + factor f * M + (warp g + factor g * M).

(** What of a class's service has completed, if [x] bytes of cost have: those in flight have gone, and cost M at most. *)
Definition has_completed (M : Z) (f : flow) (x : Z) : Prop :=
  charged f - flying f * M <= x <= charged f.
