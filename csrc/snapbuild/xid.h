/* SPDX-License-Identifier: PostgreSQL */
/*
 * XIDs on their ring, and the parts that the kernels share.
 * Upstream: src/include/access/transam.h, TransactionIdPrecedes, NormalTransactionIdPrecedes.
 */
#ifndef PGQUERN_SNAPBUILD_XID_H
#define PGQUERN_SNAPBUILD_XID_H

#include "common/outcome.h"
#include "snapbuild/snapbuild.h"

#define FIRST_NORMAL_XID 3u
#define HALF_RING        0x80000000u

enum {
    XCNT_MAX = 1 << 28,     /* MaxAllocSize / sizeof(TransactionId) */
    FULL_XCNT_MAX = 1 << 27 /* MaxAllocSize / sizeof(FullTransactionId) */
};

static inline bool xid_is_normal(uint32_t xid)
{
    return xid >= FIRST_NORMAL_XID;
}

/* NormalTransactionIdPrecedes: of two normal XIDs; at a distance of 2^31 each precedes the other. */
static inline bool xid_normal_precedes(uint32_t a, uint32_t b)
{
    return a - b >= HALF_RING;
}

/* TransactionIdPrecedes. */
static inline bool xid_precedes(uint32_t a, uint32_t b)
{
    return xid_is_normal(a) && xid_is_normal(b) ? xid_normal_precedes(a, b) : a < b;
}

/* TransactionIdAdvance. */
static inline uint32_t xid_advance(uint32_t xid)
{
    return xid + 1 < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : xid + 1;
}

/* What every function on these arrays checks first. */
static inline pgq_code committed_fault(const pgq_snapbuild_committed *c)
{
    if (c == NULL || (c->xip == NULL && c->xcnt_space > 0))
        return PGQ_NULL;
    return c->xcnt > c->xcnt_space || c->xcnt_space > XCNT_MAX ? PGQ_SNAPBUILD_CAPACITY : PGQ_OK;
}

static inline pgq_code committed_full_fault(const pgq_snapbuild_committed_full *c)
{
    if (c == NULL || (c->fxip == NULL && c->xcnt_space > 0))
        return PGQ_NULL;
    return c->xcnt_space > FULL_XCNT_MAX || c->head > c->xcnt_space || c->xcnt > c->xcnt_space - c->head
               ? PGQ_SNAPBUILD_CAPACITY
               : PGQ_OK;
}

#endif
