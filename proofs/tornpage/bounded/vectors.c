/* SPDX-License-Identifier: PostgreSQL */
/*
 * The steps of a checksum by vectors: each lane's is upstream's, for all words. A product may be anything that its factors
 * decide: a solver does not get through real ones.
 */
#include "bounded.h"

uint32_t __CPROVER_uninterpreted_product(uint32_t a, uint32_t b);

#if defined(__ARM_NEON)
#include <arm_neon.h>
BINARY(any_product128, uint32x4_t, uint32x4_t, __CPROVER_uninterpreted_product(a[i], b[i]))
#define vmulq_u32 any_product128
#else
#include <immintrin.h>
BINARY(any_product256, __m256i, u32of32, __CPROVER_uninterpreted_product(a[i], b[i]))
#define _mm256_mullo_epi32 any_product256
#endif
#if defined(__AVX512F__)
BINARY(any_product512, __m512i, u32of64, __CPROVER_uninterpreted_product(a[i], b[i]))
#define _mm512_mullo_epi32 any_product512
#endif

#include SOURCE

enum { VEC_LANES = LANES / REGISTERS };

static vec any_lanes(uint32_t lane[VEC_LANES])
{
    vec v;

    for (size_t i = 0; i < VEC_LANES; i++)
        lane[i] = nondet_u32();
    memcpy(&v, lane, sizeof v);
    return v;
}

void proof(void)
{
    uint32_t mixed[VEC_LANES], words[VEC_LANES], after[VEC_LANES], sum[REGISTERS][VEC_LANES], all[VEC_LANES] = {0};
    uint8_t row[ROW];
    vec sums[REGISTERS], found;

    found = next(any_lanes(mixed), any_lanes(words), every_prime());
    memcpy(after, &found, sizeof after);
    for (size_t i = 0; i < VEC_LANES; i++)
        claim(after[i] == (__CPROVER_uninterpreted_product(mixed[i], 16777619u) ^ mixed[i] >> 17 ^ words[i]), "a round of each lane is upstream's");

    found = beside_checksum();
    memcpy(after, &found, sizeof after);
    for (size_t i = 0; i < VEC_LANES; i++)
        claim(after[i] == (i == 2 ? 0xffff0000u : 0xffffffffu), "the mask leaves out pd_checksum and nothing else");

    for (size_t r = 0; r < REGISTERS; r++) {
        sums[r] = any_lanes(sum[r]);
        for (size_t i = 0; i < VEC_LANES; i++)
            all[i] ^= sum[r][i];
    }
    /* By halves, as the kernels do: a solver takes long for another order. */
    for (size_t half = VEC_LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            all[i] ^= all[i + half];
    claim(fold_lanes(sums) == all[0], "the last step is the xor of all lanes");

    memcpy(row, sum, sizeof row);
    for (size_t r = 0; r < REGISTERS; r++) {
        found = words_at(row, r);
        memcpy(after, &found, sizeof after);
        for (size_t i = 0; i < VEC_LANES; i++)
            claim(after[i] == sum[r][i], "the registers of a row have its words, in order");
    }
}
