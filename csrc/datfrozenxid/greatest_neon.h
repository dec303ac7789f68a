/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/datfrozenxid/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_DATFROZENXID_GREATEST_NEON_H
#define PGQUERN_DATFROZENXID_GREATEST_NEON_H

static inline __attribute__((always_inline)) uint32_t greatest_neon(const uint32_t *from, const uint32_t *end,
                                                                    uint32_t last_sane, uint32_t first)
{
    const uint32x4_t sane = vdupq_n_u32(last_sane);
    const uint32x4_t least = vdupq_n_u32(first);
    uint32x4_t a = vdupq_n_u32(0u);
    uint32x4_t b = vdupq_n_u32(0u);
    uint32x4_t c = vdupq_n_u32(0u);
    uint32x4_t d = vdupq_n_u32(0u);
    for (size_t rounds = (size_t)(end - from) / 16; rounds > 0; rounds--, from += 16) {
        const uint32x4_t at_a = vld1q_u32(from);
        const uint32x4_t in_a = vcgeq_u32(at_a, least);
        a = vmaxq_u32(a, vsubq_u32(vandq_u32(in_a, sane), at_a));
        const uint32x4_t at_b = vld1q_u32(from + 4);
        const uint32x4_t in_b = vcgeq_u32(at_b, least);
        b = vmaxq_u32(b, vsubq_u32(vandq_u32(in_b, sane), at_b));
        const uint32x4_t at_c = vld1q_u32(from + 8);
        const uint32x4_t in_c = vcgeq_u32(at_c, least);
        c = vmaxq_u32(c, vsubq_u32(vandq_u32(in_c, sane), at_c));
        const uint32x4_t at_d = vld1q_u32(from + 12);
        const uint32x4_t in_d = vcgeq_u32(at_d, least);
        d = vmaxq_u32(d, vsubq_u32(vandq_u32(in_d, sane), at_d));
    }
    for (size_t rounds = (size_t)(end - from) / 4; rounds > 0; rounds--, from += 4) {
        const uint32x4_t x = vld1q_u32(from);
        const uint32x4_t in_x = vcgeq_u32(x, least);
        a = vmaxq_u32(a, vsubq_u32(vandq_u32(in_x, sane), x));
    }
    for (size_t rounds = (size_t)(end - from) / 1; rounds > 0; rounds--, from += 1) {
        const uint32x4_t last = vdupq_n_u32(word_at(from));
        const uint32x4_t in_last = vcgeq_u32(last, least);
        b = vmaxq_u32(b, vsubq_u32(vandq_u32(in_last, sane), last));
    }
    return vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d)));
}

#endif
