/* SPDX-License-Identifier: PostgreSQL */
/* The right minimum and the right refusals, but the place of a value in the future is counted from 0. */
#include "pgquern.h"

pgq_status pgq_datfrozenxid_min_frozen_scalar(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);

pgq_status candidate(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                     uint32_t *minimum)
{
    pgq_status status = pgq_datfrozenxid_min_frozen_scalar(values, n, bounds, minimum);

    if (status.index > 0)
        status.index--;
    return status;
}
