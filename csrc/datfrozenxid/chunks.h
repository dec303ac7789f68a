/* SPDX-License-Identifier: PostgreSQL */
/*
 * The walk that the fast kernels share, chunk by chunk: see kernels.h. A file that includes this defines greatest_age. Internal:
 * not installed, not seen by the bindings.
 */
#ifndef PGQUERN_DATFROZENXID_CHUNKS_H
#define PGQUERN_DATFROZENXID_CHUNKS_H

#include "datfrozenxid/kernels.h"

/* The greatest age among n values; first: the least normal id. */
ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first);

ALWAYS_INLINE pgq_status min_frozen_by_age(const uint32_t values[], size_t n,
                                           const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    pgq_code code = values_fault(values, n, bounds, minimum);
    uint32_t oldest, last_sane;
    bool multixact;

    if (code != PGQ_OK)
        return refused(code, 0);
    oldest = bounds->start;
    last_sane = bounds->last_sane;
    multixact = bounds->multixact;
    for (size_t from = 0; from < n; from += CHUNK) {
        size_t to = n - from > CHUNK ? from + CHUNK : n;
        uint32_t greatest = greatest_age(values + from, to - from, last_sane, first_normal(multixact));

        if (greatest < HALF_RING) {
            lower_to_age(&oldest, greatest, last_sane, multixact);
        } else {
            size_t i = scan_values(values, from, to, last_sane, multixact, &oldest);

            if (i < to)
                return refused(future(multixact), i + 1);
        }
    }
    HOLDS(!id_precedes(last_sane, oldest, multixact)); /* no value taken lies in the future */
    *minimum = oldest;
    return accepted();
}

#endif
