/* SPDX-License-Identifier: PostgreSQL */
/* Sixteen entries a step, as in purge_avx512.c. The flags, a byte each, become the mask. */
#include "snapbuild/known_assigned.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#include <string.h>

size_t pgq_snapbuild_known_assigned_avx512(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    uint32_t *to = xids;
    size_t i = tail;

    for (; i + 16 <= head; i += 16) {
        __m512i x = _mm512_loadu_si512(xids + i);
        __m128i flags = _mm_loadu_si128((const __m128i *)(valid + i));
        __mmask16 live = _mm_test_epi8_mask(flags, flags);

        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(live, x));
        to += __builtin_popcount(live);
    }
    if (i < head)
        to += slide_live(to, xids + i, valid + i, head - i);
    if (to > xids)
        memset(valid, true, (size_t)(to - xids));
    return (size_t)(to - xids);
}
#endif
