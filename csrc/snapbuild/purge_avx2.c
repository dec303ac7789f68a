/* SPDX-License-Identifier: PostgreSQL */
/*
 * Eight XIDs a step, as the AVX-512 variant does; the compression is a permutation looked up by the eight bits that say
 * who is kept.
 */
#include "snapbuild/purge.h"

#if defined(__AVX2__)
#include "left_pack.h"

#include <immintrin.h>

static inline size_t keep(uint32_t *to, __m256i x, __m256i bound)
{
    /* The sign of x - xmin: set for those that precede. */
    unsigned precede = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(x, bound)));
    unsigned kept = ~precede & 0xff;

    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(x, left_pack(kept)));
    return (size_t)__builtin_popcount(kept);
}

pgq_status pgq_purge_avx2(pgq_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    const __m256i bound = _mm256_set1_epi32((int)xmin);
    uint32_t *xip, *to;
    size_t n, i = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(xmin) || committed->xcnt == 0)
        return accepted();
    xip = to = committed->xip;
    n = committed->xcnt;
    for (; i + 32 <= n; i += 32) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(xip + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(xip + i + 8));
        __m256i c = _mm256_loadu_si256((const __m256i *)(xip + i + 16));
        __m256i d = _mm256_loadu_si256((const __m256i *)(xip + i + 24));

        to += keep(to, a, bound);
        to += keep(to, b, bound);
        to += keep(to, c, bound);
        to += keep(to, d, bound);
    }
    for (; i + 8 <= n; i += 8)
        to += keep(to, _mm256_loadu_si256((const __m256i *)(xip + i)), bound);
    to += slide_survivors(to, xip + i, n - i, xmin);
    committed->xcnt = (size_t)(to - xip);
    return accepted();
}
#endif
