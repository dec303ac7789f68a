(* SPDX-License-Identifier: PostgreSQL *)
(** * What avx512vbmi2.c does with its scan

    [move_tuples] test by test, how tuples move by the arrays of a scan, and the rest of pgq_compaction_avx512.  C's two scans fill one
    [scan]; here [seen] is what of it is read after them.  A register is a place in scratch memory, as in Algorithms.v, which also says
    how tuples move from slot to slot (slots.h). *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require Choice Scan ByArrays ScanAvx512 ScanAvx512Few ScanAvx512Squeeze.

Notation LANES := ScanAvx512.LANES.
Notation FEW := ScanAvx512Few.FEW.
Definition FEW_GAPS : Z := 10.
Definition DEEPEST : Z := 512.

Record seen := Seen {
  words_to_be : nat -> Z; new_ends : nat -> Z; old_ends : nat -> Z; run_ends : nat -> Z; run_old_ends : nat -> Z;
  nitems : Z; used_count : Z; left_count : Z; total_length : Z; upper_to_be : Z; longest_length : Z; shortest_length : Z;
  ngaps : Z; first_moved : Z; is_falling : bool; is_refused : bool }.

Definition seen_by_few (m : mem) (d : ScanAvx512Few.dirt) : seen :=
  let s := ScanAvx512Few.scan_few m d in
  Seen (ScanAvx512Few.words_to_be s) (ScanAvx512Few.new_ends s) (ScanAvx512Few.old_ends s) (ScanAvx512Few.run_ends s)
    (ScanAvx512Few.run_old_ends s) (ScanAvx512Few.nitems s) (ScanAvx512Few.used_count s) (ScanAvx512Few.left_count s)
    (ScanAvx512Few.total_length s) (ScanAvx512Few.upper_to_be s) (ScanAvx512Few.longest_length s)
    (ScanAvx512Few.shortest_length s) (ScanAvx512Few.ngaps s) (ScanAvx512Few.first_moved s) (ScanAvx512Few.is_falling s)
    (ScanAvx512Few.refused m s).

Definition seen_by_many (m : mem) (d : ScanAvx512.arrays) : seen :=
  let s := ScanAvx512.scan_line_pointers m d in
  let a := ScanAvx512.found s in
  Seen (ScanAvx512.words a) (ScanAvx512.ends a) (ScanAvx512.old_ends a) (ScanAvx512.run_ends a) (ScanAvx512.run_old_ends a)
    (Z.of_nat (ScanAvx512.nitems s)) (ScanAvx512.nused s) (ScanAvx512.nline_left s) (ScanAvx512.total s)
    (ScanAvx512.new_upper s) (ScanAvx512.longest s) (ScanAvx512.shortest s) (Z.of_nat (ScanAvx512.ngaps s))
    (ScanAvx512.first s) (ScanAvx512.falls s) (ScanAvx512.refused m s).

(** Where a tuple starts that is as long as the longest. *)
Definition slot_starts (s : seen) (t : nat) : Z := old_ends s t - longest_length s.

(** [permute_few], and [move_tuples]: the way that it takes. *)
Definition permute_few (s : seen) : algorithm :=
  if LINE / 2 <? longest_length s then Permute LINE (Z.to_nat FEW)
  else if nitems s <=? FEW / 2 then Permute (LINE / 2) (Z.to_nat (FEW / 2)) else Permute (LINE / 2) (Z.to_nat FEW).

Definition way (m : mem) (s : seen) : algorithm :=
  let longest := longest_length s in
  let small := (longest <=? LINE) && (LINE <=? pd_upper m) in
  let similar := (LINE / 2 <=? shortest_length s) && (longest <=? 3 * LINE) in
  let falls := is_falling s in
  if small && (nitems s <=? FEW) && (LINE <=? upper_to_be s) then permute_few s
  else if negb falls && (ngaps s <=? (if small then nitems s / 16 else if similar then nitems s / 6 else FEW_GAPS)) then Runs true
  else if negb falls && small then Slide (if longest <=? LINE / 2 then LINE / 2 else LINE)
  else if negb falls && similar then Climb (Choice.pieces longest)
  else if small then Gather (Some (Choice.window longest))
  else if negb falls then Squeeze
  else if (longest <=? Choice.WIDEST) && (Choice.WIDEST <=? pd_upper m + 8) then Gather (Some (Choice.window longest))
  else if ByArrays.find_slots m (slot_starts s) (Z.to_nat (nitems s)) longest (total_length s) then Slots
  else if (longest <=? DEEPEST) && (LINE <=? pd_upper m + 8) then ByDepth
  else if (LINE <=? upper_to_be s) && (3 * (pd_special m - pd_upper m) <=? 4 * total_length s) then Lines
  else Gather None.

(** [move_lines]. *)
Definition move_lines (m : mem) (s : seen) : list op :=
  let hole := upper_to_be s - LINE in
  Save BLCKSZ hole LINE :: save_lines m ::
  ByArrays.restore_lines (new_ends s) (old_ends s) (Z.to_nat (first_moved s)) (Z.to_nat (nitems s)) ++ [Restore hole BLCKSZ LINE].

(** How tuples move by one of these ways, by the arrays; behind the last run C puts the new pd_upper, 16 bits of it. *)
Definition moves (a : algorithm) (m : mem) (s : seen) : list op :=
  let first := Z.to_nat (first_moved s) in
  let n := Z.to_nat (nitems s) in
  let gaps := Z.to_nat (ngaps s) in
  let runs := Scan.put (run_ends s) gaps (upper_to_be s mod 65536) in
  let by_scratch := ByArrays.move_by_scratch (new_ends s) first (upper_to_be s) in
  match a with
  | Permute window few => ByArrays.permute (new_ends s) (old_ends s) 0 window few
  | Runs _ => flat_map (by_vectors 64 768) (ByArrays.move_runs runs (run_old_ends s) 0 gaps)
  | Slide window => ByArrays.slide (new_ends s) (old_ends s) first n AHEAD window
  | Climb pieces => ByArrays.climb (new_ends s) (old_ends s) first n pieces
  | Gather (Some window) => by_scratch (ByArrays.gather (new_ends s) (old_ends s) first n window)
  | Squeeze => ScanAvx512Squeeze.squeeze runs (run_old_ends s) gaps (upper_to_be s)
  | Slots =>
      permute_slots (pd_special m) (longest_length s) (ByArrays.slots_found m (slot_starts s) n (longest_length s))
  | ByDepth => by_scratch (ByArrays.gather_by_list (new_ends s) (old_ends s) first n (longest_length s))
  | Lines => move_lines m s
  | _ => by_scratch (ByArrays.gather_each (new_ends s) (old_ends s) first n)
  end.

(** [put_line_pointers]; C stores sixteen words at a time, some of them twice, or at most sixteen under a mask. *)
Definition put_line_pointers (m : mem) (s : seen) : list op :=
  map (fun i => Store32 (HEADER_SIZE + 4 * Z.of_nat i) (words_to_be s i)) (seq 0 (Z.to_nat (nline m))).

(** pgq_compaction_avx512. *)
Definition avx512_kernel (truncate : bool) (m : mem) (few : ScanAvx512Few.dirt) (many : ScanAvx512.arrays) : refusal + list op :=
  if negb (check_header m) || (BLCKSZ <? pd_lower m + 4 * LANES) then Scan.scalar_kernel truncate m
  else
    let s := if nline m <=? FEW then seen_by_few m few else seen_by_many m many in
    if is_refused s then Scan.scalar_kernel truncate m
    else
      let left := if truncate then left_count s else nline m in
      inr ((if (ngaps s =? 0) && negb (is_falling s) then [] else moves (way m s) m s) ++ put_line_pointers m s ++
           [Store16 12 (pd_lower m - 4 * (nline m - left)); Store16 14 (upper_to_be s);
            Store16 10 (pd_flags m / 2 * 2 + (if used_count s <? left then 1 else 0))]).
