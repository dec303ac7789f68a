/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/snapbuild/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_SNAPBUILD_PACK_AVX512_H
#define PGQUERN_SNAPBUILD_PACK_AVX512_H

static inline __attribute__((always_inline)) uint32_t *pack_avx512(uint32_t *to, const uint32_t *from,
                                                                   const uint32_t *end, const bool *valid)
{
    for (; end - from >= 16; from += 16, valid += 16) {
        const __m512i x = _mm512_loadu_si512(from);
        const __m128i flags = _mm_loadu_si128((const __m128i *)(valid));
        const __mmask16 live = _mm_test_epi8_mask(flags, flags);
        _mm512_storeu_si512(to, vpcompressd(live, x));
        to += __builtin_popcount(live);
    }
    if (from == end)
        return to;
    const __mmask16 rest = (__mmask16)((1u << (end - from)) - 1);
    const __m512i last = _mm512_maskz_loadu_epi32(rest, from);
    const __m128i last_flags = _mm_maskz_loadu_epi8(rest, valid);
    const __mmask16 last_live = _mm_test_epi8_mask(last_flags, last_flags);
    _mm512_mask_storeu_epi32(to, rest, vpcompressd(last_live, last));
    to += __builtin_popcount(last_live);
    return to;
}

#endif
