(* SPDX-License-Identifier: PostgreSQL *)
(** * The meaning of each intrinsic that the kernels use, by its name in C and its immediate

    Operands stand in the order of C; [set] has all its lanes in one.  A size is in bytes: 16, 32 and 64 are registers,
    1 to 8 masks and general registers. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Arithmetic Logic Shift Masked Compare Permute Scalar Crc Memory Neon.
Local Open Scope string_scope.
Local Open Scope Z_scope.

Record instruction := Instruction { name : string; sizes : list nat; width : nat; meaning : list bytes -> bytes }.

Definition one (s : string) (a r : nat) (f : bytes -> bytes) : instruction :=
  Instruction s [a] r (fun l => f (nth 0 l [])).
Definition two (s : string) (a b r : nat) (f : bytes -> bytes -> bytes) : instruction :=
  Instruction s [a; b] r (fun l => f (nth 0 l []) (nth 1 l [])).
Definition three (s : string) (a b c r : nat) (f : bytes -> bytes -> bytes -> bytes) : instruction :=
  Instruction s [a; b; c] r (fun l => f (nth 0 l []) (nth 1 l []) (nth 2 l [])).
Definition four (s : string) (a b c d r : nat) (f : bytes -> bytes -> bytes -> bytes -> bytes) : instruction :=
  Instruction s [a; b; c; d] r (fun l => f (nth 0 l []) (nth 1 l []) (nth 2 l []) (nth 3 l [])).

(** Both operands and the result have one size; a mask under a mask. *)
Definition alike (s : string) (n : nat) : (bytes -> bytes -> bytes) -> instruction := two s n n n.
Definition into_mask (s : string) (n m : nat) : (bytes -> bytes -> bytes) -> instruction := two s n n m.
Definition mask_into_mask (s : string) (m n : nat) (f : bytes -> bytes -> bytes) : instruction :=
  three s m n n m (fun k a b => under_mask k (f a b)).

(** Memory of [n] bytes of which an edge says what is there: the first [edge], or, from n + 1 on, all but the first
    edge - n - 1.  So the first or the last byte that is there has a neighbour that is not.  The result begins with 1 if
    all was there. *)
Definition window (n : nat) (edge : bytes) (m : bytes) : cells :=
  let e := Z.to_nat (hd 0 edge mod (2 * Z.of_nat n + 2)) in
  let there i := if (e <=? n)%nat then (i <? e)%nat else (e - n - 1 <=? i)%nat in
  map2 (fun i x => if there i then Some x else None) (seq 0 n) m.
Definition answer (n : nat) (r : option bytes) : bytes := match r with Some r => 1 :: r | None => zeros (1 + n) end.
Definition answer_cells (n : nat) (m : option cells) : bytes :=
  answer n (option_map (map (fun c => match c with Some x => x | None => 0 end)) m).

(** [n] bytes into a register of [r]; the store of one; with a mask of [k] bytes. *)
Definition loads (s : string) (n r : nat) : instruction :=
  two s 1 n (1 + r) (fun edge m => answer r (option_map (widened r) (load n (window n edge m)))).
Definition stores (s : string) (n : nat) : instruction :=
  three s 1 n n (1 + n) (fun edge m r => answer_cells n (store r (window n edge m))).
Definition loads_masked (s : string) (k n : nat) (f : bytes -> cells -> option bytes) : instruction :=
  three s 1 n k (1 + n) (fun edge m k => answer n (f k (window n edge m))).
Definition stores_masked (s : string) (k n : nat) (f : bytes -> bytes -> cells -> option cells) : instruction :=
  four s 1 n k n (1 + n) (fun edge m k r => answer_cells n (f k r (window n edge m))).

(** The store that wants an address which is a multiple of its size: the window's end, or beginning, is one. *)
Definition stores_aligned (s : string) (n : nat) : instruction :=
  three s 1 n n (1 + n) (fun edge m r =>
    let e := hd 0 edge mod (2 * Z.of_nat n + 2) in
    let off := if e <=? Z.of_nat n then e else e - Z.of_nat n - 1 in
    if off mod Z.of_nat n =? 0 then answer_cells n (store r (window n edge m)) else zeros (1 + n)).

Definition arithmetic : list instruction := [
  alike "_mm_add_epi32" 16 (add 4); alike "_mm256_add_epi16" 32 (add 2); alike "_mm256_add_epi32" 32 (add 4);
  alike "_mm512_add_epi16" 64 (add 2); alike "_mm512_add_epi32" 64 (add 4);
  alike "_mm256_sub_epi16" 32 (sub 2); alike "_mm256_sub_epi32" 32 (sub 4);
  alike "_mm512_sub_epi16" 64 (sub 2); alike "_mm512_sub_epi32" 64 (sub 4);
  alike "_mm256_mullo_epi32" 32 (mullo 4); alike "_mm512_mullo_epi32" 64 (mullo 4);
  alike "_mm256_madd_epi16" 32 multiply_add; alike "_mm512_madd_epi16" 64 multiply_add;
  alike "_mm_max_epu16" 16 (max_unsigned 2); alike "_mm_max_epu32" 16 (max_unsigned 4);
  alike "_mm256_max_epu16" 32 (max_unsigned 2); alike "_mm256_max_epu32" 32 (max_unsigned 4);
  alike "_mm512_max_epu16" 64 (max_unsigned 2); alike "_mm512_max_epu32" 64 (max_unsigned 4);
  alike "_mm512_max_epi16" 64 (max_signed 2);
  alike "_mm256_min_epu16" 32 (min_unsigned 2);
  four "_mm512_mask_min_epu16" 64 4 64 64 64 (fun source k a b => masked 2 source k (min_unsigned 2 a b));
  three "_mm512_maskz_add_epi32" 2 64 64 64 (fun k a b => masked_zero 4 k (add 4 a b));
  one "_mm_minpos_epu16" 16 16 least_place;
  one "_mm512_reduce_add_epi32" 64 4 (reduce_add 4); one "_mm512_reduce_max_epu32" 64 4 (reduce_max 4)
].

Definition logic : list instruction := [
  alike "_mm256_and_si256" 32 and; alike "_mm512_and_si512" 64 and;
  alike "_mm256_or_si256" 32 or; alike "_mm512_or_si512" 64 or;
  alike "_mm_xor_si128" 16 xor; alike "_mm256_xor_si256" 32 xor; alike "_mm512_xor_si512" 64 xor;
  alike "_mm256_andnot_si256" 32 andnot;
  two "_mm256_testz_si256" 32 32 4 test_zero;
  three "_mm512_maskz_and_epi32" 2 64 64 64 (fun k a b => masked_zero 4 k (and a b));
  four "_mm512_mask_xor_epi64" 64 1 64 64 64 (fun source k a b => masked 8 source k (xor a b));
  three "_mm512_ternarylogic_epi32 150" 64 64 64 64 (ternary 150);
  three "_mm512_ternarylogic_epi32 216" 64 64 64 64 (ternary 216);
  four "_mm512_mask_ternarylogic_epi32 216" 64 2 64 64 64 (fun a k b c => masked 4 a k (ternary 216 a b c))
].

Definition shifts : list instruction := [
  one "_mm_slli_epi16 7" 16 16 (shift_left 2 7);
  one "_mm256_slli_epi32 16" 32 32 (shift_left 4 16); one "_mm512_slli_epi32 16" 64 64 (shift_left 4 16);
  one "_mm512_slli_epi64 1" 64 64 (shift_left 8 1); one "_mm512_slli_epi64 2" 64 64 (shift_left 8 2);
  one "_mm512_slli_epi64 4" 64 64 (shift_left 8 4); one "_mm512_slli_epi64 8" 64 64 (shift_left 8 8);
  one "_mm512_slli_epi64 16" 64 64 (shift_left 8 16); one "_mm512_slli_epi64 32" 64 64 (shift_left 8 32);
  one "_mm256_srli_epi16 1" 32 32 (shift_right 2 1); one "_mm512_srli_epi16 1" 64 64 (shift_right 2 1);
  one "_mm256_srli_epi32 16" 32 32 (shift_right 4 16); one "_mm256_srli_epi32 17" 32 32 (shift_right 4 17);
  one "_mm512_srli_epi32 16" 64 64 (shift_right 4 16); one "_mm512_srli_epi32 17" 64 64 (shift_right 4 17);
  one "_mm256_srai_epi16 15" 32 32 (shift_right_signed 2 15);
  one "_mm256_slli_si256 2" 32 32 (shift_bytes_left 2); one "_mm256_slli_si256 4" 32 32 (shift_bytes_left 4);
  one "_mm256_slli_si256 8" 32 32 (shift_bytes_left 8);
  one "_mm512_bslli_epi128 2" 64 64 (shift_bytes_left 2); one "_mm512_bslli_epi128 4" 64 64 (shift_bytes_left 4);
  one "_mm512_bslli_epi128 8" 64 64 (shift_bytes_left 8)
].

Definition comparisons : list instruction := [
  alike "_mm256_cmpeq_epi16" 32 (compare_equal 2); alike "_mm256_cmpeq_epi32" 32 (compare_equal 4);
  alike "_mm256_cmpgt_epi16" 32 (compare_greater 2); alike "_mm256_cmpgt_epi32" 32 (compare_greater 4);
  into_mask "_mm512_cmplt_epu16_mask" 64 4 (mask_compare 2 Z.ltb);
  into_mask "_mm512_cmpgt_epu16_mask" 64 4 (mask_compare 2 Z.gtb);
  into_mask "_mm512_cmplt_epu32_mask" 64 2 (mask_compare 4 Z.ltb);
  into_mask "_mm512_cmpge_epu32_mask" 64 2 (mask_compare 4 Z.geb);
  mask_into_mask "_mm512_mask_cmpgt_epu16_mask" 4 64 (mask_compare 2 Z.gtb);
  mask_into_mask "_mm512_mask_cmplt_epu32_mask" 2 64 (mask_compare 4 Z.ltb);
  mask_into_mask "_mm512_mask_cmpgt_epu32_mask" 2 64 (mask_compare 4 Z.gtb);
  mask_into_mask "_mm512_mask_cmplt_epi16_mask" 4 64 (mask_compare 2 (on_signed 2 Z.ltb));
  mask_into_mask "_mm512_mask_cmpgt_epi16_mask" 4 64 (mask_compare 2 (on_signed 2 Z.gtb));
  mask_into_mask "_mm512_mask_cmplt_epi32_mask" 2 64 (mask_compare 4 (on_signed 4 Z.ltb));
  mask_into_mask "_mm512_mask_cmpgt_epi32_mask" 2 64 (mask_compare 4 (on_signed 4 Z.gtb));
  into_mask "_mm_test_epi8_mask" 16 2 (mask_test 1); into_mask "_mm512_test_epi8_mask" 64 8 (mask_test 1);
  into_mask "_mm512_test_epi16_mask" 64 4 (mask_test 2); into_mask "_mm512_test_epi32_mask" 64 2 (mask_test 4);
  mask_into_mask "_mm512_mask_test_epi32_mask" 2 64 (mask_test 4);
  one "_mm_movemask_epi8" 16 4 (signs_as_int 1); one "_mm256_movemask_epi8" 32 4 (signs_as_int 1);
  one "_mm256_movemask_ps" 32 4 (signs_as_int 4);
  one "_mm512_movepi16_mask" 64 4 (signs 2); one "_mm512_movepi64_mask" 64 1 (signs 8)
].

Definition choices : list instruction := [
  two "_mm512_maskz_mov_epi16" 4 64 64 (masked_zero 2); two "_mm512_maskz_mov_epi32" 2 64 64 (masked_zero 4);
  three "_mm512_mask_mov_epi16" 64 4 64 64 (masked 2); three "_mm512_mask_mov_epi32" 64 2 64 64 (masked 4);
  three "_mm512_mask_set1_epi32" 64 2 4 64 (fun source k x => masked 4 source k (spread 16 x));
  three "_mm256_blendv_epi8" 32 32 32 32 blend_bytes;
  alike "_mm256_blend_epi32 1" 32 (blend 4 1);
  two "vpcompressw" 4 64 64 (compress 2); two "vpcompressd" 2 64 64 (compress 4);
  two "vpcompressq" 1 64 64 (compress 8)
].

Definition permutations : list instruction := [
  alike "_mm256_permutevar8x32_epi32" 32 (pick 4);
  alike "_mm512_permutexvar_epi16" 64 (fun index a => pick 2 a index);
  alike "_mm512_permutexvar_epi64" 64 (fun index a => pick 8 a index);
  four "_mm512_mask_permutexvar_epi16" 64 4 64 64 64 (fun source k index a => masked 2 source k (pick 2 a index));
  three "_mm512_permutex2var_epi16" 64 64 64 64 (pick_of_two 2);
  one "_mm256_permute4x64_epi64 216" 32 32 (permute_quarters 216);
  one "_mm256_permute4x64_epi64 255" 32 32 (permute_quarters 255);
  alike "_mm256_permute2x128_si256 8" 32 (permute_halves 8);
  alike "_mm256_permute2x128_si256 32" 32 (permute_halves 32);
  alike "_mm256_permute2x128_si256 49" 32 (permute_halves 49);
  one "_mm_shuffle_epi32 78" 16 16 (shuffle 78); one "_mm_shuffle_epi32 177" 16 16 (shuffle 177);
  one "_mm512_shuffle_epi32 255" 64 64 (shuffle 255);
  alike "_mm256_shuffle_epi8" 32 shuffle_bytes; alike "_mm512_shuffle_epi8" 64 shuffle_bytes;
  alike "_mm256_unpacklo_epi16" 32 (unpack_low 2); alike "_mm256_unpackhi_epi16" 32 (unpack_high 2);
  alike "_mm256_packus_epi32" 32 (pack 4 0 65535); alike "_mm256_packs_epi16" 32 (pack 2 (-128) 127);
  alike "_mm512_alignr_epi64 2" 64 (align 8 2); alike "_mm512_alignr_epi64 4" 64 (align 8 4);
  alike "_mm512_alignr_epi64 6" 64 (align 8 6); alike "_mm512_alignr_epi32 15" 64 (align 4 15)
].

Definition conversions : list instruction := [
  one "_mm256_extracti128_si256 1" 32 16 (extract 16 1);
  one "_mm512_extracti64x4_epi64 1" 64 32 (extract 32 1); one "_mm512_extracti32x4_epi32 3" 64 16 (extract 16 3);
  one "_mm_extract_epi16 0" 16 4 (extract_lane 2 0);
  one "_mm_extract_epi32 1" 16 4 (extract_lane 4 1); one "_mm_extract_epi32 3" 16 4 (extract_lane 4 3);
  one "_mm_cvtsi128_si32" 16 4 (extract 4 0); one "_mm_cvtsi64_si128" 8 16 (widened 16);
  one "_mm512_cvtepi32_epi16" 64 32 (narrow 4 2); one "_mm256_cvtepu8_epi32" 16 32 (widen 1 4 8);
  one "_mm256_castsi256_si128" 32 16 (firstn 16); one "_mm512_castsi512_si256" 64 32 (firstn 32);
  one "_mm256_castsi256_ps" 32 32 id;
  (* What the upper half holds is undefined: the lower one alone is the result. *)
  one "_mm512_castsi256_si512" 32 32 id;
  one "_mm_set1_epi16" 2 16 (spread 8); one "_mm256_set1_epi16" 2 32 (spread 16);
  one "_mm256_set1_epi32" 4 32 (spread 8);
  one "_mm256_set1_epi64x" 8 32 (spread 4); one "_mm512_set1_epi8" 1 64 (spread 64);
  one "_mm512_set1_epi16" 2 64 (spread 32); one "_mm512_set1_epi32" 4 64 (spread 16);
  one "_mm256_set_epi16" 32 32 (from_highest 2); one "_mm256_set_epi32" 32 32 (from_highest 4);
  one "_mm512_set_epi16" 64 64 (from_highest 2);
  one "_mm256_setr_epi32" 32 32 id; one "_mm256_setr_epi64x" 32 32 id;
  Instruction "_mm256_setzero_si256" [] 32 (fun _ => zeros 32);
  Instruction "_mm512_setzero_si512" [] 64 (fun _ => zeros 64)
].

Definition general : list instruction := [
  one "_mm_popcnt_u32" 4 4 population; one "__builtin_popcount" 4 4 population; one "_tzcnt_u32" 4 4 trailing;
  one "_lzcnt_u32" 4 4 leading;
  two "_bzhi_u32" 4 4 4 low_bits;
  two "_mm_crc32_u8" 4 1 4 crc; two "_mm_crc32_u64" 8 8 8 crc_wide
].

Definition memory : list instruction := [
  loads "_mm_loadu_si128" 16 16; loads "_mm256_loadu_si256" 32 32; loads "_mm512_loadu_si512" 64 64;
  loads "_mm_loadl_epi64" 8 16;
  stores "_mm_storeu_si128" 16; stores "_mm256_storeu_si256" 32; stores "_mm512_storeu_si512" 64;
  stores_aligned "_mm512_store_si512" 64;
  loads_masked "_mm512_maskz_loadu_epi32" 2 64 (load_masked 4);
  loads_masked "_mm_maskz_loadu_epi8" 2 16 (load_masked 1);
  loads_masked "_mm256_maskload_epi32" 32 32 (load_by_signs 4);
  stores_masked "_mm512_mask_storeu_epi32" 2 64 (store_masked 4)
].

(** LD2 of 32 bytes into two registers. *)
Definition loads_two (s : string) (w : nat) : instruction :=
  two s 1 32 33 (fun edge m => answer 32 (option_map (two_lanes w) (load 32 (window 32 edge m)))).

Definition arm : list instruction := [
  alike "vaddq_u16" 16 (add 2); alike "vsubq_u16" 16 (sub 2); alike "vsubq_u32" 16 (sub 4);
  alike "vmulq_u32" 16 (mullo 4);
  alike "vmaxq_u16" 16 (max_unsigned 2); alike "vmaxq_u32" 16 (max_unsigned 4); alike "vmax_u32" 8 (max_unsigned 4);
  alike "vminq_u16" 16 (min_unsigned 2); alike "vpadalq_u16" 16 (add_pairs 2);
  one "vaddvq_u16" 16 2 (reduce_add 2); one "vaddvq_u32" 16 4 (reduce_add 4); one "vmaxvq_u16" 16 2 (reduce_max 2);
  one "vmaxvq_u32" 16 4 (reduce_max 4); one "vminvq_u16" 16 2 (reduce_min 2);
  alike "vandq_u16" 16 and; alike "vandq_u32" 16 and; alike "vorrq_u16" 16 or; alike "veorq_u32" 16 xor;
  alike "vornq_u16" 16 or_not;
  three "vbslq_u16" 16 16 16 16 bit_select;
  one "vshrq_n_u16 1" 16 16 (shift_right 2 1); one "vshrq_n_u32 17" 16 16 (shift_right 4 17);
  alike "vcgtq_s16" 16 (compare_greater 2); alike "vcgeq_u32" 16 (compare_lanes 4 Z.geb);
  alike "vcleq_u16" 16 (compare_lanes 2 Z.leb);
  one "vcltzq_s16" 16 16 (compare_zero 2 Z.ltb); one "vcgezq_s32" 16 16 (compare_zero 4 Z.geb);
  alike "vtstq_u16" 16 (test_lanes 2);
  alike "vextq_u16 4" 16 (extract_from 2 4); alike "vextq_u16 6" 16 (extract_from 2 6);
  alike "vextq_u16 7" 16 (extract_from 2 7);
  alike "vextq_s16 7" 16 (extract_from 2 7);
  alike "vzip1q_u16" 16 (unpack_low 2); alike "vzip2q_u16" 16 (unpack_high 2); alike "vuzp1q_u16" 16 (evens 2);
  alike "vuzp2q_u16" 16 (odds 2);
  alike "vqtbl1q_u8" 16 look_up; one "vmovn_u16" 16 8 (narrow 2 1);
  one "vdupq_n_u16" 2 16 (spread 8); one "vdupq_n_s16" 2 16 (spread 8); one "vdupq_n_u32" 4 16 (spread 4);
  one "vdupq_n_u64" 8 16 (spread 2);
  one "vdupq_laneq_u16 7" 16 16 (fun a => spread 8 (extract 2 7 a));
  one "vget_low_u32" 16 8 (extract 8 0); one "vget_high_u32" 16 8 (extract 8 1);
  one "vget_lane_u32 0" 8 4 (extract 4 0); one "vget_lane_u32 1" 8 4 (extract 4 1);
  one "vgetq_lane_u64 0" 16 8 (extract 8 0); one "vgetq_lane_u64 1" 16 8 (extract 8 1);
  two "vsetq_lane_u32 2" 4 16 16 (insert 4 2);
  one "vcreate_u64" 8 8 id; two "vcombine_u64" 8 8 16 (@app Z);
  one "vreinterpretq_u16_u8" 16 16 id; one "vreinterpretq_u8_u16" 16 16 id; one "vreinterpretq_u16_u32" 16 16 id;
  one "vreinterpretq_u32_u16" 16 16 id; one "vreinterpretq_s16_u16" 16 16 id; one "vreinterpretq_u32_u8" 16 16 id;
  one "vreinterpretq_u8_u32" 16 16 id; one "vreinterpretq_u32_u64" 16 16 id; one "vreinterpretq_u64_u32" 16 16 id;
  one "vreinterpretq_s32_u32" 16 16 id
].

Definition arm_memory : list instruction := [
  loads "vld1q_u8" 16 16; loads "vld1q_u16" 16 16; loads "vld1q_u32" 16 16; loads_two "vld2q_u16" 2;
  stores "vst1q_u8" 16; stores "vst1q_u16" 16; stores "vst1q_u32" 16; stores "vst1_u8" 8
].

Definition table : list instruction :=
  arithmetic ++ logic ++ shifts ++ comparisons ++ choices ++ permutations ++ conversions ++ general ++ memory ++ arm ++ arm_memory.

(** The meaning that the table gives a name; an unknown one yields no bytes. *)
Definition intrinsic (s : string) (operands : list bytes) : bytes :=
  match find (fun i => String.eqb (name i) s) table with Some i => meaning i operands | None => [] end.
