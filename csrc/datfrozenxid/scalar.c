/* SPDX-License-Identifier: PostgreSQL */
/* Without branches on the data: the oldest id is the one that lies farthest behind last_sane, as an unsigned number. */
#include "datfrozenxid/chunks.h"

ALWAYS_INLINE uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Values at even and at odd places are two chains, which the CPU follows side by side. */
ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first)
{
    uint32_t even = 0, odd = 0;
    size_t i = 0;

    for (; i + 1 < n; i += 2) {
        even = larger(even, age(values[i], last_sane, first));
        odd = larger(odd, age(values[i + 1], last_sane, first));
    }
    if (i < n)
        even = larger(even, age(values[i], last_sane, first));
    return larger(even, odd);
}

pgq_status pgq_datfrozenxid_min_frozen_scalar(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return min_frozen_by_age(values, n, bounds, minimum);
}

ALWAYS_INLINE pgq_datfrozenxid_pair greatest_ages(const pgq_datfrozenxid_rows *rows, size_t from, size_t to,
                                                  const pgq_datfrozenxid_pair *last_sane)
{
    pgq_datfrozenxid_pair greatest = {0, 0};

    for (size_t i = from; i < to; i++) {
        uint32_t counts = (uint32_t)holds_ids[record(rows, i)[rows->relkind_at]];
        pgq_datfrozenxid_pair ids = frozen_ids(rows, i);

        greatest.xid = larger(greatest.xid, age(ids.xid & counts, last_sane->xid, 3));
        greatest.multi = larger(greatest.multi, age(ids.multi & counts, last_sane->multi, 1));
    }
    return greatest;
}

pgq_status pgq_datfrozenxid_min_frozen_strided_scalar(const pgq_datfrozenxid_rows *rows,
                                                      const pgq_datfrozenxid_pair *start,
                                                      const pgq_datfrozenxid_pair *last_sane,
                                                      pgq_datfrozenxid_pair *minimum)
{
    return min_frozen_strided_by_age(rows, start, last_sane, minimum, greatest_ages);
}

/*
 * The minimum does not lie in the future. So the stored id must change if and only if it lies farther behind last_sane: then it
 * precedes the minimum, or is so far behind that it lies in the future. XIDs below 3 precede all normal ones.
 */
pgq_status pgq_datfrozenxid_need_update_scalar(const pgq_datfrozenxid_pair *stored,
                                               const pgq_datfrozenxid_pair *minimum,
                                               const pgq_datfrozenxid_pair *last_sane,
                                               pgq_datfrozenxid_changes *changes)
{
    pgq_code code = stored == NULL || changes == NULL ? PGQ_NULL : pair_fault(minimum, last_sane);

    if (code != PGQ_OK)
        return refused(code, 0);
    HOLDS(last_sane->xid - minimum->xid < HALF_RING && last_sane->multi - minimum->multi < HALF_RING);
    changes->xid = (stored->xid < 3) | (last_sane->xid - stored->xid > last_sane->xid - minimum->xid);
    changes->multi = last_sane->multi - stored->multi > last_sane->multi - minimum->multi;
    return accepted();
}
