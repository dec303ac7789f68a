(* SPDX-License-Identifier: PostgreSQL *)
(** * What avx512vbmi2.c does with its scan

    [move_tuples] test by test, and the rest of pgq_compaction_avx512.  C's two scans fill one [scan]; here [seen] is what of it is read
    after them, but for arrays by which the tuples move.  How tuples move by one of the ways says Algorithms.v. *)
From Coq Require Import ZArith List Bool.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require Choice Scan ScanAvx512 ScanAvx512Few.
Import ListNotations.
Local Open Scope Z_scope.

Notation LANES := ScanAvx512.LANES.
Notation FEW := ScanAvx512Few.FEW.
Definition FEW_GAPS : Z := 10.
Definition DEEPEST : Z := 512.

Record seen := Seen {
  words_to_be : nat -> Z; old_ends : nat -> Z; nitems : Z; used_count : Z; left_count : Z; total_length : Z; upper_to_be : Z;
  longest_length : Z; shortest_length : Z; ngaps : Z; is_falling : bool; is_refused : bool }.

Definition seen_by_few (m : mem) (d : ScanAvx512Few.dirt) : seen :=
  let s := ScanAvx512Few.scan_few m d in
  Seen (ScanAvx512Few.words_to_be s) (ScanAvx512Few.old_ends s) (ScanAvx512Few.nitems s) (ScanAvx512Few.used_count s)
    (ScanAvx512Few.left_count s) (ScanAvx512Few.total_length s) (ScanAvx512Few.upper_to_be s) (ScanAvx512Few.longest_length s)
    (ScanAvx512Few.shortest_length s) (ScanAvx512Few.ngaps s) (ScanAvx512Few.is_falling s) (ScanAvx512Few.refused m s).

Definition seen_by_many (m : mem) (d : ScanAvx512.arrays) : seen :=
  let s := ScanAvx512.scan_line_pointers m d in
  Seen (ScanAvx512.words (ScanAvx512.found s)) (ScanAvx512.old_ends (ScanAvx512.found s)) (Z.of_nat (ScanAvx512.nitems s)) (ScanAvx512.nused s)
    (ScanAvx512.nline_left s) (ScanAvx512.total s) (ScanAvx512.new_upper s) (ScanAvx512.longest s)
    (ScanAvx512.shortest s) (Z.of_nat (ScanAvx512.ngaps s)) (ScanAvx512.falls s) (ScanAvx512.refused m s).

(** [find_slots]. *)
Definition find_slots (m : mem) (s : seen) : bool :=
  let all := seq 0 (Z.to_nat (nitems s)) in
  let below i := pd_special m - (old_ends s i - longest_length s) in
  (SHORTEST_IN_SLOTS <=? longest_length s) && (total_length s =? nitems s * longest_length s) &&
  forallb (fun i => is_slot (longest_length s) (below i)) all &&
  distinct (map (fun i => Z.to_nat (slot_below (longest_length s) (below i))) all).

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
  else if small then Gather false (Some (Choice.window longest))
  else if negb falls then Squeeze
  else if (longest <=? Choice.WIDEST) && (Choice.WIDEST <=? pd_upper m + 8) then Gather false (Some (Choice.window longest))
  else if find_slots m s then Slots
  else if (longest <=? DEEPEST) && (LINE <=? pd_upper m + 8) then ByDepth
  else if (LINE <=? upper_to_be s) && (3 * (pd_special m - pd_upper m) <=? 4 * total_length s) then Lines
  else Gather false None.

(** How tuples move by one of these ways, as Algorithms.v has it. *)
Definition moves (a : algorithm) (m : mem) : list op :=
  match a with
  | Permute window few => permute window few m
  | Runs wide => move_runs wide m
  | Slide window => slide window m
  | Climb pieces => climb pieces m
  | Gather whole window => gather whole window m
  | Squeeze => squeeze m
  | Slots => by_slots m
  | ByDepth => by_depth m
  | _ => lines m
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
      inr ((if (ngaps s =? 0) && negb (is_falling s) then [] else moves (way m s) m) ++ put_line_pointers m s ++
           [Store16 12 (pd_lower m - 4 * (nline m - left)); Store16 14 (upper_to_be s);
            Store16 10 (pd_flags m / 2 * 2 + (if used_count s <? left then 1 else 0))]).
