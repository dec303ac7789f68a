(* SPDX-License-Identifier: PostgreSQL *)
(** * The inner loops of the AVX-512, the AVX2 and the NEON minimum, as programs, and the C that is printed of them

    [make generate] writes the text into csrc/; [make prove] compares. *)
From Coq Require Import ZArith String List.
From Pgquern.instructions Require Import Program Print.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.

(** Registers of one width: their type in C, how many words one has, the form of a loop, what loads one, makes one of zeros,
    or puts a number into all lanes, and how an accumulator takes the ages of one: (x < first ? 0 : last_sane) - x. *)
Record registers := Registers {
  typed : type; wide : nat;
  loop : string -> string -> nat -> list string -> list statement -> step; loaded_by : string; zero_by : expression; spread_by : string;
  older : string -> string -> string -> list statement }.

Definition avx512 : registers :=
  Registers Vector512 16 Loop "_mm512_loadu_si512" (Call "_mm512_setzero_si512" []) "_mm512_set1_epi32" (fun accumulator x mask => [
    Const Mask16 mask (Call "_mm512_cmpge_epu32_mask" [Var x; Var "least"]);
    Assign accumulator
      (Call "_mm512_max_epu32"
        [Var accumulator;
         Call "_mm512_sub_epi32" [Call "_mm512_maskz_mov_epi32" [Var mask; Var "sane"]; Var x]])]).

(** AVX2 has an unsigned maximum, but no unsigned comparison: x is not below the least normal id if the maximum of both
    is x.  Where a loop counts its rounds, gcc needs two instructions less for each. *)
Definition avx2 : registers :=
  Registers Vector256 8 Counted "_mm256_loadu_si256" (Call "_mm256_setzero_si256" []) "_mm256_set1_epi32" (fun accumulator x mask => [
    Const Vector256 mask (Call "_mm256_cmpeq_epi32" [Call "_mm256_max_epu32" [Var x; Var "least"]; Var x]);
    Assign accumulator
      (Call "_mm256_max_epu32"
        [Var accumulator;
         Call "_mm256_sub_epi32" [Call "_mm256_and_si256" [Var mask; Var "sane"]; Var x]])]).

(** NEON's comparison yields a register of signs. *)
Definition neon : registers :=
  Registers Neon128 4 Counted "vld1q_u32" (Call "vdupq_n_u32" [Number 0]) "vdupq_n_u32" (fun accumulator x mask => [
    Const Neon128 mask (Call "vcgeq_u32" [Var x; Var "least"]);
    Assign accumulator
      (Call "vmaxq_u32" [Var accumulator; Call "vsubq_u32" [Call "vandq_u32" [Var mask; Var "sane"]; Var x]])]).

Definition taken (r : registers) (accumulator x mask : string) (i : nat) : list statement :=
  Const (typed r) x (LoadVector (loaded_by r) [] "from" i) :: older r accumulator x mask.

Definition zero (r : registers) (x : string) : step := Do (Variable_ (typed r) x (zero_by r)).
Definition everywhere (r : registers) (x y : string) : step := Do (Const (typed r) x (Call (spread_by r) [Var y])).

(** Four chains. *)
Definition whole_registers (r : registers) : list step :=
  [everywhere r "sane" "last_sane"; everywhere r "least" "first"; zero r "a"; zero r "b"; zero r "c"; zero r "d";
   loop r "from" "end" (4 * wide r) []
     (taken r "a" "at_a" "in_a" 0 ++ taken r "b" "at_b" "in_b" (wide r) ++
      taken r "c" "at_c" "in_c" (2 * wide r) ++ taken r "d" "at_d" "in_d" (3 * wide r));
   loop r "from" "end" (wide r) [] (taken r "a" "x" "in_x" 0)].

Definition its_parameters : list (string * parameter) :=
  [("from", Pointer true Words); ("end", Pointer true Words); ("last_sane", Value); ("first", Value)].

Definition joined (maximum : string) : expression :=
  Call maximum [Call maximum [Var "a"; Var "b"]; Call maximum [Var "c"; Var "d"]].

(** What is not loaded of the last register is zero, which is the invalid id. *)
Definition greatest_program : program := Program "greatest_avx512" its_parameters
  (whole_registers avx512 ++
   [Do (Const Mask16 "rest" (Rest "from" "end"));
    Do (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0))] ++
   map Do (older avx512 "b" "last" "in_last"))
  (ReturnWord (Call "_mm512_reduce_max_epu32" [joined "_mm512_max_epu32"])).

(** The same with half as wide registers.  A mask of the lanes that are left is a comparison of their places. *)
Definition greatest_avx2_program : program := Program "greatest_avx2" its_parameters
  (whole_registers avx2 ++
   [Do (Const Vector256 "places" (Call "_mm256_setr_epi32" [Numbers [0; 1; 2; 3; 4; 5; 6; 7]%Z]));
    Do (Const Vector256 "rest"
      (Call "_mm256_cmpgt_epi32" [Call "_mm256_set1_epi32" [Left "from" "end"]; Var "places"]));
    Do (Const Vector256 "last" (LoadVector "_mm256_maskload_epi32" [Var "rest"] "from" 0))] ++
   map Do (older avx2 "b" "last" "in_last") ++
   [Do (Const Vector256 "all" (joined "_mm256_max_epu32"));
    Do (Const Vector128 "four"
      (Call "_mm_max_epu32" [Call "_mm256_castsi256_si128" [Var "all"]; Call "_mm256_extracti128_si256 1" [Var "all"]]));
    Do (Const Vector128 "two" (Call "_mm_max_epu32" [Var "four"; Call "_mm_shuffle_epi32 78" [Var "four"]]));
    Do (Const Vector128 "one" (Call "_mm_max_epu32" [Var "two"; Call "_mm_shuffle_epi32 177" [Var "two"]]))])
  (ReturnWord (Call "_mm_cvtsi128_si32" [Var "one"])).

(** NEON loads nothing under a mask.  Of the values that are left, each is put into all lanes of a register. *)
Definition greatest_neon_program : program := Program "greatest_neon" its_parameters
  (whole_registers neon ++
   [loop neon "from" "end" 1 []
      (Const Neon128 "last" (Call "vdupq_n_u32" [WordAt "from"]) :: older neon "b" "last" "in_last")])
  (ReturnWord (Call "vmaxvq_u32" [joined "vmaxq_u32"])).

(** Each printed file, and what stands in it. *)
Definition printed : list (string * string) := [
  ("csrc/datfrozenxid/greatest_avx512.h",
   print_header "PGQUERN_DATFROZENXID_GREATEST_AVX512_H"
     "Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that." greatest_program);
  ("csrc/datfrozenxid/greatest_avx2.h",
   print_header "PGQUERN_DATFROZENXID_GREATEST_AVX2_H"
     "Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that." greatest_avx2_program);
  ("csrc/datfrozenxid/greatest_neon.h",
   print_header "PGQUERN_DATFROZENXID_GREATEST_NEON_H"
     "Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that." greatest_neon_program)].
