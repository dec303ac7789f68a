/* SPDX-License-Identifier: PostgreSQL */
/*
 * Four registers of eight lanes a page, with the short chain of scalar.c. A chain still waits for its multiplication;
 * two pages of a batch side by side use that time.
 */
#include "tornpage/checksum.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum { GROUP = 2, REGISTERS = 4 };

static inline __m256i next(__m256i mixed, __m256i words, __m256i prime)
{
    __m256i beside = _mm256_xor_si256(_mm256_srli_epi32(mixed, 17), words);

    return _mm256_xor_si256(_mm256_mullo_epi32(mixed, prime), beside);
}

static inline __m256i words_at(const uint8_t *row, size_t r)
{
    return _mm256_loadu_si256((const __m256i *)(row + 32 * r));
}

/* The xor of all lanes. */
static inline uint32_t fold_lanes(const __m256i sums[REGISTERS])
{
    __m256i x = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
    __m128i y = _mm_xor_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    y = _mm_xor_si128(y, _mm_shuffle_epi32(y, _MM_SHUFFLE(1, 0, 3, 2)));
    y = _mm_xor_si128(y, _mm_shuffle_epi32(y, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(y);
}

/* folded[p]: the xor of the sums of page p, for n pages, one after the other; n is a constant at each call. */
static inline __attribute__((always_inline)) void fold_pages(const uint8_t *pages, size_t rows,
                                                             uint32_t folded[], const size_t n)
{
    const __m256i prime = _mm256_set1_epi32((int)FNV_PRIME), zero = _mm256_setzero_si256();
    const __m256i mask = _mm256_setr_epi32(-1, -1, (int)BESIDE_CHECKSUM, -1, -1, -1, -1, -1);
    __m256i mixed[GROUP][REGISTERS];

#pragma GCC unroll 4
    for (size_t p = 0; p < n; p++)
#pragma GCC unroll 4
        for (size_t r = 0; r < REGISTERS; r++) {
            __m256i words = words_at(pages + p * rows * ROW, r);

            mixed[p][r] = _mm256_xor_si256(words_at((const uint8_t *)pgq_tornpage_base_offsets, r),
                                           r == 0 ? _mm256_and_si256(words, mask) : words);
        }
    for (size_t row = 1; row < rows; row++)
#pragma GCC unroll 4
        for (size_t p = 0; p < n; p++)
#pragma GCC unroll 4
            for (size_t r = 0; r < REGISTERS; r++)
                mixed[p][r] = next(mixed[p][r], words_at(pages + (p * rows + row) * ROW, r), prime);
#pragma GCC unroll 4
    for (size_t round = 0; round < 1 + ZERO_ROUNDS; round++)
#pragma GCC unroll 4
        for (size_t p = 0; p < n; p++)
#pragma GCC unroll 4
            for (size_t r = 0; r < REGISTERS; r++)
                mixed[p][r] = next(mixed[p][r], zero, prime);
#pragma GCC unroll 4
    for (size_t p = 0; p < n; p++)
        folded[p] = fold_lanes(mixed[p]);
}

static uint32_t fold_avx2(const uint8_t *page, size_t rows)
{
    uint32_t folded[1];

    fold_pages(page, rows, folded, 1);
    return folded[0];
}

static void fold_group_avx2(const uint8_t *pages, size_t rows, uint32_t folded[GROUP])
{
    fold_pages(pages, rows, folded, GROUP);
}

DEFINE_CHECKSUM(avx2, GROUP)
#endif
