(* SPDX-License-Identifier: PostgreSQL *)
(** * The SIMD checksums as their instructions

    Checksum.v takes a kernel as chains of words.  Here a kernel is what the C code says: registers that are loaded from
    the bytes of a page, and compositions of intrinsics, each with the meaning that the table of instructions/ gives it and
    that is run against the CPU.  [&] and [^] on two registers, which are C of the compiler, are of their bits. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Table.
From Pgquern.tornpage Require Import Checksum.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** csrc/tornpage/fold.h, and what the files that include it define: how many bytes a register has, a round, the prime in
    all lanes, the mask of a page's first register, and the exclusive or of all lanes. *)
Record form := Form {
  size : nat; next_of : bytes -> bytes -> bytes -> bytes; prime_of : bytes; beside : bytes; fold_of : list bytes -> bytes }.

(** The word of the first row that holds pd_checksum counts by its upper half. *)
Definition BESIDE_CHECKSUM : Z := 0xffff0000.

(** The last steps of [fold_lanes], from eight lanes on. *)
Definition fold_eight (x : bytes) : bytes :=
  let y := intrinsic "_mm_xor_si128"
    [intrinsic "_mm256_castsi256_si128" [x]; intrinsic "_mm256_extracti128_si256 1" [x]] in
  let y := intrinsic "_mm_xor_si128" [y; intrinsic "_mm_shuffle_epi32 78" [y]] in
  let y := intrinsic "_mm_xor_si128" [y; intrinsic "_mm_shuffle_epi32 177" [y]] in
  intrinsic "_mm_cvtsi128_si32" [y].

(** ** avx2.c *)

Definition avx2_next (mixed words prime : bytes) : bytes :=
  let beside := intrinsic "_mm256_xor_si256" [intrinsic "_mm256_srli_epi32 17" [mixed]; words] in
  intrinsic "_mm256_xor_si256" [intrinsic "_mm256_mullo_epi32" [mixed; prime]; beside].

Definition avx2_fold (sums : list bytes) : bytes :=
  let sum r := nth r sums [] in
  fold_eight (intrinsic "_mm256_xor_si256"
    [intrinsic "_mm256_xor_si256" [sum 0%nat; sum 1%nat]; intrinsic "_mm256_xor_si256" [sum 2%nat; sum 3%nat]]).

Definition avx2 : form :=
  Form 32 avx2_next (intrinsic "_mm256_set1_epi32" [bytes_of 4 PRIME])
    (intrinsic "_mm256_setr_epi32" [register_of 4 [-1; -1; BESIDE_CHECKSUM; -1; -1; -1; -1; -1]]) avx2_fold.

(** ** avx512.c *)

Definition avx512_next (mixed words prime : bytes) : bytes :=
  intrinsic "_mm512_ternarylogic_epi32 150"
    [intrinsic "_mm512_mullo_epi32" [mixed; prime]; intrinsic "_mm512_srli_epi32 17" [mixed]; words].

Definition avx512_fold (sums : list bytes) : bytes :=
  let x := intrinsic "_mm512_xor_si512" [nth 0 sums []; nth 1 sums []] in
  fold_eight (intrinsic "_mm256_xor_si256"
    [intrinsic "_mm512_castsi512_si256" [x]; intrinsic "_mm512_extracti64x4_epi64 1" [x]]).

Definition avx512 : form :=
  Form 64 avx512_next (intrinsic "_mm512_set1_epi32" [bytes_of 4 PRIME])
    (intrinsic "_mm512_mask_set1_epi32"
      [intrinsic "_mm512_set1_epi32" [bytes_of 4 (-1)]; bytes_of 2 (2 ^ 2); bytes_of 4 BESIDE_CHECKSUM]) avx512_fold.

(** ** neon.c *)

Definition neon_next (mixed words prime : bytes) : bytes :=
  let beside := intrinsic "veorq_u32" [intrinsic "vshrq_n_u32 17" [mixed]; words] in
  intrinsic "veorq_u32" [intrinsic "vmulq_u32" [mixed; prime]; beside].

(** The halves of the last register are numbers of C, of 64 bits. *)
Definition neon_fold (sums : list bytes) : bytes :=
  let all := fold_left (fun all sum => intrinsic "veorq_u32" [all; sum]) (tl sums) (hd [] sums) in
  let halves := intrinsic "vreinterpretq_u64_u32" [all] in
  let half := Z.lxor (number (intrinsic "vgetq_lane_u64 0" [halves])) (number (intrinsic "vgetq_lane_u64 1" [halves])) in
  bytes_of 4 (Z.lxor half (Z.shiftr half 32)).

Definition neon : form :=
  Form 16 neon_next (intrinsic "vdupq_n_u32" [bytes_of 4 PRIME])
    (intrinsic "vsetq_lane_u32 2" [bytes_of 4 BESIDE_CHECKSUM; intrinsic "vdupq_n_u32" [bytes_of 4 (2 ^ 32 - 1)]]) neon_fold.

(** ** fold.h: one page.  The pages of a group go side by side, and share nothing. *)

(** The [r]-th register of a row. *)
Definition words_at (f : form) (row : bytes) (r : nat) : bytes := firstn (size f) (skipn (size f * r) row).

(** What becomes of the [r]-th register: the first row, the other rows, and three rounds of zeros. *)
Definition mixed (f : form) (first : bytes) (rest : list bytes) (r : nat) : bytes :=
  let words := words_at f first r in
  let words := if Nat.eqb r 0 then and words (beside f) else words in
  fold_left (fun mixed words => next_of f mixed words (prime_of f))
    (map (fun row => words_at f row r) rest ++ repeat (zeros (size f)) 3)
    (xor (words_at f (register_of 4 base_offsets) r) words).

Definition fold_page (f : form) (rows : list bytes) : Z :=
  match rows with
  | [] => 0
  | first :: rest => number (fold_of f (map (mixed f first rest) (seq 0 (128 / size f))))
  end.

(** The checksum of a page of rows of 128 bytes. *)
Definition vector_checksum (f : form) (page : bytes) (block : Z) : Z := finish (fold_page f (pieces 128 page)) block.
