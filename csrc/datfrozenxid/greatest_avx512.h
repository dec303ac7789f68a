/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_DATFROZENXID_GREATEST_AVX512_H
#define PGQUERN_DATFROZENXID_GREATEST_AVX512_H

static inline __attribute__((always_inline)) uint32_t
greatest_avx512(const uint32_t *from, const uint32_t *end, uint32_t last_sane, uint32_t first)
{
    const __m512i sane = _mm512_set1_epi32(last_sane);
    const __m512i least = _mm512_set1_epi32(first);
    __m512i a = _mm512_setzero_si512();
    __m512i b = _mm512_setzero_si512();
    __m512i c = _mm512_setzero_si512();
    __m512i d = _mm512_setzero_si512();
    for (; end - from >= 64; from += 64) {
        const __m512i at_a = _mm512_loadu_si512(from);
        const __mmask16 in_a = _mm512_cmpge_epu32_mask(at_a, least);
        a = _mm512_max_epu32(a, _mm512_sub_epi32(_mm512_maskz_mov_epi32(in_a, sane), at_a));
        const __m512i at_b = _mm512_loadu_si512(from + 16);
        const __mmask16 in_b = _mm512_cmpge_epu32_mask(at_b, least);
        b = _mm512_max_epu32(b, _mm512_sub_epi32(_mm512_maskz_mov_epi32(in_b, sane), at_b));
        const __m512i at_c = _mm512_loadu_si512(from + 32);
        const __mmask16 in_c = _mm512_cmpge_epu32_mask(at_c, least);
        c = _mm512_max_epu32(c, _mm512_sub_epi32(_mm512_maskz_mov_epi32(in_c, sane), at_c));
        const __m512i at_d = _mm512_loadu_si512(from + 48);
        const __mmask16 in_d = _mm512_cmpge_epu32_mask(at_d, least);
        d = _mm512_max_epu32(d, _mm512_sub_epi32(_mm512_maskz_mov_epi32(in_d, sane), at_d));
    }
    for (; end - from >= 16; from += 16) {
        const __m512i x = _mm512_loadu_si512(from);
        const __mmask16 in_x = _mm512_cmpge_epu32_mask(x, least);
        a = _mm512_max_epu32(a, _mm512_sub_epi32(_mm512_maskz_mov_epi32(in_x, sane), x));
    }
    const __mmask16 rest = (__mmask16)((1u << (end - from)) - 1);
    const __m512i last = _mm512_maskz_loadu_epi32(rest, from);
    const __mmask16 in_last = _mm512_cmpge_epu32_mask(last, least);
    b = _mm512_max_epu32(b, _mm512_sub_epi32(_mm512_maskz_mov_epi32(in_last, sane), last));
    return _mm512_reduce_max_epu32(_mm512_max_epu32(_mm512_max_epu32(a, b), _mm512_max_epu32(c, d)));
}

#endif
