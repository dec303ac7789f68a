/* SPDX-License-Identifier: PostgreSQL */
/* Left-packing eight 32-bit lanes, for CPUs without a compress instruction. Needs AVX2 and BMI2. */
#ifndef PGQUERN_LEFT_PACK_H
#define PGQUERN_LEFT_PACK_H

#include <immintrin.h>
#include <stdint.h>

/* Entry m: the numbers of the bits set in m, one a byte, from the lowest on; zero beyond. */
extern const uint64_t pgq_left_pack[256];

/* The permutation that brings the lanes in `kept` to the front, in their order. */
static inline __m256i left_pack(unsigned kept)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)pgq_left_pack[kept]));
}

#endif
