(* SPDX-License-Identifier: PostgreSQL *)
(** * The inner loops of the kernels that have vectors, as programs, and their C

    [make generate] writes the text into csrc/; [make prove] compares. *)
From Coq Require Import ZArith String List.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Import Program Print.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.

(** Compares a register with xmin, stores its survivors packed, and advances by their number.  The store may reach past the
    XIDs kept, but not past the XIDs read, since no step keeps more than it reads.  Unsigned x - xmin < 2^31: x does not
    precede xmin. *)
Definition keep (x mask : string) : list statement := [
  Const Mask16 mask
    (Call "_mm512_cmplt_epu32_mask" [Call "_mm512_sub_epi32" [Var x; Var "bound"]; Var "half"]);
  Store "_mm512_storeu_si512" "to" [] (Call "vpcompressd" [Var mask; Var x]);
  Advance "to" (Var mask)].

Definition loaded (x : string) (i : nat) : statement :=
  Const Vector512 x (LoadVector "_mm512_loadu_si512" [] "from" i).

(** Moves the survivors of [from, end) down to `to`.  In a long array it is a tenth faster to read four registers before
    the first is stored. *)
Definition purge_program : program := Program "keep_avx512"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("xmin", Value)]
  [Do (Const Vector512 "bound" (Call "_mm512_set1_epi32" [Var "xmin"]));
   Do (Const Vector512 "half" (Call "_mm512_set1_epi32" [Number HALF]));
   Loop "from" "end" 64 []
     ([loaded "a" 0; loaded "b" 16; loaded "c" 32; loaded "d" 48] ++
      keep "a" "in_a" ++ keep "b" "in_b" ++ keep "c" "in_c" ++ keep "d" "in_d");
   Loop "from" "end" 16 [] (loaded "x" 0 :: keep "x" "in_x");
   ReturnIf "from" "end";
   Do (Const Mask16 "rest" (Rest "from" "end"));
   Do (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0));
   Do (Const Mask16 "in_last"
     (Call "_mm512_mask_cmplt_epu32_mask"
       [Var "rest"; Call "_mm512_sub_epi32" [Var "last"; Var "bound"]; Var "half"]));
   Do (Store "_mm512_mask_storeu_epi32" "to" [Var "rest"] (Call "vpcompressd" [Var "in_last"; Var "last"]));
   Do (Advance "to" (Var "in_last"))]
  (ReturnPointer "to").

(** Moves the live XIDs of [from, end), those whose flag is not 0, down to `to`. *)
Definition compress_program : program := Program "pack_avx512"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("valid", Pointer true Flags)]
  [Loop "from" "end" 16 ["valid"]
     [loaded "x" 0;
      Const Vector128 "flags" (LoadVector "_mm_loadu_si128" [] "valid" 0);
      Const Mask16 "live" (Call "_mm_test_epi8_mask" [Var "flags"; Var "flags"]);
      Store "_mm512_storeu_si512" "to" [] (Call "vpcompressd" [Var "live"; Var "x"]);
      Advance "to" (Var "live")];
   ReturnIf "from" "end";
   Do (Const Mask16 "rest" (Rest "from" "end"));
   Do (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0));
   Do (Const Vector128 "last_flags" (LoadVector "_mm_maskz_loadu_epi8" [Var "rest"] "valid" 0));
   Do (Const Mask16 "last_live" (Call "_mm_test_epi8_mask" [Var "last_flags"; Var "last_flags"]));
   Do (Store "_mm512_mask_storeu_epi32" "to" [Var "rest"] (Call "vpcompressd" [Var "last_live"; Var "last"]));
   Do (Advance "to" (Var "last_live"))]
  (ReturnPointer "to").

(** ** AVX2: eight XIDs a step; for fewer there is no loop here *)

(** Stores the lanes that a mask of eight bits has, packed, and advances by their number.  What is stored above them is not
    needed. *)
Definition packed_8 (mask x : string) : list statement := [
  Store "_mm256_storeu_si256" "to" [] (Call "_mm256_permutevar8x32_epi32" [Var x; LeftPack (Var mask)]);
  Advance "to" (Var mask)].

(** x - xmin has its sign set if x precedes: the others stay. *)
Definition keep_8 (x kept : string) : list statement :=
  Const Word kept
    (Turned (Call "_mm256_movemask_ps" [Call "_mm256_castsi256_ps" [Call "_mm256_sub_epi32" [Var x; Var "bound"]]])) ::
  packed_8 kept x.

Definition loaded_8 (x : string) (i : nat) : statement := Const Vector256 x (LoadVector "_mm256_loadu_si256" [] "from" i).

Definition purge_avx2_program : program := Program "keep_registers_avx2"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("xmin", Value)]
  [Do (Const Vector256 "bound" (Call "_mm256_set1_epi32" [Var "xmin"]));
   Loop "from" "end" 32 []
     ([loaded_8 "a" 0; loaded_8 "b" 8; loaded_8 "c" 16; loaded_8 "d" 24] ++
      keep_8 "a" "in_a" ++ keep_8 "b" "in_b" ++ keep_8 "c" "in_c" ++ keep_8 "d" "in_d");
   Loop "from" "end" 8 [] (loaded_8 "x" 0 :: keep_8 "x" "in_x")]
  (ReturnPointer "to").

(** A flag is the byte 0 or 1: its one bit goes where the sign is. *)
Definition live_8 : list statement :=
  [loaded_8 "x" 0;
   Const Vector128 "flags" (LoadVector "_mm_loadl_epi64" [] "valid" 0);
   Const Word "live" (Call "_mm_movemask_epi8" [Call "_mm_slli_epi16 7" [Var "flags"]])] ++
  packed_8 "live" "x".

Definition compress_avx2_program : program := Program "pack_avx2"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("valid", Pointer true Flags)]
  [Counted "from" "end" 8 ["valid"] live_8]
  (ReturnPointer "to").

(** ** NEON: four XIDs a step; for fewer there is no loop here *)

(** A sum has a bit for each lane that stays, and above these four bits how many they are.  The lanes are stored packed, and
    the pointer advances by their number.  What is stored above them is not needed. *)
Definition packed_4 (x sum kept : string) : list statement := [
  Store "vst1q_u32" "to" []
    (Call "vreinterpretq_u32_u8"
      [Call "vqtbl1q_u8" [Call "vreinterpretq_u8_u32" [Var x]; NeonEntry (Computed And sum 15)]]);
  Const Word kept (Computed Right sum 4);
  AdvanceBy "to" kept].

(** A lane that stays adds its bit, and 16 to the count. *)
Definition weights : list Z := [17; 18; 20; 24]%Z.

(** x - xmin has its sign set if x precedes. *)
Definition keep_4 (x sum kept : string) : list statement :=
  Const Word sum
    (Call "vaddvq_u32"
      [Call "vandq_u32"
        [Call "vcgezq_s32" [Call "vreinterpretq_s32_u32" [Call "vsubq_u32" [Var x; Var "bound"]]]; Var "weights"]]) ::
  packed_4 x sum kept.

Definition loaded_4 (x : string) (i : nat) : statement := Const Neon128 x (LoadVector "vld1q_u32" [] "from" i).

Definition purge_neon_program : program := Program "keep_registers_neon"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("xmin", Value)]
  [Do (Const Neon128 "bound" (Call "vdupq_n_u32" [Var "xmin"]));
   Do (Const Neon128 "weights" (Four weights));
   Loop "from" "end" 16 []
     ([loaded_4 "a" 0; loaded_4 "b" 4; loaded_4 "c" 8; loaded_4 "d" 12] ++
      keep_4 "a" "sum_a" "in_a" ++ keep_4 "b" "sum_b" "in_b" ++ keep_4 "c" "sum_c" "in_c" ++ keep_4 "d" "sum_d" "in_d");
   Loop "from" "end" 4 [] (loaded_4 "x" 0 :: keep_4 "x" "sum_x" "in_x")]
  (ReturnPointer "to").

(** A flag is the byte 0 or 1.  Times this number, flag i moves to bit 24 + i, and the flags add up from bit 28 on.  Below
    these the terms that meet are at most three, with room for their sum. *)
Definition moves_flags : Z :=
  (2 ^ 24 + 2 ^ 17 + 2 ^ 10 + 2 ^ 3 + (2 ^ 28 + 2 ^ 20 + 2 ^ 12 + 2 ^ 4))%Z.

Definition live_4 : list statement :=
  [loaded_4 "x" 0;
   Const Word "flags" (WordAt "valid");
   Const Word "moved" (Computed Times "flags" moves_flags);
   Const Word "sum" (Computed Right "moved" 24)] ++
  packed_4 "x" "sum" "live".

Definition compress_neon_program : program := Program "pack_neon"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("valid", Pointer true Flags)]
  [Counted "from" "end" 4 ["valid"] live_4]
  (ReturnPointer "to").

(** Each printed file, and what stands in it. *)
Definition printed : list (string * string) := [
  ("csrc/snapbuild/keep_avx512.h",
   print_header "PGQUERN_SNAPBUILD_KEEP_AVX512_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." purge_program);
  ("csrc/snapbuild/pack_avx512.h",
   print_header "PGQUERN_SNAPBUILD_PACK_AVX512_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." compress_program);
  ("csrc/snapbuild/keep_avx2.h",
   print_header "PGQUERN_SNAPBUILD_KEEP_AVX2_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." purge_avx2_program);
  ("csrc/snapbuild/pack_avx2.h",
   print_header "PGQUERN_SNAPBUILD_PACK_AVX2_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." compress_avx2_program);
  ("csrc/snapbuild/keep_neon.h",
   print_header "PGQUERN_SNAPBUILD_KEEP_NEON_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." purge_neon_program);
  ("csrc/snapbuild/pack_neon.h",
   print_header "PGQUERN_SNAPBUILD_PACK_NEON_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." compress_neon_program)].
