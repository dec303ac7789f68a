(* SPDX-License-Identifier: PostgreSQL *)
(** * The recovery prefetcher: what becomes of each block that a record references

    XLogPrefetcherReadRecord, XLogPrefetcherNextBlock and the decode queue, step by step as csrc/prefetch/prefetcher.c and
    ref/prefetch.py have them. The WAL, the storage and the buffer pool are a world of any kind: it is asked, and may answer
    anything, and something else the next time. The log is a ghost: no step reads it. *)
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Ring Filters.

(** A DecodedBkpBlock, as far as the prefetcher looks at it. *)
Record reference := Reference {
  rel : relation; block : Z; fork : Z; has_image : bool; will_init : bool; in_use : bool;
}.

(** What a record does besides changing the blocks that it references. OCaml 5 keeps the word effect for itself. *)
Inductive side_effect := NoEffect | Create (r : relation) | Truncate (r : relation) (blocks : Z) | CreateDatabase (d : Z) | Timeline.

Record record := Record_ { lsn : Z; next_lsn : Z; references : list reference; does : side_effect }.

(** What becomes of a reference that is looked at. *)
Inductive what := OtherFork | SkipFpw | SkipInit | SkipNew | SkipRep | Hit | Direct | Prefetch.

(** What the storage said of it: nothing, since it was not asked; how many blocks the relation has, [None] if it has no
    file; and then the buffer that holds the block, [None] if none does. *)
Inductive said := NotAsked | Blocks (n : option Z) | Buffer (n : option Z) (found : option Z).

(** The log, the newest first. [Judged]: a reference of the record at an LSN. [Caused]: no block of the key from this one on
    exists before the record at that LSN is replayed. [Replayed]: the WAL has been replayed up to there. [Given]: a record is
    given out, and these of its references were not looked at. [NoMore]: the WAL was waited for, and has ended. *)
Inductive told :=
  | Judged (l : Z) (r : reference) (w : what) (s : said)
  | Caused (k : relation) (b l : Z)
  | Replayed (l : Z)
  | Given (r : record) (forgotten : list reference)
  | NoMore.

(** XLOGPREFETCHER_SEQ_WINDOW_SIZE *)
Definition window : nat := 4.

Definition same_block (a b : relation * Z) : bool := relation_eqb (fst a) (fst b) && (snd a =? snd b).

Section Prefetcher.
Context {W : Type} (blocks : relation -> W -> option Z * W) (buffer : relation -> Z -> W -> option Z * W).
(** [read_ahead queued nonblocking]: the next record, if it has arrived and there is room to decode it. *)
Context (read_ahead : nat -> bool -> W -> option record * W).
(** How many decoded records there is room for; and whether the kernel has no cache to advise (debug_io_direct). *)
Context (space : nat) (direct : bool).

(** ** One reference *)

Record judging := Judging { filters : list hiding; recent : list (relation * Z); world : W; log : list told }.

Definition judged_so (l : Z) (r : reference) (w : what) (j : judging) : judging :=
  Judging (filters j) (recent j) (world j) (Judged l r w NotAsked :: log j).

(** What will not exist before the record at [l] is replayed. *)
Definition note_filter (k : relation) (b l : Z) (j : judging) : judging :=
  Judging (add_filter k b l (filters j)) (recent j) (world j) (Caused k b l :: log j).

(** What the storage says about a block that nothing else has judged. *)
Definition ask_storage (l : Z) (r : reference) (j : judging) : what * judging :=
  let '(n, w) := blocks (rel r) (world j) in
  let seen := firstn window ((rel r, block r) :: recent j) in
  if match n with Some n => block r <? n | None => false end then
    let '(found, w) := buffer (rel r) (block r) w in
    let verdict := match found with Some _ => Hit | None => if direct then Direct else Prefetch end in
    (verdict, Judging (filters j) seen w (Judged l r verdict (Buffer n found) :: log j))
  else
    let missing := match n with Some _ => block r | None => 0 end in
    (SkipNew, note_filter (rel r) missing l (Judging (filters j) seen w (Judged l r SkipNew (Blocks n) :: log j))).

(** What becomes of one reference. The order of the questions is upstream's. *)
Definition judge (l : Z) (r : reference) (j : judging) : what * judging :=
  if negb (fork r =? 0) then (OtherFork, judged_so l r OtherFork j)
  else if has_image r then (SkipFpw, judged_so l r SkipFpw j)
  else if will_init r then (SkipInit, judged_so l r SkipInit j)
  else if hides (filters j) (rel r) (block r) then (SkipNew, judged_so l r SkipNew j)
  else if existsb (same_block (rel r, block r)) (recent j) then (SkipRep, judged_so l r SkipRep j)
  else ask_storage l r j.

(** Looks at references up to the first for which an entry stands in the ring; those that are left, and the entry. *)
Fixpoint look_at (l : Z) (rs : list reference) (j : judging) : option answer * list reference * judging :=
  match rs with
  | [] => (None, [], j)
  | r :: rs =>
      if in_use r then
        let '(w, j) := judge l r j in
        match w with
        | Direct => look_at l rs j
        | Prefetch => (Some (Io l), rs, j)
        | _ => (Some (NoIo l), rs, j)
        end
      else look_at l rs j
  end.

(** ** Records *)

(** What one read of a record leaves as it is. *)
Record settings := Settings { concurrency : nat; begin : Z; replaying_lsn : Z }.

(** The decode queue, the record that is being looked at with those of its references that are left, and the rest. *)
Record walk := Walk {
  queued : list record;
  decoded_lsn : Z;
  decoded_up_to : Z;
  at_record : option (record * list reference);
  no_readahead_until : Z;
  refused : bool;
  judged : judging;
}.

Definition with_world (w : W) (j : judging) : judging := Judging (filters j) (recent j) w (log j).
Definition waited (nonblocking : bool) (j : judging) : judging :=
  if nonblocking then j else Judging (filters j) (recent j) (world j) (NoMore :: log j).

(** What a record will create or truncate does not exist before; what may change the timeline suspends look-ahead. *)
Definition note_effect (r : record) (j : judging) : judging :=
  match does r with
  | Create k => note_filter k 0 (lsn r) j
  | Truncate k b => note_filter k b (lsn r) j
  | CreateDatabase d => note_filter (whole_database d) 0 (lsn r) j
  | NoEffect | Timeline => j
  end.

Definition is_empty {A} (l : list A) : bool := match l with [] => true | _ => false end.

(** There is no record now. *)
Definition suspend (nonblocking : bool) (w : walk) (j : judging) : walk :=
  Walk (queued w) (decoded_lsn w) (decoded_up_to w) (at_record w)
    (if nonblocking then decoded_lsn w else no_readahead_until w) (refused w) (waited nonblocking j).

(** The record is queued, and looked at from its first reference on unless prefetching is off. *)
Definition enqueue (c : settings) (r : record) (w : walk) (j : judging) : walk :=
  if (concurrency c =? 0)%nat then
    Walk (queued w ++ [r]) (lsn r) (next_lsn r) (at_record w) (no_readahead_until w) (refused w) j
  else
    Walk (queued w ++ [r]) (lsn r) (next_lsn r) (Some (r, references r))
      (match does r with Timeline => lsn r | _ => no_readahead_until w end) (refused w) (note_effect r j).

(** Decodes one more record; false: there is none now, or look-ahead is suspended, or the WAL goes back. *)
Definition decode (c : settings) (w : walk) : bool * walk :=
  let nonblocking := negb (is_empty (queued w)) in
  if nonblocking && (replaying_lsn c <=? no_readahead_until w) then (false, w)
  else if (space <=? length (queued w))%nat then (false, suspend nonblocking w (judged w))
  else
    let '(found, world) := read_ahead (length (queued w)) nonblocking (world (judged w)) in
    let j := with_world world (judged w) in
    match found with
    | None => (false, suspend nonblocking w j)
    | Some r =>
        if (0 <? lsn r) && (lsn r <? next_lsn r) && (decoded_up_to w <=? lsn r) then (true, enqueue c r w j)
        else (false, Walk (queued w) (decoded_lsn w) (decoded_up_to w) (at_record w) (no_readahead_until w) true j)
    end.

Definition go_on (rest : option (record * list reference)) (w : walk) (j : judging) : walk :=
  Walk (queued w) (decoded_lsn w) (decoded_up_to w) rest (no_readahead_until w) (refused w) j.

(** The rest of the record that is being looked at. The first record after BeginRead is consumed before anything beyond it is
    looked at. *)
Definition rest_of_record (c : settings) (w : walk) : option answer * walk :=
  match at_record w with
  | None => (None, w)
  | Some (r, rs) =>
      match look_at (lsn r) rs (judged w) with
      | (Some a, rest, j) => (Some a, go_on (Some (r, rest)) w j)
      | (None, _, j) =>
          if negb (is_empty (queued w)) && (decoded_lsn w =? begin c) then (Some Again, go_on (Some (r, [])) w j)
          else (None, go_on None w j)
      end
  end.

(** XLogPrefetcherNextBlock: looks at the next block reference in use, and decodes records as needed. [fuel] bounds how many;
    [space] is enough, since each one takes a place of the queue. *)
Fixpoint look_ahead (fuel : nat) (c : settings) (w : walk) : answer * walk :=
  match rest_of_record c w with
  | (Some a, w) => (a, w)
  | (None, w) =>
      match decode c w with
      | (false, w) => (Again, w)
      | (true, w) =>
          if (concurrency c =? 0)%nat then (NoIo 0, w)
          else match fuel with O => (Again, w) | S fuel => look_ahead fuel c w end
      end
  end.

(** ** The entry points *)

Record prefetcher := Prefetcher {
  set : settings; replaying_up_to : Z; ring_of : ring; walked : walk;
}.

Definition new_ring (n : nat) : ring := match n with O => lrq_alloc 1 1 | _ => lrq_alloc (4 * n) n end.

Definition start (n : nat) (at_ : Z) (w : W) : prefetcher :=
  Prefetcher (Settings n at_ 0) 0 (new_ring n) (Walk [] 0 at_ None 0 false (Judging [] [] w [])).

(** A changed GUC: the ring is made anew, so what is in flight is forgotten. *)
Definition reconfigure (n : nat) (p : prefetcher) : prefetcher :=
  Prefetcher (Settings n (begin (set p)) (replaying_lsn (set p))) (replaying_up_to p) (new_ring n) (walked p).

(** XLogPrefetcherBeginRead: reads on at another place. Filters and window stay. So does [at_record] in upstream; it is mended
    here. No part of a run: what is proved of it stands beside the run. *)
Definition begin_read (at_ : Z) (p : prefetcher) : prefetcher :=
  Prefetcher (Settings (concurrency (set p)) at_ 0) 0 (new_ring (concurrency (set p)))
    (Walk [] 0 at_ None 0 false (judged (walked p))).

Definition with_judging (w : walk) (j : judging) : walk :=
  Walk (queued w) (decoded_lsn w) (decoded_up_to w) (at_record w) (no_readahead_until w) (refused w) j.

(** The record that was given out before has been replayed by now. *)
Definition replayed (up_to : Z) (w : walk) : walk :=
  let j := judged w in
  with_judging w (Judging (complete_filters up_to (filters j)) (recent j) (world j) (Replayed up_to :: log j)).

Definition fill (c : settings) (s : ring * walk) : ring * walk :=
  lrq_prefetch (look_ahead space c) (snd s) (fst s).

(** Look-ahead; and again, with prefetching off too, if nothing is decoded. *)
Definition fill_twice (c : settings) (s : ring * walk) : ring * walk :=
  let s := if (concurrency c =? 0)%nat then s else fill c s in
  if is_empty (queued (snd s)) && negb (refused (snd s)) then fill c s else s.

(** Whether the record that is being looked at is this one, and what is left of it then. *)
Definition left_of (r : record) (w : walk) : option (list reference) :=
  match at_record w with Some (r', rs) => if lsn r' =? lsn r then Some rs else None | None => None end.

(** The first record in the queue is given out. What of it was not looked at yet is forgotten. [before]: what was queued
    before look-ahead; what was decoded since then with prefetching off was not looked at. *)
Definition give (c : settings) (before : list record) (r : record) (rest : list record) (w : walk) : walk :=
  let forgotten := match left_of r w with
    | Some rs => rs
    | None => if (concurrency c =? 0)%nat && is_empty before then references r else []
    end in
  let j := judged w in
  Walk rest (decoded_lsn w) (decoded_up_to w) (match left_of r w with Some _ => None | None => at_record w end)
    (no_readahead_until w) (refused w) (Judging (filters j) (recent j) (world j) (Given r forgotten :: log j)).

(** XLogPrefetcherReadRecord. Completion comes before look-ahead (commit adb46615). *)
Definition read_record (p : prefetcher) : option record * prefetcher :=
  let c := set p in
  let w := replayed (replaying_up_to p) (walked p) in
  let '(ring, w) := fill_twice c (lrq_complete (replaying_up_to p) (ring_of p), w) in
  match queued w with
  | r :: rest =>
      if refused w then (None, Prefetcher c (replaying_up_to p) ring w)
      else (Some r, Prefetcher (Settings (concurrency c) (begin c) (lsn r)) (next_lsn r) ring
                      (give c (queued (walked p)) r rest w))
  | [] => (None, Prefetcher c (replaying_up_to p) ring w)
  end.

(** A run: records are read one after the other, the concurrency changes at any time, and between two calls the world
    becomes any other. After a refusal there is no further call. *)
Definition with_world_of (w : W) (p : prefetcher) : prefetcher :=
  Prefetcher (set p) (replaying_up_to p) (ring_of p) (with_judging (walked p) (with_world w (judged (walked p)))).

Inductive replays (n : nat) (at_ : Z) : prefetcher -> Prop :=
  | replays_start w : replays n at_ (start n at_ w)
  | replays_read p : replays n at_ p -> refused (walked p) = false -> replays n at_ (snd (read_record p))
  | replays_reconfigure p m : replays n at_ p -> replays n at_ (reconfigure m p)
  | replays_elsewhere p w : replays n at_ p -> replays n at_ (with_world_of w p).
End Prefetcher.
