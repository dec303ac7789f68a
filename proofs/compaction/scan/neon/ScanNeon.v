(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of csrc/compaction/neon.c, register by register

    The functions have C's names and stand in C's order.  A register is a list of bytes, and an intrinsic has the meaning that the
    table of instructions/ gives it and that is run against the CPU.  Arrays are of numbers, from 0 on: [words] and [tuples] of 32
    bits, [gaps] of bytes.  A tuple's word has where it must end, and above, where it ends now.  What C leaves uninitialised is an
    argument.  [inside] says that all of what is loaded and stored lay in its array, or in the page, so far. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Masked Table.
From Pgquern.compaction Require Import Page.
From Pgquern.compaction Require ScanAvx512.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Definition VECTOR : Z := 16.
Definition LANES : Z := 8.
Definition UNIT : Z := 8.
Definition MAX_LINE_POINTERS : Z := 2042.
Definition LP_OFF_MASK : Z := 32767.
Definition UINT16_MAX : Z := 65535.

(** ** Intrinsics *)
Definition vdupq_n_u16 (x : Z) : bytes := intrinsic "vdupq_n_u16" [bytes_of 2 x].
Definition vdupq_n_u32 (x : Z) : bytes := intrinsic "vdupq_n_u32" [bytes_of 4 x].
Definition vaddq_u16 (a b : bytes) : bytes := intrinsic "vaddq_u16" [a; b].
Definition vsubq_u16 (a b : bytes) : bytes := intrinsic "vsubq_u16" [a; b].
Definition vandq_u16 (a b : bytes) : bytes := intrinsic "vandq_u16" [a; b].
Definition vorrq_u16 (a b : bytes) : bytes := intrinsic "vorrq_u16" [a; b].
Definition vornq_u16 (a b : bytes) : bytes := intrinsic "vornq_u16" [a; b].
Definition vbslq_u16 (mask a b : bytes) : bytes := intrinsic "vbslq_u16" [mask; a; b].
Definition vminq_u16 (a b : bytes) : bytes := intrinsic "vminq_u16" [a; b].
Definition vmaxq_u16 (a b : bytes) : bytes := intrinsic "vmaxq_u16" [a; b].
Definition vpadalq_u16 (sums a : bytes) : bytes := intrinsic "vpadalq_u16" [sums; a].
Definition vshrq_n_u16_1 (a : bytes) : bytes := intrinsic "vshrq_n_u16 1" [a].
Definition vtstq_u16 (a b : bytes) : bytes := intrinsic "vtstq_u16" [a; b].
Definition vcleq_u16 (a b : bytes) : bytes := intrinsic "vcleq_u16" [a; b].
Definition vcltzq_s16 (a : bytes) : bytes := intrinsic "vcltzq_s16" [a].
Definition vcgtq_s16 (a b : bytes) : bytes := intrinsic "vcgtq_s16" [a; b].
Definition vzip1q_u16 (a b : bytes) : bytes := intrinsic "vzip1q_u16" [a; b].
Definition vzip2q_u16 (a b : bytes) : bytes := intrinsic "vzip2q_u16" [a; b].
Definition vuzp1q_u16 (a b : bytes) : bytes := intrinsic "vuzp1q_u16" [a; b].
Definition vuzp2q_u16 (a b : bytes) : bytes := intrinsic "vuzp2q_u16" [a; b].
Definition vaddvq_u16 (a : bytes) : Z := Lanes.number (intrinsic "vaddvq_u16" [a]).
Definition vaddvq_u32 (a : bytes) : Z := Lanes.number (intrinsic "vaddvq_u32" [a]).
Definition vmaxvq_u16 (a : bytes) : Z := Lanes.number (intrinsic "vmaxvq_u16" [a]).
Definition vminvq_u16 (a : bytes) : Z := Lanes.number (intrinsic "vminvq_u16" [a]).

(** ** Loads and stores: of the page's bytes, and of arrays *)
Definition vld1q_u8 (m : mem) (a : Z) : bytes := map (fun k => m (a + Z.of_nat k)) (seq 0 16).
(** Eight words from the [i]-th on, as two registers: the table's result begins with 1, since all of them are there. *)
Definition vld2q_u16 (a : nat -> Z) (i : nat) : bytes * bytes :=
  let r := intrinsic "vld2q_u16" [[32]; register_of 4 (map a (seq i 8))] in (firstn 16 (tl r), skipn 16 (tl r)).
Definition store : nat -> (nat -> Z) -> nat -> bytes -> nat -> Z := ScanAvx512.store.
Definition fits : nat -> Z -> Z -> bool := ScanAvx512.fits.

(** ** Helpers *)

(** [put_tuples], from the [i]-th on. *)
Definition put_tuples (to : nat -> Z) (i : nat) (end_ old_end : Z) : nat -> Z :=
  let four := intrinsic "vreinterpretq_u16_u32" [vdupq_n_u32 (Z.lor end_ (Z.shiftl old_end 16))] in
  fold_left (fun to k => store 4 to (i + k)%nat four) [0; 4; 8; 12]%nat to.

Definition prefix_sums (v : bytes) : bytes :=
  let zero := vdupq_n_u16 0 in
  let v := vaddq_u16 v (intrinsic "vextq_u16 7" [zero; v]) in
  let v := vaddq_u16 v (intrinsic "vextq_u16 6" [zero; v]) in
  vaddq_u16 v (intrinsic "vextq_u16 4" [zero; v]).

Definition load_halves (m : mem) (from : Z) : bytes := intrinsic "vreinterpretq_u16_u8" [vld1q_u8 m from].
Definition store_halves (to : nat -> Z) (i : nat) (v : bytes) : nat -> Z := store 4 to i (intrinsic "vreinterpretq_u8_u16" [v]).

(** An entry of common/left_pack_neon.h: the bytes of the lanes that are kept, then no byte. *)
Definition left_pack_neon (kept : list bool) : bytes :=
  let places := concat (map (fun k => [4 * k; 4 * k + 1; 4 * k + 2; 4 * k + 3]) (selected kept [0; 1; 2; 3])) in
  places ++ repeat 255 (16 - length places).
Definition packed_lanes (x : bytes) (kept : Z) : bytes :=
  intrinsic "vreinterpretq_u32_u8"
    [intrinsic "vqtbl1q_u8" [intrinsic "vreinterpretq_u8_u32" [x]; left_pack_neon (firstn 4 (bits (bytes_of 4 kept)))]].

(** [pack_tuples]: the array, the place past the last one, and whether it is inside. *)
Definition pack_tuples (to : nat -> Z) (at_ : nat) (stored end_ old_end : bytes) : (nat -> Z) * nat * bool :=
  let weights := register_of 2 [0x101; 0x102; 0x104; 0x108; 0x1010; 0x1020; 0x1040; 0x1080] in
  let sum := vaddvq_u16 (vandq_u16 stored weights) in
  let lower := intrinsic "vreinterpretq_u32_u16" [vzip1q_u16 end_ old_end] in
  let upper := intrinsic "vreinterpretq_u32_u16" [vzip2q_u16 end_ old_end] in
  let to := store 4 to at_ (intrinsic "vreinterpretq_u16_u32" [packed_lanes lower (Z.land sum 15)]) in
  let ok := fits at_ 4 (MAX_LINE_POINTERS + 2 * LANES) in
  let at_ := (at_ + Z.to_nat (Z.land (Z.shiftr sum 8) 15))%nat in
  let to := store 4 to at_ (intrinsic "vreinterpretq_u16_u32" [packed_lanes upper (Z.land (Z.shiftr sum 4) 15)]) in
  let ok := ok && fits at_ 4 (MAX_LINE_POINTERS + 2 * LANES) in
  (to, at_ + Z.to_nat (Z.shiftr sum 12), ok)%nat.

(** ** What the scan knows of all line pointers so far *)
Record extremes := Extremes {
  lows : bytes; ends : bytes; offs : bytes; longests : bytes; nuseds : bytes; last_useds : bytes; totals : bytes }.

Definition note_bounds (x : extremes) (stored off len : bytes) : extremes :=
  Extremes
    (vminq_u16 (lows x) (vornq_u16 off stored))
    (vmaxq_u16 (ends x) (vaddq_u16 off len))
    (vorrq_u16 (offs x) off)
    (vmaxq_u16 (longests x) len)
    (nuseds x) (last_useds x)
    (vpadalq_u16 (totals x) len).

Definition any (v : bytes) : bool := negb (vmaxvq_u16 v =? 0).

(** ** Each tuple against the one before it *)
Record survey := Survey {
  gap_bytes : nat -> Z; gap_lanes : bytes; fall_lanes : bytes; first_lanes : bytes; tuple_numbers : bytes; last_shift : bytes;
  gaps_inside : bool }.

(** The body of the loop in [compare_tuples], at the [i]-th tuple. *)
Definition compare_eight (tuples : nat -> Z) (i : nat) (v : survey) : survey :=
  let (ends, old_ends) := vld2q_u16 tuples i in
  let shift := intrinsic "vreinterpretq_s16_u16" [vsubq_u16 ends old_ends] in
  let before := intrinsic "vextq_s16 7" [last_shift v; shift] in
  let gap := vcgtq_s16 shift before in
  let fall := vcgtq_s16 before shift in
  Survey
    (store 1 (gap_bytes v) i (intrinsic "vmovn_u16" [gap]))
    (vsubq_u16 (gap_lanes v) gap)
    (vorrq_u16 (fall_lanes v) fall)
    (vminq_u16 (first_lanes v) (vornq_u16 (tuple_numbers v) (vorrq_u16 gap fall)))
    (vaddq_u16 (tuple_numbers v) (vdupq_n_u16 LANES))
    shift
    (gaps_inside v && fits i LANES (MAX_LINE_POINTERS + LANES) && fits i LANES (MAX_LINE_POINTERS + 2 * LANES)).

Fixpoint compare_tuples (fuel : nat) (tuples : nat -> Z) (nitems i : nat) (v : survey) : survey :=
  match fuel with
  | O => v
  | S fuel => if (i <? nitems)%nat then compare_tuples fuel tuples nitems (i + 8) (compare_eight tuples i v) else v
  end.

(** ** The loop *)
Record state := State {
  words : nat -> Z; tuples : nat -> Z; next : nat; base : bytes; numbers : bytes; bounds : extremes; inside : bool }.

(** The body of the loop in [scan_line_pointers]. *)
Definition round (m : mem) (nline i : Z) (s : state) : state :=
  let one := vdupq_n_u16 1 in
  let off_mask := vdupq_n_u16 LP_OFF_MASK in
  let from := HEADER_SIZE + 4 * i in
  let words0 := load_halves m from in
  let words1 := load_halves m (from + VECTOR) in
  let low := vuzp1q_u16 words0 words1 in
  let high := vuzp2q_u16 words0 words1 in
  let used := vorrq_u16 (vcltzq_s16 (intrinsic "vreinterpretq_s16_u16" [low])) (vtstq_u16 high one) in
  let len := vshrq_n_u16_1 high in
  let used := vandq_u16 used (vcleq_u16 (numbers s) (vdupq_n_u16 nline)) in
  let stored := vandq_u16 used (vtstq_u16 len len) in
  let len := vandq_u16 (vandq_u16 (vaddq_u16 len (vdupq_n_u16 (UNIT - 1))) (vdupq_n_u16 (0xffff - (UNIT - 1)))) stored in
  let off := vandq_u16 (vandq_u16 low off_mask) stored in
  let x := note_bounds (bounds s) stored off len in
  let x := Extremes (lows x) (ends x) (offs x) (longests x) (vsubq_u16 (nuseds x) used)
    (vmaxq_u16 (last_useds x) (vandq_u16 (numbers s) used)) (totals x) in
  let new_off := vsubq_u16 (base s) (prefix_sums len) in
  let low := vandq_u16 (vbslq_u16 (vandq_u16 stored off_mask) new_off low) used in
  let high := vandq_u16 high used in
  let at_ := Z.to_nat i in
  let w := store_halves (store_halves (words s) at_ (vzip1q_u16 low high)) (at_ + 4) (vzip2q_u16 low high) in
  let '(t, next, ok) := pack_tuples (tuples s) (next s) stored (vaddq_u16 new_off len) (vaddq_u16 off len) in
  State w t next (intrinsic "vdupq_laneq_u16 7" [new_off]) (vaddq_u16 (numbers s) (vdupq_n_u16 LANES)) x
    (inside s && (from + 2 * VECTOR <=? BLCKSZ) && fits at_ LANES (MAX_LINE_POINTERS + LANES) && ok).

Fixpoint rounds (fuel : nat) (m : mem) (nline i : Z) (s : state) : state :=
  match fuel with
  | O => s
  | S fuel => if i <? nline then rounds fuel m nline (i + LANES) (round m nline i s) else s
  end.

(** [scan_line_pointers]. *)
Record scan := Scan {
  words_to_be : nat -> Z; found_tuples : nat -> Z; found_gaps : nat -> Z;
  nitems : nat; used_count : Z; left_count : Z; total_length : Z; longest_length : Z; upper_to_be : Z; ngaps : Z; first_moved : Z;
  is_out_of_bounds : bool; is_falling : bool; stays_inside : bool }.

(** What the arrays hold before: nobody knows. *)
Record dirt := Dirt { old_words : nat -> Z; old_tuples : nat -> Z; old_gaps : nat -> Z }.

(** Where a tuple must end, and where it ends now. *)
Definition end_in (tuples : nat -> Z) (i : nat) : Z := Z.land (tuples i) 65535.
Definition old_end_in (tuples : nat -> Z) (i : nat) : Z := Z.shiftr (tuples i) 16.

Definition scan_line_pointers (m : mem) (d : dirt) : scan :=
  let n := nline m in
  let special := pd_special m in
  let zero := vdupq_n_u16 0 in
  let s := rounds (Z.to_nat n) m n 0
    (State (old_words d) (old_tuples d) 0 (vdupq_n_u16 special) (register_of 2 [1; 2; 3; 4; 5; 6; 7; 8])
       (Extremes (vdupq_n_u16 UINT16_MAX) zero zero zero zero zero (vdupq_n_u32 0)) true) in
  let x := bounds s in
  let nitems := next s in
  let total := vaddvq_u32 (totals x) in
  let new_upper := (special - total) mod 4294967296 in
  let last := (nitems - 1)%nat in
  let t := if (nitems =? 0)%nat then tuples s
           else put_tuples (tuples s) nitems (end_in (tuples s) last) (old_end_in (tuples s) last) in
  let v := compare_tuples nitems t nitems 0
    (Survey (old_gaps d) zero zero (vdupq_n_u16 UINT16_MAX) (register_of 2 [0; 1; 2; 3; 4; 5; 6; 7])
       (intrinsic "vdupq_n_s16" [bytes_of 2 0]) true) in
  Scan (words s) (put_tuples t nitems new_upper new_upper) (gap_bytes v) nitems
    (vaddvq_u16 (nuseds x)) (vmaxvq_u16 (last_useds x)) total (vmaxvq_u16 (longests x)) new_upper
    (vaddvq_u16 (gap_lanes v)) (vminvq_u16 (first_lanes v))
    ((vminvq_u16 (lows x) <? pd_upper m) || (pd_special m <? vmaxvq_u16 (ends x)) || any (vandq_u16 (offs x) (vdupq_n_u16 (UNIT - 1))))
    (any (fall_lanes v))
    (inside s && gaps_inside v && fits nitems (2 * LANES) (MAX_LINE_POINTERS + 2 * LANES)).

(** ** What is done with it *)

(** [tuple_len], [tuple_off], of the [i]-th tuple, as [uint32_t]. *)
Definition tuple_len (s : scan) (i : nat) : Z := (end_in (found_tuples s) i - end_in (found_tuples s) (S i)) mod 4294967296.
Definition tuple_off (s : scan) (i : nat) : Z := (old_end_in (found_tuples s) i - tuple_len s i) mod 4294967296.

(** [presorted], and when pgq_compaction_neon leaves the page to [scalar], which names the fault. *)
Definition presorted (s : scan) : bool := forallb (fun i => tuple_off s i <? tuple_off s (i - 1)) (seq 1 (nitems s - 1)).
Definition refused (m : mem) (s : scan) : bool :=
  is_out_of_bounds s || (MAX_HEAP_TUPLES_PER_PAGE <? Z.of_nat (nitems s)) || (pd_special m - pd_lower m <? total_length s) ||
  (is_falling s && presorted s).
