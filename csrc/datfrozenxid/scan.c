/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's algorithm: src/backend/commands/vacuum.c, vac_update_datfrozenxid, of 13 to 18: a branch for each question, value
 * by value. It differs in that TransactionIdPrecedes and MultiXactIdPrecedes are inlined, where 13 to 18 call them, and in
 * that the rows come from memory, not from a scan of pg_class.
 */
#include "datfrozenxid/kernels.h"

pgq_status pgq_datfrozenxid_min_frozen_scan(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    pgq_code code = values_fault(values, n, bounds, minimum);
    uint32_t oldest;
    size_t i;

    if (code != PGQ_OK)
        return refused(code, 0);
    oldest = bounds->start;
    if (bounds->multixact)
        i = scan_values(values, 0, n, bounds->last_sane, true, &oldest);
    else
        i = scan_values(values, 0, n, bounds->last_sane, false, &oldest);
    if (i < n)
        return refused(future(bounds->multixact), i + 1);
    *minimum = oldest;
    return accepted();
}

pgq_status pgq_datfrozenxid_min_frozen_strided_scan(const pgq_datfrozenxid_rows *rows,
                                                    const pgq_datfrozenxid_pair *start,
                                                    const pgq_datfrozenxid_pair *last_sane,
                                                    pgq_datfrozenxid_pair *minimum)
{
    pgq_code code = rows_fault(rows, start, last_sane, minimum);
    pgq_datfrozenxid_pair oldest;
    pgq_status status;

    if (code != PGQ_OK)
        return refused(code, 0);
    oldest = *start;
    status = scan_rows(rows, 0, rows->n, last_sane, &oldest);
    if (status.code == PGQ_OK)
        *minimum = oldest;
    return status;
}

static bool need_update(uint32_t stored, uint32_t minimum, uint32_t last_sane, bool multixact)
{
    return stored != minimum &&
           (id_precedes(stored, minimum, multixact) || id_precedes(last_sane, stored, multixact));
}

pgq_status pgq_datfrozenxid_need_update_scan(const pgq_datfrozenxid_pair *stored,
                                             const pgq_datfrozenxid_pair *minimum,
                                             const pgq_datfrozenxid_pair *last_sane,
                                             pgq_datfrozenxid_changes *changes)
{
    pgq_code code = stored == NULL || changes == NULL ? PGQ_NULL : pair_fault(minimum, last_sane);

    if (code != PGQ_OK)
        return refused(code, 0);
    changes->xid = need_update(stored->xid, minimum->xid, last_sane->xid, false);
    changes->multi = need_update(stored->multi, minimum->multi, last_sane->multi, true);
    return accepted();
}
