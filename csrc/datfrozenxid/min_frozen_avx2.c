/* SPDX-License-Identifier: PostgreSQL */
/*
 * Eight ages a step, in four chains. AVX2 has an unsigned maximum, but no unsigned comparison: x is normal if the maximum of
 * x and the least normal id is x. The loop is printed from its proof.
 */
#include "datfrozenxid/chunks.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include "datfrozenxid/greatest_avx2.h"

ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    return greatest_avx2(values, values + n, last_sane, first);
}

pgq_status pgq_datfrozenxid_min_frozen_avx2(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum);
}
#endif
