/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/snapbuild/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_SNAPBUILD_KEEP_AVX2_H
#define PGQUERN_SNAPBUILD_KEEP_AVX2_H

static inline __attribute__((always_inline)) uint32_t *keep_registers_avx2(uint32_t *to, const uint32_t *from,
                                                                           const uint32_t *end, uint32_t xmin)
{
    const __m256i bound = _mm256_set1_epi32(xmin);
    for (; end - from >= 32; from += 32) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(from));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(from + 8));
        const __m256i c = _mm256_loadu_si256((const __m256i *)(from + 16));
        const __m256i d = _mm256_loadu_si256((const __m256i *)(from + 24));
        const uint32_t in_a = ~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(a, bound))) & 255u;
        _mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(a, left_pack(in_a)));
        to += __builtin_popcount(in_a);
        const uint32_t in_b = ~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(b, bound))) & 255u;
        _mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(b, left_pack(in_b)));
        to += __builtin_popcount(in_b);
        const uint32_t in_c = ~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(c, bound))) & 255u;
        _mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(c, left_pack(in_c)));
        to += __builtin_popcount(in_c);
        const uint32_t in_d = ~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(d, bound))) & 255u;
        _mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(d, left_pack(in_d)));
        to += __builtin_popcount(in_d);
    }
    for (; end - from >= 8; from += 8) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(from));
        const uint32_t in_x = ~_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sub_epi32(x, bound))) & 255u;
        _mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(x, left_pack(in_x)));
        to += __builtin_popcount(in_x);
    }
    return to;
}

#endif
