(* SPDX-License-Identifier: PostgreSQL *)
(** * What neon.c does with its scan

    The functions have C's names and stand in C's order: how tuples move by the arrays of the scan, [move_tuples] test by test, and
    pgq_compaction_neon.  A register of 16 bytes is a place in scratch memory, as in Algorithms.v, which also says how tuples move from
    slot to slot (slots.h). *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require Scan ByArrays.
From Pgquern.compaction Require Import ScanNeon.

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

(** A window is a pair of registers.  C has two batches of them, which take turns.  Here each pair that is read has a place of its own, up
    to 32 of them; and C has two rounds of the loop in one. *)
Definition slide (s : scan) : list op :=
  flat_map in_halves (ByArrays.slide (end_of s) (old_end_of s) (first s) (nitems s) PAIRS_AHEAD PAIR).

(** ** By scratch *)

Definition gather (s : scan) (window : Z) : list op := ByArrays.gather (end_of s) (old_end_of s) (first s) (nitems s) window.

Definition gather_by_windows (s : scan) : list op :=
  gather s (match (longest_length s + PAIR - 1) / PAIR with 1 => 32 | 2 => 64 | 3 => 96 | 4 => 128 | 5 | 6 => 192 | _ => WIDEST end).

Definition gather_each (s : scan) : list op :=
  map (fun i => Save (end_of s i - tuple_len s i) (tuple_off s i) (tuple_len s i))
    (ByArrays.moved (first s) (nitems s)).

Definition move_by_scratch (s : scan) (gathered : list op) : list op :=
  gathered ++ [Restore (upper_to_be s) (upper_to_be s) (u32 (end_of s (first s) - upper_to_be s))].

(** ** All together *)
Definition move_tuples (m : mem) (s : scan) : list op :=
  let longest := longest_length s in
  let small := (longest <=? SMALL) && (SMALL <=? pd_upper m + UNIT) in
  let pairs := longest <=? PAIR in
  let falls := is_falling s in
  if negb falls && (negb small || (ngaps s <=? Z.of_nat (nitems s) / 16)) then move_runs s
  else if pairs && negb falls then slide s
  else if small || ((longest <=? WIDEST) && (WIDEST <=? pd_upper m + UNIT)) then move_by_scratch s (gather_by_windows s)
  else if ByArrays.find_slots m (tuple_off s) (nitems s) longest (total_length s)
  then permute_slots (pd_special m) longest (ByArrays.slots_found m (tuple_off s) (nitems s) longest)
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
