(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of csrc/compaction/avx512vbmi2.c, register by register: [scan_line_pointers], for more than 16 line pointers

    The functions have C's names and stand in C's order.  A register is a list of bytes, an intrinsic has the meaning that the
    table of instructions/ gives it and that is run against the CPU; a mask, a [uint32_t] and a [uint16_t] are numbers.  What C
    leaves uninitialised in its arrays is an argument.  [inside] says that all of what is loaded and stored lay in its array, or in
    the page, so far. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Table.
From Pgquern.compaction Require Import Page.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Definition LINE : Z := 64.
Definition LANES : Z := 32.
Definition UNIT : Z := 8.
Definition MAX_LINE_POINTERS : Z := 2042.
Definition LP_OFF_MASK : Z := 32767.

(** ** Intrinsics, by their names without the prefix *)
Definition set1_epi16 (x : Z) : bytes := intrinsic "_mm512_set1_epi16" [bytes_of 2 x].
Definition set_epi16 (xs : list Z) : bytes := intrinsic "_mm512_set_epi16" [register_of 2 xs].
Definition setzero : bytes := intrinsic "_mm512_setzero_si512" [].
Definition add_epi16 (a b : bytes) : bytes := intrinsic "_mm512_add_epi16" [a; b].
Definition sub_epi16 (a b : bytes) : bytes := intrinsic "_mm512_sub_epi16" [a; b].
Definition and_si512 (a b : bytes) : bytes := intrinsic "_mm512_and_si512" [a; b].
Definition max_epu16 (a b : bytes) : bytes := intrinsic "_mm512_max_epu16" [a; b].
Definition xor_si512 (a b : bytes) : bytes := intrinsic "_mm512_xor_si512" [a; b].
Definition permutexvar_epi16 (index a : bytes) : bytes := intrinsic "_mm512_permutexvar_epi16" [index; a].
Definition permutex2var_epi16 (a index b : bytes) : bytes := intrinsic "_mm512_permutex2var_epi16" [a; index; b].

(** A mask as an operand, and as a result. *)
Definition mask (k : Z) : bytes := bytes_of 4 k.
Definition maskz_mov_epi16 (k : Z) (a : bytes) : bytes := intrinsic "_mm512_maskz_mov_epi16" [mask k; a].
Definition mask_mov_epi16 (source : bytes) (k : Z) (a : bytes) : bytes := intrinsic "_mm512_mask_mov_epi16" [source; mask k; a].
Definition mask_min_epu16 (source : bytes) (k : Z) (a b : bytes) : bytes :=
  intrinsic "_mm512_mask_min_epu16" [source; mask k; a; b].
Definition test_epi16_mask (a b : bytes) : Z := Lanes.number (intrinsic "_mm512_test_epi16_mask" [a; b]).
Definition movepi16_mask (a : bytes) : Z := Lanes.number (intrinsic "_mm512_movepi16_mask" [a]).
Definition cmplt_epu16_mask (a b : bytes) : Z := Lanes.number (intrinsic "_mm512_cmplt_epu16_mask" [a; b]).
Definition cmpgt_epu16_mask (a b : bytes) : Z := Lanes.number (intrinsic "_mm512_cmpgt_epu16_mask" [a; b]).
Definition mask_cmpgt_epu16_mask (k : Z) (a b : bytes) : Z := Lanes.number (intrinsic "_mm512_mask_cmpgt_epu16_mask" [mask k; a; b]).
Definition mask_cmpgt_epi16_mask (k : Z) (a b : bytes) : Z := Lanes.number (intrinsic "_mm512_mask_cmpgt_epi16_mask" [mask k; a; b]).
Definition mask_cmplt_epi16_mask (k : Z) (a b : bytes) : Z := Lanes.number (intrinsic "_mm512_mask_cmplt_epi16_mask" [mask k; a; b]).
Definition popcnt (x : Z) : Z := Lanes.number (intrinsic "_mm_popcnt_u32" [bytes_of 4 x]).
Definition tzcnt (x : Z) : Z := Lanes.number (intrinsic "_tzcnt_u32" [bytes_of 4 x]).
Definition lzcnt (x : Z) : Z := Lanes.number (intrinsic "_lzcnt_u32" [bytes_of 4 x]).

(** ** Loads and stores of a whole register: of the page's bytes, and of an array of numbers of [w] bytes *)
Definition load_page (m : mem) (a : Z) : bytes := map (fun k => m (a + Z.of_nat k)) (seq 0 64).
Definition store (w : nat) (a : nat -> Z) (i : nat) (r : bytes) : nat -> Z :=
  let l := lanes w r in fun k => if (i <=? k)%nat && (k <? i + length l)%nat then nth (k - i) l 0 else a k.
(** [count] numbers from the [i]-th on are in an array of [size]. *)
Definition fits (i : nat) (count size : Z) : bool := Z.of_nat i + count <=? size.

(** ** Helpers *)
Definition pack (k : Z) (v : bytes) : bytes := intrinsic "vpcompressw" [mask k; v].

Definition first_lanes (n : Z) : Z :=
  Lanes.number (intrinsic "_bzhi_u32" [bytes_of 4 4294967295; bytes_of 4 (if n <? LANES then n else LANES)]).

Definition prefix_sums (v : bytes) : bytes :=
  let v := add_epi16 v (intrinsic "_mm512_bslli_epi128 2" [v]) in
  let v := add_epi16 v (intrinsic "_mm512_bslli_epi128 4" [v]) in
  let v := add_epi16 v (intrinsic "_mm512_bslli_epi128 8" [v]) in
  let sums := intrinsic "_mm512_shuffle_epi8" [v; set1_epi16 0x0f0e] in
  let below := add_epi16 (intrinsic "_mm512_alignr_epi64 6" [sums; setzero]) (intrinsic "_mm512_alignr_epi64 4" [sums; setzero]) in
  let v := add_epi16 v (intrinsic "_mm512_alignr_epi64 2" [sums; setzero]) in
  add_epi16 v below.

Definition max_of_lanes (v : bytes) : Z :=
  let a := intrinsic "_mm256_max_epu16" [intrinsic "_mm512_castsi512_si256" [v]; intrinsic "_mm512_extracti64x4_epi64 1" [v]] in
  let b := intrinsic "_mm_max_epu16" [intrinsic "_mm256_castsi256_si128" [a]; intrinsic "_mm256_extracti128_si256 1" [a]] in
  65535 - Lanes.number (intrinsic "_mm_extract_epi16 0"
    [intrinsic "_mm_minpos_epu16" [intrinsic "_mm_xor_si128" [b; intrinsic "_mm_set1_epi16" [bytes_of 2 (-1)]]]]).

(** ** What the scan knows of all tuples so far *)
Record extremes := Extremes { lows : bytes; highs : bytes; offs : bytes; longests : bytes; shortests : bytes; totals : bytes }.

Definition note_bounds (x : extremes) (stored : Z) (off len : bytes) : extremes :=
  Extremes
    (mask_min_epu16 (lows x) stored (lows x) off)
    (max_epu16 (highs x) (add_epi16 off len))
    (intrinsic "_mm512_or_si512" [offs x; off])
    (max_epu16 (longests x) len)
    (mask_min_epu16 (shortests x) stored (shortests x) len)
    (intrinsic "_mm512_add_epi32" [totals x; intrinsic "_mm512_madd_epi16" [len; set1_epi16 1]]).

(** [store_words], to the [i]-th word on. *)
Definition store_words (words : nat -> Z) (i : nat) (low high : bytes) : nat -> Z :=
  let zip_low := set_epi16 [47; 15; 46; 14; 45; 13; 44; 12; 43; 11; 42; 10; 41; 9; 40; 8; 39; 7; 38; 6; 37; 5; 36; 4; 35; 3; 34; 2; 33; 1; 32; 0] in
  let zip_high := add_epi16 zip_low (set1_epi16 16) in
  store 4 (store 4 words i (permutex2var_epi16 low zip_low high)) (i + 16) (permutex2var_epi16 low zip_high high).

(** ** The state between two vectors of line pointers: [scan]'s arrays, and [survey] *)
Record arrays := Arrays {
  words : nat -> Z; ends : nat -> Z; old_ends : nat -> Z; shifts : nat -> Z; run_ends : nat -> Z; run_old_ends : nat -> Z; inside : bool }.
Record survey := Survey {
  base : bytes; bounds : extremes; falls_seen : Z; items_seen : nat; used_seen : Z; left_seen : Z; gaps_seen : nat; first_seen : Z }.

(** [scan_vector]: those of the 32 line pointers from the [i]-th on that are in [there]. *)
Definition scan_vector (m : mem) (i there : Z) (a : arrays) (v : survey) : arrays * survey :=
  let even := set_epi16 [62; 60; 58; 56; 54; 52; 50; 48; 46; 44; 42; 40; 38; 36; 34; 32; 30; 28; 26; 24; 22; 20; 18; 16; 14; 12; 10; 8; 6; 4; 2; 0] in
  let odd := add_epi16 even (set1_epi16 1) in
  let lane_before := set_epi16 [30; 29; 28; 27; 26; 25; 24; 23; 22; 21; 20; 19; 18; 17; 16; 15; 14; 13; 12; 11; 10; 9; 8; 7; 6; 5; 4; 3; 2; 1; 0; 0] in
  let one := set1_epi16 1 in
  let last_lane := set1_epi16 (LANES - 1) in
  let from := HEADER_SIZE + 4 * i in
  let words0 := load_page m from in
  let words1 := load_page m (from + LINE) in
  let low := permutex2var_epi16 words0 even words1 in
  let high := permutex2var_epi16 words0 odd words1 in
  let used := Z.land there (Z.lor (test_epi16_mask high one) (movepi16_mask low)) in
  let stored := mask_cmpgt_epu16_mask used high one in
  let off := maskz_mov_epi16 stored (and_si512 low (set1_epi16 LP_OFF_MASK)) in
  let len := add_epi16 (intrinsic "_mm512_srli_epi16 1" [high]) (set1_epi16 7) in
  let n := popcnt stored in
  let len := maskz_mov_epi16 stored (and_si512 len (set1_epi16 (Z.lnot 7))) in
  let x := note_bounds (bounds v) stored off len in
  let sums := prefix_sums len in
  let new_off := sub_epi16 (base v) sums in
  let base := sub_epi16 (base v) (permutexvar_epi16 last_lane sums) in
  let low := mask_mov_epi16 low stored (intrinsic "_mm512_ternarylogic_epi32 216" [low; new_off; set1_epi16 LP_OFF_MASK]) in
  let low := maskz_mov_epi16 used low in
  let high := maskz_mov_epi16 used high in
  let shift := pack stored (sub_epi16 new_off off) in
  let before := intrinsic "_mm512_mask_permutexvar_epi16"
    [set1_epi16 (shifts a (items_seen v)); mask (4294967295 - 1); lane_before; shift] in
  let end_ := pack stored (add_epi16 new_off len) in
  let old_end := sub_epi16 end_ shift in
  let gaps := mask_cmpgt_epi16_mask (first_lanes n) shift before in
  let falls := mask_cmplt_epi16_mask (first_lanes n) shift before in
  let all_falls := Z.lor (falls_seen v) falls in
  let run_ends := if all_falls =? 0 then store 2 (run_ends a) (gaps_seen v) (pack gaps end_) else run_ends a in
  let run_old_ends := if all_falls =? 0 then store 2 (run_old_ends a) (gaps_seen v) (pack gaps old_end) else run_old_ends a in
  let size := MAX_LINE_POINTERS + LANES in
  (Arrays (store_words (words a) (Z.to_nat i) low high)
     (store 2 (ends a) (items_seen v) end_)
     (store 2 (old_ends a) (items_seen v) old_end)
     (store 2 (shifts a) (1 + items_seen v) shift)
     run_ends run_old_ends
     (inside a && (from + 2 * LINE <=? BLCKSZ) && fits (Z.to_nat i) LANES size && fits (items_seen v) LANES size &&
      fits (1 + items_seen v) LANES (1 + size) && (negb (all_falls =? 0) || fits (gaps_seen v) LANES size)),
   Survey base x all_falls
     (items_seen v + Z.to_nat n)
     (used_seen v + popcnt used)
     (if used =? 0 then left_seen v else i + LANES - lzcnt used)
     (gaps_seen v + Z.to_nat (popcnt gaps))
     (if Z.lor (Z.of_nat (gaps_seen v)) (falls_seen v) =? 0
      then Z.of_nat (items_seen v) + tzcnt (Z.lor gaps falls) else first_seen v)).

(** The loop of [scan_line_pointers]: the vectors all of whose line pointers are there; and where it ends. *)
Fixpoint whole_vectors (fuel : nat) (m : mem) (nline i : Z) (a : arrays) (v : survey) : Z * (arrays * survey) :=
  match fuel with
  | O => (i, (a, v))
  | S fuel =>
      if i + LANES <=? nline then
        let (a, v) := scan_vector m i 4294967295 a v in whole_vectors fuel m nline (i + LANES) a v
      else (i, (a, v))
  end.

(** [scan_line_pointers]. *)
Record scan := Scan {
  found : arrays; nitems : nat; nused : Z; nline_left : Z; total : Z; new_upper : Z; longest : Z; shortest : Z; ngaps : nat;
  first : Z; out_of_bounds : bool; falls : bool }.

Definition scan_line_pointers (m : mem) (old : arrays) : scan :=
  let special := pd_special m in
  let zero := setzero in
  let v := Survey (set1_epi16 special)
    (Extremes (set1_epi16 (-1)) zero zero zero (set1_epi16 (-1)) zero) 0 0 0 0 0 0 in
  let a := Arrays (words old) (ends old) (old_ends old) (fun k => if (k =? 0)%nat then 0 else shifts old k)
    (run_ends old) (run_old_ends old) true in
  let '(i, (a, v)) := whole_vectors (Z.to_nat (nline m)) m (nline m) 0 a v in
  let (a, v) := if i <? nline m then scan_vector m i (first_lanes (nline m - i)) a v else (a, v) in
  let x := bounds v in
  let total := Lanes.number (intrinsic "_mm512_reduce_add_epi32" [totals x]) in
  let size := MAX_LINE_POINTERS + LANES in
  Scan
    (Arrays (words a) (store 2 (ends a) (items_seen v) (base v)) (store 2 (old_ends a) (items_seen v) (base v)) (shifts a)
       (run_ends a) (run_old_ends a) (inside a && fits (items_seen v) LANES size))
    (items_seen v) (used_seen v) (left_seen v) total ((special - total) mod 4294967296)
    (max_of_lanes (longests x))
    (65535 - max_of_lanes (xor_si512 (shortests x) (set1_epi16 (-1))))
    (gaps_seen v) (first_seen v)
    (negb (Z.lor (Z.lor (cmplt_epu16_mask (lows x) (set1_epi16 (pd_upper m))) (cmpgt_epu16_mask (highs x) (set1_epi16 special)))
             (test_epi16_mask (offs x) (set1_epi16 (UNIT - 1))) =? 0))
    (negb (falls_seen v =? 0)).

(** ** What is done with it *)

(** [presorted], of [count] tuples from the [i]-th on. *)
Fixpoint presorted_from (s : scan) (i count : nat) (above : Z) : bool :=
  match count with
  | O => true
  | S count =>
      let off := old_ends (found s) i - (ends (found s) i - ends (found s) (S i)) in
      (off <? above) && presorted_from s (S i) count off
  end.
Definition presorted (s : scan) : bool := presorted_from s 0 (nitems s) BLCKSZ.

(** pgq_compaction_avx512 leaves the page to [scalar], which names the fault. *)
Definition refused (m : mem) (s : scan) : bool :=
  out_of_bounds s || (MAX_HEAP_TUPLES_PER_PAGE <? Z.of_nat (nitems s)) || (pd_special m - pd_lower m <? total s) ||
  (falls s && presorted s).

(** What the arrays [run_ends] and [run_old_ends] must hold, in item order: of a tuple that leaves a gap, where it must end, and where
    it ends now. *)
Fixpoint run_list (its : list item) (above upper : Z) : list (Z * Z) :=
  match its with
  | [] => []
  | it :: r => (if stop it =? above then [] else [(upper, stop it)]) ++ run_list r (off it) (upper - len it)
  end.
