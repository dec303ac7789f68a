(* SPDX-License-Identifier: PostgreSQL *)
(** * The algorithms: which operations, in which order

    An algorithm is one way to move the tuples after the checks, operation by operation.  PG13 and PG14 are the files of those
    names in csrc/compaction/.  Each of ours is what one function there does; a kernel (scalar, avx2, avx512, neon) chooses among
    several for each page, and proofs/README.md says which function is which algorithm.

    Upstream: src/backend/storage/page/bufpage.c, compactify_tuples, PageRepairFragmentation, itemoffcompare.  Before and
    after 19c60ad6. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory.

Inductive algorithm :=
| PG13                                         (** by falling lp_off *)
| PG14                                         (** in item order *)
| Gather (window : option Z)                    (** ours: through scratch, by windows of one width, or each tuple exactly *)
| Squeeze                                      (** ours: in place, cache line by cache line *)
| Permute (window : Z) (few : nat)             (** ours: all windows to registers, then all to the page *)
| Slide (window : Z)                           (** ours: in place, windows read some tuples ahead *)
| SlidePairs                                   (** ours: the same by pairs of registers of 16 bytes, fewer tuples ahead *)
| Runs (wide : bool)                           (** ours: in place, each run by vectors *)
| Area                                         (** ours: from scratch, each tuple exactly *)
| Climb (pieces : nat)                         (** ours: in place, each tuple by a number of pieces *)
| Lines                                        (** ours: from scratch, each tuple by whole lines *)
| ByDepth                                      (** ours: through scratch, first each tuple's top line, then the second ones *)
| Slots.                                       (** ours: in place, long tuples of one length each to its slot, by one copy *)

(** [Move] or [Restore]: from the page itself, or from scratch. *)
Definition copier := Z -> Z -> Z -> op.

Definition set_lp_off (it : item) (to : Z) : op := Store32 (lp_address (number it)) (set_off (word it) to).

(** Each tuple by a copy of its own, the first one ending at [upper], its line pointer set right after. *)
Fixpoint singles (cp : copier) (its : list item) (upper : Z) : list op :=
  match its with
  | [] => []
  | it :: r => cp (upper - len it) (off it) (len it) :: set_lp_off it (upper - len it) :: singles cp r (upper - len it)
  end.

(** Each run of tuples that are adjacent at their origin by one copy.  [start, stop) is the run seen so far and not copied. *)
Fixpoint runs_from (cp : copier) (its : list item) (upper run_start run_stop : Z) : list op :=
  match its with
  | [] => [cp upper run_start (run_stop - run_start)]
  | it :: r =>
      let adjacent := stop it =? run_start in
      (if adjacent then [] else [cp upper run_start (run_stop - run_start)]) ++
      set_lp_off it (upper - len it) ::
      runs_from cp r (upper - len it) (off it) (if adjacent then run_stop else stop it)
  end.
Definition runs (cp : copier) (its : list item) (upper : Z) : list op :=
  match its with [] => [] | it :: _ => runs_from cp its upper (stop it) (stop it) end.

(** Without the tuples at the beginning that are in place already; and where the first of the others must end. *)
Fixpoint skip_in_place (its : list item) (upper : Z) : list item * Z :=
  match its with
  | [] => ([], upper)
  | it :: r => if stop it =? upper then skip_in_place r (upper - len it) else (its, upper)
  end.

(** What is left to be moved, and where its first tuple must end; [whole]: without a look at what is in place. *)
Definition start (whole : bool) (m : mem) : list item * Z :=
  if whole then (items m, pd_special m) else skip_in_place (items m) (pd_special m).

(** ** PostgreSQL 13: by falling lp_off, equal ones in item order *)
Fixpoint insert (it : item) (its : list item) : list item :=
  match its with
  | [] => [it]
  | x :: r => if off x <=? off it then it :: its else x :: insert it r
  end.
Definition sort (its : list item) : list item := fold_right insert [] its.

(** Some tuple of a list sorted by falling lp_off reaches into the one before it. *)
Fixpoint any_overlap (its : list item) : bool :=
  match its with
  | a :: (b :: _) as r => (off a <? stop b) || any_overlap r
  | _ => false
  end.

(** The tuple area from pd_upper up to [top], to scratch. *)
Definition save_area (m : mem) (top : Z) : op := Save (pd_upper m) (pd_upper m) (top - pd_upper m).

Definition pg13 (m : mem) : list op :=
  let sorted := sort (items m) in
  if any_overlap sorted then save_area m (pd_special m) :: singles Restore sorted (pd_special m)
  else singles Move sorted (pd_special m).

(** ** PostgreSQL 14: in item order *)
Definition pg14_presorted (m : mem) : list op :=
  let (rest, upper) := start false m in
  runs Move rest upper.

Definition pg14_sparse (m : mem) : list op :=
  map (fun it => Save (off it) (off it) (len it)) (items m) ++ runs Restore (items m) (pd_special m).

(** How far up the tuple area must be saved: to [upper], unless a tuple reaches above it, which takes an overlap. *)
Definition save_top (m : mem) (its : list item) (upper : Z) : Z :=
  if existsb (fun it => upper <? stop it) its then pd_special m else upper.

Definition pg14_dense (m : mem) : list op :=
  let (rest, upper) := start false m in
  save_area m (save_top m rest upper) :: runs Restore rest upper.

Definition is_sparse (m : mem) : bool := Z.of_nat (length (items m)) <? nline m / 4.

Definition pg14 (m : mem) : list op :=
  if presorted (pd_special m) (items m) then pg14_presorted m
  else if is_sparse m then pg14_sparse m
  else pg14_dense m.

(** ** Ours: windows that end where the tuple ends, to scratch laid out as the page will be

    What comes along below a tuple is overwritten by the next one; one copy then takes all to the page.  Kernels differ in the
    width, and choose it by the longest tuple; where no window fits they move run by run. *)
Definition width (window : option Z) (it : item) : Z := match window with Some w => w | None => len it end.

Fixpoint windows (window : option Z) (its : list item) (upper : Z) : list op :=
  match its with
  | [] => []
  | it :: r =>
      let w := width window it in
      Save (upper - w) (stop it - w) w :: windows window r (upper - len it)
  end.

(** The longest tuple fits, and no window begins below the page: every tuple ends at pd_upper + 8 or above. *)
Definition windows_fit (m : mem) (window : option Z) : bool :=
  match window with
  | Some w => forallb (fun it => len it <=? w) (items m) && (w <=? pd_upper m + 8)
  | None => true
  end.

(** pd_upper afterwards. *)
Definition new_upper_of (m : mem) : Z := pd_special m - total (items m).

(** The copies of a program, without its stores. *)
Definition is_copy (o : op) : bool := match o with Store16 _ _ | Store32 _ _ => false | _ => true end.

Definition by_windows (window : option Z) (rest : list item) (upper : Z) : list op :=
  windows window rest upper ++ [Restore (upper - total rest) (upper - total rest) (total rest)].

Definition by_runs (m : mem) (rest : list item) (upper : Z) : list op :=
  filter is_copy
    (if presorted (pd_special m) (items m) then runs Move rest upper
     else save_area m (pd_special m) :: runs Restore rest upper).

Definition gather (window : option Z) (m : mem) : list op :=
  let (rest, upper) := start false m in
  if windows_fit m window then by_windows window rest upper else by_runs m rest upper.

(** ** Ours, presorted: the dead units of 8 bytes squeezed out, a line of 64 bytes at a time, from the top

    Two vector registers are the scratch area here, at 0 and at 64.  Of a line the live units are loaded against the end of the
    first register, in order; then the register is stored whole, so that it ends where the units above begin.  What it smashes
    below has been read already.  The second register keeps the hole below the new pd_upper, which the last stores smash. *)
Definition LINE : Z := 64.

(** [count] units from [top] downwards. *)
Fixpoint down (top : Z) (count : nat) : list Z :=
  match count with O => [] | S count => top - 8 :: down (top - 8) count end.

Definition line_end (a : Z) : Z := (a + 63) / 64 * 64.

(** What is live from the line of the lowest tuple in place on downwards, [upper] being where that one starts. *)
Definition live (rest : list item) (upper : Z) : list Z :=
  down (line_end upper) (Z.to_nat ((line_end upper - upper) / 8)) ++
  flat_map (fun it => down (stop it) (Z.to_nat (len it / 8))) rest.

Definition in_line (line : Z) (units : list Z) : list Z :=
  filter (fun u => (line <=? u) && (u + 8 <=? line + LINE)) units.

Fixpoint load (units : list Z) (at_ : Z) : list op :=
  match units with [] => [] | u :: r => Save (at_ - 8) u 8 :: load r (at_ - 8) end.

Fixpoint squeeze_lines (units : list Z) (count : nat) (above to : Z) : list op :=
  match count with
  | O => []
  | S count =>
      let here := in_line (above - LINE) units in
      load here LINE ++ Restore (to - LINE) 0 LINE ::
      squeeze_lines units count (above - LINE) (to - 8 * Z.of_nat (length here))
  end.

Definition squeeze (m : mem) : list op :=
  let (rest, upper) := start false m in
  let lowest := last (map off rest) upper in
  if presorted (pd_special m) (items m) && (LINE <=? new_upper_of m)
  then Save LINE (new_upper_of m - LINE) LINE ::
       squeeze_lines (live rest upper) (Z.to_nat ((line_end upper - lowest / 64 * 64) / 64)) (line_end upper) (line_end upper) ++
       [Restore (new_upper_of m - LINE) LINE LINE]
  else by_runs m rest upper.

(** ** Ours, small tuples: windows through registers

    A register is [window] bytes of scratch.  What comes along below a tuple smashes what lies there and is overwritten by the
    next window; below the last tuple that is the hole, which is read and written like a tuple of no bytes.  Either all windows
    are read before any is written, or, if the tuples are presorted, only some tuples ahead. *)
Definition REGISTERS : Z := 32.
Definition AHEAD : nat := 8.

(** Where tuple [i] ends and where it must end; behind the last one lies the hole, which stays. *)
Fixpoint old_end (its : list item) (upper : Z) (i : nat) : Z :=
  match its, i with
  | [], _ => upper
  | it :: _, O => stop it
  | it :: r, S i => old_end r (upper - len it) i
  end.
Fixpoint new_end (its : list item) (upper : Z) (i : nat) : Z :=
  match its, i with
  | it :: r, S i => new_end r (upper - len it) i
  | _, _ => upper
  end.

Definition register (window : Z) (i : nat) : Z := window * (Z.of_nat i mod REGISTERS).

(** [count] windows from the [first] one on. *)
Definition reads (window : Z) (its : list item) (upper : Z) (first count : nat) : list op :=
  map (fun i => Save (register window i) (old_end its upper i - window) window) (seq first count).
Definition writes (window : Z) (its : list item) (upper : Z) (first count : nat) : list op :=
  map (fun i => Restore (new_end its upper i - window) (register window i) window) (seq first count).

(** Neither the windows that are read begin below the page, nor those that are written. *)
Definition registers_fit (m : mem) (window : Z) : bool :=
  windows_fit m (Some window) && (0 <=? window) && (window <=? LINE) && (window <=? new_upper_of m).

Definition permute (window : Z) (few : nat) (m : mem) : list op :=
  let (rest, upper) := start true m in
  if (length rest <=? few)%nat && (Z.of_nat few <? REGISTERS) && registers_fit m window
  then reads window rest upper 0 (S few) ++ writes window rest upper 0 (S few)
  else by_runs m rest upper.

(** A batch is [ahead] windows.  The next batch is read, then this one written. *)
Definition slide_batch (ahead : nat) (window : Z) (its : list item) (upper : Z) (batch : nat) : list op :=
  reads window its upper (ahead * S batch) ahead ++ writes window its upper (ahead * batch) ahead.

Definition slide_all (ahead : nat) (window : Z) (its : list item) (upper : Z) : list op :=
  reads window its upper 0 ahead ++ flat_map (slide_batch ahead window its upper) (seq 0 (S (length its / ahead))).

Definition slide (window : Z) (m : mem) : list op :=
  let (rest, upper) := start false m in
  if presorted (pd_special m) (items m) && registers_fit m window
  then slide_all AHEAD window rest upper
  else by_runs m rest upper.

(** NEON: a window is a pair of registers, the lower half first. *)
Definition PAIR : Z := 32.
Definition PAIRS_AHEAD : nat := 4.

Definition in_halves (o : op) : list op :=
  match o with
  | Save to from n => [Save to from (n / 2); Save (to + n / 2) (from + n / 2) (n - n / 2)]
  | Restore to from n => [Restore to from (n / 2); Restore (to + n / 2) (from + n / 2) (n - n / 2)]
  | _ => [o]
  end.

Definition slide_pairs (m : mem) : list op :=
  let (rest, upper) := start false m in
  if presorted (pd_special m) (items m) && registers_fit m PAIR
  then flat_map in_halves (slide_all PAIRS_AHEAD PAIR rest upper)
  else by_runs m rest upper.

(** ** Ours, presorted: each run upwards in place, by vectors of 64 or 32 bytes from its top

    What is stored last, at the bottom, is read first; a run shorter than a vector is read whole before it is written.  From
    [long] bytes on it is memmove. *)
Definition both_ends (size to from bytes : Z) : list op :=
  [Save size (from + bytes - size) size; Save 0 from size; Restore (to + bytes - size) size size; Restore to 0 size].

Definition move_up (vector long to from bytes : Z) : list op :=
  if long <=? bytes then [Move to from bytes]
  else if vector <=? bytes
  then Save 0 from vector ::
       map (fun k => let at_ := bytes - vector * Z.of_nat (S k) in Move (to + at_) (from + at_) vector)
         (seq 0 (Z.to_nat (bytes / vector))) ++
       [Restore to 0 vector]
  else if 32 <=? bytes then both_ends 32 to from bytes
  else if 16 <=? bytes then both_ends 16 to from bytes
  else [Move to from bytes].

Definition by_vectors (vector long : Z) (o : op) : list op :=
  match o with Move to from bytes => move_up vector long to from bytes | _ => [o] end.

Definition move_runs (wide : bool) (m : mem) : list op :=
  let (rest, upper) := start false m in
  if presorted (pd_special m) (items m)
  then flat_map (if wide then by_vectors 64 768 else by_vectors 32 512) (filter is_copy (runs Move rest upper))
  else by_runs m rest upper.

(** ** Ours, long tuples: the area to scratch as it lies, then each tuple to its place *)
Definition area (m : mem) : list op :=
  let (rest, upper) := start false m in
  save_area m (pd_special m) :: filter is_copy (singles Restore rest upper).

(** ** Ours, presorted tuples of similar lengths: each as pieces of 32 bytes from its end on downwards, none below its start

    All are read into registers, at 0, 32 and so on, before one is written. *)
Definition PIECE : Z := 32.
Definition piece_start (it : item) (k : nat) : Z := Z.max 0 (len it - PIECE * Z.of_nat k - PIECE).

Definition climb_one (pieces : nat) (it : item) (to : Z) : list op :=
  map (fun k => Save (PIECE * Z.of_nat k) (off it + piece_start it k) PIECE) (seq 0 pieces) ++
  map (fun k => Restore (to + piece_start it k) (PIECE * Z.of_nat k) PIECE) (seq 0 pieces).

Fixpoint climb_all (pieces : nat) (its : list item) (upper : Z) : list op :=
  match its with
  | [] => []
  | it :: r => climb_one pieces it (upper - len it) ++ climb_all pieces r (upper - len it)
  end.

(** No tuple is shorter than a piece, or longer than all of them. *)
Definition pieces_fit (m : mem) (pieces : nat) : bool :=
  forallb (fun it => (PIECE <=? len it) && (len it <=? PIECE * Z.of_nat pieces)) (items m) && (pieces <=? 6)%nat.

Definition climb (pieces : nat) (m : mem) : list op :=
  let (rest, upper) := start false m in
  if presorted (pd_special m) (items m) && pieces_fit m pieces then climb_all pieces rest upper else by_runs m rest upper.

(** ** Ours, long tuples: the area to scratch by whole lines, then each tuple back by whole lines from its end on downwards

    The first line ends with the tuple, the others where a line of the page does.  What comes along below a tuple, from scratch
    that may never have been written, is overwritten by the next one; the hole below the last one is put back.  It is kept in a
    register, which lies above the page's addresses. *)
Fixpoint lines_down (count : nat) (at_ by_ : Z) : list op :=
  match count with
  | O => []
  | S count => Restore (at_ - LINE) (at_ + by_ - LINE) LINE :: lines_down count (at_ - LINE) by_
  end.

Fixpoint restore_lines (its : list item) (upper : Z) : list op :=
  match its with
  | [] => []
  | it :: r =>
      Restore (upper - LINE) (stop it - LINE) LINE ::
      lines_down (Z.to_nat ((upper / LINE * LINE - (upper - len it) + LINE - 1) / LINE)) (upper / LINE * LINE) (stop it - upper) ++
      restore_lines r (upper - len it)
  end.

Definition save_lines (m : mem) : op :=
  let bottom := pd_upper m / LINE * LINE in Save bottom bottom (line_end (pd_special m) - bottom).

Definition lines (m : mem) : list op :=
  let (rest, upper) := start false m in
  if LINE <=? new_upper_of m
  then Save BLCKSZ (new_upper_of m - LINE) LINE :: save_lines m :: restore_lines rest upper ++
       [Restore (new_upper_of m - LINE) BLCKSZ LINE]
  else by_runs m rest upper.

(** ** Ours, mixed lengths: to scratch line by line, first the top line of each tuple, then the second one of those that have it

    What comes along below a short tuple is overwritten by the next one's top line; from the second line on, none reaches below
    its tuple. *)
Definition longest (its : list item) : Z := fold_right (fun it n => Z.max (len it) n) 0 its.

Fixpoint lines_at (depth : Z) (its : list item) (upper : Z) : list op :=
  match its with
  | [] => []
  | it :: r =>
      let below := upper - len it in
      let to := if depth =? 0 then upper - LINE else Z.max (upper - depth - LINE) below in
      (if below <? upper - depth then [Save to (stop it - (upper - to)) LINE] else []) ++ lines_at depth r below
  end.

Definition by_depth (m : mem) : list op :=
  let (rest, upper) := start false m in
  if LINE <=? pd_upper m + 8
  then flat_map (fun d => lines_at (LINE * Z.of_nat d) rest upper) (seq 0 (Z.to_nat ((longest (items m) + LINE - 1) / LINE))) ++
       [Restore (new_upper_of m) (new_upper_of m) (total rest)]
  else by_runs m rest upper.

(** ** Ours, long tuples of one length out of order: from slot to slot, by one copy each

    Slot [k] is the [k]-th piece of that length from pd_special downwards, where tuple [k] must go.  If it is free, the tuple can
    come, which frees the slot it comes from, and so on, to a slot where none must go.  What is left when no slot is free are
    cycles: one tuple of each is put aside, in scratch. *)
Definition MAX_SLOTS : nat := 32.
Definition SHORTEST_IN_SLOTS : Z := BLCKSZ / 32 + 8.

Definition slot_start (special length : Z) (slot : nat) : Z := special - Z.of_nat (S slot) * length.

(** The slot that starts [below] pd_special, if it is one that does: below / length - 1, by a multiplication. *)
Definition slot_below (length below : Z) : Z := below * (65536 / length + 1) / 65536 - 1.
Definition is_slot (length below : Z) : bool := (slot_below length below + 1) * length =? below.

Definition among (slot : nat) (slots : list nat) : bool := existsb (Nat.eqb slot) slots.
Fixpoint distinct (slots : list nat) : bool :=
  match slots with [] => true | slot :: r => negb (among slot r) && distinct r end.

(** In which slot each one lies. *)
Definition slots_of (m : mem) : list nat :=
  map (fun it => Z.to_nat (slot_below (longest (items m)) (pd_special m - off it))) (items m).

(** All are long, of one length, and each in a slot of its own. *)
Definition slots_fit (m : mem) : bool :=
  let length := longest (items m) in
  (SHORTEST_IN_SLOTS <=? length) && (total (items m) =? Z.of_nat (List.length (items m)) * length) &&
  forallb (fun it => is_slot length (pd_special m - off it)) (items m) && distinct (slots_of m).

Section Slots.
  Variables (special length : Z) (slots : list nat).  (* [slots]: where the tuples lie *)
  Let n : nat := List.length slots.
  Let copy_slot (to from : nat) : op := Move (slot_start special length to) (slot_start special length from) length.

  (** Fills the free slot, and then each that becomes free.  Ends where no tuple must go, or where the one in slot [last] must.
      The copies, which tuples are not in place yet ([misplaced]), and which slot stays free.  Every round fills one more slot:
      [n] rounds are enough. *)
  Fixpoint fill (rounds : nat) (misplaced : list nat) (free last : nat) : list op * list nat * nat :=
    match rounds with
    | O => ([], misplaced, free)
    | S rounds =>
        let from := nth free slots O in
        let misplaced := filter (fun k => negb (k =? free)%nat) misplaced in
        if (from =? last)%nat then ([], misplaced, free)
        else
          let '(ops, misplaced, free') := if (n <=? from)%nat then ([], misplaced, from) else fill rounds misplaced from last in
          (copy_slot free from :: ops, misplaced, free')
    end.

  (** From each slot that is free at first. *)
  Fixpoint fill_all (frees misplaced : list nat) : list op * list nat :=
    match frees with
    | [] => ([], misplaced)
    | free :: r =>
        let '(ops, misplaced, _) := fill n misplaced free MAX_SLOTS in
        let (ops', misplaced) := fill_all r misplaced in (ops ++ ops', misplaced)
    end.

  (** The lowest one left is put aside, its cycle moved, until none is left. *)
  Fixpoint cycles (lowest misplaced : list nat) : list op :=
    match lowest with
    | [] => []
    | first :: r =>
        if among first misplaced
        then let '(ops, misplaced, free) := fill n misplaced first first in
             Save 0 (slot_start special length first) length ::
             ops ++ Restore (slot_start special length free) 0 length :: cycles r misplaced
        else cycles r misplaced
    end.

  Definition permute_slots : list op :=
    let misplaced := filter (fun k => negb (nth k slots O =? k)%nat) (seq 0 n) in
    let (ops, misplaced) := fill_all (filter (fun k => negb (among k slots)) misplaced) misplaced in
    ops ++ cycles misplaced misplaced.
End Slots.

Definition by_slots (m : mem) : list op :=
  let (rest, upper) := start false m in
  if slots_fit m then permute_slots (pd_special m) (longest (items m)) (slots_of m) else by_runs m rest upper.

(** ** The whole of PageRepairFragmentation *)

(** Upstream sets line pointers one by one, and zeroes the unused ones if one of them isn't zero already. *)
Definition zero_unused (m : mem) : list op :=
  let unused := filter (fun it => negb (is_used (word it))) (line_pointers m) in
  if existsb (fun it => negb (word it =? 0)) unused
  then map (fun it => Store32 (lp_address (number it)) 0) unused
  else [].

(** Ours write them all. *)
Fixpoint write_line_pointers (lps : list item) (upper : Z) : list op :=
  match lps with
  | [] => []
  | it :: r =>
      if has_storage (word it) then set_lp_off it (upper - len it) :: write_line_pointers r (upper - len it)
      else Store32 (lp_address (number it)) (if is_used (word it) then word it else 0) :: write_line_pointers r upper
  end.

(** The number of the last used line pointer, 0 if there is none. *)
Definition last_used (lps : list item) : Z :=
  fold_left (fun last it => if is_used (word it) then number it else last) lps 0.

Definition count_unused (lps : list item) : Z :=
  Z.of_nat (length (filter (fun it => negb (is_used (word it))) lps)).

Definition write_header (truncate : bool) (m : mem) : list op :=
  let nline_left := if truncate then last_used (line_pointers m) else nline m in
  let cut := nline m - nline_left in
  let free := negb (count_unused (line_pointers m) - cut =? 0) in
  [Store16 12 (pd_lower m - 4 * cut);
   Store16 14 (pd_special m - total (items m));
   Store16 10 (pd_flags m / 2 * 2 + (if free then 1 else 0))].

(** What [a] does to an accepted page. *)
Definition program (a : algorithm) (truncate : bool) (m : mem) : list op :=
  match a with
  | PG13 => pg13 m ++ zero_unused m
  | PG14 => pg14 m ++ zero_unused m
  | Gather window => gather window m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Squeeze => squeeze m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Permute window few => permute window few m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Slide window => slide window m ++ write_line_pointers (line_pointers m) (pd_special m)
  | SlidePairs => slide_pairs m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Runs wide => move_runs wide m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Area => area m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Climb pieces => climb pieces m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Lines => lines m ++ write_line_pointers (line_pointers m) (pd_special m)
  | ByDepth => by_depth m ++ write_line_pointers (line_pointers m) (pd_special m)
  | Slots => by_slots m ++ write_line_pointers (line_pointers m) (pd_special m)
  end ++ write_header truncate m.

(** PageRepairFragmentation by algorithm [a]: refused, or what it does. *)
Definition page_repair_fragmentation (a : algorithm) (truncate : bool) (m : mem) : refusal + list op :=
  match check m with
  | Some r => inl r
  | None => inr (program a truncate m)
  end.

(** The page afterwards; a refused one is unchanged. *)
Definition run (a : algorithm) (truncate : bool) (m scratch0 : mem) : mem :=
  match page_repair_fragmentation a truncate m with
  | inl _ => m
  | inr ops => page (exec ops (State m scratch0))
  end.

(** How far the scratch area of an algorithm goes beyond the addresses of the page. *)
Definition scratch_below (a : algorithm) : Z := match a with Gather (Some w) => Z.max 0 w | Lines | ByDepth => LINE | _ => 0 end.
Definition scratch_above (a : algorithm) : Z := match a with Lines => LINE | _ => 0 end.
