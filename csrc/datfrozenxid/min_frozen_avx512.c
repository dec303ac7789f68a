/* SPDX-License-Identifier: PostgreSQL */
/* Sixteen ages a step, in four chains. The loop is printed from its proof. */
#include "datfrozenxid/chunks.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#include "datfrozenxid/greatest_avx512.h"

ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    return greatest_avx512(values, values + n, last_sane, first);
}

pgq_status pgq_datfrozenxid_min_frozen_avx512(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum);
}
#endif
