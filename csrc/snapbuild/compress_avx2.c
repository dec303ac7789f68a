/* SPDX-License-Identifier: PostgreSQL */
/* Eight entries a step, as in purge_avx2.c. */
#include "snapbuild/known_assigned.h"

#if defined(__AVX2__)
#include "common/left_pack.h"

#include <string.h>

/* One bit a flag: a set flag is the byte 1, moved up to where movemask looks. */
static inline unsigned live_mask(const bool *valid)
{
    __m128i flags = _mm_loadl_epi64((const __m128i *)valid);

    return (unsigned)_mm_movemask_epi8(_mm_slli_epi16(flags, 7)) & 0xff;
}

size_t pgq_snapbuild_known_assigned_avx2(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    uint32_t *to = xids;
    size_t i = tail;

    for (; i + 8 <= head; i += 8) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(xids + i));
        unsigned live = live_mask(valid + i);

        _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(x, left_pack(live)));
        to += __builtin_popcount(live);
    }
    if (i < head)
        to += slide_live(to, xids + i, valid + i, head - i);
    if (to > xids)
        memset(valid, true, (size_t)(to - xids));
    return (size_t)(to - xids);
}
#endif
