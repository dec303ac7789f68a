/* SPDX-License-Identifier: PostgreSQL */
/*
 * Four registers of eight lanes a page, with the short chain of scalar.c. A chain still waits for its multiplication;
 * two pages of a batch side by side use that time.
 */
#include "tornpage/checksum.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum { GROUP = 2, REGISTERS = 4 };

typedef __m256i vec;

static inline vec next(vec mixed, vec words, vec prime)
{
    __m256i beside = _mm256_xor_si256(_mm256_srli_epi32(mixed, 17), words);

    return _mm256_xor_si256(_mm256_mullo_epi32(mixed, prime), beside);
}

static inline vec words_at(const uint8_t *row, size_t r)
{
    return _mm256_loadu_si256((const __m256i *)(row + 32 * r));
}

/* The xor of all lanes. */
static inline uint32_t fold_lanes(const vec sums[REGISTERS])
{
    __m256i x = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
    __m128i y = _mm_xor_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    y = _mm_xor_si128(y, _mm_shuffle_epi32(y, _MM_SHUFFLE(1, 0, 3, 2)));
    y = _mm_xor_si128(y, _mm_shuffle_epi32(y, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(y);
}

static inline vec every_prime(void)
{
    return _mm256_set1_epi32((int)FNV_PRIME);
}

static inline vec beside_checksum(void)
{
    return _mm256_setr_epi32(-1, -1, (int)BESIDE_CHECKSUM, -1, -1, -1, -1, -1);
}

#include "tornpage/fold.h"

DEFINE_CHECKSUM(avx2, fold_page, fold_groups)
#endif
