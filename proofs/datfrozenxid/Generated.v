(* SPDX-License-Identifier: PostgreSQL *)
(** * The inner loop of the AVX-512 minimum, as a program, and the C that is printed of it

    [make generate] writes the text into csrc/; [make prove] compares. *)
From Coq Require Import ZArith String List.
From Pgquern.instructions Require Import Program Print.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.

(** An accumulator takes the ages of a register: (x < first ? 0 : last_sane) - x. *)
Definition older (accumulator x mask : string) : list statement := [
  Const Mask16 mask (Call "_mm512_cmpge_epu32_mask" [Var x; Var "least"]);
  Assign accumulator
    (Call "_mm512_max_epu32"
      [Var accumulator;
       Call "_mm512_sub_epi32" [Call "_mm512_maskz_mov_epi32" [Var mask; Var "sane"]; Var x]])].

Definition taken (accumulator x mask : string) (i : nat) : list statement :=
  Const Vector512 x (LoadVector "_mm512_loadu_si512" [] "from" i) :: older accumulator x mask.

Definition zero (x : string) : step := Do (Variable_ Vector512 x (Call "_mm512_setzero_si512" [])).

(** Four chains.  What is not loaded of the last register is zero, which is the invalid id. *)
Definition greatest_program : program := Program "greatest_avx512"
  [("from", Pointer true Words); ("end", Pointer true Words); ("last_sane", Value); ("first", Value)]
  ([Do (Const Vector512 "sane" (Call "_mm512_set1_epi32" [Var "last_sane"]));
    Do (Const Vector512 "least" (Call "_mm512_set1_epi32" [Var "first"]));
    zero "a"; zero "b"; zero "c"; zero "d";
    Loop "from" "end" 64 []
      (taken "a" "at_a" "in_a" 0 ++ taken "b" "at_b" "in_b" 16 ++ taken "c" "at_c" "in_c" 32 ++ taken "d" "at_d" "in_d" 48);
    Loop "from" "end" 16 [] (taken "a" "x" "in_x" 0);
    Do (Const Mask16 "rest" (Rest "from" "end"));
    Do (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0))] ++
   map Do (older "b" "last" "in_last"))
  (ReturnWord
    (Call "_mm512_reduce_max_epu32"
      [Call "_mm512_max_epu32"
        [Call "_mm512_max_epu32" [Var "a"; Var "b"]; Call "_mm512_max_epu32" [Var "c"; Var "d"]]])).

(** Each printed file, and what stands in it. *)
Definition printed : list (string * string) := [
  ("csrc/datfrozenxid/greatest_avx512.h",
   print_header "PGQUERN_DATFROZENXID_GREATEST_AVX512_H"
     "Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that." greatest_program)].
