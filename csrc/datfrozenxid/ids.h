/* SPDX-License-Identifier: PostgreSQL */
/*
 * Ids on their ring, checks of arguments, and the scan of a piece of the input as upstream does it: src/backend/commands/vacuum.c,
 * the loop of vac_update_datfrozenxid; src/backend/access/transam/transam.c, TransactionIdPrecedes; multixact.c,
 * MultiXactIdPrecedes. Internal: not installed, not seen by the bindings.
 */
#ifndef PGQUERN_DATFROZENXID_IDS_H
#define PGQUERN_DATFROZENXID_IDS_H

#include "common/outcome.h"
#include "datfrozenxid/datfrozenxid.h"

#include <string.h>

#define HALF_RING 0x80000000u

enum {
    VALUES_MAX = 1 << 28, /* MaxAllocSize / sizeof(TransactionId) */
    CHUNK = 4096,         /* values that the fast kernels look at before they ask whether one was suspect */
    ROW_CHUNK = 256       /* the same for rows */
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The least normal id. */
ALWAYS_INLINE uint32_t first_normal(bool multixact)
{
    return multixact ? 1 : 3;
}

ALWAYS_INLINE bool id_precedes(uint32_t a, uint32_t b, bool multixact)
{
    if (!multixact && (a < 3 || b < 3))
        return a < b;
    return a - b >= HALF_RING;
}

/*
 * How far x lies behind last_sane: the larger, the older. An invalid id has age 0, and so is never the oldest. An age of
 * HALF_RING or more is suspect: x lies in the future, or is a permanent XID.
 */
ALWAYS_INLINE uint32_t age(uint32_t x, uint32_t last_sane, uint32_t first)
{
    return (x < first ? 0 : last_sane) - x;
}

ALWAYS_INLINE bool is_bound(uint32_t start, uint32_t last_sane, bool multixact)
{
    uint32_t first = first_normal(multixact);

    return start >= first && last_sane >= first && last_sane - start < HALF_RING;
}

ALWAYS_INLINE pgq_code values_fault(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                                    const uint32_t *minimum)
{
    if ((values == NULL && n > 0) || bounds == NULL || minimum == NULL)
        return PGQ_NULL;
    if (n > VALUES_MAX)
        return PGQ_DATFROZENXID_CAPACITY;
    return is_bound(bounds->start, bounds->last_sane, bounds->multixact) ? PGQ_OK : PGQ_DATFROZENXID_BOUNDS;
}

ALWAYS_INLINE pgq_code pair_fault(const pgq_datfrozenxid_pair *start, const pgq_datfrozenxid_pair *last_sane)
{
    if (start == NULL || last_sane == NULL)
        return PGQ_NULL;
    return is_bound(start->xid, last_sane->xid, false) && is_bound(start->multi, last_sane->multi, true)
               ? PGQ_OK
               : PGQ_DATFROZENXID_BOUNDS;
}

ALWAYS_INLINE pgq_code rows_fault(const pgq_datfrozenxid_rows *rows, const pgq_datfrozenxid_pair *start,
                                  const pgq_datfrozenxid_pair *last_sane,
                                  const pgq_datfrozenxid_pair *minimum)
{
    if (rows == NULL || minimum == NULL || (rows->records == NULL && rows->n > 0))
        return PGQ_NULL;
    if (rows->n > VALUES_MAX)
        return PGQ_DATFROZENXID_CAPACITY;
    if (rows->relkind_at >= rows->stride || rows->stride < sizeof(pgq_datfrozenxid_pair) ||
        rows->relfrozenxid_at > rows->stride - sizeof(pgq_datfrozenxid_pair))
        return PGQ_DATFROZENXID_STRIDE;
    return pair_fault(start, last_sane);
}

/* Upstream's loop body. False: x lies in the future. */
ALWAYS_INLINE bool take(uint32_t x, uint32_t last_sane, bool multixact, uint32_t *oldest)
{
    if (x == 0)
        return true;
    if (id_precedes(last_sane, x, multixact))
        return false;
    if (id_precedes(x, *oldest, multixact))
        *oldest = x;
    return true;
}

/* The index of the first of values[from .. to) that lies in the future; `to` if there is none, and *oldest is lowered. */
ALWAYS_INLINE size_t scan_values(const uint32_t values[], size_t from, size_t to, uint32_t last_sane,
                                 bool multixact, uint32_t *oldest)
{
    for (size_t i = from; i < to; i++)
        if (!take(values[i], last_sane, multixact, oldest))
            return i;
    return to;
}

ALWAYS_INLINE pgq_code future(bool multixact)
{
    return multixact ? PGQ_DATFROZENXID_FUTURE_MULTI : PGQ_DATFROZENXID_FUTURE_XID;
}

ALWAYS_INLINE const unsigned char *record(const pgq_datfrozenxid_rows *rows, size_t i)
{
    return (const unsigned char *)rows->records + i * rows->stride;
}

ALWAYS_INLINE pgq_datfrozenxid_pair frozen_ids(const pgq_datfrozenxid_rows *rows, size_t i)
{
    pgq_datfrozenxid_pair ids;

    memcpy(&ids, record(rows, i) + rows->relfrozenxid_at, sizeof ids);
    return ids;
}

/* Upstream's loop over the rows [from, to). PGQ_OK, and *oldest is lowered; or the first row at fault. */
ALWAYS_INLINE pgq_status scan_rows(const pgq_datfrozenxid_rows *rows, size_t from, size_t to,
                                   const pgq_datfrozenxid_pair *last_sane, pgq_datfrozenxid_pair *oldest)
{
    for (size_t i = from; i < to; i++) {
        unsigned char relkind = record(rows, i)[rows->relkind_at];
        pgq_datfrozenxid_pair ids;

        if (relkind != 'r' && relkind != 'm' && relkind != 't')
            continue;
        ids = frozen_ids(rows, i);
        if (!take(ids.xid, last_sane->xid, false, &oldest->xid))
            return refused(PGQ_DATFROZENXID_FUTURE_XID, i + 1);
        if (!take(ids.multi, last_sane->multi, true, &oldest->multi))
            return refused(PGQ_DATFROZENXID_FUTURE_MULTI, i + 1);
    }
    return accepted();
}

#endif
