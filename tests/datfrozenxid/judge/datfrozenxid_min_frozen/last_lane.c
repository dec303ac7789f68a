/* SPDX-License-Identifier: PostgreSQL */
/* A minimum of eight lanes that overlooks the last one. */
#include "pgquern.h"

pgq_status pgq_datfrozenxid_min_frozen_scalar(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);

pgq_status candidate(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                     uint32_t *minimum)
{
    return pgq_datfrozenxid_min_frozen_scalar(values, n >= 8 && n % 8 == 0 ? n - 1 : n, bounds, minimum);
}
