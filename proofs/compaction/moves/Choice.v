(* SPDX-License-Identifier: PostgreSQL *)
(** * Which way a kernel takes for a page

    [compact] of csrc/compaction/scalar.c, and [move_tuples] of avx2.c, avx512vbmi2.c and neon.c, test by test in their order.  The
    numbers were chosen by measurement, and have no proof: any of the ways leaves the same page.  What has a proof (Chosen.v) is that a way
    is only taken on a page that it can take. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.

Inductive kernel := Scalar | Avx2 | Avx512 | Neon.

(** ** What the scans gather from the tuples, in item order; [above] is lp_off of the one before, pd_special for the first *)

(** Tuples that do not end where the one before starts. *)
Fixpoint gaps (its : list item) (above : Z) : Z :=
  match its with [] => 0 | it :: r => (if stop it =? above then 0 else 1) + gaps r (off it) end.

(** Some tuple reaches into the one before. *)
Fixpoint overlaps (its : list item) (above : Z) : bool :=
  match its with [] => false | it :: r => (above <? stop it) || overlaps r (off it) end.

(** lp_off falls strictly from the first tuple on. *)
Definition falls (its : list item) : bool :=
  match its with [] => true | it :: r => presorted_below (off it) r end.

(** [scalar] takes the OR of all lengths for the longest. *)
Definition lengths (its : list item) : Z := fold_right (fun it n => Z.lor (len it) n) 0 its.

Definition all_at_least (least : Z) (its : list item) : bool := forallb (fun it => least <=? len it) its.

Definition ngaps (m : mem) : Z := gaps (items m) (pd_special m).
Definition nitems (m : mem) : Z := Z.of_nat (length (items m)).

(** The tuples are not presorted: each kernel has its own words for it. *)
Definition unsorted (k : kernel) (m : mem) : bool :=
  match k with
  | Scalar => overlaps (items m) (pd_special m) && negb (falls (items m))
  | Avx2 => negb (presorted (pd_special m) (items m))
  | Avx512 | Neon => overlaps (items m) (pd_special m)
  end.

(** ** The ways *)
Definition nothing : algorithm := Runs false.                  (** all tuples are in place *)
Definition runs_by_memmove : algorithm := Gather (Some 0).   (** no window has 0 bytes: each run by one copy *)

(** [gather_by_windows]: a window as wide as the longest tuple needs. *)
Definition WIDEST : Z := 256.
Definition window (longest : Z) : Z :=
  match (longest + 31) / 32 with 1 => 32 | 2 => 64 | 3 => 96 | 4 => 128 | 5 | 6 => 192 | _ => WIDEST end.

(** [climb_in_pieces]. *)
Definition pieces (longest : Z) : nat :=
  match ((longest + 31) / 32)%Z with 3%Z => 3 | 4%Z => 4 | 5%Z => 5 | _ => 6 end.

(** Long tuples of this length, each in a slot of its own; [slots_fit] says it with the longest one's. *)
Definition in_slots (length : Z) (m : mem) : bool :=
  (SHORTEST_IN_SLOTS <=? length) && (total (items m) =? nitems m * length) &&
  forallb (fun it => is_slot length (pd_special m - off it)) (items m) &&
  distinct (map (fun it => Z.to_nat (slot_below length (pd_special m - off it))) (items m)).

(** The tuples fill three quarters of what lies between pd_upper and pd_special. *)
Definition mostly_live (m : mem) : bool := 3 * (pd_special m - pd_upper m) <=? 4 * total (items m).

Definition scalar_way (m : mem) : algorithm :=
  let lengths := lengths (items m) in
  let small := (lengths <=? 64) && (64 <=? pd_upper m + 8) in
  if negb (unsorted Scalar m) && (negb small || (ngaps m <=? 1 + nitems m / 16)) then runs_by_memmove
  else if small then Gather (Some (if lengths <=? 32 then 32 else 64))
  else if in_slots lengths m then Slots
  else if 4 * ngaps m <=? nitems m then runs_by_memmove
  else Area.

Definition avx2_way (m : mem) : algorithm :=
  let longest := longest (items m) in
  let small := (longest <=? 64) && (64 <=? pd_upper m + 8) in
  let vectors := longest <=? 32 in
  if vectors && (nitems m <=? 16) then Permute 32 (length (items m))
  else if negb (unsorted Avx2 m) && (negb small || (ngaps m <=? nitems m / 16)) then Runs false
  else if vectors && negb (unsorted Avx2 m) then Slide 32
  else if small || ((longest <=? WIDEST) && (WIDEST <=? pd_upper m + 8)) then Gather (Some (window longest))
  else if in_slots longest m then Slots
  else if mostly_live m then Area
  else Gather None.

Definition avx512_way (m : mem) : algorithm :=
  let longest := longest (items m) in
  let small := (longest <=? 64) && (64 <=? pd_upper m) in
  (* the scan of at most 16 line pointers does not look for the shortest *)
  let similar := (16 <? nline m) && all_at_least 32 (items m) && (longest <=? 192) in
  let falls := unsorted Avx512 m in
  if small && (nitems m <=? 16) && (64 <=? new_upper_of m)
  then Permute (if 32 <? longest then 64 else 32) (if (longest <=? 32) && (nitems m <=? 8) then 8 else 16)
  else if negb falls && (ngaps m <=? (if small then nitems m / 16 else if similar then nitems m / 6 else 10)) then Runs true
  else if negb falls && small then Slide (if longest <=? 32 then 32 else 64)
  else if negb falls && similar then Climb (pieces longest)
  else if small then Gather (Some (window longest))
  else if negb falls then Squeeze
  else if (longest <=? WIDEST) && (WIDEST <=? pd_upper m + 8) then Gather (Some (window longest))
  else if in_slots longest m then Slots
  else if (longest <=? 512) && (64 <=? pd_upper m + 8) then ByDepth
  else if (64 <=? new_upper_of m) && mostly_live m then Lines
  else Gather None.

Definition SMALL : Z := 64.

Definition neon_way (m : mem) : algorithm :=
  let longest := longest (items m) in
  let small := (longest <=? SMALL) && (SMALL <=? pd_upper m + 8) in
  let pairs := longest <=? PAIR in
  let falls := unsorted Neon m in
  if negb falls && (negb small || (ngaps m <=? nitems m / 16)) then runs_by_memmove
  else if pairs && negb falls then SlidePairs
  else if small || ((longest <=? WIDEST) && (WIDEST <=? pd_upper m + 8)) then Gather (Some (window longest))
  else if in_slots longest m then Slots
  else Gather None.

(** The page's line pointers end so near its end that a vector of them would reach past it: [scalar] takes it. *)
Definition choice (k : kernel) (m : mem) : algorithm :=
  if ngaps m =? 0 then nothing
  else match k with
       | Scalar => scalar_way m
       | Avx2 => if BLCKSZ <? pd_lower m + 4 * 16 then scalar_way m else avx2_way m
       | Avx512 => if BLCKSZ <? pd_lower m + 4 * 32 then scalar_way m else avx512_way m
       | Neon => if BLCKSZ <? pd_lower m + 4 * 8 then scalar_way m else neon_way m
       end.

(** PageRepairFragmentation by a kernel: it checks first, and chooses then. *)
Definition repair_by (k : kernel) (truncate : bool) (m : mem) : refusal + list op :=
  match check m with Some r => inl r | None => inr (program (choice k m) truncate m) end.

(** ** What each way needs of a page, so that its own program runs and not the fallback by runs *)
Definition suits (a : algorithm) (m : mem) : bool :=
  let sorted := presorted (pd_special m) (items m) in
  match a with
  | PG13 | PG14 | Area | Gather None => true
  | Gather (Some w) => (w =? 0) || windows_fit m (Some w)
  | Squeeze => sorted && (LINE <=? new_upper_of m)
  | Permute w few => (length (items m) <=? few)%nat && (Z.of_nat few <? REGISTERS) && registers_fit m w
  | Slide w => sorted && registers_fit m w
  | SlidePairs => sorted && registers_fit m PAIR
  | Runs _ => sorted
  | Climb n => sorted && pieces_fit m n
  | Lines => LINE <=? new_upper_of m
  | ByDepth => LINE <=? pd_upper m + 8
  | Slots => slots_fit m
  end.
