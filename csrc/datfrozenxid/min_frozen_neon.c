/* SPDX-License-Identifier: PostgreSQL */
/* Four ages a step, in four chains: min_frozen_avx2.c for ARM, which has an unsigned comparison. The loop is printed from its proof. */
#include "common/word.h"
#include "datfrozenxid/chunks.h"

#include <arm_neon.h>

#include "datfrozenxid/greatest_neon.h"

ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    return greatest_neon(values, values + n, last_sane, first);
}

pgq_status pgq_datfrozenxid_min_frozen_neon(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum);
}
