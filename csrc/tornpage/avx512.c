/* SPDX-License-Identifier: PostgreSQL */
/*
 * Two registers of sixteen lanes a page, with the chain of scalar.c: a multiplication, and one instruction that xors
 * three values. Four pages of a batch side by side use the time in which a chain waits for its multiplication.
 */
#include "tornpage/checksum.h"

#if defined(__AVX512F__)
#include <immintrin.h>

enum { GROUP = 4, REGISTERS = 2, XOR_OF_THREE = 0x96 };

typedef __m512i vec;

static inline vec next(vec mixed, vec words, vec prime)
{
    return _mm512_ternarylogic_epi32(_mm512_mullo_epi32(mixed, prime), _mm512_srli_epi32(mixed, 17), words,
                                     XOR_OF_THREE);
}

static inline vec words_at(const uint8_t *row, size_t r)
{
    return _mm512_loadu_si512(row + 64 * r);
}

/* The xor of all lanes. */
static inline uint32_t fold_lanes(const vec sums[REGISTERS])
{
    __m512i x = _mm512_xor_si512(sums[0], sums[1]);
    __m256i y = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i z = _mm_xor_si128(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    z = _mm_xor_si128(z, _mm_shuffle_epi32(z, _MM_SHUFFLE(1, 0, 3, 2)));
    z = _mm_xor_si128(z, _mm_shuffle_epi32(z, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(z);
}

static inline vec every_prime(void)
{
    return _mm512_set1_epi32((int)FNV_PRIME);
}

static inline vec beside_checksum(void)
{
    return _mm512_mask_set1_epi32(_mm512_set1_epi32(-1), 1 << CHECKSUM_WORD, (int)BESIDE_CHECKSUM);
}

#include "tornpage/fold.h"

DEFINE_CHECKSUM(avx512, fold_page, fold_groups)
#endif
