/* SPDX-License-Identifier: PostgreSQL */
/*
 * The intrinsics that csrc/ uses on 64-bit ARM, as plain C on lanes: what immintrin.h is for x86-64. A type's name says its
 * lanes. tests/instructions/test_lanes.py runs each against the emulated CPU.
 */
#ifndef PGQUERN_LANES_ARM_NEON_H
#define PGQUERN_LANES_ARM_NEON_H

#include "lanes.h"

typedef uint8_t uint8x8_t __attribute__((vector_size(8)));
typedef uint32_t uint32x2_t __attribute__((vector_size(8)));
typedef uint64_t uint64x1_t __attribute__((vector_size(8)));
typedef uint8_t uint8x16_t __attribute__((vector_size(16)));
typedef uint16_t uint16x8_t __attribute__((vector_size(16)));
typedef uint32_t uint32x4_t __attribute__((vector_size(16)));
typedef uint64_t uint64x2_t __attribute__((vector_size(16)));
typedef int16_t int16x8_t __attribute__((vector_size(16)));
typedef int32_t int32x4_t __attribute__((vector_size(16)));

typedef struct uint16x8x2_t {
    uint16x8_t val[2];
} uint16x8x2_t;

/* type: of the result; from: of the operands. */
#define OF_ONE(name, type, from, value)         UNARY_TO(name, type, type, from, from, value)
#define OF_ONE_COUNTED(name, type, from, value) COUNTED_TO(name, type, type, from, from, value)
#define OF_TWO(name, type, from, value)         BINARY_TO(name, type, type, from, from, value)
#define OF_TWO_COUNTED(name, type, value)       BINARY_COUNTED(name, type, type, value)
#define EVERY_LANE(name, type, number)          ALL_LANES(name, type, type, number)
/* r: of the lanes before lane i. */
#define OVER_LANES(name, number, from, value)                                                                \
    static inline number name(from a)                                                                        \
    {                                                                                                        \
        number r = a[0];                                                                                     \
                                                                                                             \
        for (size_t i = 1; i < sizeof a / sizeof a[0]; i++)                                                  \
            r = (number)(value);                                                                             \
        return r;                                                                                            \
    }

/* ---- arithmetic ---- */

OF_TWO(vaddq_u16, uint16x8_t, uint16x8_t, a[i] + b[i])
OF_TWO(vsubq_u16, uint16x8_t, uint16x8_t, a[i] - b[i])
OF_TWO(vsubq_u32, uint32x4_t, uint32x4_t, a[i] - b[i])
OF_TWO(vmulq_u32, uint32x4_t, uint32x4_t, a[i] * b[i])
OF_TWO(vmaxq_u16, uint16x8_t, uint16x8_t, a[i] > b[i] ? a[i] : b[i])
OF_TWO(vmaxq_u32, uint32x4_t, uint32x4_t, a[i] > b[i] ? a[i] : b[i])
OF_TWO(vmax_u32, uint32x2_t, uint32x2_t, a[i] > b[i] ? a[i] : b[i])
OF_TWO(vminq_u16, uint16x8_t, uint16x8_t, a[i] < b[i] ? a[i] : b[i])

/* Adds two neighbours to each lane. */
static inline uint32x4_t vpadalq_u16(uint32x4_t a, uint16x8_t b)
{
    EACH_LANE(uint32x4_t, uint32x4_t, a[i] + b[2 * i] + b[2 * i + 1]);
}

OVER_LANES(vaddvq_u16, uint16_t, uint16x8_t, r + a[i])
OVER_LANES(vaddvq_u32, uint32_t, uint32x4_t, r + a[i])
OVER_LANES(vmaxvq_u16, uint16_t, uint16x8_t, a[i] > r ? a[i] : r)
OVER_LANES(vmaxvq_u32, uint32_t, uint32x4_t, a[i] > r ? a[i] : r)
OVER_LANES(vminvq_u16, uint16_t, uint16x8_t, a[i] < r ? a[i] : r)

/* ---- bits ---- */

WHOLE(vandq_u16, uint16x8_t, a & b)
WHOLE(vandq_u32, uint32x4_t, a & b)
WHOLE(vorrq_u16, uint16x8_t, a | b)
WHOLE(veorq_u32, uint32x4_t, a ^ b)
WHOLE(vornq_u16, uint16x8_t, a | ~b)

static inline uint16x8_t vbslq_u16(uint16x8_t which, uint16x8_t a, uint16x8_t b)
{
    return (which & a) | (~which & b);
}

OF_ONE_COUNTED(vshrq_n_u16, uint16x8_t, uint16x8_t, a[i] >> n)
OF_ONE_COUNTED(vshrq_n_u32, uint32x4_t, uint32x4_t, a[i] >> n)

/* ---- comparisons ---- */

OF_TWO(vcgtq_s16, uint16x8_t, int16x8_t, -(a[i] > b[i]))
OF_TWO(vcgeq_u32, uint32x4_t, uint32x4_t, -(a[i] >= b[i]))
OF_TWO(vcleq_u16, uint16x8_t, uint16x8_t, -(a[i] <= b[i]))
OF_ONE(vcltzq_s16, uint16x8_t, int16x8_t, -(a[i] < 0))
OF_ONE(vcgezq_s32, uint32x4_t, int32x4_t, -(a[i] >= 0))
OF_TWO(vtstq_u16, uint16x8_t, uint16x8_t, -((a[i] & b[i]) != 0))

/* ---- lanes elsewhere ---- */

OF_TWO_COUNTED(vextq_u16, uint16x8_t, i + (size_t)n < 8 ? a[i + (size_t)n] : b[i + (size_t)n - 8])
OF_TWO_COUNTED(vextq_s16, int16x8_t, i + (size_t)n < 8 ? a[i + (size_t)n] : b[i + (size_t)n - 8])
OF_TWO(vzip1q_u16, uint16x8_t, uint16x8_t, i % 2 ? b[i / 2] : a[i / 2])
OF_TWO(vzip2q_u16, uint16x8_t, uint16x8_t, i % 2 ? b[4 + i / 2] : a[4 + i / 2])
OF_TWO(vuzp1q_u16, uint16x8_t, uint16x8_t, i < 4 ? a[2 * i] : b[2 * (i - 4)])
OF_TWO(vuzp2q_u16, uint16x8_t, uint16x8_t, i < 4 ? a[2 * i + 1] : b[2 * (i - 4) + 1])
OF_TWO(vqtbl1q_u8, uint8x16_t, uint8x16_t, b[i] < 16 ? a[b[i]] : 0)
OF_ONE(vmovn_u16, uint8x8_t, uint16x8_t, (uint8_t)a[i])

EVERY_LANE(vdupq_n_u16, uint16x8_t, uint16_t)
EVERY_LANE(vdupq_n_s16, int16x8_t, int16_t)
EVERY_LANE(vdupq_n_u32, uint32x4_t, uint32_t)
EVERY_LANE(vdupq_n_u64, uint64x2_t, uint64_t)
OF_ONE_COUNTED(vdupq_laneq_u16, uint16x8_t, uint16x8_t, a[n])

OF_ONE(vget_low_u32, uint32x2_t, uint32x4_t, a[i])
OF_ONE(vget_high_u32, uint32x2_t, uint32x4_t, a[2 + i])

static inline uint32_t vget_lane_u32(uint32x2_t a, int n)
{
    return a[n];
}

static inline uint64_t vgetq_lane_u64(uint64x2_t a, int n)
{
    return a[n];
}

static inline uint32x4_t vsetq_lane_u32(uint32_t x, uint32x4_t a, int n)
{
    EACH_LANE(uint32x4_t, uint32x4_t, i == (size_t)n ? x : a[i]);
}

static inline uint64x1_t vcreate_u64(uint64_t a)
{
    return (uint64x1_t){a};
}

static inline uint64x2_t vcombine_u64(uint64x1_t a, uint64x1_t b)
{
    return (uint64x2_t){a[0], b[0]};
}

/* The same bytes as other lanes. */
#define REINTERPRET(name, type, from)                                                                        \
    static inline type name(from a)                                                                          \
    {                                                                                                        \
        return (type)a;                                                                                      \
    }
REINTERPRET(vreinterpretq_u16_u8, uint16x8_t, uint8x16_t)
REINTERPRET(vreinterpretq_u8_u16, uint8x16_t, uint16x8_t)
REINTERPRET(vreinterpretq_u16_u32, uint16x8_t, uint32x4_t)
REINTERPRET(vreinterpretq_u32_u16, uint32x4_t, uint16x8_t)
REINTERPRET(vreinterpretq_s16_u16, int16x8_t, uint16x8_t)
REINTERPRET(vreinterpretq_u32_u8, uint32x4_t, uint8x16_t)
REINTERPRET(vreinterpretq_u8_u32, uint8x16_t, uint32x4_t)
REINTERPRET(vreinterpretq_u32_u64, uint32x4_t, uint64x2_t)
REINTERPRET(vreinterpretq_u64_u32, uint64x2_t, uint32x4_t)
REINTERPRET(vreinterpretq_s32_u32, int32x4_t, uint32x4_t)

/* ---- memory ---- */

#define LOADED(name, type, number)                                                                           \
    static inline type name(const number *p)                                                                 \
    {                                                                                                        \
        EACH_LANE(type, type, p[i]);                                                                         \
    }
LOADED(vld1q_u8, uint8x16_t, uint8_t)
LOADED(vld1q_u16, uint16x8_t, uint16_t)
LOADED(vld1q_u32, uint32x4_t, uint32_t)

/* Numbers in turn: one to the first register, one to the second. */
static inline uint16x8x2_t vld2q_u16(const uint16_t *p)
{
    uint16x8x2_t r;

    for (size_t i = 0; i < 8; i++) {
        r.val[0][i] = p[2 * i];
        r.val[1][i] = p[2 * i + 1];
    }
    return r;
}

#define STORED(name, type, number)                                                                           \
    static inline void name(number *p, type a)                                                               \
    {                                                                                                        \
        for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)                                                  \
            p[i] = a[i];                                                                                     \
    }
STORED(vst1q_u8, uint8x16_t, uint8_t)
STORED(vst1q_u16, uint16x8_t, uint16_t)
STORED(vst1q_u32, uint32x4_t, uint32_t)
STORED(vst1_u8, uint8x8_t, uint8_t)

#endif
