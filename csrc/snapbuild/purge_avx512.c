/* SPDX-License-Identifier: PostgreSQL */
/*
 * Sixteen XIDs a step: compare, compress in a register, store the whole register, and advance by the number of XIDs kept.
 * The store may reach past the XIDs kept, but not past the XIDs read, since no step keeps more than it reads. A compressing
 * store would write only the XIDs kept, but it is microcoded on Zen 4.
 */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#if defined(__AVX512F__)
#include <immintrin.h>

/*
 * Packs the lanes of v that m selects to the bottom, with zeroes above. It is in assembler so that source and destination
 * are one register: on Zen 5 the instruction waits for the old value of its destination, even if that is zeroed.
 */
static inline __m512i pack(__mmask16 m, __m512i v)
{
    __asm__("vpcompressd %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

static inline size_t keep_register(uint32_t *to, __m512i x, __m512i bound, __m512i half)
{
    /* Unsigned x - xmin < 2^31: x does not precede xmin. */
    __mmask16 kept = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(x, bound), half);

    _mm512_storeu_si512(to, pack(kept, x));
    return (size_t)__builtin_popcount(kept);
}

static inline __attribute__((always_inline)) uint32_t *keep_avx512(uint32_t *to, const uint32_t *from,
                                                                   const uint32_t *end, uint32_t xmin)
{
    const __m512i bound = _mm512_set1_epi32((int)xmin), half = _mm512_set1_epi32((int)HALF_RING);
    __mmask16 rest, kept;
    __m512i x;

    /* In a long array it is a tenth faster to read four before the first is stored. */
    for (; end - from >= 64; from += 64) {
        __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 16);
        __m512i c = _mm512_loadu_si512(from + 32), d = _mm512_loadu_si512(from + 48);

        to += keep_register(to, a, bound, half);
        to += keep_register(to, b, bound, half);
        to += keep_register(to, c, bound, half);
        to += keep_register(to, d, bound, half);
    }
    for (; end - from >= 16; from += 16)
        to += keep_register(to, _mm512_loadu_si512(from), bound, half);
    if (from == end)
        return to;
    rest = (__mmask16)((1u << (end - from)) - 1);
    x = _mm512_maskz_loadu_epi32(rest, from);
    kept = _mm512_mask_cmplt_epu32_mask(rest, _mm512_sub_epi32(x, bound), half);
    _mm512_mask_storeu_epi32(to, rest, pack(kept, x));
    return to + __builtin_popcount(kept);
}

DEFINE_PURGE(avx512)
#endif
