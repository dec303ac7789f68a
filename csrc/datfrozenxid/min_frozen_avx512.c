/* SPDX-License-Identifier: PostgreSQL */
/* Sixteen ages a step, in four chains. */
#include "datfrozenxid/kernels.h"

#if defined(__AVX512F__)
#include <immintrin.h>

typedef struct limits {
    __m512i last_sane, first;
} limits;

ALWAYS_INLINE __m512i older(__m512i greatest, __m512i x, limits l)
{
    __mmask16 normal = _mm512_cmpge_epu32_mask(x, l.first);
    __m512i age = _mm512_sub_epi32(_mm512_maskz_mov_epi32(normal, l.last_sane), x);

    return _mm512_max_epu32(greatest, age);
}

ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    const limits l = {_mm512_set1_epi32((int)last_sane), _mm512_set1_epi32((int)first)};
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    size_t i = 0;

    for (; n - i >= 64; i += 64) {
        a = older(a, _mm512_loadu_si512(values + i), l);
        b = older(b, _mm512_loadu_si512(values + i + 16), l);
        c = older(c, _mm512_loadu_si512(values + i + 32), l);
        d = older(d, _mm512_loadu_si512(values + i + 48), l);
    }
    for (; n - i >= 16; i += 16)
        a = older(a, _mm512_loadu_si512(values + i), l);
    /* What is not loaded is zero, which is the invalid id. */
    b = older(b, _mm512_maskz_loadu_epi32((__mmask16)((1u << (n - i)) - 1), values + i), l);
    return _mm512_reduce_max_epu32(_mm512_max_epu32(_mm512_max_epu32(a, b), _mm512_max_epu32(c, d)));
}

pgq_status pgq_datfrozenxid_min_frozen_avx512(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum, greatest_age);
}
#endif
