/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/snapbuild/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_SNAPBUILD_PACK_NEON_H
#define PGQUERN_SNAPBUILD_PACK_NEON_H

static inline __attribute__((always_inline)) uint32_t *pack_neon(uint32_t *to, const uint32_t *from,
                                                                 const uint32_t *end, const bool *valid)
{
    for (size_t rounds = (size_t)(end - from) / 4; rounds > 0; rounds--, from += 4, valid += 4) {
        const uint32x4_t x = vld1q_u32(from);
        const uint32_t flags = word_at(valid);
        const uint32_t moved = (flags * 286397464u);
        const uint32_t sum = (moved >> 24u);
        vst1q_u32(to, vreinterpretq_u32_u8(
                          vqtbl1q_u8(vreinterpretq_u8_u32(x), vld1q_u8(left_pack_neon[(sum & 15u)]))));
        const uint32_t live = (sum >> 4u);
        to += live;
    }
    return to;
}

#endif
