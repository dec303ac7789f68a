(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    Rings as runs leave them, wrapped ones among them, and logs of prefetchers in small worlds. For each, what a theorem assumes and what it concludes, both as
    a boolean.  Witness.v proves that all of them are true.  `make prove-mutants` computes them with a definition changed:
    where a hypothesis is true and its conclusion false, the theorem is false. *)
From Coq Require Import String ZArith Bool List.
From Pgquern.prefetch Require Import Ring Schedule Filters Prefetcher History Worlds.
Import ListNotations.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

(** ** What is assumed and concluded, decided *)
Definition consistent_b (r : ring) : bool :=
  (head r <? size r) && (tail r <? size r) && (inflight r =? ios (entries r)) &&
  (completed r =? length (entries r) - ios (entries r)) && (inflight r <=? max_inflight r).

Fixpoint ascending_b (l : list entry) : bool :=
  match l with a :: (b :: _) as l' => (entry_lsn a <=? entry_lsn b)%Z && ascending_b l' | _ => true end.

Definition entry_eqb (a b : entry) : bool := Bool.eqb (entry_io a) (entry_io b) && (entry_lsn a =? entry_lsn b)%Z.
Fixpoint same (l l' : list entry) : bool :=
  match l, l' with [], [] => true | a :: l, b :: l' => entry_eqb a b && same l l' | _, _ => false end.

(** ** Rings *)

(** A callback that answers from record n on: of three records one needs no I/O, and it never runs out. *)
Definition look_mixed (n : nat) : answer * nat :=
  ((if n mod 3 =? 0 then NoIo (Z.of_nat n) else Io (Z.of_nat n)), S n).
(** One that needs no I/O at all, so that the distance is what limits it. *)
Definition look_cached (n : nat) : answer * nat := (NoIo (Z.of_nat n), S n).

(** The ring, the next record to look at and the log, when the records below i have been replayed. *)
Fixpoint after (look : nat -> answer * nat) (N i : nat) : ring * (nat * list Z) :=
  let '(r, s) := match i with O => (lrq_alloc (4 * N) N, (0, [])) | S i' => after look N i' end in
  lrq_prefetch (logged look) s (lrq_complete (Z.of_nat i) r).

Definition runs : list ((nat -> answer * nat) * nat * nat) :=
  list_prod (list_prod [look_mixed; look_cached; look_eagerly 1000] [1; 2; 3; 10]) [0; 1; 2; 5; 6; 13; 50].

(** A ring that is being filled with entries without I/O, after k looks. *)
Definition filling (N k : nat) : ring := fst (lrq_prefetch_loop k look_cached 0 (lrq_alloc (4 * N) N)).

(** ** The instances *)
Definition never_overflows (r : ring) : instance :=
  Instance "ring_never_overflows" (consistent_b r) (negb (may_look r) || negb (following r (head r) =? tail r)).

Definition instances_of (run : (nat -> answer * nat) * nat * nat) : list instance :=
  let '(look, N, i) := run in
  let '(r, (n, log)) := after look N i in
  let freed := lrq_complete (Z.of_nat (S i)) r in
  [never_overflows freed;
   Instance "look_ahead_keeps_consistent" (consistent_b freed) (consistent_b (fst (lrq_prefetch look n freed)));
   Instance "complete_frees_exactly" (consistent_b r && ascending_b (entries r))
     (consistent_b freed && same (entries freed) (filter (fun e => negb (entry_lsn e <? Z.of_nat (S i))%Z) (entries r)));
   Instance "at_most_N_unreplayed" true (length (unreplayed (Z.of_nat i) log) <=? N)].

Definition eager_instance (N i : nat) : instance :=
  Instance "eager_has_exactly_N" ((1 <=? N) && (1 <=? i) && (i + N <=? 101)) 
    (let r := fst (before_read N 100 i) in (inflight r =? N) && same (entries r) (eager i N)).

(** ** Logs of prefetchers *)

Definition what_eqb (a b : what) : bool :=
  match a, b with
  | OtherFork, OtherFork | SkipFpw, SkipFpw | SkipInit, SkipInit | SkipNew, SkipNew | SkipRep, SkipRep | Hit, Hit
  | Direct, Direct | Prefetch, Prefetch => true
  | _, _ => false
  end.
Definition reference_eqb (a b : reference) : bool :=
  relation_eqb (rel a) (rel b) && (block a =? block b)%Z && (fork a =? fork b)%Z && Bool.eqb (has_image a) (has_image b) &&
  Bool.eqb (will_init a) (will_init b) && Bool.eqb (in_use a) (in_use b).
Fixpoint same_references (a b : list reference) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => reference_eqb x y && same_references a b | _, _ => false end.

(** Each place of a log: what comes later, what stands there, what was before. *)
Fixpoint places (after h : list told) : list (list told * told * list told) :=
  match h with [] => [] | e :: h => (after, e, h) :: places (after ++ [e]) h end.

Definition is_replayed_after (l : Z) (e : told) : bool := match e with Replayed x => (l <? x)%Z | _ => false end.
Definition is_about (r : reference) (k : relation) (b : Z) : bool :=
  relation_eqb k (rel r) && (b <=? block r)%Z || relation_eqb k (whole_database (database (rel r))).
Definition shown_again (before : list told) (r : reference) (e : told) : bool :=
  match e with Caused k b l => negb (is_about r k b) || existsb (is_replayed_after l) before | _ => true end.

(** What was asked between the last advice of this block and here; [None] if it was never advised. *)
Fixpoint since_advised (r : reference) (between h : list told) : option (list told) :=
  match h with
  | [] => None
  | Judged l r' Prefetch s :: h =>
      if same_block (rel r, block r) (rel r', block r') then Some between
      else since_advised r (between ++ [Judged l r' Prefetch s]) h
  | e :: h => since_advised r (between ++ [e]) h
  end.

Definition place_instances (is_direct : bool) (history : list told) (place : list told * told * list told) : list instance :=
  let '(after, e, before) := place in
  match e with
  | Judged l r w s =>
      [Instance "verdicts_are_the_history_s" true (what_eqb w (verdict is_direct before r s) && answers before r s);
       Instance "advised_unless_excused"
         (match s with Buffer _ None => negb is_direct | _ => false end) (what_eqb w Prefetch);
       Instance "advised_only_what_is_there" (what_eqb w Prefetch)
         ((fork r =? 0)%Z && negb (has_image r) && negb (will_init r) &&
          match s with Buffer (Some n) None => (block r <? n)%Z | _ => false end && forallb (shown_again before r) before);
       Instance "advised_once_within_the_window" (what_eqb w Prefetch)
         (match since_advised r [] before with Some between => (4 <=? length (asked between))%nat | None => true end);
       Instance "hidden_for_a_reason" (what_eqb w SkipNew && match s with NotAsked => true | _ => false end)
         (existsb (fun e => match e with Caused k b _ => is_about r k b | _ => false end) before)]
  | Given r forgotten =>
      [Instance "each_reference_is_judged_once" true
         (same_references (judged_of (lsn r) before ++ filter in_use forgotten) (filter in_use (references r)) &&
          same_references (judged_of (lsn r) history) (judged_of (lsn r) before))]
  | _ => []
  end.

Definition read_instances (space : nat) (is_direct : bool) (p : @prefetcher small_world) : list instance :=
  let '(given, p') := small_read space is_direct p in
  let log' := log (judged (walked p')) in
  match given, log' with
  | Some r, Given _ forgotten :: _ =>
      [Instance "forgotten_only_at_a_limit" (negb (refused (walked p)))
         (is_empty (filter in_use forgotten) || (concurrency (set p) =? 0)%nat || negb (may_look (ring_of p')))]
  | Some _, _ => []
  | None, _ =>
      [Instance "never_ends_early" (negb (refused (walked p)))
         (refused (walked p') ||
          existsb (fun e => match e with NoMore => true | _ => false end)
            (firstn (length log' - length (log (judged (walked p)))) log'))]
  end.

(** Eighty records; of several sizes of queue and numbers of I/Os, one of which changes on the way. *)
Definition worlds : list (nat * bool * nat * nat) :=
  [(1, false, 1, 4); (3, false, 2, 0); (9, false, 4, 1); (30, false, 10, 10); (9, true, 3, 3); (4, false, 0, 2)].
Definition run_instances (w : nat * bool * nat * nat) : list instance :=
  let '(space, is_direct, n, then_) := w in
  let p := reads space is_direct n then_ 40 80 82 in
  let history := log (judged (walked p)) in
  flat_map (place_instances is_direct history) (places [] history) ++
  flat_map (fun i => read_instances space is_direct (reads space is_direct n then_ 5 12 i)) (seq 0 14).

(** Lone records and references, and what is noted of them. *)
Definition told_eqb (a b : told) : bool :=
  match a, b with
  | Caused k b l, Caused k' b' l' => relation_eqb k k' && (b =? b')%Z && (l =? l')%Z
  | Judged l r w s, Judged l' r' w' s' =>
      (l =? l')%Z && reference_eqb r r' && what_eqb w w' &&
      match s, s' with Blocks (Some n), Blocks (Some n') => (n =? n')%Z | Blocks None, Blocks None => true | _, _ => false end
  | _, _ => false
  end.
Fixpoint same_log (a b : list told) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => told_eqb x y && same_log a b | _, _ => false end.

Definition effect_instance (e : side_effect) : instance :=
  let r := Record_ 50 60 [] e in
  let w := walked (start 3 0 (Small [r] 1)) in
  Instance "effects_are_noted" true
    (let '(decoded, w') := decode small_read_ahead 8 (Settings 3 0 0) w in
     decoded && same_log (log (judged w')) (hidden_until_replayed r)).
Definition missing_instance (n : option Z) : instance :=
  let r := block_of 10 9 in
  let '(w, j) := judge (fun _ w => (n, w)) small_buffer false 50 r (Judging [] [] (Small [] 1) []) in
  Instance "missing_blocks_are_noted" true
    (same_log (log j) (hidden_as_missing 50 r (Blocks n) ++ [Judged 50 r w (Blocks n)])).
Definition begin_read_instance : instance :=
  Instance "begin_read_gives_its_record" true
    (match fst (read_record always_there never_cached small_read_ahead 8 false (begin_read 20 stopping)) with
     | Some r => (lsn r =? 20)%Z | None => false end).
Definition noted_instances : list instance :=
  begin_read_instance ::
  map effect_instance [NoEffect; Create (Relation 1 2 3); Truncate (Relation 1 2 3) 4; CreateDatabase 5; Timeline] ++
  map missing_instance [None; Some 0%Z; Some 7%Z].

Definition few_instances : list instance :=
  let history := log (judged (walked (few_reads 7))) in flat_map (place_instances false history) (places [] history).

Definition instances : list instance :=
  filter hypothesis (few_instances ++ flat_map run_instances worlds) ++ noted_instances ++
  map (fun k => never_overflows (filling 3 k)) (seq 0 13) ++ flat_map instances_of runs ++
  map (fun p => eager_instance (fst p) (snd p)) (list_prod [1; 3; 10] [1; 2; 20; 60]).
