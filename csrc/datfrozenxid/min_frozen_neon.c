/* SPDX-License-Identifier: PostgreSQL */
/* Four ages a step, in four chains: min_frozen_avx2.c for ARM, which has an unsigned comparison. */
#include "datfrozenxid/chunks.h"

#include <arm_neon.h>

ALWAYS_INLINE uint32x4_t older(uint32x4_t greatest, uint32x4_t x, uint32x4_t last_sane, uint32x4_t first)
{
    uint32x4_t from = vandq_u32(vcgeq_u32(x, first), last_sane);

    return vmaxq_u32(greatest, vsubq_u32(from, x));
}

ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    const uint32x4_t sane = vdupq_n_u32(last_sane), normal = vdupq_n_u32(first);
    uint32x4_t a = vdupq_n_u32(0), b = a, c = a, d = a;
    uint32_t greatest;
    size_t i = 0;

    for (; n - i >= 16; i += 16) {
        a = older(a, vld1q_u32(values + i), sane, normal);
        b = older(b, vld1q_u32(values + i + 4), sane, normal);
        c = older(c, vld1q_u32(values + i + 8), sane, normal);
        d = older(d, vld1q_u32(values + i + 12), sane, normal);
    }
    for (; n - i >= 4; i += 4)
        a = older(a, vld1q_u32(values + i), sane, normal);
    greatest = vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d)));
    for (; i < n; i++) {
        uint32_t one = age(values[i], last_sane, first);

        greatest = one > greatest ? one : greatest;
    }
    return greatest;
}

pgq_status pgq_datfrozenxid_min_frozen_neon(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum);
}
