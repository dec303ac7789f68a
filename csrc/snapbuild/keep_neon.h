/* SPDX-License-Identifier: PostgreSQL */
/* Printed from proofs/snapbuild/Generated.v by `make generate`: change that. */
#ifndef PGQUERN_SNAPBUILD_KEEP_NEON_H
#define PGQUERN_SNAPBUILD_KEEP_NEON_H

static inline __attribute__((always_inline)) uint32_t *keep_registers_neon(uint32_t *to, const uint32_t *from,
                                                                           const uint32_t *end, uint32_t xmin)
{
    const uint32x4_t bound = vdupq_n_u32(xmin);
    const uint32x4_t weights = (uint32x4_t){17u, 18u, 20u, 24u};
    for (; end - from >= 16; from += 16) {
        const uint32x4_t a = vld1q_u32(from);
        const uint32x4_t b = vld1q_u32(from + 4);
        const uint32x4_t c = vld1q_u32(from + 8);
        const uint32x4_t d = vld1q_u32(from + 12);
        const uint32_t sum_a =
            vaddvq_u32(vandq_u32(vcgezq_s32(vreinterpretq_s32_u32(vsubq_u32(a, bound))), weights));
        vst1q_u32(to, vreinterpretq_u32_u8(
                          vqtbl1q_u8(vreinterpretq_u8_u32(a), vld1q_u8(left_pack_neon[(sum_a & 15u)]))));
        const uint32_t in_a = (sum_a >> 4u);
        to += in_a;
        const uint32_t sum_b =
            vaddvq_u32(vandq_u32(vcgezq_s32(vreinterpretq_s32_u32(vsubq_u32(b, bound))), weights));
        vst1q_u32(to, vreinterpretq_u32_u8(
                          vqtbl1q_u8(vreinterpretq_u8_u32(b), vld1q_u8(left_pack_neon[(sum_b & 15u)]))));
        const uint32_t in_b = (sum_b >> 4u);
        to += in_b;
        const uint32_t sum_c =
            vaddvq_u32(vandq_u32(vcgezq_s32(vreinterpretq_s32_u32(vsubq_u32(c, bound))), weights));
        vst1q_u32(to, vreinterpretq_u32_u8(
                          vqtbl1q_u8(vreinterpretq_u8_u32(c), vld1q_u8(left_pack_neon[(sum_c & 15u)]))));
        const uint32_t in_c = (sum_c >> 4u);
        to += in_c;
        const uint32_t sum_d =
            vaddvq_u32(vandq_u32(vcgezq_s32(vreinterpretq_s32_u32(vsubq_u32(d, bound))), weights));
        vst1q_u32(to, vreinterpretq_u32_u8(
                          vqtbl1q_u8(vreinterpretq_u8_u32(d), vld1q_u8(left_pack_neon[(sum_d & 15u)]))));
        const uint32_t in_d = (sum_d >> 4u);
        to += in_d;
    }
    for (; end - from >= 4; from += 4) {
        const uint32x4_t x = vld1q_u32(from);
        const uint32_t sum_x =
            vaddvq_u32(vandq_u32(vcgezq_s32(vreinterpretq_s32_u32(vsubq_u32(x, bound))), weights));
        vst1q_u32(to, vreinterpretq_u32_u8(
                          vqtbl1q_u8(vreinterpretq_u8_u32(x), vld1q_u8(left_pack_neon[(sum_x & 15u)]))));
        const uint32_t in_x = (sum_x >> 4u);
        to += in_x;
    }
    return to;
}

#endif
