/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, and the byte behind the minimum is written: with what it held. */
#include "pgquern.h"

pgq_status pgq_datfrozenxid_min_frozen_scalar(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);

pgq_status candidate(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                     uint32_t *minimum)
{
    pgq_status status = pgq_datfrozenxid_min_frozen_scalar(values, n, bounds, minimum);

    if (status.code == PGQ_OK) {
        volatile char *behind = (volatile char *)(minimum + 1);

        *behind = *behind;
    }
    return status;
}
