/* SPDX-License-Identifier: PostgreSQL */
/*
 * The intrinsics that csrc/ uses on x86-64, as plain C on lanes: CBMC knows none of Intel's. It finds this header before the
 * compiler's. Nothing here is proved. tests/instructions/test_lanes.py runs each against the CPU.
 */
#ifndef PGQUERN_LANES_IMMINTRIN_H
#define PGQUERN_LANES_IMMINTRIN_H

#include "lanes.h"

typedef long long __m128i __attribute__((vector_size(16), may_alias));
typedef long long __m256i __attribute__((vector_size(32), may_alias));
typedef int __m256 __attribute__((vector_size(32), may_alias)); /* nobody asks for a float */
typedef __m128i unaligned128 __attribute__((aligned(1)));
typedef __m256i unaligned256 __attribute__((aligned(1)));

#define LANES_OF(bits, bytes)                                                                                \
    typedef uint##bits##_t u##bits##of##bytes __attribute__((vector_size(bytes)));                           \
    typedef int##bits##_t s##bits##of##bytes __attribute__((vector_size(bytes)))

LANES_OF(8, 16);
LANES_OF(16, 16);
LANES_OF(32, 16);
LANES_OF(64, 16);
LANES_OF(8, 32);
LANES_OF(16, 32);
LANES_OF(32, 32);
LANES_OF(64, 32);

static inline int within(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

/* ---- arithmetic ---- */

BINARY(_mm_add_epi32, __m128i, u32of16, a[i] + b[i])
BINARY(_mm256_add_epi16, __m256i, u16of32, a[i] + b[i])
BINARY(_mm256_add_epi32, __m256i, u32of32, a[i] + b[i])
BINARY(_mm256_sub_epi16, __m256i, u16of32, a[i] - b[i])
BINARY(_mm256_sub_epi32, __m256i, u32of32, a[i] - b[i])
BINARY(_mm256_mullo_epi32, __m256i, u32of32, a[i] * b[i])
BINARY_TO(_mm256_madd_epi16, __m256i, u32of32, __m256i, s16of32,
          (uint32_t)(a[2 * i] * b[2 * i]) + (uint32_t)(a[2 * i + 1] * b[2 * i + 1]))
BINARY(_mm_max_epu16, __m128i, u16of16, a[i] > b[i] ? a[i] : b[i])
BINARY(_mm_max_epu32, __m128i, u32of16, a[i] > b[i] ? a[i] : b[i])
BINARY(_mm256_max_epu16, __m256i, u16of32, a[i] > b[i] ? a[i] : b[i])
BINARY(_mm256_max_epu32, __m256i, u32of32, a[i] > b[i] ? a[i] : b[i])
BINARY(_mm256_min_epu16, __m256i, u16of32, a[i] < b[i] ? a[i] : b[i])

/* The least lane, and which is the first that has it. */
static inline __m128i _mm_minpos_epu16(__m128i a_)
{
    u16of16 a = (u16of16)a_, r = {a[0]};

    for (uint16_t i = 1; i < 8; i++)
        if (a[i] < r[0]) {
            r[0] = a[i];
            r[1] = i;
        }
    return (__m128i)r;
}

/* ---- bits ---- */

WHOLE(_mm256_and_si256, __m256i, a & b)
WHOLE(_mm256_or_si256, __m256i, a | b)
WHOLE(_mm_xor_si128, __m128i, a ^ b)
WHOLE(_mm256_xor_si256, __m256i, a ^ b)
WHOLE(_mm256_andnot_si256, __m256i, ~a & b)

static inline int _mm256_testz_si256(__m256i a, __m256i b)
{
    __m256i both = a & b;

    return (both[0] | both[1] | both[2] | both[3]) == 0;
}

COUNTED(_mm_slli_epi16, __m128i, u16of16, a[i] << n)
COUNTED(_mm256_slli_epi32, __m256i, u32of32, a[i] << n)
COUNTED(_mm256_srli_epi16, __m256i, u16of32, a[i] >> n)
COUNTED(_mm256_srli_epi32, __m256i, u32of32, a[i] >> n)
COUNTED(_mm256_srai_epi16, __m256i, s16of32, a[i] >> n)
COUNTED(_mm256_slli_si256, __m256i, u8of32, i % 16 < (size_t)n ? 0 : a[i - (size_t)n])

/* ---- comparisons ---- */

BINARY(_mm256_cmpeq_epi16, __m256i, s16of32, -(a[i] == b[i]))
BINARY(_mm256_cmpeq_epi32, __m256i, s32of32, -(a[i] == b[i]))
BINARY(_mm256_cmpgt_epi16, __m256i, s16of32, -(a[i] > b[i]))
BINARY(_mm256_cmpgt_epi32, __m256i, s32of32, -(a[i] > b[i]))

#define SIGNS(name, type, lanes)                                                                             \
    static inline int name(type a_)                                                                          \
    {                                                                                                        \
        lanes a = (lanes)a_;                                                                                 \
        uint32_t r = 0;                                                                                      \
                                                                                                             \
        for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)                                                  \
            r |= (uint32_t)(a[i] < 0) << i;                                                                  \
        return (int)r;                                                                                       \
    }
SIGNS(_mm_movemask_epi8, __m128i, s8of16)
SIGNS(_mm256_movemask_epi8, __m256i, s8of32)
SIGNS(_mm256_movemask_ps, __m256, s32of32)

/* ---- lanes elsewhere ---- */

static inline __m256i _mm256_blendv_epi8(__m256i a_, __m256i b_, __m256i c_)
{
    u8of32 a = (u8of32)a_, b = (u8of32)b_, c = (u8of32)c_;
    EACH_LANE(__m256i, u8of32, c[i] >= 128 ? b[i] : a[i]);
}

BINARY_COUNTED(_mm256_blend_epi32, __m256i, u32of32, n >> i & 1 ? b[i] : a[i])
BINARY(_mm256_permutevar8x32_epi32, __m256i, u32of32, a[b[i] % 8])
COUNTED(_mm256_permute4x64_epi64, __m256i, u64of32, a[n >> 2 * i & 3])

/* Half `half` of the result: a half of a, or of b, or zeros. */
static inline int half_of(int n, size_t half)
{
    return n >> 4 * half & 15;
}
BINARY_COUNTED(_mm256_permute2x128_si256, __m256i, u64of32,
               half_of(n, i / 2) & 8   ? 0
               : half_of(n, i / 2) & 2 ? b[(half_of(n, i / 2) & 1) * 2 + i % 2]
                                       : a[(half_of(n, i / 2) & 1) * 2 + i % 2])
COUNTED(_mm_shuffle_epi32, __m128i, u32of16, a[n >> 2 * i & 3])
BINARY(_mm256_shuffle_epi8, __m256i, u8of32, b[i] >= 128 ? 0 : a[i / 16 * 16 + b[i] % 16])
BINARY(_mm256_unpacklo_epi16, __m256i, u16of32, i % 2 ? b[i / 8 * 8 + i % 8 / 2] : a[i / 8 * 8 + i % 8 / 2])
BINARY(_mm256_unpackhi_epi16, __m256i, u16of32,
       i % 2 ? b[i / 8 * 8 + 4 + i % 8 / 2] : a[i / 8 * 8 + 4 + i % 8 / 2])
BINARY_TO(_mm256_packus_epi32, __m256i, u16of32, __m256i, s32of32,
          (uint16_t)within(i % 8 < 4 ? a[i / 8 * 4 + i % 4] : b[i / 8 * 4 + i % 4], 0, UINT16_MAX))
BINARY_TO(_mm256_packs_epi16, __m256i, s8of32, __m256i, s16of32,
          (int8_t)within(i % 16 < 8 ? a[i / 16 * 8 + i % 8] : b[i / 16 * 8 + i % 8], INT8_MIN, INT8_MAX))

COUNTED_TO(_mm256_extracti128_si256, __m128i, u64of16, __m256i, u64of32, a[2 * n + i])
UNARY_TO(_mm256_castsi256_si128, __m128i, u64of16, __m256i, u64of32, a[i])
UNARY_TO(_mm256_castsi256_ps, __m256, u32of32, __m256i, u32of32, a[i])
UNARY_TO(_mm256_cvtepu8_epi32, __m256i, u32of32, __m128i, u8of16, a[i])

static inline int _mm_extract_epi16(__m128i a, int n)
{
    return ((u16of16)a)[n];
}

static inline int _mm_extract_epi32(__m128i a, int n)
{
    return ((s32of16)a)[n];
}

static inline int _mm_cvtsi128_si32(__m128i a)
{
    return ((s32of16)a)[0];
}

static inline __m128i _mm_cvtsi64_si128(long long a)
{
    return (__m128i){a, 0};
}

ALL_LANES(_mm_set1_epi16, __m128i, s16of16, short)
ALL_LANES(_mm256_set1_epi16, __m256i, s16of32, short)
ALL_LANES(_mm256_set1_epi32, __m256i, s32of32, int)
ALL_LANES(_mm256_set1_epi64x, __m256i, s64of32, long long)

UNARY_TO(reversed_epi16, __m256i, u16of32, __m256i, u16of32, a[15 - i])
UNARY_TO(reversed_epi32, __m256i, u32of32, __m256i, u32of32, a[7 - i])
#define _mm256_set_epi16(...)   reversed_epi16((__m256i)(s16of32){__VA_ARGS__})
#define _mm256_set_epi32(...)   reversed_epi32((__m256i)(s32of32){__VA_ARGS__})
#define _mm256_setr_epi32(...)  ((__m256i)(s32of32){__VA_ARGS__})
#define _mm256_setr_epi64x(...) ((__m256i){__VA_ARGS__})
#define _mm256_setzero_si256()  ((__m256i){0})

#define _MM_SHUFFLE(z, y, x, w) ((z) << 6 | (y) << 4 | (x) << 2 | (w))

/* ---- one number ---- */

static inline int _mm_popcnt_u32(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline uint32_t _tzcnt_u32(uint32_t x)
{
    return x == 0 ? 32 : (uint32_t)__builtin_ctz(x);
}

static inline uint32_t _lzcnt_u32(uint32_t x)
{
    return x == 0 ? 32 : (uint32_t)__builtin_clz(x);
}

static inline uint32_t _bzhi_u32(uint32_t x, uint32_t n)
{
    return n % 256 < 32 ? x & ((1u << n % 256) - 1) : x;
}

static inline uint32_t _mm_crc32_u8(uint32_t crc, uint8_t x)
{
    crc ^= x;
    for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    return crc;
}

static inline uint64_t _mm_crc32_u64(uint64_t crc, uint64_t x)
{
    for (int byte = 0; byte < 8; byte++)
        crc = _mm_crc32_u8((uint32_t)crc, (uint8_t)(x >> 8 * byte));
    return crc;
}

/* ---- memory ---- */

static inline __m128i _mm_loadu_si128(const __m128i *p)
{
    return *(const unaligned128 *)p;
}

static inline __m256i _mm256_loadu_si256(const __m256i *p)
{
    return *(const unaligned256 *)p;
}

typedef long long unaligned64 __attribute__((may_alias, aligned(1)));

static inline __m128i _mm_loadl_epi64(const __m128i *p)
{
    return (__m128i){*(const unaligned64 *)p, 0};
}

static inline void _mm_storeu_si128(__m128i *p, __m128i a)
{
    *(unaligned128 *)p = a;
}

static inline void _mm256_storeu_si256(__m256i *p, __m256i a)
{
    *(unaligned256 *)p = a;
}

typedef uint32_t unaligned32 __attribute__((may_alias, aligned(1)));

static inline __m256i _mm256_maskload_epi32(const int *p, __m256i k)
{
    EACH_LANE(__m256i, u32of32, ((s32of32)k)[i] < 0 ? ((const unaligned32 *)p)[i] : 0);
}

#if defined(__AVX512F__)
#include "avx512.h"
#endif

#endif
