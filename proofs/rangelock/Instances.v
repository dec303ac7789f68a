(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the theorems on the lock, to be computed

    Locks that calls have made, and for each what a theorem concludes, as a boolean; the only hypothesis is that calls have made
    them. Witness.v proves that all are true. `make prove-mutants` computes them with a definition changed: where one is false,
    the theorem is false. *)
From Coq Require Import String ZArith Bool List.
From Pgquern.rangelock Require Import Tree Lock Word.
Import ListNotations.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; conclusion : bool }.
Definition fails (i : instance) : bool := negb (conclusion i).

(** ** Comparisons *)

Definition same_request (a b : request) : bool :=
  (ticket a =? ticket b) && (lo a =? lo b) && (hi a =? hi b) && Bool.eqb (exclusive a) (exclusive b).
Definition same_entry (a b : entry) : bool := same_request (req a) (req b) && (blockers a =? blockers b).
Definition occurs (x : entry) (l : list entry) : nat := List.length (filter (same_entry x) l).
Definition permuted (l m : list entry) : bool :=
  Nat.eqb (List.length l) (List.length m) && forallb (fun x => Nat.eqb (occurs x l) (occurs x m)) l.
Definition contains (r : request) (l : list request) : bool := existsb (same_request r) l.

Definition may_go_b (s : lock) (r : request) : bool :=
  forallb (fun other => same_request other r || negb (conflict other r)) (held s) &&
  forallb (fun other => negb (ticket other <? ticket r) || negb (conflict other r)) (waiting s).

(** ** Locks that calls have made *)

Inductive call := Ask (from to : Z) (mode : bool) | Try (from to : Z) (mode : bool) | Leave (number : Z).

Definition done (s : lock) (c : call) : lock :=
  match c with
  | Ask from to mode => fst (ask s from to mode)
  | Try from to mode => fst (try_ask s from to mode)
  | Leave number =>
      match find (fun r => ticket r =? number) (requests s) with Some x => fst (leave s x) | None => s end
  end.

(** Readers and writers that overlap, touch, and lie in one another; tries that go and that do not. Some leave, held or waiting. *)
Definition calls : list call :=
  [Ask 0 4 true; Ask 2 6 true; Ask 5 9 false; Try 4 6 false; Try 9 12 true; Ask 5 9 false; Ask 0 12 true; Ask 12 14 true;
   Ask 14 15 true; Ask 16 17 true; Ask 18 19 false; Leave 1; Leave 3; Ask 3 20 false; Try 30 40 false; Try 35 36 true; Leave 2;
   Leave 7; Leave 8; Ask 12 13 false; Leave 6; Leave 9; Leave 15; Try 0 50 true].

(** Readers in an order that rotates the tree, the longest range among them below its top; a writer waits for that one. *)
Definition rotating : list call :=
  [Ask 50 51 false; Ask 30 31 false; Ask 60 61 false; Ask 20 55 false; Ask 40 41 false; Ask 45 46 false; Ask 53 54 true;
   Try 52 53 true; Leave 4; Leave 1].

Definition after_each (cs : list call) : list lock :=
  map (fun n => fold_left done (firstn n cs) new_lock) (seq 0 (S (List.length cs))).

(** Writers in ascending and in descending order, then such as turn a tree twice, and departures that turn it. *)
Definition turning : list call :=
  map (fun n => Ask (10 * Z.of_nat n) (10 * Z.of_nat n + 1) true) (seq 1 12) ++
  map (fun n => Ask (500 - Z.of_nat n) (501 - Z.of_nat n) true) (seq 1 8) ++
  map (fun n => Ask n (n + 1) true) [300; 200; 250; 220; 230; 260; 255; 205; 203; 204] ++
  map Leave [16; 15; 13; 8; 4; 20; 19; 2; 1; 3; 23; 27; 24; 18; 17; 30; 12; 11; 10].

Definition locks : list lock := after_each rotating ++ after_each calls.

Definition ranges : list (Z * Z) := [(0, 1); (3, 5); (4, 5); (6, 12); (9, 10); (12, 13); (18, 30); (45, 46); (50, 60)].

(** ** Claims *)

Definition common_byte (a b : request) : bool :=
  existsb (fun n => let byte := Z.of_nat n in (lo a <=? byte) && (byte <? hi a) && (lo b <=? byte) && (byte <? hi b)) (seq 0 64).

Definition on_pairs (s : lock) : list instance :=
  map (fun p => Instance "conflict_is_a_common_byte"
                  (Bool.eqb (conflict (fst p) (snd p)) (common_byte (fst p) (snd p) && (exclusive (fst p) || exclusive (snd p)))))
    (list_prod (requests s) (requests s)) ++
  map (fun p => Instance "held_never_conflict" (same_request (fst p) (snd p) || negb (conflict (fst p) (snd p))))
    (list_prod (held s) (held s)).

Definition on_asking (s : lock) (range : Z * Z) (mode : bool) : list instance :=
  let '(from, to) := range in
  let r := Request (arrivals s + 1) from to mode in
  let '(asked, x) := ask s from to mode in
  let '(tried, answer) := try_ask s from to mode in
  [Instance "asked_is_granted_iff_it_may_go"
     (same_request (req x) r && Bool.eqb (is_held x) (may_go_b s r) && permuted (present asked) (x :: present s) &&
      (arrivals asked =? arrivals s + 1));
   Instance "tried_is_granted_iff_it_may_go"
     ((arrivals tried =? arrivals s + 1) &&
      match answer with
      | Some y => may_go_b s r && same_entry x y && permuted (present tried) (present asked)
      | None => negb (may_go_b s r) && permuted (present tried) (present s)
      end)].

Definition on_leaving (s : lock) (x : request) : list instance :=
  let '(after, granted) := leave s x in
  [Instance "nobody_else_leaves"
     (forallb (fun r => contains r (requests s) && negb (same_request r x)) (requests after) &&
      forallb (fun r => same_request r x || contains r (requests after)) (requests s) &&
      forallb (fun r => same_request r x || contains r (held after)) (held s) && (arrivals after =? arrivals s));
   Instance "leave_grants_exactly"
     (forallb (fun r => same_request r x ||
                 Bool.eqb (existsb (Z.eqb (ticket r)) granted) (negb (contains r (held s)) && contains r (held after)))
        (requests s))].

Definition on_rule (s : lock) : list instance :=
  map (fun r => Instance "held_iff_may_go" (Bool.eqb (contains r (held s)) (may_go_b s r))) (requests s).

(** Each node knows its height, and its children's heights differ by one at most. *)
Fixpoint balanced_b (t : tree) : bool :=
  match t with
  | Leaf => true
  | Node l _ r h _ =>
      balanced_b l && balanced_b r && (h =? 1 + Z.max (height l) (height r)) && (Z.abs (height l - height r) <=? 1)
  end.

Definition on_shape (s : lock) : list instance :=
  [Instance "trees_stay_balanced" (balanced_b (shareds s) && balanced_b (exclusives s))].

(** ** The word: calls with it, alone and not, and with a log that begins and ends *)

Inductive use := Come (from to : Z) (mode : bool) | TryCome (from to : Z) (mode : bool) | GoAlone | Go (nth : nat) | Look (log : bool).

Definition used_so (g : guarded) (u : use) : guarded :=
  match u with
  | Come from to mode => fst (come g from to mode)
  | TryCome from to mode => fst (try_come g from to mode)
  | GoAlone => go_alone g
  | Go n => match nth_error (requests (everybody g)) n with Some x => fst (go g x) | None => g end
  | Look log => look g log
  end.

Definition uses : list use :=
  [Come 0 4 true; GoAlone; TryCome 2 6 false; GoAlone; Come 0 4 true; Come 2 6 true; TryCome 0 9 false; GoAlone; Go 0; Go 0; TryCome 0 1 true;
   TryCome 1 2 false; Go 0; Go 0; Come 3 5 false; Look true; Come 4 6 true; Go 0; Go 0; Come 7 8 true; Go 0; Look false; Come 7 8 true; Look false;
   Come 1 2 true; Go 1; Go 0; Come 5 9 true; GoAlone].

Definition guardeds : list guarded := map (fun n => fold_left used_so (firstn n uses) new_guarded) (seq 0 (S (List.length uses))).

Definition same_locks (s s' : lock) : bool := permuted (present s) (present s') && (arrivals s =? arrivals s').

Definition on_word (g : guarded) : list instance :=
  flat_map (fun range => flat_map (fun mode =>
    let '(from, to) := range in
    let '(came, granted) := come g from to mode in
    let '(asked, x) := ask (everybody g) from to mode in
    let '(tried, tried_granted) := try_come g from to mode in
    let '(after, answer) := try_ask (everybody g) from to mode in
    [Instance "come_is_ask" (same_locks (everybody came) asked && Bool.eqb granted (is_held x));
     Instance "try_come_is_try"
       (same_locks (everybody tried) after && Bool.eqb tried_granted (match answer with Some _ => true | None => false end))])
    [true; false]) ranges ++
  map (fun x => Instance "go_is_leave" (same_locks (everybody (fst (go g x))) (fst (leave (everybody g) x)) &&
     Nat.eqb (List.length (snd (go g x))) (List.length (snd (leave (everybody g) x))))) (requests (everybody g)) ++
  [Instance "a_log_hears_everybody" (negb (has_log g) || match alone g with Shut => true | _ => false end);
   Instance "who_goes_alone_was_alone"
     (match alone g with
      | Alone _ _ _ => Nat.eqb (List.length (requests (everybody g))) 1 && Nat.eqb (List.length (requests (everybody (go_alone g)))) 0
      | _ => true
      end)].

Definition instances : list instance :=
  flat_map on_word guardeds ++
  flat_map on_shape (after_each turning) ++
  flat_map (fun s => on_rule s ++ on_pairs s ++
    flat_map (fun range => on_asking s range false ++ on_asking s range true) ranges ++
    flat_map (on_leaving s) (requests s)) locks.
