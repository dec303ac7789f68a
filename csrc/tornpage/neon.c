/* SPDX-License-Identifier: PostgreSQL */
/*
 * Eight registers of four lanes a page, with the short chain of scalar.c: avx2.c for ARM. Two pages of a batch side by side
 * take half of the 32 registers, and leave room for their words.
 */
#include "tornpage/checksum.h"

#include <arm_neon.h>

enum { GROUP = 2, REGISTERS = 8 };

typedef uint32x4_t vec;

static inline vec next(vec mixed, vec words, vec prime)
{
    return veorq_u32(vmulq_u32(mixed, prime), veorq_u32(vshrq_n_u32(mixed, 17), words));
}

static inline vec words_at(const uint8_t *row, size_t r)
{
    return vreinterpretq_u32_u8(vld1q_u8(row + 16 * r));
}

/* The xor of all lanes. */
static inline uint32_t fold_lanes(const vec sums[REGISTERS])
{
    vec all = sums[0];

#pragma GCC unroll 8
    for (size_t r = 1; r < REGISTERS; r++)
        all = veorq_u32(all, sums[r]);
    uint64x2_t halves = vreinterpretq_u64_u32(all);
    uint64_t half = vgetq_lane_u64(halves, 0) ^ vgetq_lane_u64(halves, 1);

    return (uint32_t)(half ^ half >> 32);
}

static inline vec every_prime(void)
{
    return vdupq_n_u32(FNV_PRIME);
}

static inline vec beside_checksum(void)
{
    return vsetq_lane_u32(BESIDE_CHECKSUM, vdupq_n_u32(UINT32_MAX), CHECKSUM_WORD);
}

#include "tornpage/fold.h"

DEFINE_CHECKSUM(neon, fold_page, fold_groups)
