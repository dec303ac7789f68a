(* SPDX-License-Identifier: PostgreSQL *)
(** * Small worlds in which a prefetcher runs, to be computed

    Records with no to three references, creations, truncations, a shutdown checkpoint; WAL that is late, relations that appear,
    buffers that come and go. All of it follows from numbers. *)
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Filters Prefetcher.

(** The records to come, and how many questions were asked. *)
Record small_world := Small { to_come : list record; questions : Z }.

Definition relation_of (i : Z) : relation := Relation 1 (1 + i mod 2) (10 + i mod 3).

Definition reference_of (i k : Z) : reference :=
  let m := i * 7 + k * 5 in
  Reference (relation_of (m mod 4)) (m mod 6) (if m mod 11 =? 0 then 1 else 0) (m mod 13 =? 0) (m mod 17 =? 0) (negb (m mod 19 =? 0)).

Definition effect_of (i : Z) : side_effect :=
  match i mod 13 with
  | 2 => Create (relation_of i) | 4 => Truncate (relation_of i) 2 | 6 => CreateDatabase (1 + i mod 2)
  | 8 => Timeline | _ => NoEffect
  end.

(** Record i; every third leaves a gap before the next one. *)
Definition record_of (i : Z) : record :=
  Record_ (10 * i) (10 * i + (if i mod 3 =? 0 then 5 else 10))
    (map (fun k => reference_of i (Z.of_nat k)) (seq 0 (Z.to_nat (i * 3 mod 4)))) (effect_of i).

Definition asked_once (w : small_world) : small_world := Small (to_come w) (questions w + 1).

Definition small_read_ahead (queued : nat) (nonblocking : bool) (w : small_world) : option record * small_world :=
  match to_come w with
  | r :: rest => if nonblocking && (questions w mod 7 =? 0) then (None, asked_once w) else (Some r, Small rest (questions w + 1))
  | [] => (None, w)
  end.

(** One block that is advised, advised again after four others, and skipped in between; another one that is created first. *)
Definition block_of (n b : Z) : reference := Reference (Relation 1 1 n) b 0 false false true.
Definition few_records : list record :=
  [Record_ 10 20 [block_of 10 0] NoEffect; Record_ 20 30 [block_of 10 0; block_of 10 1] (Create (Relation 1 1 11));
   Record_ 30 40 [block_of 11 0; block_of 10 2] NoEffect; Record_ 40 50 [block_of 10 3; block_of 10 9] NoEffect;
   Record_ 50 60 [block_of 10 0; block_of 10 4; block_of 10 5; block_of 10 6] NoEffect; Record_ 60 70 [block_of 11 0] NoEffect].
Definition always_there (r : relation) (w : small_world) : option Z * small_world := (Some 8, w).
Definition never_cached (r : relation) (b : Z) (w : small_world) : option Z * small_world := (None, w).
Definition few_reads : nat -> @prefetcher small_world :=
  fix go i := match i with
    | O => start 3 0 (Small few_records 1)
    | S i => snd (read_record always_there never_cached small_read_ahead 8 false (go i))
    end.

(** Recovery stops at record 20, which it has replayed, and is to read it again. Of record 30 one of two blocks was advised. *)
Definition last_record : record := Record_ 20 30 [] NoEffect.
Definition stopping : @prefetcher small_world :=
  let to_come := [last_record; Record_ 30 40 [block_of 10 0; block_of 10 1] NoEffect] in
  let read p := snd (read_record always_there never_cached small_read_ahead 8 false p) in
  with_world_of (Small to_come 1) (read (read (start 1 10 (Small (Record_ 10 20 [] NoEffect :: to_come) 1)))).
