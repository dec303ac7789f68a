(* SPDX-License-Identifier: PostgreSQL *)
(** * The inner loops of the AVX-512 kernels, and of AVX2's compression, as programs, and their C

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

(** A flag is the byte 0 or 1: its one bit goes where the sign is. *)
Definition live_8 : list statement :=
  [Const Vector256 "x" (LoadVector "_mm256_loadu_si256" [] "from" 0);
   Const Vector128 "flags" (LoadVector "_mm_loadl_epi64" [] "valid" 0);
   Const Word "live" (Call "_mm_movemask_epi8" [Call "_mm_slli_epi16 7" [Var "flags"]])] ++
  packed_8 "live" "x".

Definition compress_avx2_program : program := Program "pack_avx2"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("valid", Pointer true Flags)]
  [Counted "from" "end" 8 ["valid"] live_8]
  (ReturnPointer "to").

(** Each printed file, and what stands in it. *)
Definition printed : list (string * string) := [
  ("csrc/snapbuild/keep_avx512.h",
   print_header "PGQUERN_SNAPBUILD_KEEP_AVX512_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." purge_program);
  ("csrc/snapbuild/pack_avx512.h",
   print_header "PGQUERN_SNAPBUILD_PACK_AVX512_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." compress_program);
  ("csrc/snapbuild/pack_avx2.h",
   print_header "PGQUERN_SNAPBUILD_PACK_AVX2_H"
     "Printed from proofs/snapbuild/Generated.v by `make generate`: change that." compress_avx2_program)].
