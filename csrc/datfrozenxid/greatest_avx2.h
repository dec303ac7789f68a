/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_DATFROZENXID_GREATEST_AVX2_H
#define PGQUERN_DATFROZENXID_GREATEST_AVX2_H

static inline __attribute__((always_inline)) uint32_t greatest_avx2(const uint32_t *from, const uint32_t *end,
                                                                    uint32_t last_sane, uint32_t first)
{
    const __m256i sane = _mm256_set1_epi32(last_sane);
    const __m256i least = _mm256_set1_epi32(first);
    __m256i a = _mm256_setzero_si256();
    __m256i b = _mm256_setzero_si256();
    __m256i c = _mm256_setzero_si256();
    __m256i d = _mm256_setzero_si256();
    for (size_t rounds = (size_t)(end - from) / 32; rounds > 0; rounds--, from += 32) {
        const __m256i at_a = _mm256_loadu_si256((const __m256i *)(from));
        const __m256i in_a = _mm256_cmpeq_epi32(_mm256_max_epu32(at_a, least), at_a);
        a = _mm256_max_epu32(a, _mm256_sub_epi32(_mm256_and_si256(in_a, sane), at_a));
        const __m256i at_b = _mm256_loadu_si256((const __m256i *)(from + 8));
        const __m256i in_b = _mm256_cmpeq_epi32(_mm256_max_epu32(at_b, least), at_b);
        b = _mm256_max_epu32(b, _mm256_sub_epi32(_mm256_and_si256(in_b, sane), at_b));
        const __m256i at_c = _mm256_loadu_si256((const __m256i *)(from + 16));
        const __m256i in_c = _mm256_cmpeq_epi32(_mm256_max_epu32(at_c, least), at_c);
        c = _mm256_max_epu32(c, _mm256_sub_epi32(_mm256_and_si256(in_c, sane), at_c));
        const __m256i at_d = _mm256_loadu_si256((const __m256i *)(from + 24));
        const __m256i in_d = _mm256_cmpeq_epi32(_mm256_max_epu32(at_d, least), at_d);
        d = _mm256_max_epu32(d, _mm256_sub_epi32(_mm256_and_si256(in_d, sane), at_d));
    }
    for (size_t rounds = (size_t)(end - from) / 8; rounds > 0; rounds--, from += 8) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(from));
        const __m256i in_x = _mm256_cmpeq_epi32(_mm256_max_epu32(x, least), x);
        a = _mm256_max_epu32(a, _mm256_sub_epi32(_mm256_and_si256(in_x, sane), x));
    }
    const __m256i places = _mm256_setr_epi32(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u);
    const __m256i rest = _mm256_cmpgt_epi32(_mm256_set1_epi32((uint32_t)(end - from)), places);
    const __m256i last = _mm256_maskload_epi32((const int *)(from), rest);
    const __m256i in_last = _mm256_cmpeq_epi32(_mm256_max_epu32(last, least), last);
    b = _mm256_max_epu32(b, _mm256_sub_epi32(_mm256_and_si256(in_last, sane), last));
    const __m256i all = _mm256_max_epu32(_mm256_max_epu32(a, b), _mm256_max_epu32(c, d));
    const __m128i four = _mm_max_epu32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    const __m128i two = _mm_max_epu32(four, _mm_shuffle_epi32(four, 78));
    const __m128i one = _mm_max_epu32(two, _mm_shuffle_epi32(two, 177));
    return _mm_cvtsi128_si32(one);
}

#endif
