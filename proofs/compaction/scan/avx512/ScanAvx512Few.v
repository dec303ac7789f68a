(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of at most 16 line pointers in csrc/compaction/avx512vbmi2.c, register by register

    [scan_few] and its helpers, in C's order and under C's names.  A register is a list of bytes, an intrinsic has the meaning that
    the table of instructions/ gives it and that is run against the CPU, and a [uint32_t] is a number.  Arrays are of numbers, from
    0 on; what C leaves uninitialised is an argument.  The registers stand in two records, each with what C computes between two
    comments, so that a proof can speak of them one by one. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Table.
From Pgquern.compaction Require Import Page.
From Pgquern.compaction Require Scan ScanAvx512.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Notation LINE := ScanAvx512.LINE.
Notation LANES := ScanAvx512.LANES.
Definition FEW : Z := 16.
Notation MAX_LINE_POINTERS := ScanAvx512.MAX_LINE_POINTERS.
Notation LP_OFF_MASK := ScanAvx512.LP_OFF_MASK.

(** [(uint32_t)x], [(uint16_t)x]; [(__mmask16)m] of a mask for 32 lanes. *)
Definition u32 (x : Z) : Z := x mod 4294967296.
Definition u16 (x : Z) : Z := x mod 65536.
Definition mask16 (m : bytes) : bytes := firstn 2 m.

Definition set1 (x : Z) : bytes := intrinsic "_mm512_set1_epi32" [bytes_of 4 x].
Notation setzero := ScanAvx512.setzero.
Definition and (a b : bytes) : bytes := intrinsic "_mm512_and_si512" [a; b].
Definition or (a b : bytes) : bytes := intrinsic "_mm512_or_si512" [a; b].
Definition add (a b : bytes) : bytes := intrinsic "_mm512_add_epi32" [a; b].
Definition sub (a b : bytes) : bytes := intrinsic "_mm512_sub_epi32" [a; b].
Definition narrow (a : bytes) : bytes := intrinsic "_mm512_cvtepi32_epi16" [a].
Notation popcnt := ScanAvx512.popcnt.
Notation tzcnt := ScanAvx512.tzcnt.
Notation lzcnt := ScanAvx512.lzcnt.

(** ** Loads and stores *)
Notation load_page := ScanAvx512.load_page.
(** Sixteen lanes of [w] bytes, to an array's beginning. *)
Definition store (w : nat) (a : nat -> Z) (r : bytes) : nat -> Z := fun k => if (k <? 16)%nat then nth k (lanes w r) 0 else a k.
(** The first [n] elements are in an array. *)
Definition fits (n : Z) : bool := n <=? MAX_LINE_POINTERS + LANES.

(** ** Helpers *)
Definition pack_dwords (m v : bytes) : bytes := intrinsic "vpcompressd" [m; v].

Definition first_lanes (n : Z) : bytes := intrinsic "_bzhi_u32" [bytes_of 4 4294967295; bytes_of 4 (if n <? LANES then n else LANES)].

Definition prefix_sums_of_dwords (v : bytes) : bytes :=
  let zero := setzero in
  let sums := add v (intrinsic "_mm512_bslli_epi128 4" [v]) in
  let sums := add sums (intrinsic "_mm512_bslli_epi128 8" [sums]) in
  let below := intrinsic "_mm512_shuffle_epi32 255" [sums] in
  let sums := add sums (intrinsic "_mm512_alignr_epi64 6" [below; zero]) in
  add sums (add (intrinsic "_mm512_alignr_epi64 4" [below; zero]) (intrinsic "_mm512_alignr_epi64 2" [below; zero])).

(** ** [scan_few] *)

(** The line pointers: those that are used, those with storage, lp_off and the aligned lengths of these, and where each must start. *)
Record taken := Taken { words : bytes; used : bytes; stored : bytes; off : bytes; len : bytes; new_off : bytes }.

Definition take (m : mem) : taken :=
  let words := load_page m HEADER_SIZE in
  let used := intrinsic "_mm512_mask_test_epi32_mask" [mask16 (first_lanes (nline m)); words; set1 (Z.shiftl 3 15)] in
  let stored := intrinsic "_mm512_mask_cmpgt_epu32_mask" [used; words; set1 (Z.shiftl 1 17 - 1)] in
  let off := intrinsic "_mm512_maskz_and_epi32" [stored; words; set1 LP_OFF_MASK] in
  let len := intrinsic "_mm512_maskz_add_epi32" [stored; intrinsic "_mm512_srli_epi32 17" [words]; set1 7] in
  let len := and len (set1 (Z.lnot 7)) in
  let new_off := sub (set1 (pd_special m)) (prefix_sums_of_dwords len) in
  Taken words used stored off len new_off.

(** A fault shows in the sign bit. *)
Definition out_of_bounds (m : mem) (t : taken) : bool :=
  let special := set1 (pd_special m) in
  let outside := or (sub (off t) (set1 (pd_upper m))) (sub special (add (off t) (len t))) in
  negb (Z.lor (Lanes.number (intrinsic "_mm512_mask_cmplt_epi32_mask" [stored t; outside; setzero]))
              (Lanes.number (intrinsic "_mm512_test_epi32_mask" [off t; set1 7])) =? 0).

(** Of each tuple where it must end, and above that by how much it moves; against the one before it. *)
Record compared := Compared { count : Z; total_of : Z; upper : Z; tuples : bytes; gaps : bytes; falls : bytes }.

Definition compare (m : mem) (t : taken) : compared :=
  let low := set1 65535 in
  let tuples := or (intrinsic "_mm512_slli_epi32 16" [sub (new_off t) (off t)]) (add (new_off t) (len t)) in
  let tuples := pack_dwords (stored t) tuples in
  let nitems := popcnt (Lanes.number (stored t)) in
  let last := Lanes.number (intrinsic "_mm_extract_epi32 3" [intrinsic "_mm512_extracti32x4_epi32 3" [new_off t]]) in
  let total := u32 (pd_special m - last) in
  let new_upper := u32 (pd_special m - total) in
  let there := mask16 (first_lanes nitems) in
  let tuples := intrinsic "_mm512_mask_mov_epi32" [set1 new_upper; there; tuples] in
  let before := intrinsic "_mm512_alignr_epi32 15" [tuples; setzero] in
  let gaps := intrinsic "_mm512_mask_cmpgt_epi32_mask" [there; tuples; or before low] in
  let falls := intrinsic "_mm512_mask_cmpgt_epi32_mask" [there; before; or tuples low] in
  Compared nitems total new_upper tuples gaps falls.

(** The line pointers to be. *)
Definition new_words (t : taken) : bytes :=
  let words := intrinsic "_mm512_mask_ternarylogic_epi32 216" [words t; stored t; new_off t; set1 LP_OFF_MASK] in
  intrinsic "_mm512_maskz_mov_epi32" [used t; words].

Record scan := Scan {
  words_to_be : nat -> Z; new_ends : nat -> Z; old_ends : nat -> Z; run_ends : nat -> Z; run_old_ends : nat -> Z;
  nitems : Z; used_count : Z; left_count : Z; total_length : Z; upper_to_be : Z; longest_length : Z; shortest_length : Z;
  ngaps : Z; first_moved : Z; is_out_of_bounds : bool; is_falling : bool; stays_inside : bool }.

(** What the arrays hold before: nobody knows. *)
Record dirt := Dirt {
  dirty_words : nat -> Z; dirty_ends : nat -> Z; dirty_old_ends : nat -> Z; dirty_run_ends : nat -> Z; dirty_run_old_ends : nat -> Z }.

Definition scan_few (m : mem) (d : dirt) : scan :=
  let t := take m in
  let c := compare m t in
  let is_falling := negb (Lanes.number (falls c) =? 0) in
  let ngaps := popcnt (Lanes.number (gaps c)) in
  let first := tzcnt (Z.lor (Lanes.number (gaps c)) (Lanes.number (falls c))) in
  let words := store 4 (dirty_words d) (new_words t) in
  let nused := popcnt (Lanes.number (used t)) in
  let nline_left := 32 - lzcnt (Lanes.number (used t)) in
  let longest := Lanes.number (intrinsic "_mm512_reduce_max_epu32" [len t]) in
  let inside := (HEADER_SIZE + LINE <=? BLCKSZ) && fits FEW && fits (FEW + 1) in
  let found ends old_ends run_ends run_old_ends :=
    Scan words ends old_ends run_ends run_old_ends (count c) nused nline_left (total_of c) (upper c) longest 0
      ngaps first (out_of_bounds m t) is_falling inside in
  if (ngaps =? 0) && negb is_falling
  then found (dirty_ends d) (dirty_old_ends d) (dirty_run_ends d) (dirty_run_old_ends d)
  else
    let old_ends := sub (tuples c) (intrinsic "_mm512_srli_epi32 16" [tuples c]) in
    found
      (Scan.put (store 2 (dirty_ends d) (narrow (tuples c))) (Z.to_nat FEW) (u16 (upper c)))
      (Scan.put (store 2 (dirty_old_ends d) (narrow old_ends)) (Z.to_nat FEW) (u16 (upper c)))
      (store 2 (dirty_run_ends d) (narrow (pack_dwords (gaps c) (tuples c))))
      (store 2 (dirty_run_old_ends d) (narrow (pack_dwords (gaps c) old_ends))).

(** [presorted]: [count] tuples from the [i]-th on, the one before which starts at [above]. *)
Fixpoint falls_from (ends old_ends : nat -> Z) (i count : nat) (above : Z) : bool :=
  match count with
  | O => true
  | S count =>
      let off := old_ends i - (ends i - ends (S i)) in
      if above <=? off then false else falls_from ends old_ends (S i) count off
  end.
Definition presorted (s : scan) : bool := falls_from (new_ends s) (old_ends s) 0 (Z.to_nat (nitems s)) BLCKSZ.

(** pgq_compaction_avx512: when it leaves the page to [scalar], which names the fault. *)
Definition refused (m : mem) (s : scan) : bool :=
  is_out_of_bounds s || (MAX_HEAP_TUPLES_PER_PAGE <? nitems s) || (pd_special m - pd_lower m <? total_length s) ||
  (is_falling s && presorted s).

(** ** What the arrays must hold, in item order *)

(** Where each tuple must end, the first of them at [top], and where it ends now. *)
Fixpoint end_list (its : list item) (top : Z) : list (Z * Z) :=
  match its with [] => [] | it :: r => (top, stop it) :: end_list r (top - Page.len it) end.

(** The same of those that move further than the one before them, which starts at [above]: with each a run begins. *)
Fixpoint run_list (its : list item) (above top : Z) : list (Z * Z) :=
  match its with
  | [] => []
  | it :: r => (if stop it <? above then [(top, stop it)] else []) ++ run_list r (Page.off it) (top - Page.len it)
  end.
