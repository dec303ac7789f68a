/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/snapbuild/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_SNAPBUILD_PACK_AVX2_H
#define PGQUERN_SNAPBUILD_PACK_AVX2_H

static inline __attribute__((always_inline)) uint32_t *pack_avx2(uint32_t *to, const uint32_t *from,
                                                                 const uint32_t *end, const bool *valid)
{
    for (size_t rounds = (size_t)(end - from) / 8; rounds > 0; rounds--, from += 8, valid += 8) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(from));
        const __m128i flags = _mm_loadl_epi64((const __m128i *)(valid));
        const uint32_t live = _mm_movemask_epi8(_mm_slli_epi16(flags, 7));
        _mm256_storeu_si256((__m256i *)(to), _mm256_permutevar8x32_epi32(x, left_pack(live)));
        to += __builtin_popcount(live);
    }
    return to;
}

#endif
