(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of the line pointers, as C does it

    csrc/compaction/check.c and the scan of csrc/compaction/scalar.c, line pointer by line pointer, with C's arrays and C's 32
    bits.  [line_pointers m] are what the loops read, in the order in which they read it; a loop's [i] counts from 0.  What
    becomes of the scan in [compact] and behind it stands here too, so that the whole of pgq_compaction_scalar does. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.

(** ** check.c *)

(** The loop: [nstorage], [total], [previous_off], [presorted], [overlapping]. *)
Fixpoint check_line_pointers (m : mem) (lps : list item) (nstorage total previous : Z) (sorted : bool) (overlapping : Z)
    : option refusal :=
  match lps with
  | [] =>
      if pd_special m - pd_lower m <? total then Some (Refusal TOTAL 0)
      else if sorted && negb (overlapping =? 0) then Some (Refusal OVERLAP overlapping)
      else None
  | it :: r =>
      if negb (is_used (word it)) || (len it =? 0) then check_line_pointers m r nstorage total previous sorted overlapping
      else if (off it <? pd_upper m) || (pd_special m <=? off it) then Some (Refusal LP_OFF (number it))
      else if negb (off it mod 8 =? 0) then Some (Refusal LP_ALIGN (number it))
      else if pd_special m <? off it + len it then Some (Refusal LP_END (number it))
      else if MAX_HEAP_TUPLES_PER_PAGE <? nstorage + 1 then Some (Refusal TOO_MANY (number it))
      else if previous <=? off it then check_line_pointers m r (nstorage + 1) (total + len it) (off it) false overlapping
      else check_line_pointers m r (nstorage + 1) (total + len it) (off it) sorted
             (if (overlapping =? 0) && (previous <? off it + len it) then number it else overlapping)
  end.

Definition check_in_order (m : mem) : option refusal :=
  if negb (check_header m) then Some (Refusal HEADER 0)
  else check_line_pointers m (line_pointers m) 0 0 (pd_special m) true 0.

(** ** scalar.c: arrays and words of 32 bits *)
Definition u32 (x : Z) : Z := x mod 4294967296.

Definition put {A} (a : nat -> A) (i : nat) (value : A) : nat -> A := fun k => if (k =? i)%nat then value else a k.

(** [off | len << 16]. *)
Definition pack_tuple (it : item) : Z := Z.lor (off it) (Z.shiftl (len it) 16).
Definition tuple_off (tuple : Z) : Z := Z.land tuple 65535.
Definition tuple_len (tuple : Z) : Z := Z.shiftr tuple 16.
Definition tuple_end (tuple : Z) : Z := tuple_off tuple + tuple_len tuple.

(** [x >> n] as a truth value. *)
Definition high (n x : Z) : bool := negb (Z.shiftr x n =? 0).

(** [x & -b]. *)
Definition mask (b : bool) (x : Z) : Z := Z.land x (u32 (- Z.b2z b)).

(** What the checks have found so far; [gap_at] is the array [gaps]. *)
Record findings := Findings { bad : Z; overlapping : Z; lengths_or : Z; gap_at : nat -> nat; ngaps : nat; last_off : Z }.

(** What is gathered from the line pointers; [words] and [tuples] are arrays. *)
Record progress := Progress { words : nat -> Z; tuples : nat -> Z; upper : Z; nitems : nat; nbare : nat; garbage : Z }.

Record scanned := Scanned {
  words_to_be : nat -> Z; found_tuples : nat -> Z; found_gaps : nat -> nat;
  nkept : nat; tuple_count : nat; nused : nat; gap_count : nat;
  total_length : Z; or_of_lengths : Z; refused : bool; is_unsorted : bool; changed : bool }.

Definition FEW_DEAD : nat := 2.
Definition SHARE_OF_DEAD : nat := 16.

Section Scan.
  Variables pd_upper pd_special : Z.

  (** [check_tuple]: the [i]-th tuple. *)
  Definition check_tuple (i : nat) (off len : Z) (f : findings) : findings :=
    let stop := off + len in
    Findings
      (Z.lor (bad f) (Z.lor (Z.lor (u32 (off - pd_upper)) (u32 (pd_special - stop))) (u32 (Z.shiftl off 29))))
      (Z.lor (overlapping f) (u32 (last_off f - stop)))
      (Z.lor (lengths_or f) len)
      (put (gap_at f) (ngaps f) i)
      (if stop =? last_off f then ngaps f else S (ngaps f))
      off.

  Definition continue_run (off len : Z) (f : findings) : findings :=
    Findings (Z.lor (bad f) (u32 (off - pd_upper))) (overlapping f) (Z.lor (lengths_or f) len) (gap_at f) (ngaps f) off.

  (** [skip_in_place], to where it stops: the rest, [i], [tuples], the OR of the lengths, [upper]. *)
  Fixpoint pass_in_place (lps : list item) (i : nat) (tuples : nat -> Z) (lengths upper : Z)
      : list item * nat * (nat -> Z) * Z * Z :=
    match lps with
    | [] => ([], i, tuples, lengths, upper)
    | it :: r =>
        if negb (is_used (word it)) || (len it =? 0) || negb (off it + len it =? upper) then (lps, i, tuples, lengths, upper)
        else pass_in_place r (S i) (put tuples i (pack_tuple it)) (Z.lor lengths (len it)) (off it)
    end.

  (** [scan_with_branches], to where it gives up: the rest and [i]. *)
  Fixpoint with_branches (lps : list item) (i without : nat) (p : progress) (f : findings)
      : list item * nat * progress * findings :=
    match lps with
    | [] => ([], i, p, f)
    | it :: r =>
        if is_used (word it) && negb (len it =? 0) then
          let upper := u32 (upper p - len it) in
          with_branches r (S i) without
            (Progress (put (words p) i (u32 (word it + u32 (upper - off it)))) (put (tuples p) (nitems p) (pack_tuple it))
               upper (S (nitems p)) (nbare p) (garbage p))
            (if off it + len it =? last_off f then continue_run (off it) (len it) f else check_tuple (nitems p) (off it) (len it) f)
        else
          let used := is_used (word it) in
          let p := Progress (put (words p) i (if used then word it else 0)) (tuples p) (upper p) (nitems p)
                     (if used then S (nbare p) else nbare p) (Z.lor (garbage p) (if used then 0 else word it)) in
          if (FEW_DEAD + i / SHARE_OF_DEAD <? S without)%nat then (r, S i, p, f) else with_branches r (S i) (S without) p f
    end.

  (** The first loop of [scan_without_branches]. *)
  Fixpoint without_branches (lps : list item) (i : nat) (p : progress) : progress :=
    match lps with
    | [] => p
    | it :: r =>
        let used := is_used (word it) in
        let n := mask used (len it) in
        let stored := negb (n =? 0) in
        let upper := u32 (upper p - n) in
        without_branches r (S i)
          (Progress (put (words p) i (u32 (mask used (word it) + mask stored (u32 (upper - off it)))))
             (put (tuples p) (nitems p) (Z.lor (off it) (Z.shiftl n 16))) upper
             (if stored then S (nitems p) else nitems p) (nbare p + (Nat.b2n used - Nat.b2n stored)) (garbage p))
    end.

  (** Its second loop, which checks [count] tuples from the [i]-th on. *)
  Fixpoint check_gathered (tuples : nat -> Z) (i count : nat) (f : findings) : findings :=
    match count with
    | O => f
    | S count => check_gathered tuples (S i) count (check_tuple i (tuple_off (tuples i)) (tuple_len (tuples i)) f)
    end.

  Definition scan_without_branches (lps : list item) (i : nat) (p : progress) (f : findings) : progress * findings :=
    let q := without_branches lps i p in
    (Progress (words q) (tuples q) (upper q) (nitems q) (nbare q) 1,
     check_gathered (tuples q) (nitems p) (nitems q - nitems p) f).
End Scan.

(** [falls]: lp_off falls strictly. *)
Definition tuples_fall (tuples : nat -> Z) (nitems : nat) : bool :=
  forallb (fun i => tuple_off (tuples i) <? tuple_off (tuples (i - 1)%nat)) (seq 1 (nitems - 1)).

Definition scan_line_pointers (m : mem) : scanned :=
  let '(rest, kept, t, lengths, up) := pass_in_place (line_pointers m) 0 (fun _ => 0) 0 (pd_special m) in
  let p := Progress (fun _ => 0) t up kept 0 0 in
  let f := Findings (u32 (up - pd_upper m)) 0 lengths (fun _ => O) 0 up in
  let '(rest, i, p, f) := with_branches (pd_upper m) (pd_special m) rest kept 0 p f in
  let (p, f) := match rest with
                | [] => (p, f)
                | _ => scan_without_branches (pd_upper m) (pd_special m) rest i p f
                end in
  let total := u32 (pd_special m - upper p) in
  let unsorted := high 31 (overlapping f) && negb (tuples_fall (tuples p) (nitems p)) in
  Scanned (words p) (tuples p) (gap_at f) kept (nitems p) (nitems p + nbare p) (ngaps f) total (lengths_or f)
    (high 29 (bad f) || (MAX_HEAP_TUPLES_PER_PAGE <? Z.of_nat (nitems p)) || (pd_special m - pd_lower m <? total) ||
     (high 31 (overlapping f) && negb unsorted))
    unsorted
    (negb (ngaps f =? 0)%nat || negb (garbage p =? 0)).

(** Positions of the tuples that do not end where the one before starts, counted from [first] on. *)
Fixpoint gap_positions (first : nat) (its : list item) (above : Z) : list nat :=
  match its with
  | [] => []
  | it :: r => (if stop it =? above then [] else [first]) ++ gap_positions (S first) r (off it)
  end.

(** ** scalar.c: what is done with it *)

(** [gather], [count] tuples from the [i]-th on; and where the last one starts. *)
Fixpoint gather_windows (tuples : nat -> Z) (i count : nat) (end_ window : Z) : list op * Z :=
  match count with
  | O => ([], end_)
  | S count =>
      let (ops, low) := gather_windows tuples (S i) count (end_ - tuple_len (tuples i)) window in
      (Save (end_ - window) (tuple_end (tuples i) - window) window :: ops, low)
  end.

Definition move_small (s : scanned) (i : nat) (upper : Z) : list op :=
  let (ops, low) := gather_windows (found_tuples s) i (tuple_count s - i) upper (if or_of_lengths s <=? 32 then 32 else 64) in
  ops ++ [Restore low low (upper - low)].

(** The loop of [move_runs], over [count] runs from the [i]-th on. *)
Fixpoint move_from_gaps (cp : copier) (tuples : nat -> Z) (gaps : nat -> nat) (i count : nat) (upper : Z) : list op :=
  match count with
  | O => []
  | S count =>
      let run_end := tuple_end (tuples (gaps i)) in
      let run_start := tuple_off (tuples (gaps (S i) - 1)%nat) in
      let upper := upper - (run_end - run_start) in
      cp upper run_start (run_end - run_start) :: move_from_gaps cp tuples gaps (S i) count upper
  end.

Definition runs_from_gaps (cp : copier) (s : scanned) (upper : Z) : list op :=
  move_from_gaps cp (found_tuples s) (put (found_gaps s) (gap_count s) (tuple_count s)) 0 (gap_count s) upper.

(** The last loop of [move_large]. *)
Fixpoint move_each (tuples : nat -> Z) (i count : nat) (upper : Z) : list op :=
  match count with
  | O => []
  | S count =>
      let upper := upper - tuple_len (tuples i) in
      Restore upper (tuple_off (tuples i)) (tuple_len (tuples i)) :: move_each tuples (S i) count upper
  end.

Definition move_large (m : mem) (s : scanned) (upper : Z) : list op :=
  save_area m (pd_special m) ::
  if (4 * gap_count s <=? tuple_count s)%nat then runs_from_gaps Restore s upper
  else move_each (found_tuples s) (found_gaps s 0%nat) (tuple_count s - found_gaps s 0%nat) upper.

(** [find_slots]; and in which slot each tuple lies. *)
Definition below_special (m : mem) (s : scanned) : list Z :=
  map (fun i => pd_special m - tuple_off (found_tuples s i)) (seq 0 (tuple_count s)).
Definition slots_found (m : mem) (s : scanned) : list nat :=
  map (fun below => Z.to_nat (slot_below (or_of_lengths s) below)) (below_special m s).
Definition find_slots (m : mem) (s : scanned) : bool :=
  (SHORTEST_IN_SLOTS <=? or_of_lengths s) && (total_length s =? Z.of_nat (tuple_count s) * or_of_lengths s) &&
  forallb (is_slot (or_of_lengths s)) (below_special m s) && distinct (slots_found m s).

(** [compact]. *)
Definition compact (m : mem) (s : scanned) : list op :=
  let i := found_gaps s 0%nat in
  let upper := if (0 <? i)%nat then tuple_off (found_tuples s (i - 1)%nat) else pd_special m in
  let small := (or_of_lengths s <=? 64) && (64 <=? pd_upper m + 8) in
  if negb (is_unsorted s) && (negb small || (gap_count s <=? 1 + tuple_count s / 16)%nat) then runs_from_gaps Move s upper
  else if small then move_small s i upper
  else if find_slots m s then permute_slots (pd_special m) (or_of_lengths s) (slots_found m s)
  else move_large m s upper.

(** [store_line_pointers] from the first one on that is of no tuple in place. *)
Definition store_line_pointers (m : mem) (s : scanned) : list op :=
  map (fun i => Store32 (HEADER_SIZE + 4 * Z.of_nat i) (words_to_be s i)) (seq (nkept s) (Z.to_nat (nline m) - nkept s)).

(** The loop that cuts trailing unused line pointers off: how many of [n] are left. *)
Fixpoint cut_unused (words : nat -> Z) (kept n : nat) : nat :=
  match n with
  | O => O
  | S k => if (kept <? n)%nat && (words k =? 0) then cut_unused words kept k else n
  end.

(** pgq_compaction_scalar; [inr []] where the scan refuses and the check finds nothing. *)
Definition scalar_kernel (truncate : bool) (m : mem) : refusal + list op :=
  let refuse := match check_in_order m with Some r => inl r | None => inr [] end in
  if negb (check_header m) then refuse
  else
    let s := scan_line_pointers m in
    if refused s then refuse
    else
      let nline_left := if truncate then cut_unused (words_to_be s) (nkept s) (Z.to_nat (nline m)) else Z.to_nat (nline m) in
      inr ((if (gap_count s =? 0)%nat then [] else compact m s) ++
           (if changed s then store_line_pointers m s else []) ++
           [Store16 12 (pd_lower m - 4 * (nline m - Z.of_nat nline_left));
            Store16 14 (pd_special m - total_length s);
            Store16 10 (pd_flags m / 2 * 2 + (if (nused s <? nline_left)%nat then 1 else 0))]).
