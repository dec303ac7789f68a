(* SPDX-License-Identifier: PostgreSQL *)
(** * The lock of csrc/rangelock/interval.c, and the rule that it must keep *)
From Coq Require Import Sorted.
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree.

(** All that have arrived and not left, held or waiting, in two trees by mode. *)
Record lock := Lock { shareds : tree; exclusives : tree; arrivals : Z }.

Definition new_lock : lock := Lock Leaf Leaf 0.

(** [arrive]: the request, and how many block it. *)
Definition arrive (s : lock) (from to : Z) (mode : bool) : entry :=
  let x := Request (arrivals s + 1) from to mode in
  Entry x (count (exclusives s) x + (if mode then count (shareds s) x else 0)).

(** [stay] *)
Definition stay (s : lock) (x : entry) : lock :=
  if exclusive (req x) then Lock (shareds s) (insert (exclusives s) x) (ticket (req x))
  else Lock (insert (shareds s) x) (exclusives s) (ticket (req x)).

(** [request]: the lock, and the request; it is held if nothing blocks it. *)
Definition ask (s : lock) (from to : Z) (mode : bool) : lock * entry :=
  let x := arrive s from to mode in (stay s x, x).

(** [try]: a request that would have to wait leaves nothing but its number. *)
Definition try_ask (s : lock) (from to : Z) (mode : bool) : lock * option entry :=
  let x := arrive s from to mode in
  if blockers x =? 0 then (stay s x, Some x) else (Lock (shareds s) (exclusives s) (ticket (req x)), None).

(** [leave]: by release, cancellation or timeout. Also the tickets of those that are granted by it. *)
Definition leave (s : lock) (x : request) : lock * list Z :=
  let '(shared, exclusive_) :=
    if exclusive x then (shareds s, remove (exclusives s) x) else (remove (shareds s) x, exclusives s) in
  let '(exclusive', granted) := unblock exclusive_ x in
  let '(shared', readers) := if exclusive x then unblock shared x else (shared, []) in
  (Lock shared' exclusive' (arrivals s), granted ++ readers).

(** ** The rule *)

Definition overlap (a b : request) : bool := (lo a <? hi b) && (lo b <? hi a).
Definition conflict (a b : request) : bool := overlap a b && (exclusive a || exclusive b).

(** All that have arrived and not left. *)
Definition present (s : lock) : list entry := elements (shareds s) ++ elements (exclusives s).
Definition requests (s : lock) : list request := map req (present s).

Definition is_held (n : entry) : bool := blockers n =? 0.
Definition held (s : lock) : list request := map req (filter is_held (present s)).
Definition waiting (s : lock) : list request := map req (filter (fun n => negb (is_held n)) (present s)).

(** The definition, as ref/rangelock.py has it: a request may go if it conflicts with nothing that is held, and with no
    earlier request that waits. *)
Definition may_go (s : lock) (r : request) : Prop :=
  (forall other, In other (held s) -> other <> r -> conflict other r = false) /\
  (forall other, In other (waiting s) -> ticket other < ticket r -> conflict other r = false).

(** z came before r and conflicts with it. *)
Definition blocks (r z : request) : bool := (ticket z <? ticket r) && conflict z r.

Definition before (a b : entry) : Prop := precedes (req a) (req b) = true.

(** Nothing in a tree ends above the largest end that its node knows. *)
Fixpoint bounded (t : tree) : Prop :=
  match t with
  | Leaf => True
  | Node l x r _ m => bounded l /\ bounded r /\ Forall (fun y => hi (req y) <= m) (elements t)
  end.

(** The trees are in order, their ends bounded, their modes right; tickets differ, none is above the number of arrivals;
    and each request's blockers are counted. *)
Record sound (s : lock) : Prop := {
  shareds_in_order : StronglySorted before (elements (shareds s));
  exclusives_in_order : StronglySorted before (elements (exclusives s));
  shareds_bounded : bounded (shareds s);
  exclusives_bounded : bounded (exclusives s);
  shareds_share : Forall (fun n => exclusive (req n) = false) (elements (shareds s));
  exclusives_exclude : Forall (fun n => exclusive (req n) = true) (elements (exclusives s));
  tickets_differ : NoDup (map ticket (requests s));
  tickets_arrived : Forall (fun r => ticket r <= arrivals s) (requests s);
  blockers_counted :
    forall n, In n (present s) -> blockers n = Z.of_nat (length (filter (blocks (req n)) (requests s)));
}.

(** What calls can do to a lock. *)
Inductive reachable : lock -> Prop :=
  | at_the_start : reachable new_lock
  | after_ask s from to mode : reachable s -> reachable (fst (ask s from to mode))
  | after_try s from to mode : reachable s -> reachable (fst (try_ask s from to mode))
  | after_leave s x : reachable s -> In x (requests s) -> reachable (fst (leave s x)).

(** A run of calls, and the tickets that somebody was told are granted: who asks or tries, by the answer; who waits, when another
    one leaves. [leave] is a release, a cancellation or the end of a time limit. *)
Inductive run : lock -> list Z -> Prop :=
  | run_start : run new_lock []
  | run_ask s told from to mode : run s told ->
      run (fst (ask s from to mode)) (let x := snd (ask s from to mode) in if is_held x then ticket (req x) :: told else told)
  | run_try s told from to mode : run s told ->
      run (fst (try_ask s from to mode))
        (match snd (try_ask s from to mode) with Some x => ticket (req x) :: told | None => told end)
  | run_leave s told x : run s told -> In x (requests s) -> run (fst (leave s x)) (snd (leave s x) ++ told).
