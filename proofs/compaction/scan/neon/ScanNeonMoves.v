(* SPDX-License-Identifier: PostgreSQL *)
(** * What neon.c does with its scan

    The functions have C's names and stand in C's order: how tuples move by the arrays of the scan, [move_tuples] test by test, and
    pgq_compaction_neon.  A register of 16 bytes is a place in scratch memory, as in Algorithms.v, which also says how tuples move from
    slot to slot (slots.h). *)
From Coq Require Import ZArith List Bool.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require Scan.
From Pgquern.compaction Require Import ScanNeon.
Import ListNotations.
Local Open Scope Z_scope.

Definition PAIR : Z := 2 * VECTOR.
Definition AHEAD : nat := Z.to_nat (PAIR / UNIT).
Definition SMALL : Z := 64.
Definition WIDEST : Z := 256.

(** [uint32_t]. *)
Definition u32 (x : Z) : Z := x mod 4294967296.

(** [tuples[i].end] and [tuples[i].old_end]; [first]. *)
Definition end_of (s : scan) (i : nat) : Z := end_in (found_tuples s) i.
Definition old_end_of (s : scan) (i : nat) : Z := old_end_in (found_tuples s) i.
Definition first (s : scan) : nat := Z.to_nat (first_moved s).

(** ** Presorted: run by run, or tuple by tuple, in place *)
Definition move_run (s : scan) (i next : nat) : op :=
  let to := end_of s next in
  let bytes := u32 (end_of s i - to) in
  Move to (old_end_of s i - bytes) bytes.

(** The loop of [move_runs] over the places of the gaps.  The first run that it meets has no bytes: it ends where it begins. *)
Fixpoint move_each_run (s : scan) (run : nat) (gaps : list nat) : list op :=
  match gaps with
  | [] => [move_run s run (nitems s)]
  | next :: r => move_run s run next :: move_each_run s next r
  end.

(** C takes eight bytes of [gaps] at a time, and of each its lowest bit. *)
Definition gaps_of (s : scan) : list nat := filter (fun i => Z.odd (found_gaps s i)) (seq 0 (8 * ((nitems s + 7) / 8))).
Definition move_runs (s : scan) : list op := move_each_run s (first s) (gaps_of s).

(** C has two batches of pairs, which take turns.  Here each pair that is read has a place of its own, up to 32 of them. *)
Definition place_of (s : scan) (t : nat) : Z := register PAIR (t - first s).

Definition load_pair (s : scan) (t : nat) : list op :=
  [Save (place_of s t) (old_end_of s t - PAIR) VECTOR; Save (place_of s t + VECTOR) (old_end_of s t - VECTOR) VECTOR].
Definition store_pair (s : scan) (t : nat) : list op :=
  [Restore (end_of s t - PAIR) (place_of s t) VECTOR; Restore (end_of s t - VECTOR) (place_of s t + VECTOR) VECTOR].
Definition load_pairs (s : scan) (t : nat) : list op := flat_map (load_pair s) (seq t AHEAD).
Definition store_pairs (s : scan) (t : nat) : list op := flat_map (store_pair s) (seq t AHEAD).

(** The loop of [slide]; C has two rounds of it in one. *)
Fixpoint slide_from (fuel : nat) (s : scan) (t : nat) : list op :=
  match fuel with
  | O => []
  | S fuel =>
      load_pairs s (t + AHEAD) ++ store_pairs s t ++
      (if (nitems s <? t + AHEAD)%nat then [] else slide_from fuel s (t + AHEAD))
  end.
Definition slide (s : scan) : list op := load_pairs s (first s) ++ slide_from (S (nitems s)) s (first s).

(** ** By scratch *)

(** The tuples from [first] on. *)
Definition moved (s : scan) : list nat := seq (first s) (nitems s - first s).

Definition gather (s : scan) (window : Z) : list op :=
  map (fun t => Save (end_of s t - window) (old_end_of s t - window) window) (moved s).

Definition gather_by_windows (s : scan) : list op :=
  gather s (match (longest_length s + PAIR - 1) / PAIR with 1 => 32 | 2 => 64 | 3 => 96 | 4 => 128 | 5 | 6 => 192 | _ => WIDEST end).

Definition gather_each (s : scan) : list op :=
  map (fun i => Save (end_of s i - tuple_len s i) (tuple_off s i) (tuple_len s i)) (moved s).

Definition move_by_scratch (s : scan) (gathered : list op) : list op :=
  gathered ++ [Restore (upper_to_be s) (upper_to_be s) (u32 (end_of s (first s) - upper_to_be s))].

(** ** Long tuples of one length: [find_slots], and in which slot each tuple lies *)
Definition below_special (m : mem) (s : scan) : list Z := map (fun i => pd_special m - tuple_off s i) (seq 0 (nitems s)).
Definition slots_found (m : mem) (s : scan) : list nat :=
  map (fun below => Z.to_nat (slot_below (longest_length s) below)) (below_special m s).
Definition find_slots (m : mem) (s : scan) : bool :=
  (SHORTEST_IN_SLOTS <=? longest_length s) && (total_length s =? Z.of_nat (nitems s) * longest_length s) &&
  forallb (is_slot (longest_length s)) (below_special m s) && distinct (slots_found m s).

(** ** All together *)
Definition move_tuples (m : mem) (s : scan) : list op :=
  let longest := longest_length s in
  let small := (longest <=? SMALL) && (SMALL <=? pd_upper m + UNIT) in
  let pairs := longest <=? PAIR in
  let falls := is_falling s in
  if negb falls && (negb small || (ngaps s <=? Z.of_nat (nitems s) / 16)) then move_runs s
  else if pairs && negb falls then slide s
  else if small || ((longest <=? WIDEST) && (WIDEST <=? pd_upper m + UNIT)) then move_by_scratch s (gather_by_windows s)
  else if find_slots m s then permute_slots (pd_special m) longest (slots_found m s)
  else move_by_scratch s (gather_each s).

(** All line pointers: C's memcpy of four bytes each. *)
Definition put_line_pointers (m : mem) (s : scan) : list op :=
  map (fun i => Store32 (HEADER_SIZE + 4 * Z.of_nat i) (words_to_be s i)) (seq 0 (Z.to_nat (nline m))).

(** pgq_compaction_neon. *)
Definition neon_kernel (truncate : bool) (m : mem) (d : dirt) : refusal + list op :=
  if negb (check_header m) || (BLCKSZ <? pd_lower m + 4 * LANES) then Scan.scalar_kernel truncate m
  else
    let s := scan_line_pointers m d in
    if refused m s then Scan.scalar_kernel truncate m
    else
      let left := if truncate then left_count s else nline m in
      inr ((if negb (ngaps s =? 0) || is_falling s then move_tuples m s else []) ++ put_line_pointers m s ++
           [Store16 12 (pd_lower m - 4 * (nline m - left)); Store16 14 (upper_to_be s);
            Store16 10 (pd_flags m / 2 * 2 + (if used_count s <? left then 1 else 0))]).

(** A copy of at least one byte. *)
Definition copies_bytes (o : op) : bool :=
  match o with Move _ _ n | Save _ _ n | Restore _ _ n => negb (n =? 0) | _ => false end.
