(* SPDX-License-Identifier: PostgreSQL *)
(** * What avx2.c does with its scan

    The functions have C's names and stand in C's order: how tuples move by the arrays of the scan, in the way that ScanAvx2.v chooses,
    and pgq_compaction_avx2.  A register of 32 bytes is a place in scratch memory, as in Algorithms.v, which also says how tuples move
    from slot to slot (slots.h). *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require Scan ByArrays.
From Pgquern.compaction Require Import ScanAvx2.

(** [off_above]: where the tuple before the [i]-th one starts. *)
Definition off_above (s : scan) (i : nat) : Z := Z.land (found_tuples s i) 65535.

(** C's variable [end] before tuple [t], in a loop that begins with tuple [first]: where [t] must end. *)
Fixpoint end_below (lens : nat -> Z) (end_ : Z) (first count : nat) : Z :=
  match count with O => end_ | S count => end_below lens (end_ - lens first) (S first) count end.
Definition new_ends (s : scan) (first t : nat) : Z := end_below (tuple_len s) (off_above s first) first (t - first).
Definition old_ends (s : scan) (t : nat) : Z := tuple_off s t + tuple_len s t.

(** [move_runs]: [count] runs from the [i]-th on, the first of which must end at [to_end]; each reaches down to the next gap. *)
Fixpoint move_each_run (gaps : nat -> Z) (i count : nat) (to_end : Z) : list op :=
  match count with
  | O => []
  | S count =>
      let from := Z.shiftr (gaps (S i)) 16 in
      let bytes := Z.land (gaps i) 65535 - from in
      Move (to_end - bytes) from bytes :: move_each_run gaps (S i) count (to_end - bytes)
  end.
Definition move_runs (s : scan) : list op :=
  let gaps := Scan.put (found_gaps s) (Z.to_nat (ngaps s)) (Z.shiftl (off_above s (Z.to_nat (nitems s))) 16) in
  flat_map (by_vectors 32 512) (move_each_run gaps 0 (Z.to_nat (ngaps s)) (Z.shiftr (gaps O) 16)).

(** [permute_few].  C reads the hole first: from memory to registers, in any order. *)
Definition permute_few (m : mem) (s : scan) : list op :=
  let n := Z.to_nat (nitems s) in
  let hole := pd_special m - total_length s - VECTOR in
  ByArrays.load_windows (old_ends s) 0 VECTOR 0 n ++ Save (register VECTOR n) hole VECTOR ::
  ByArrays.store_windows (new_ends s 0) 0 VECTOR 0 n ++ [Restore hole (register VECTOR n) VECTOR].

(** [slide]: behind the last tuple it puts 16 of no bytes. *)
Definition with_hole (m : mem) (s : scan) : scan :=
  let n := Z.to_nat (nitems s) in
  Scan (words_to_be s)
    (fun k => if (1 + n <=? k)%nat && (k <? 1 + n + 16)%nat then pd_special m - total_length s else found_tuples s k)
    (found_gaps s) (nitems s) (used_count s) (left_count s) (total_length s) (longest_length s) (ngaps s) (first_moved s)
    (is_out_of_bounds s) (is_unsorted s) (is_overlapping s) (stays_inside s).
Definition slide (s : scan) : list op :=
  let first := Z.to_nat (first_moved s) in
  ByArrays.slide (new_ends s first) (old_ends s) first (Z.to_nat (nitems s)) AHEAD VECTOR.

(** [move_by_scratch], and its [gather_fn]; where the last tuple must start is what the latter returns. *)
Definition move_by_scratch (s : scan) (window : option Z) : list op :=
  let first := Z.to_nat (first_moved s) in
  let n := Z.to_nat (nitems s) in
  ByArrays.move_by_scratch (new_ends s first) first (new_ends s first n)
    (match window with
     | Some w => ByArrays.gather (new_ends s first) (old_ends s) first n w
     | None => ByArrays.gather_each (new_ends s first) (old_ends s) first n
     end).

(** [move_by_area]. *)
Definition move_by_area (m : mem) (s : scan) : list op :=
  let first := Z.to_nat (first_moved s) in
  save_area m (pd_special m) :: ByArrays.restore_each (new_ends s first) (old_ends s) first (Z.to_nat (nitems s)).

(** How tuples move by one of these ways, by the arrays. *)
Definition moves (a : algorithm) (m : mem) (s : scan) : list op :=
  match a with
  | Permute _ _ => permute_few m s
  | Gather window => move_by_scratch s window
  | Runs _ => move_runs s
  | Slide _ => slide (with_hole m s)
  | Slots => permute_slots (pd_special m) (longest_length s) (ByArrays.slots_found m (tuple_off s) (Z.to_nat (nitems s)) (longest_length s))
  | _ => move_by_area m s
  end.

(** pgq_compaction_avx2. *)
Definition avx2_kernel (truncate : bool) (m : mem) (d : dirt) : refusal + list op :=
  if negb (check_header m) || (BLCKSZ <? pd_lower m + 4 * LANES) then Scan.scalar_kernel truncate m
  else
    let s := scanned m d in
    if refused m s then Scan.scalar_kernel truncate m
    else
      let left := if truncate then left_count s else nline m in
      inr ((if ngaps s =? 0 then [] else moves (way m s) m s) ++ put_line_pointers m s ++
           [Store16 12 (pd_lower m - 4 * (nline m - left)); Store16 14 (pd_special m - total_length s);
            Store16 10 (pd_flags m / 2 * 2 + (if used_count s <? left then 1 else 0))]).
