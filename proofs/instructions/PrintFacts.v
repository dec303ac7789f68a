(* SPDX-License-Identifier: PostgreSQL *)
(** * What the printer prints, each construct once *)
From Coq Require Import ZArith String List.
From Pgquern.instructions Require Import Program Print.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.

Definition each_construct : program := Program "f"
  [("to", Pointer false Words); ("from", Pointer true Words); ("end", Pointer true Words); ("flags", Pointer true Flags);
   ("w", Value)]
  [Do (Variable_ Vector512 "a" (Call "_mm512_set1_epi32" [Number 2147483648]));
   Loop "from" "end" 16 ["flags"]
     [Const Vector512 "x" (LoadVector "_mm512_loadu_si512" [] "from" 48);
      Const Vector128 "y" (LoadVector "_mm_loadu_si128" [] "flags" 16);
      Assign "a" (Call "_mm512_sub_epi32" [Var "x"; Var "a"]);
      Store "_mm512_storeu_si512" "to" [] (Var "a");
      Advance "to" (Var "m")];
   Counted "from" "end" 8 ["flags"] [Advance "to" (Var "m")];
   ReturnIf "from" "end";
   Do (Const Mask16 "m" (Rest "from" "end"));
   Do (Const Word "z" (LoadVector "_mm512_maskz_loadu_epi32" [Var "m"] "from" 0));
   Do (Const Vector256 "b" (LoadVector "_mm256_loadu_si256" [] "from" 8));
   Do (Const Vector256 "k" (Call "_mm256_cmpgt_epi32"
     [Call "_mm256_set1_epi32" [Left "from" "end"]; Call "_mm256_setr_epi32" [Numbers [0; 1; 2; 3; 4; 5; 6; 7]%Z]]));
   Do (Const Vector256 "l" (LoadVector "_mm256_maskload_epi32" [Var "k"] "from" 0));
   Do (Const Vector128 "h" (Call "_mm256_extracti128_si256 1" [Var "l"]));
   Do (Const Word "n" (Turned (Call "_mm256_movemask_ps" [Call "_mm256_castsi256_ps" [Var "l"]])));
   Do (Store "_mm256_storeu_si256" "to" [] (Call "_mm256_permutevar8x32_epi32" [Var "l"; LeftPack (Var "n")]));
   Do (Const Vector128 "o" (LoadVector "_mm_loadl_epi64" [] "flags" 0));
   Do (Store "_mm512_mask_storeu_epi32" "to" [Var "m"] (Var "z"));
   Do (Const Neon128 "p" (Four [17; 18; 20; 24]%Z));
   Do (Const Neon128 "q" (LoadVector "vld1q_u32" [] "from" 4));
   Do (Const Word "r" (Call "vaddvq_u32" [Call "vandq_u32" [Var "p"; Var "q"]]));
   Do (Const Word "s" (WordAt "flags"));
   Do (Const Word "t" (Computed Times "s" 8));
   Do (Const Word "u" (Computed Right "t" 4));
   Do (Store "vst1q_u32" "to" []
     (Call "vreinterpretq_u32_u8"
       [Call "vqtbl1q_u8" [Call "vreinterpretq_u8_u32" [Var "q"]; NeonEntry (Computed And "r" 15)]]));
   Do (AdvanceBy "to" "u")]
  (ReturnPointer "to").

Definition its_text : string :=
"static inline __attribute__((always_inline)) uint32_t *f(uint32_t *to, const uint32_t *from, const uint32_t *end, const bool *flags, uint32_t w)
{
__m512i a = _mm512_set1_epi32(2147483648u);
for (; end - from >= 16; from += 16, flags += 16) {
const __m512i x = _mm512_loadu_si512(from + 48);
const __m128i y = _mm_loadu_si128((const __m128i *)(flags + 16));
a = _mm512_sub_epi32(x, a);
_mm512_storeu_si512(to, a);
to += __builtin_popcount(m);
}
for (size_t rounds = (size_t)(end - from) / 8; rounds > 0; rounds--, from += 8, flags += 8) {
to += __builtin_popcount(m);
}
if (from == end)
return to;
const __mmask16 m = (__mmask16)((1u << (end - from)) - 1);
const uint32_t z = _mm512_maskz_loadu_epi32(m, from);
const __m256i b = _mm256_loadu_si256((const __m256i *)(from + 8));
const __m256i k = _mm256_cmpgt_epi32(_mm256_set1_epi32((uint32_t)(end - from)), _mm256_setr_epi32(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u));
const __m256i l = _mm256_maskload_epi32((const int *)(from), k);
const __m128i h = _mm256_extracti128_si256(l, 1);
const uint32_t n = ~_mm256_movemask_ps(_mm256_castsi256_ps(l)) & 255u;
_mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(l, left_pack(n)));
const __m128i o = _mm_loadl_epi64((const __m128i *)(flags));
_mm512_mask_storeu_epi32(to, m, z);
const uint32x4_t p = (uint32x4_t){17u, 18u, 20u, 24u};
const uint32x4_t q = vld1q_u32(from + 4);
const uint32_t r = vaddvq_u32(vandq_u32(p, q));
const uint32_t s = word_at(flags);
const uint32_t t = (s * 8u);
const uint32_t u = (t >> 4u);
vst1q_u32(to, vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(q), vld1q_u8(left_pack_neon[(r & 15u)]))));
to += u;
return to;
}
".

(** Each construct of the language is printed as the C that its meaning was written for. *)
Theorem each_construct_prints :
  print_program each_construct = its_text /\
  print_outcome (ReturnWord (Call "_mm512_reduce_max_epu32" [Var "a"])) =
    ("return _mm512_reduce_max_epu32(a);" ++ newline)%string.
Proof. split; reflexivity. Qed.
