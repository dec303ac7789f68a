/* SPDX-License-Identifier: PostgreSQL */
/*
 * Two registers of sixteen lanes a page, with the chain of scalar.c: a multiplication, and one instruction that xors
 * three values. Four pages of a batch side by side use the time in which a chain waits for its multiplication.
 */
#include "tornpage/checksum.h"

#if defined(__AVX512F__)
#include <immintrin.h>

enum { GROUP = 4, REGISTERS = 2, XOR_OF_THREE = 0x96 };

static inline __m512i next(__m512i mixed, __m512i words, __m512i prime)
{
    return _mm512_ternarylogic_epi32(_mm512_mullo_epi32(mixed, prime), _mm512_srli_epi32(mixed, 17), words,
                                     XOR_OF_THREE);
}

static inline __m512i words_at(const uint8_t *row, size_t r)
{
    return _mm512_loadu_si512(row + 64 * r);
}

/* The xor of all lanes. */
static inline uint32_t fold_lanes(const __m512i sums[REGISTERS])
{
    __m512i x = _mm512_xor_si512(sums[0], sums[1]);
    __m256i y = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i z = _mm_xor_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    z = _mm_xor_si128(z, _mm_shuffle_epi32(z, _MM_SHUFFLE(1, 0, 3, 2)));
    z = _mm_xor_si128(z, _mm_shuffle_epi32(z, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(z);
}

/* folded[p]: the xor of the sums of page p, for n pages, one after the other; n is a constant at each call. */
static inline __attribute__((always_inline)) void fold_pages(const uint8_t *pages, size_t rows,
                                                             uint32_t folded[], const size_t n)
{
    const __m512i prime = _mm512_set1_epi32((int)FNV_PRIME), zero = _mm512_setzero_si512();
    const __m512i mask =
        _mm512_mask_set1_epi32(_mm512_set1_epi32(-1), 1 << CHECKSUM_WORD, (int)BESIDE_CHECKSUM);
    __m512i mixed[GROUP][REGISTERS];

#pragma GCC unroll 4
    for (size_t p = 0; p < n; p++)
#pragma GCC unroll 4
        for (size_t r = 0; r < REGISTERS; r++) {
            __m512i words = words_at(pages + p * rows * ROW, r);

            mixed[p][r] = _mm512_xor_si512(words_at((const uint8_t *)pgq_tornpage_base_offsets, r),
                                           r == 0 ? _mm512_and_si512(words, mask) : words);
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

static uint32_t fold_avx512(const uint8_t *page, size_t rows)
{
    uint32_t folded[1];

    fold_pages(page, rows, folded, 1);
    return folded[0];
}

static void fold_group_avx512(const uint8_t *pages, size_t rows, uint32_t folded[GROUP])
{
    fold_pages(pages, rows, folded, GROUP);
}

DEFINE_CHECKSUM(avx512, GROUP)
#endif
