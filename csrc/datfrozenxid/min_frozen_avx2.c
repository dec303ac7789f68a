/* SPDX-License-Identifier: PostgreSQL */
/*
 * Eight ages a step, in four chains. AVX2 has an unsigned maximum, but no unsigned comparison: x is normal if the maximum of
 * x and the least normal id is x.
 */
#include "datfrozenxid/kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

typedef struct limits {
    __m256i last_sane, first;
} limits;

ALWAYS_INLINE __m256i older(__m256i greatest, __m256i x, limits l)
{
    __m256i normal = _mm256_cmpeq_epi32(_mm256_max_epu32(x, l.first), x);
    __m256i age = _mm256_sub_epi32(_mm256_and_si256(normal, l.last_sane), x);

    return _mm256_max_epu32(greatest, age);
}

ALWAYS_INLINE __m256i load(const uint32_t *values)
{
    return _mm256_loadu_si256((const __m256i *)values);
}

ALWAYS_INLINE uint32_t greatest_lane(__m256i v)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(1, 0, 3, 2)));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/* The lanes below n are loaded; the others are zero, which is the invalid id. */
ALWAYS_INLINE __m256i load_few(const uint32_t *values, size_t n)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_maskload_epi32((const int *)values, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lanes));
}

ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    const limits l = {_mm256_set1_epi32((int)last_sane), _mm256_set1_epi32((int)first)};
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    size_t i = 0;

    for (; n - i >= 32; i += 32) {
        a = older(a, load(values + i), l);
        b = older(b, load(values + i + 8), l);
        c = older(c, load(values + i + 16), l);
        d = older(d, load(values + i + 24), l);
    }
    for (; n - i >= 8; i += 8)
        a = older(a, load(values + i), l);
    b = older(b, load_few(values + i, n - i), l);
    return greatest_lane(_mm256_max_epu32(_mm256_max_epu32(a, b), _mm256_max_epu32(c, d)));
}

pgq_status pgq_datfrozenxid_min_frozen_avx2(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum, greatest_age);
}
#endif
