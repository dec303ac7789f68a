/* SPDX-License-Identifier: PostgreSQL */
/* Four entries a step, packed by a table look-up: compress_avx2.c for ARM. */
#include "common/left_pack_neon.h"
#include "snapbuild/known_assigned.h"

#include <string.h>

/* One bit a flag, from the lowest on: a flag is a byte, 0 or 1, and byte i moves to bit 24 + i; no two terms meet. */
static inline unsigned live_mask(const bool *valid)
{
    uint32_t flags;

    memcpy(&flags, valid, sizeof flags);
    return flags * (1u << 24 | 1u << 17 | 1u << 10 | 1u << 3) >> 24 & 15;
}

size_t pgq_snapbuild_known_assigned_neon(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    static const uint8_t bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    uint32_t *to = xids;
    size_t i = tail;

    for (; i + 4 <= head; i += 4) {
        unsigned live = live_mask(valid + i);

        vst1q_u32(to, packed_lanes(vld1q_u32(xids + i), live));
        to += bits[live];
    }
    if (i < head)
        to += slide_live(to, xids + i, valid + i, head - i);
    if (to > xids)
        memset(valid, true, (size_t)(to - xids));
    return (size_t)(to - xids);
}
