(* SPDX-License-Identifier: PostgreSQL *)
(** * Upstream's kernels whole: pg13.c, pg14.c and what they share, baseline.h

    The scan goes line pointer by line pointer, with C's variables; [found] is the array [items]. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Scan.

Record progress := Progress {
  found : list item; last_off : Z; last_used : Z; nunused : Z; total_length : Z; garbage : Z; presorted : bool; overlapping : bool }.

Section Scan.
  Variables (neighbours : bool) (pd_upper pd_special : Z).

  (** A tuple that lies where it may. *)
  Definition take (it : item) (p : progress) : progress :=
    Progress (found p ++ [it])
      (if neighbours && (off it <? last_off p) then off it else last_off p)
      (number it) (nunused p) (total_length p + len it) (garbage p)
      (if neighbours && negb (off it <? last_off p) then false else presorted p)
      (overlapping p || neighbours && (last_off p <? off it + len it)).

  (** The loop of [scan_line_pointers]; [None] where it returns. *)
  Fixpoint scan_from (lps : list item) (p : progress) : option progress :=
    match lps with
    | [] => Some p
    | it :: r =>
        if is_used (word it) then
          if len it =? 0
          then scan_from r (Progress (found p) (last_off p) (number it) (nunused p) (total_length p) (garbage p) (presorted p) (overlapping p))
          else if (off it <? pd_upper) || (pd_special <? off it + len it) || negb (off it mod 8 =? 0) then None
          else scan_from r (take it p)
        else
          scan_from r (Progress (found p) (last_off p) (last_used p) (nunused p + 1) (total_length p) (Z.lor (garbage p) (word it))
                         (presorted p) (overlapping p))
    end.
End Scan.

(** [scan_line_pointers]; [None] where it is false. *)
Definition scan_line_pointers (neighbours : bool) (m : mem) : option progress :=
  match scan_from neighbours (pd_upper m) (pd_special m) (line_pointers m) (Progress [] (pd_special m) 0 0 0 0 true false) with
  | Some p =>
      if (Z.of_nat (length (found p)) <=? MAX_HEAP_TUPLES_PER_PAGE) && (total_length p <=? pd_special m - pd_lower m) &&
         negb (presorted p && overlapping p)
      then Some p else None
  | None => None
  end.

Definition nline_left (truncate : bool) (m : mem) (p : progress) : Z := if truncate then last_used p else nline m.

(** The loop of [zero_unused]. *)
Definition zeros (m : mem) : list op :=
  map (fun it => Store32 (lp_address (number it)) 0) (filter (fun it => negb (is_used (word it))) (line_pointers m)).

(** [finish], with [write_header]. *)
Definition finish (truncate : bool) (m : mem) (p : progress) : list op :=
  let cut := nline m - nline_left truncate m p in
  (if garbage p =? 0 then [] else zeros m) ++
  [Store16 12 (pd_lower m - 4 * cut);
   Store16 14 (pd_special m - total_length p);
   Store16 10 (pd_flags m / 2 * 2 + (if negb (nunused p - cut =? 0) then 1 else 0))].

(** The check names the fault, and should find one. *)
Definition refuse (m : mem) : refusal + list op := match check_in_order m with Some r => inl r | None => inr [] end.

(** pgq_compaction_pg13, with any sorts: what its two sorts give. *)
Definition pg13_kernel (sorted again : list item) (truncate : bool) (m : mem) : refusal + list op :=
  if negb (check_header m) then refuse m
  else
    match scan_line_pointers false m with
    | None => refuse m
    | Some p =>
        if any_overlap sorted
        then match check_in_order m with
             | Some r => inl r
             | None => inr ((save_area m (pd_special m) :: singles Restore again (pd_special m)) ++ finish truncate m p)
             end
        else inr (singles Move sorted (pd_special m) ++ finish truncate m p)
    end.

(** [compact_through_scratch]. *)
Definition through_scratch (m : mem) (p : progress) : list op :=
  if Z.of_nat (length (found p)) <? nline m / 4
  then map (fun it => Save (off it) (off it) (len it)) (found p) ++ runs Restore (found p) (pd_special m)
  else
    let (rest, upper) := skip_in_place (found p) (pd_special m) in
    save_area m (save_top m rest upper) :: runs Restore rest upper.

Definition pg14_kernel (truncate : bool) (m : mem) : refusal + list op :=
  if negb (check_header m) then refuse m
  else
    match scan_line_pointers true m with
    | None => refuse m
    | Some p =>
        inr ((if presorted p then let (rest, upper) := skip_in_place (found p) (pd_special m) in runs Move rest upper
              else through_scratch m p) ++ finish truncate m p)
    end.
