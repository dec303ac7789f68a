/* SPDX-License-Identifier: PostgreSQL */
/* The part of immintrin.h for AVX-512. k is a mask: lane i counts if bit i is set. */
#ifndef PGQUERN_LANES_AVX512_H
#define PGQUERN_LANES_AVX512_H

typedef long long __m512i __attribute__((vector_size(64), may_alias));
typedef __m512i unaligned512 __attribute__((aligned(1)));
typedef uint8_t __mmask8;
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;
typedef uint64_t __mmask64;

LANES_OF(8, 64);
LANES_OF(16, 64);
LANES_OF(32, 64);
LANES_OF(64, 64);

#define HAS(k, i) ((k) >> (i)&1)
/* Where the mask has no bit: zero, or the lane of `source`. */
#define MASKED_ZERO(name, mask, lanes, value)                                                                \
    static inline __m512i name(mask k, __m512i a_, __m512i b_)                                               \
    {                                                                                                        \
        lanes a = (lanes)a_, b = (lanes)b_;                                                                  \
        EACH_LANE(__m512i, lanes, HAS(k, i) ? value : 0);                                                    \
    }
#define MASKED(name, mask, lanes, value)                                                                     \
    static inline __m512i name(__m512i source_, mask k, __m512i a_, __m512i b_)                              \
    {                                                                                                        \
        lanes source = (lanes)source_, a = (lanes)a_, b = (lanes)b_;                                         \
        EACH_LANE(__m512i, lanes, HAS(k, i) ? value : source[i]);                                            \
    }
/* A mask of the lanes of which the condition holds. */
#define EACH_BIT(mask, lanes, condition)                                                                     \
    mask r = 0;                                                                                              \
                                                                                                             \
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes){0}[0]; i++)                                         \
        r |= (mask)((mask)(condition) << i);                                                                 \
    return r
#define BITS_OF(name, mask, type, lanes, condition)                                                          \
    static inline mask name(type a_, type b_)                                                                \
    {                                                                                                        \
        lanes a = (lanes)a_, b = (lanes)b_;                                                                  \
        EACH_BIT(mask, lanes, condition);                                                                    \
    }
#define MASKED_BITS(name, mask, lanes, condition)                                                            \
    static inline mask name(mask k, __m512i a_, __m512i b_)                                                  \
    {                                                                                                        \
        lanes a = (lanes)a_, b = (lanes)b_;                                                                  \
        EACH_BIT(mask, lanes, HAS(k, i) && (condition));                                                     \
    }

/* ---- arithmetic ---- */

BINARY(_mm512_add_epi16, __m512i, u16of64, a[i] + b[i])
BINARY(_mm512_add_epi32, __m512i, u32of64, a[i] + b[i])
BINARY(_mm512_sub_epi16, __m512i, u16of64, a[i] - b[i])
BINARY(_mm512_sub_epi32, __m512i, u32of64, a[i] - b[i])
BINARY(_mm512_mullo_epi32, __m512i, u32of64, a[i] * b[i])
BINARY_TO(_mm512_madd_epi16, __m512i, u32of64, __m512i, s16of64,
          (uint32_t)(a[2 * i] * b[2 * i]) + (uint32_t)(a[2 * i + 1] * b[2 * i + 1]))
BINARY(_mm512_max_epu16, __m512i, u16of64, a[i] > b[i] ? a[i] : b[i])
BINARY(_mm512_max_epu32, __m512i, u32of64, a[i] > b[i] ? a[i] : b[i])
BINARY(_mm512_max_epi16, __m512i, s16of64, a[i] > b[i] ? a[i] : b[i])
MASKED(_mm512_mask_min_epu16, __mmask32, u16of64, (a[i] < b[i] ? a[i] : b[i]))
MASKED_ZERO(_mm512_maskz_add_epi32, __mmask16, u32of64, a[i] + b[i])

static inline int _mm512_reduce_add_epi32(__m512i a_)
{
    u32of64 a = (u32of64)a_;
    uint32_t r = 0;

    for (size_t i = 0; i < 16; i++)
        r += a[i];
    return (int)r;
}

static inline uint32_t _mm512_reduce_max_epu32(__m512i a_)
{
    u32of64 a = (u32of64)a_;
    uint32_t r = 0;

    for (size_t i = 0; i < 16; i++)
        r = a[i] > r ? a[i] : r;
    return r;
}

/* ---- bits ---- */

WHOLE(_mm512_and_si512, __m512i, a & b)
WHOLE(_mm512_or_si512, __m512i, a | b)
WHOLE(_mm512_xor_si512, __m512i, a ^ b)
MASKED_ZERO(_mm512_maskz_and_epi32, __mmask16, u32of64, a[i] & b[i])
MASKED(_mm512_mask_xor_epi64, __mmask8, u64of64, a[i] ^ b[i])

/* Bit n of the table says what three bits give, of which n consists, the first one highest. */
static inline __m512i ternary(__m512i a, __m512i b, __m512i c, int table)
{
    __m512i r = {0};

    for (int n = 0; n < 8; n++)
        if (table >> n & 1)
            r |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    return r;
}

static inline __m512i _mm512_ternarylogic_epi32(__m512i a, __m512i b, __m512i c, int n)
{
    return ternary(a, b, c, n);
}

static inline __m512i _mm512_mask_ternarylogic_epi32(__m512i source_, __mmask16 k, __m512i b, __m512i c,
                                                     int n)
{
    u32of64 source = (u32of64)source_, a = (u32of64)ternary(source_, b, c, n);
    EACH_LANE(__m512i, u32of64, HAS(k, i) ? a[i] : source[i]);
}

COUNTED(_mm512_slli_epi32, __m512i, u32of64, a[i] << n)
COUNTED(_mm512_slli_epi64, __m512i, u64of64, a[i] << n)
COUNTED(_mm512_srli_epi16, __m512i, u16of64, a[i] >> n)
COUNTED(_mm512_srli_epi32, __m512i, u32of64, a[i] >> n)
COUNTED(_mm512_bslli_epi128, __m512i, u8of64, i % 16 < (size_t)n ? 0 : a[i - (size_t)n])

/* ---- comparisons ---- */

BITS_OF(_mm512_cmplt_epu16_mask, __mmask32, __m512i, u16of64, a[i] < b[i])
BITS_OF(_mm512_cmpgt_epu16_mask, __mmask32, __m512i, u16of64, a[i] > b[i])
BITS_OF(_mm512_cmplt_epu32_mask, __mmask16, __m512i, u32of64, a[i] < b[i])
BITS_OF(_mm512_cmpge_epu32_mask, __mmask16, __m512i, u32of64, a[i] >= b[i])
MASKED_BITS(_mm512_mask_cmpgt_epu16_mask, __mmask32, u16of64, a[i] > b[i])
MASKED_BITS(_mm512_mask_cmplt_epu32_mask, __mmask16, u32of64, a[i] < b[i])
MASKED_BITS(_mm512_mask_cmpgt_epu32_mask, __mmask16, u32of64, a[i] > b[i])
MASKED_BITS(_mm512_mask_cmplt_epi16_mask, __mmask32, s16of64, a[i] < b[i])
MASKED_BITS(_mm512_mask_cmpgt_epi16_mask, __mmask32, s16of64, a[i] > b[i])
MASKED_BITS(_mm512_mask_cmplt_epi32_mask, __mmask16, s32of64, a[i] < b[i])
MASKED_BITS(_mm512_mask_cmpgt_epi32_mask, __mmask16, s32of64, a[i] > b[i])
BITS_OF(_mm_test_epi8_mask, __mmask16, __m128i, u8of16, (a[i] & b[i]) != 0)
BITS_OF(_mm512_test_epi8_mask, __mmask64, __m512i, u8of64, (a[i] & b[i]) != 0)
BITS_OF(_mm512_test_epi16_mask, __mmask32, __m512i, u16of64, (a[i] & b[i]) != 0)
BITS_OF(_mm512_test_epi32_mask, __mmask16, __m512i, u32of64, (a[i] & b[i]) != 0)
MASKED_BITS(_mm512_mask_test_epi32_mask, __mmask16, u32of64, (a[i] & b[i]) != 0)

static inline __mmask32 _mm512_movepi16_mask(__m512i a)
{
    EACH_BIT(__mmask32, s16of64, ((s16of64)a)[i] < 0);
}

static inline __mmask8 _mm512_movepi64_mask(__m512i a)
{
    EACH_BIT(__mmask8, s64of64, a[i] < 0);
}

/* ---- lanes elsewhere ---- */

static inline __m512i _mm512_mask_mov_epi16(__m512i source, __mmask32 k, __m512i a)
{
    EACH_LANE(__m512i, u16of64, HAS(k, i) ? ((u16of64)a)[i] : ((u16of64)source)[i]);
}

static inline __m512i _mm512_mask_mov_epi32(__m512i source, __mmask16 k, __m512i a)
{
    EACH_LANE(__m512i, u32of64, HAS(k, i) ? ((u32of64)a)[i] : ((u32of64)source)[i]);
}

static inline __m512i _mm512_maskz_mov_epi16(__mmask32 k, __m512i a)
{
    return _mm512_mask_mov_epi16((__m512i){0}, k, a);
}

static inline __m512i _mm512_maskz_mov_epi32(__mmask16 k, __m512i a)
{
    return _mm512_mask_mov_epi32((__m512i){0}, k, a);
}

static inline __m512i _mm512_mask_set1_epi32(__m512i source, __mmask16 k, int a)
{
    EACH_LANE(__m512i, u32of64, HAS(k, i) ? (uint32_t)a : ((u32of64)source)[i]);
}

/* Three instructions that the kernels have in assembler. */
#define COMPRESS(name, mask, lanes)                                                                          \
    static inline __m512i name(mask k, __m512i a_)                                                           \
    {                                                                                                        \
        lanes a = (lanes)a_, r = {0};                                                                        \
        uint8_t n = 0;                                                                                       \
                                                                                                             \
        for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)                                                  \
            if (HAS(k, i))                                                                                   \
                r[n++] = a[i];                                                                               \
        return (__m512i)r;                                                                                   \
    }
COMPRESS(lanes_vpcompressw, __mmask32, u16of64)
COMPRESS(lanes_vpcompressd, __mmask16, u32of64)
COMPRESS(lanes_vpcompressq, __mmask8, u64of64)

BINARY(_mm512_permutexvar_epi16, __m512i, u16of64, b[a[i] % 32])
BINARY(_mm512_permutexvar_epi64, __m512i, u64of64, b[a[i] % 8])
MASKED(_mm512_mask_permutexvar_epi16, __mmask32, u16of64, b[a[i] % 32])

static inline __m512i _mm512_permutex2var_epi16(__m512i a_, __m512i which_, __m512i b_)
{
    u16of64 a = (u16of64)a_, which = (u16of64)which_, b = (u16of64)b_;
    EACH_LANE(__m512i, u16of64, which[i] & 32 ? b[which[i] % 32] : a[which[i] % 32]);
}

COUNTED(_mm512_shuffle_epi32, __m512i, u32of64, a[i / 4 * 4 + (size_t)(n >> i % 4 * 2 & 3)])
BINARY(_mm512_shuffle_epi8, __m512i, u8of64, b[i] >= 128 ? 0 : a[i / 16 * 16 + b[i] % 16])
BINARY_COUNTED(_mm512_alignr_epi64, __m512i, u64of64,
               i + (size_t)n < 8 ? b[i + (size_t)n] : a[i + (size_t)n - 8])
BINARY_COUNTED(_mm512_alignr_epi32, __m512i, u32of64,
               i + (size_t)n < 16 ? b[i + (size_t)n] : a[i + (size_t)n - 16])

COUNTED_TO(_mm512_extracti64x4_epi64, __m256i, u64of32, __m512i, u64of64, a[4 * n + i])
COUNTED_TO(_mm512_extracti32x4_epi32, __m128i, u64of16, __m512i, u64of64, a[2 * n + i])
UNARY_TO(_mm512_cvtepi32_epi16, __m256i, u16of32, __m512i, u32of64, (uint16_t)a[i])
UNARY_TO(_mm512_castsi512_si256, __m256i, u64of32, __m512i, u64of64, a[i])

/* Of the upper half nothing is defined. */
static inline __m512i _mm512_castsi256_si512(__m256i a)
{
    return (__m512i){a[0], a[1], a[2], a[3]};
}

ALL_LANES(_mm512_set1_epi8, __m512i, s8of64, char)
ALL_LANES(_mm512_set1_epi16, __m512i, s16of64, short)
ALL_LANES(_mm512_set1_epi32, __m512i, s32of64, int)

UNARY_TO(reversed_epi16_512, __m512i, u16of64, __m512i, u16of64, a[31 - i])
#define _mm512_set_epi16(...)  reversed_epi16_512((__m512i)(s16of64){__VA_ARGS__})
#define _mm512_setzero_si512() ((__m512i){0})

#define _MM_PERM_DDDD 255

/* ---- memory ---- */

static inline __m512i _mm512_loadu_si512(const void *p)
{
    return *(const unaligned512 *)p;
}

static inline void _mm512_storeu_si512(void *p, __m512i a)
{
    *(unaligned512 *)p = a;
}

static inline void _mm512_store_si512(void *p, __m512i a)
{
    *(__m512i *)p = a;
}

static inline __m512i _mm512_maskz_loadu_epi32(__mmask16 k, const void *p)
{
    EACH_LANE(__m512i, u32of64, HAS(k, i) ? ((const unaligned32 *)p)[i] : 0);
}

static inline __m128i _mm_maskz_loadu_epi8(__mmask16 k, const void *p)
{
    EACH_LANE(__m128i, u8of16, HAS(k, i) ? ((const uint8_t *)p)[i] : 0);
}

static inline void _mm512_mask_storeu_epi32(void *p, __mmask16 k, __m512i a)
{
    for (size_t i = 0; i < 16; i++)
        if (HAS(k, i))
            ((unaligned32 *)p)[i] = ((u32of64)a)[i];
}

#endif
