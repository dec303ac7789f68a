/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/snapbuild/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_SNAPBUILD_KEEP_AVX512_H
#define PGQUERN_SNAPBUILD_KEEP_AVX512_H

static inline __attribute__((always_inline)) uint32_t *keep_avx512(uint32_t *to, const uint32_t *from,
                                                                   const uint32_t *end, uint32_t xmin)
{
    const __m512i bound = _mm512_set1_epi32(xmin);
    const __m512i half = _mm512_set1_epi32(2147483648u);
    for (; end - from >= 64; from += 64) {
        const __m512i a = _mm512_loadu_si512(from);
        const __m512i b = _mm512_loadu_si512(from + 16);
        const __m512i c = _mm512_loadu_si512(from + 32);
        const __m512i d = _mm512_loadu_si512(from + 48);
        const __mmask16 in_a = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(a, bound), half);
        _mm512_storeu_si512(to, vpcompressd(in_a, a));
        to += __builtin_popcount(in_a);
        const __mmask16 in_b = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(b, bound), half);
        _mm512_storeu_si512(to, vpcompressd(in_b, b));
        to += __builtin_popcount(in_b);
        const __mmask16 in_c = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(c, bound), half);
        _mm512_storeu_si512(to, vpcompressd(in_c, c));
        to += __builtin_popcount(in_c);
        const __mmask16 in_d = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(d, bound), half);
        _mm512_storeu_si512(to, vpcompressd(in_d, d));
        to += __builtin_popcount(in_d);
    }
    for (; end - from >= 16; from += 16) {
        const __m512i x = _mm512_loadu_si512(from);
        const __mmask16 in_x = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(x, bound), half);
        _mm512_storeu_si512(to, vpcompressd(in_x, x));
        to += __builtin_popcount(in_x);
    }
    if (from == end)
        return to;
    const __mmask16 rest = (__mmask16)((1u << (end - from)) - 1);
    const __m512i last = _mm512_maskz_loadu_epi32(rest, from);
    const __mmask16 in_last = _mm512_mask_cmplt_epu32_mask(rest, _mm512_sub_epi32(last, bound), half);
    _mm512_mask_storeu_epi32(to, rest, vpcompressd(in_last, last));
    to += __builtin_popcount(in_last);
    return to;
}

#endif
