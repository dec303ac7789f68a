/* SPDX-License-Identifier: PostgreSQL */
/*
 * The AVX-512 variant's algorithm with eight XIDs a step. Eight bits say which XIDs are kept; they are the index of the
 * permutation that packs these XIDs.
 */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#if defined(__AVX2__)
#include "common/left_pack.h"

#include <immintrin.h>

static inline size_t keep_register(uint32_t *to, __m256i x, __m256i bound)
{
    /* The sign of x - xmin: set for those that precede. */
    unsigned precede = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(x, bound)));
    unsigned kept = ~precede & 0xff;

    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(x, left_pack(kept)));
    return (size_t)__builtin_popcount(kept);
}

static inline __attribute__((always_inline)) uint32_t *keep_avx2(uint32_t *to, const uint32_t *from,
                                                                 const uint32_t *end, uint32_t xmin)
{
    const __m256i bound = _mm256_set1_epi32((int)xmin);

    for (; end - from >= 32; from += 32) {
        __m256i a = _mm256_loadu_si256((const __m256i *)from);
        __m256i b = _mm256_loadu_si256((const __m256i *)(from + 8));
        __m256i c = _mm256_loadu_si256((const __m256i *)(from + 16));
        __m256i d = _mm256_loadu_si256((const __m256i *)(from + 24));

        to += keep_register(to, a, bound);
        to += keep_register(to, b, bound);
        to += keep_register(to, c, bound);
        to += keep_register(to, d, bound);
    }
    for (; end - from >= 8; from += 8)
        to += keep_register(to, _mm256_loadu_si256((const __m256i *)from), bound);
    return to + slide_survivors(to, from, (size_t)(end - from), xmin);
}

DEFINE_PURGE(avx2)
#endif
