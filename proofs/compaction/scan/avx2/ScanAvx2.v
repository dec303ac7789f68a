(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of csrc/compaction/avx2.c, register by register

    The functions have C's names and stand in C's order.  A register is a list of bytes, an intrinsic has the meaning that the
    table of instructions/ gives it and that is run against the CPU, and a [uint32_t] is a number.  Arrays are of words of 32
    bits, from 0 on, as in Scan.v; what C leaves uninitialised is an argument.  A load or a store of 32 bytes takes or puts
    eight words of an array.  [inside] says that all of them lay in their array, or in the page, so far. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Table Program.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require Choice Scan.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Definition LANES : Z := 16.
Definition HALF : Z := 8.
Definition VECTOR : Z := 32.
Definition MAX_LINE_POINTERS : Z := 2042.
Definition LP_OFF_MASK : Z := 32767.

Definition set1_epi16 (x : Z) : bytes := intrinsic "_mm256_set1_epi16" [bytes_of 2 x].
Definition set1_epi32 (x : Z) : bytes := intrinsic "_mm256_set1_epi32" [bytes_of 4 x].
Definition setzero : bytes := intrinsic "_mm256_setzero_si256" [].
Definition and (a b : bytes) : bytes := intrinsic "_mm256_and_si256" [a; b].
Definition or (a b : bytes) : bytes := intrinsic "_mm256_or_si256" [a; b].
Definition xor (a b : bytes) : bytes := intrinsic "_mm256_xor_si256" [a; b].
Definition andnot (a b : bytes) : bytes := intrinsic "_mm256_andnot_si256" [a; b].
Definition popcnt (x : Z) : Z := Lanes.number (intrinsic "_mm_popcnt_u32" [bytes_of 4 x]).
Definition tzcnt (x : Z) : Z := Lanes.number (intrinsic "_tzcnt_u32" [bytes_of 4 x]).
Definition lzcnt (x : Z) : Z := Lanes.number (intrinsic "_lzcnt_u32" [bytes_of 4 x]).

(** ** Loads and stores *)
Definition load_page (m : mem) (a : Z) : bytes := map (fun k => m (a + Z.of_nat k)) (seq 0 32).
Definition load (a : nat -> Z) (i : nat) : bytes := register_of 4 (map a (seq i 8)).
Definition store (a : nat -> Z) (i : nat) (r : bytes) : nat -> Z :=
  fun k => if (i <=? k)%nat && (k <? i + 8)%nat then nth (k - i) (lanes 4 r) 0 else a k.
(** Eight words from the [i]-th on are in an array of [size]. *)
Definition fits (i : nat) (size : Z) : bool := Z.of_nat i + HALF <=? size.

(** ** Helpers *)

(** [low_halves], [high_halves]. *)
Definition low_halves (a b : bytes) : bytes :=
  let mask := set1_epi32 65535 in
  intrinsic "_mm256_permute4x64_epi64 216" [intrinsic "_mm256_packus_epi32" [and a mask; and b mask]].
Definition high_halves (a b : bytes) : bytes :=
  intrinsic "_mm256_permute4x64_epi64 216"
    [intrinsic "_mm256_packus_epi32" [intrinsic "_mm256_srli_epi32 16" [a]; intrinsic "_mm256_srli_epi32 16" [b]]].

Definition zip (low high : bytes) : bytes * bytes :=
  let a := intrinsic "_mm256_unpacklo_epi16" [low; high] in
  let b := intrinsic "_mm256_unpackhi_epi16" [low; high] in
  (intrinsic "_mm256_permute2x128_si256 32" [a; b], intrinsic "_mm256_permute2x128_si256 49" [a; b]).

Definition spread_last_word (v : bytes) : bytes := intrinsic "_mm256_shuffle_epi8" [v; set1_epi16 0x0f0e].

Definition prefix_sums (v : bytes) : bytes :=
  let v := intrinsic "_mm256_add_epi16" [v; intrinsic "_mm256_slli_si256 2" [v]] in
  let v := intrinsic "_mm256_add_epi16" [v; intrinsic "_mm256_slli_si256 4" [v]] in
  let v := intrinsic "_mm256_add_epi16" [v; intrinsic "_mm256_slli_si256 8" [v]] in
  let below := spread_last_word v in
  intrinsic "_mm256_add_epi16" [v; intrinsic "_mm256_permute2x128_si256 8" [below; below]].

Definition lane_bits (mask : bytes) : Z :=
  let bytes := intrinsic "_mm256_packs_epi16" [mask; setzero] in
  Lanes.number (intrinsic "_mm256_movemask_epi8" [intrinsic "_mm256_permute4x64_epi64 216" [bytes]]).

Definition max_of_lanes (v : bytes) : Z :=
  let m := intrinsic "_mm_max_epu16"
    [intrinsic "_mm256_castsi256_si128" [v]; intrinsic "_mm256_extracti128_si256 1" [v]] in
  Z.lxor 65535 (Lanes.number (intrinsic "_mm_extract_epi16 0"
    [intrinsic "_mm_minpos_epu16" [intrinsic "_mm_xor_si128" [m; intrinsic "_mm_set1_epi16" [bytes_of 2 (-1)]]]])).

Definition sum_of_lanes (v : bytes) : Z :=
  let s := intrinsic "_mm_add_epi32"
    [intrinsic "_mm256_castsi256_si128" [v]; intrinsic "_mm256_extracti128_si256 1" [v]] in
  let s := intrinsic "_mm_add_epi32" [s; intrinsic "_mm_shuffle_epi32 78" [s]] in
  Lanes.number (intrinsic "_mm_cvtsi128_si32" [intrinsic "_mm_add_epi32" [s; intrinsic "_mm_shuffle_epi32 177" [s]]]).

Definition any (mask : bytes) : bool := Lanes.number (intrinsic "_mm256_testz_si256" [mask; mask]) =? 0.

(** [pack]; [left_packing] is common/left_pack.h. *)
Definition pack (m : Z) (v : bytes) : bytes :=
  intrinsic "_mm256_permutevar8x32_epi32" [v; left_packing (firstn 8 (bits (bytes_of 4 m)))].

(** ** Each tuple against the one before it *)
Record survey := Survey {
  unsorted_lanes : bytes; overlapping_lanes : bytes; gap_words : nat -> Z; next_gap : nat; first_gap : Z; gaps_inside : bool }.

Definition compare_tuples (v : survey) (i n : Z) (tuple before : bytes) : survey :=
  let numbers := intrinsic "_mm256_set_epi32" [register_of 4 [7; 6; 5; 4; 3; 2; 1; 0]] in
  let mask := set1_epi32 65535 in
  let there := intrinsic "_mm256_cmpgt_epi32" [set1_epi32 n; numbers] in
  let off := and tuple mask in
  let above := and before mask in
  let end_ := intrinsic "_mm256_add_epi32" [off; intrinsic "_mm256_srli_epi32 16" [tuple]] in
  let gap := andnot (intrinsic "_mm256_cmpeq_epi32" [end_; above]) there in
  let bits := Lanes.number (intrinsic "_mm256_movemask_ps" [intrinsic "_mm256_castsi256_ps" [gap]]) in
  Survey
    (or (unsorted_lanes v) (andnot (intrinsic "_mm256_cmpgt_epi32" [above; off]) there))
    (or (overlapping_lanes v) (and (intrinsic "_mm256_cmpgt_epi32" [end_; above]) there))
    (store (gap_words v) (next_gap v) (pack bits (or end_ (intrinsic "_mm256_slli_epi32 16" [above]))))
    (next_gap v + Z.to_nat (popcnt bits))
    (if (next_gap v =? 0)%nat then i + tzcnt bits else first_gap v)
    (gaps_inside v && fits (next_gap v) (MAX_LINE_POINTERS + HALF)).

(** [survey_tuples], from [i] on; [inside] of what is loaded goes with it. *)
Fixpoint survey_tuples (fuel : nat) (tuples : nat -> Z) (nitems i : Z) (v : survey) : survey :=
  match fuel with
  | O => v
  | S fuel =>
      if i <? nitems then
        let at_ := Z.to_nat i in
        let v := compare_tuples v i (nitems - i) (load tuples (1 + at_)) (load tuples at_) in
        survey_tuples fuel tuples nitems (i + HALF)
          (Survey (unsorted_lanes v) (overlapping_lanes v) (gap_words v) (next_gap v) (first_gap v)
             (gaps_inside v && fits (1 + at_) (1 + MAX_LINE_POINTERS + LANES)))
      else v
  end.

Definition survey_few (nitems : Z) (v : survey) (m : Z) (a b : bytes) (special : Z) : survey :=
  let lane_before := intrinsic "_mm256_set_epi32" [register_of 4 [6; 5; 4; 3; 2; 1; 0; 7]] in
  let n := popcnt (Z.land m 255) in
  let last := set1_epi32 special in
  let count := set1_epi32 n in
  let a := pack (Z.land m 255) a in
  let b := pack (Z.shiftr m 8) b in
  let before := intrinsic "_mm256_permutevar8x32_epi32" [a; lane_before] in
  let v := compare_tuples v 0 n a (intrinsic "_mm256_blend_epi32 1" [before; last]) in
  let last := intrinsic "_mm256_blendv_epi8"
    [last;
     intrinsic "_mm256_permutevar8x32_epi32" [a; intrinsic "_mm256_sub_epi32" [count; set1_epi32 1]];
     intrinsic "_mm256_cmpgt_epi32" [count; setzero]] in
  let before := intrinsic "_mm256_permutevar8x32_epi32" [b; lane_before] in
  compare_tuples v n (nitems - n) b (intrinsic "_mm256_blend_epi32 1" [before; last]).

(** ** What the scan knows of all tuples so far *)
Record extremes := Extremes { lows : bytes; ends : bytes; offs : bytes; longests : bytes; totals : bytes }.

Definition note_bounds (x : extremes) (stored off len : bytes) : extremes :=
  let low := or off (xor stored (set1_epi16 (-1))) in
  Extremes
    (intrinsic "_mm256_min_epu16" [lows x; low])
    (intrinsic "_mm256_max_epu16" [ends x; intrinsic "_mm256_add_epi16" [off; len]])
    (or (offs x) off)
    (intrinsic "_mm256_max_epu16" [longests x; len])
    (intrinsic "_mm256_add_epi32" [totals x; intrinsic "_mm256_madd_epi16" [len; set1_epi16 1]]).

Definition out_of_bounds (x : extremes) (pd_upper pd_special : Z) : bool :=
  let upper := set1_epi16 pd_upper in
  let special := set1_epi16 pd_special in
  let bad := xor (intrinsic "_mm256_min_epu16" [lows x; upper]) upper in
  let bad := or bad (xor (intrinsic "_mm256_max_epu16" [ends x; special]) special) in
  any (or bad (and (offs x) (set1_epi16 7))).

(** ** The loop *)
Record state := State {
  words : nat -> Z; tuples : nat -> Z; next : nat;
  base : bytes; first : bytes; second : bytes; bounds : extremes;
  stored_bits : Z; nused : Z; nline_left : Z; inside : bool }.

(** [store_tuples]: the array, the place past the last one, and whether it is inside. *)
Definition store_tuples (to : nat -> Z) (at_ : nat) (stored : Z) (first second : bytes) : (nat -> Z) * nat * bool :=
  let to := store to at_ (pack (Z.land stored 255) first) in
  let ok := fits at_ (1 + MAX_LINE_POINTERS + LANES) in
  let at_ := (at_ + Z.to_nat (popcnt (Z.land stored 255)))%nat in
  let to := store to at_ (pack (Z.shiftr stored 8) second) in
  let ok := ok && fits at_ (1 + MAX_LINE_POINTERS + LANES) in
  (to, at_ + Z.to_nat (popcnt (Z.shiftr stored 8)), ok)%nat.

Definition used_lanes (low high : bytes) : bytes :=
  let one := set1_epi16 1 in
  or (intrinsic "_mm256_srai_epi16 15" [low]) (intrinsic "_mm256_cmpeq_epi16" [and high one; one]).

(** The body of the loop in [scan_line_pointers]. *)
Definition round (m : mem) (nline i : Z) (s : state) : state :=
  let off_mask := set1_epi16 LP_OFF_MASK in
  let numbers := intrinsic "_mm256_set_epi16" [register_of 2 [15; 14; 13; 12; 11; 10; 9; 8; 7; 6; 5; 4; 3; 2; 1; 0]] in
  let from := HEADER_SIZE + 4 * i in
  let words0 := load_page m from in
  let words1 := load_page m (from + VECTOR) in
  let there := intrinsic "_mm256_cmpgt_epi16" [set1_epi16 (nline - i); numbers] in
  let low := low_halves words0 words1 in
  let high := high_halves words0 words1 in
  let used := and (used_lanes low high) there in
  let len := intrinsic "_mm256_srli_epi16 1" [high] in
  let stored := andnot (intrinsic "_mm256_cmpeq_epi16" [len; setzero]) used in
  let len := and (intrinsic "_mm256_add_epi16" [len; set1_epi16 7]) (set1_epi16 (Z.lnot 7)) in
  let len := and len stored in
  let off := and (and low off_mask) stored in
  let x := note_bounds (bounds s) stored off len in
  let new_off := intrinsic "_mm256_sub_epi16" [base s; prefix_sums len] in
  let base := intrinsic "_mm256_permute4x64_epi64 255" [spread_last_word new_off] in
  let new_off := or (andnot off_mask low) (and new_off off_mask) in
  let low := and (intrinsic "_mm256_blendv_epi8" [low; new_off; stored]) used in
  let high := and high used in
  let '(first, second) := zip low high in
  let at_ := Z.to_nat i in
  let w := store (store (words s) at_ first) (at_ + 8) second in
  let '(first, second) := zip off len in
  let stored_bits := lane_bits stored in
  let '(t, next, ok) := store_tuples (tuples s) (next s) stored_bits first second in
  let used_bits := lane_bits used in
  State w t next base first second x stored_bits
    (nused s + popcnt used_bits)
    (if used_bits =? 0 then nline_left s else i + 32 - lzcnt used_bits)
    (inside s && (from + 2 * VECTOR <=? BLCKSZ) && fits (at_ + 8) (MAX_LINE_POINTERS + LANES) && ok).

Fixpoint rounds (fuel : nat) (m : mem) (nline i : Z) (s : state) : state :=
  match fuel with
  | O => s
  | S fuel => if i <? nline then rounds fuel m nline (i + LANES) (round m nline i s) else s
  end.

(** [scan_line_pointers], and [put_survey]. *)
Record scan := Scan {
  words_to_be : nat -> Z; found_tuples : nat -> Z; found_gaps : nat -> Z;
  nitems : Z; used_count : Z; left_count : Z; total_length : Z; longest_length : Z; ngaps : Z; first_moved : Z;
  is_out_of_bounds : bool; is_unsorted : bool; is_overlapping : bool; stays_inside : bool }.

(** What the arrays hold before: nobody knows. *)
Record dirt := Dirt { old_words : nat -> Z; old_tuples : nat -> Z; old_gaps : nat -> Z }.

Definition scan_line_pointers (m : mem) (d : dirt) (few : bool) : scan :=
  let n := nline m in
  let special := pd_special m in
  let zero := setzero in
  let s := rounds (Z.to_nat n) m n 0
    (State (old_words d) (fun k => if (k =? 0)%nat then special else old_tuples d k) 1
       (set1_epi16 special) zero zero (Extremes (set1_epi16 (-1)) zero zero zero zero) 0 0 0 true) in
  let nitems := Z.of_nat (next s) - 1 in
  let v := Survey zero zero (old_gaps d) 0 0 true in
  let v := if few then survey_few nitems v (stored_bits s) (first s) (second s) special
           else survey_tuples (Z.to_nat nitems) (tuples s) nitems 0 v in
  Scan (words s) (tuples s) (gap_words v) nitems (nused s) (nline_left s)
    (sum_of_lanes (totals (bounds s))) (max_of_lanes (longests (bounds s)))
    (Z.of_nat (next_gap v)) (first_gap v)
    (out_of_bounds (bounds s) (pd_upper m) special) (any (unsorted_lanes v)) (any (overlapping_lanes v))
    (inside s && gaps_inside v).

(** pgq_compaction_avx2: which scan, and when it leaves the page to [scalar], which names the fault. *)
Definition scanned (m : mem) (d : dirt) : scan := scan_line_pointers m d (nline m <=? LANES).
Definition refused (m : mem) (s : scan) : bool :=
  is_out_of_bounds s || (MAX_HEAP_TUPLES_PER_PAGE <? nitems s) || (pd_special m - pd_lower m <? total_length s) ||
  (is_overlapping s && negb (is_unsorted s)).
(** [tuple_off] and [tuple_len] of the [i]-th tuple. *)
Definition tuple_off (s : scan) (i : nat) : Z := Z.land (found_tuples s (1 + i)) 65535.
Definition tuple_len (s : scan) (i : nat) : Z := Z.shiftr (found_tuples s (1 + i)) 16.

(** ** What is done with it *)

(** [find_slots]. *)
Definition find_slots (m : mem) (s : scan) : bool :=
  let all := seq 0 (Z.to_nat (nitems s)) in
  let below i := pd_special m - tuple_off s i in
  (SHORTEST_IN_SLOTS <=? longest_length s) && (total_length s =? nitems s * longest_length s) &&
  forallb (fun i => is_slot (longest_length s) (below i)) all &&
  distinct (map (fun i => Z.to_nat (slot_below (longest_length s) (below i))) all).

(** [move_tuples], test by test: the way that it takes. *)
Definition way (m : mem) (s : scan) : algorithm :=
  let small := (longest_length s <=? 64) && (64 <=? pd_upper m + 8) in
  let vectors := longest_length s <=? 32 in
  if vectors && (nitems s <=? LANES) then Permute 32 (Z.to_nat (nitems s))
  else if negb (is_unsorted s) && (negb small || (ngaps s <=? nitems s / 16)) then Runs false
  else if vectors && negb (is_unsorted s) then Slide 32
  else if small || ((longest_length s <=? Choice.WIDEST) && (Choice.WIDEST <=? pd_upper m + 8))
  then Gather (Some (Choice.window (longest_length s)))
  else if find_slots m s then Slots
  else if 3 * (pd_special m - pd_upper m) <=? 4 * total_length s then Area
  else Gather None.

(** [put_line_pointers]; C stores eight words at a time, some of them twice. *)
Definition put_line_pointers (m : mem) (s : scan) : list op :=
  map (fun i => Store32 (HEADER_SIZE + 4 * Z.of_nat i) (words_to_be s i)) (seq 0 (Z.to_nat (nline m))).

(** What the array [gaps] must hold, in item order: where a tuple ends that leaves a gap, and lp_off of the one before it. *)
Fixpoint gap_list (its : list item) (above : Z) : list (Z * Z) :=
  match its with [] => [] | it :: r => (if stop it =? above then [] else [(stop it, above)]) ++ gap_list r (off it) end.
