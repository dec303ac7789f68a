/* SPDX-License-Identifier: PostgreSQL */
/*
 * Sixteen XIDs a step: compare, compress in a register, store the whole register, and step on by the number kept. The
 * store may reach past the survivors, but not past what was read already, since no more is kept than was read. A
 * compressing store would write just the survivors, but is microcoded on Zen 4.
 */
#include "snapbuild/purge.h"

#if defined(__AVX512F__)
#include <immintrin.h>

static inline size_t keep(uint32_t *to, __m512i x, __m512i bound, __m512i half)
{
    /* Unsigned x - xmin < 2^31: x does not precede xmin. */
    __mmask16 kept = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(x, bound), half);

    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(kept, x));
    return (size_t)__builtin_popcount(kept);
}

pgq_status pgq_purge_avx512(pgq_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    const __m512i bound = _mm512_set1_epi32((int)xmin), half = _mm512_set1_epi32((int)HALF_RING);
    uint32_t *xip, *to;
    size_t n, i = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(xmin) || committed->xcnt == 0)
        return accepted();
    xip = to = committed->xip;
    n = committed->xcnt;
    for (; i + 64 <= n; i += 64) {
        __m512i a = _mm512_loadu_si512(xip + i), b = _mm512_loadu_si512(xip + i + 16);
        __m512i c = _mm512_loadu_si512(xip + i + 32), d = _mm512_loadu_si512(xip + i + 48);

        to += keep(to, a, bound, half);
        to += keep(to, b, bound, half);
        to += keep(to, c, bound, half);
        to += keep(to, d, bound, half);
    }
    for (; i + 16 <= n; i += 16)
        to += keep(to, _mm512_loadu_si512(xip + i), bound, half);
    if (i < n) {
        __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
        __m512i x = _mm512_maskz_loadu_epi32(rest, xip + i);
        __mmask16 kept = _mm512_mask_cmplt_epu32_mask(rest, _mm512_sub_epi32(x, bound), half);

        _mm512_mask_storeu_epi32(to, rest, _mm512_maskz_compress_epi32(kept, x));
        to += __builtin_popcount(kept);
    }
    committed->xcnt = (size_t)(to - xip);
    return accepted();
}
#endif
