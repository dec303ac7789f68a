/* SPDX-License-Identifier: PostgreSQL */
/*
 * The variants, and what the fast ones share: they go chunk by chunk, each chunk's greatest age without a branch on the data. If
 * it is suspect, upstream's loop looks at the chunk again: it finds the first value in the future, or there is none and
 * the chunk holds permanent XIDs. Internal: not installed, not seen by the bindings.
 */
#ifndef PGQUERN_DATFROZENXID_KERNELS_H
#define PGQUERN_DATFROZENXID_KERNELS_H

#include "common/holds.h"
#include "datfrozenxid/ids.h"

pgq_status pgq_datfrozenxid_min_frozen_scan(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);
pgq_status pgq_datfrozenxid_min_frozen_scalar(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);
pgq_status pgq_datfrozenxid_min_frozen_avx2(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);
pgq_status pgq_datfrozenxid_min_frozen_avx512(const uint32_t values[], size_t n,
                                              const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);
pgq_status pgq_datfrozenxid_min_frozen_neon(const uint32_t values[], size_t n,
                                            const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);

pgq_status pgq_datfrozenxid_min_frozen_strided_scan(const pgq_datfrozenxid_rows *rows,
                                                    const pgq_datfrozenxid_pair *start,
                                                    const pgq_datfrozenxid_pair *last_sane,
                                                    pgq_datfrozenxid_pair *minimum);
pgq_status pgq_datfrozenxid_min_frozen_strided_scalar(const pgq_datfrozenxid_rows *rows,
                                                      const pgq_datfrozenxid_pair *start,
                                                      const pgq_datfrozenxid_pair *last_sane,
                                                      pgq_datfrozenxid_pair *minimum);
pgq_status pgq_datfrozenxid_min_frozen_strided_avx2(const pgq_datfrozenxid_rows *rows,
                                                    const pgq_datfrozenxid_pair *start,
                                                    const pgq_datfrozenxid_pair *last_sane,
                                                    pgq_datfrozenxid_pair *minimum);
pgq_status pgq_datfrozenxid_min_frozen_strided_neon(const pgq_datfrozenxid_rows *rows,
                                                    const pgq_datfrozenxid_pair *start,
                                                    const pgq_datfrozenxid_pair *last_sane,
                                                    pgq_datfrozenxid_pair *minimum);

pgq_status pgq_datfrozenxid_need_update_scan(const pgq_datfrozenxid_pair *stored,
                                             const pgq_datfrozenxid_pair *minimum,
                                             const pgq_datfrozenxid_pair *last_sane,
                                             pgq_datfrozenxid_changes *changes);
pgq_status pgq_datfrozenxid_need_update_scalar(const pgq_datfrozenxid_pair *stored,
                                               const pgq_datfrozenxid_pair *minimum,
                                               const pgq_datfrozenxid_pair *last_sane,
                                               pgq_datfrozenxid_changes *changes);

/* *oldest becomes the id of that age, if it precedes what is there. The age is not suspect. */
ALWAYS_INLINE void lower_to_age(uint32_t *oldest, uint32_t greatest, uint32_t last_sane, bool multixact)
{
    if (id_precedes(last_sane - greatest, *oldest, multixact))
        *oldest = last_sane - greatest;
}

/* By relkind: all ones if rows of this kind hold ids, otherwise zero. Widened to 64 bits, it is all ones or zero again. */
static const int32_t holds_ids[256] = {['m'] = -1, ['r'] = -1, ['t'] = -1};

/* The greatest ages, of XIDs and of MultiXactIds, among the rows [from, to). */
typedef pgq_datfrozenxid_pair greatest_ages_fn(const pgq_datfrozenxid_rows *rows, size_t from, size_t to,
                                               const pgq_datfrozenxid_pair *last_sane);

ALWAYS_INLINE pgq_status min_frozen_strided_by_age(const pgq_datfrozenxid_rows *rows,
                                                   const pgq_datfrozenxid_pair *start,
                                                   const pgq_datfrozenxid_pair *last_sane,
                                                   pgq_datfrozenxid_pair *minimum,
                                                   greatest_ages_fn *greatest_ages)
{
    pgq_code code = rows_fault(rows, start, last_sane, minimum);
    pgq_datfrozenxid_pair oldest;

    if (code != PGQ_OK)
        return refused(code, 0);
    oldest = *start;
    for (size_t from = 0; from < rows->n; from += ROW_CHUNK) {
        size_t to = rows->n - from > ROW_CHUNK ? from + ROW_CHUNK : rows->n;
        pgq_datfrozenxid_pair greatest = greatest_ages(rows, from, to, last_sane);

        if ((greatest.xid | greatest.multi) < HALF_RING) {
            lower_to_age(&oldest.xid, greatest.xid, last_sane->xid, false);
            lower_to_age(&oldest.multi, greatest.multi, last_sane->multi, true);
        } else {
            pgq_status status = scan_rows(rows, from, to, last_sane, &oldest);

            if (status.code != PGQ_OK)
                return status;
        }
    }
    HOLDS(!id_precedes(last_sane->xid, oldest.xid, false) &&
          !id_precedes(last_sane->multi, oldest.multi, true));
    *minimum = oldest;
    return accepted();
}

#endif
