/* SPDX-License-Identifier: PostgreSQL */
/* Four XIDs a step, packed by a table look-up: purge_avx2.c for ARM. */
#include "common/left_pack_neon.h"
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

/* Lane i adds its bit, and 16 to the count; one sum over the lanes gives both. */
static inline size_t keep_register(uint32_t *to, uint32x4_t x, uint32x4_t bound)
{
    static const uint32_t weights[4] = {16 + 1, 16 + 2, 16 + 4, 16 + 8};
    /* x - xmin has its sign set for those that precede. */
    uint32x4_t stays = vcgezq_s32(vreinterpretq_s32_u32(vsubq_u32(x, bound)));
    uint32_t sum = vaddvq_u32(vandq_u32(stays, vld1q_u32(weights)));

    vst1q_u32(to, packed_lanes(x, sum & 15));
    return sum >> 4;
}

static inline __attribute__((always_inline)) uint32_t *keep_neon(uint32_t *to, const uint32_t *from,
                                                                 const uint32_t *end, uint32_t xmin)
{
    const uint32x4_t bound = vdupq_n_u32(xmin);

    for (; end - from >= 16; from += 16) {
        uint32x4_t a = vld1q_u32(from), b = vld1q_u32(from + 4);
        uint32x4_t c = vld1q_u32(from + 8), d = vld1q_u32(from + 12);

        to += keep_register(to, a, bound);
        to += keep_register(to, b, bound);
        to += keep_register(to, c, bound);
        to += keep_register(to, d, bound);
    }
    for (; end - from >= 4; from += 4)
        to += keep_register(to, vld1q_u32(from), bound);
    return to + slide_survivors(to, from, (size_t)(end - from), xmin);
}

DEFINE_PURGE(neon)
