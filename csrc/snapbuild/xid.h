/* SPDX-License-Identifier: PostgreSQL */
/*
 * XIDs on their ring, and the parts that the kernels share.
 * Upstream: src/include/access/transam.h, src/backend/access/transam/transam.c.
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

/*@ assigns \nothing;
    ensures \result <==> xid >= 3; */
static inline bool xid_is_normal(uint32_t xid)
{
    return xid >= FIRST_NORMAL_XID;
}

/*@ // NormalTransactionIdPrecedes, as its macro has it.
    predicate precedes(uint32_t a, uint32_t b) = (int32_t)(a - b) < 0;

    // How many of the first n XIDs stay in a purge: those that do not precede xmin.
    logic integer staying{L}(uint32_t *xip, integer n, uint32_t xmin) =
        n <= 0 ? 0 : staying(xip, n - 1, xmin) + ((int32_t)(xip[n - 1] - xmin) < 0 ? 0 : 1);

    // Of the first n XIDs at `from` in L, those that stay lie at `to` in M, in their order.
    predicate slid{L, M}(uint32_t *to, uint32_t *from, integer n, uint32_t xmin) =
        \forall integer i; 0 <= i < n && !precedes(\at(from[i], L), xmin) ==>
            \at(to[\at(staying(from, i, xmin), L)], M) == \at(from[i], L);
*/

/* NormalTransactionIdPrecedes: of two normal XIDs; at a distance of 2^31 each precedes the other. */
/*@ assigns \nothing;
    ensures \result <==> precedes(a, b); */
static inline bool xid_normal_precedes(uint32_t a, uint32_t b)
{
    return a - b >= HALF_RING;
}

/* TransactionIdPrecedes. */
/*@ assigns \nothing;
    ensures \result <==> (a >= 3 && b >= 3 ? precedes(a, b) : a < b); */
static inline bool xid_precedes(uint32_t a, uint32_t b)
{
    return xid_is_normal(a) && xid_is_normal(b) ? xid_normal_precedes(a, b) : a < b;
}

/* TransactionIdAdvance. */
/*@ assigns \nothing;
    ensures \result == (2 <= xid < UINT32_MAX ? xid + 1 : 3); */
static inline uint32_t xid_advance(uint32_t xid)
{
    return xid + 1 < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : xid + 1;
}

/*@ // Why an array is refused; PGQ_OK if it is not.
    logic integer fault{L}(pgq_snapbuild_committed *c) =
        c == \null || (c->xip == \null && c->xcnt_space > 0) ? PGQ_NULL
        : c->xcnt <= c->xcnt_space <= XCNT_MAX ? PGQ_OK : PGQ_SNAPBUILD_CAPACITY;

    // What a caller owes: NULL, or a record; and where it is not refused, an array of its own.
    predicate given{L}(pgq_snapbuild_committed *c) =
        c == \null || (\valid(c) && (fault(c) == PGQ_OK ==>
            \valid(c->xip + (0 .. c->xcnt - 1)) && \separated(c, c->xip + (0 .. c->xcnt - 1))));
*/

/* What every function on these arrays checks first. */
/*@ requires c == \null || \valid_read(c);
    assigns \nothing;
    ensures \result == fault(c); */
static inline pgq_code committed_fault(const pgq_snapbuild_committed *c)
{
    if (c == NULL || (c->xip == NULL && c->xcnt_space > 0))
        return PGQ_NULL;
    return c->xcnt > c->xcnt_space || c->xcnt_space > XCNT_MAX ? PGQ_SNAPBUILD_CAPACITY : PGQ_OK;
}

/*@ // The same of an array of FullTransactionIds.
    logic integer full_fault{L}(pgq_snapbuild_committed_full *c) =
        c == \null || (c->fxip == \null && c->xcnt_space > 0) ? PGQ_NULL
        : c->xcnt_space <= FULL_XCNT_MAX && c->head + c->xcnt <= c->xcnt_space ? PGQ_OK : PGQ_SNAPBUILD_CAPACITY;

    predicate given_full{L}(pgq_snapbuild_committed_full *c) =
        c == \null || (\valid(c) && (full_fault(c) == PGQ_OK ==>
            \valid(c->fxip + (0 .. c->head + c->xcnt - 1)) && \separated(c, c->fxip + (0 .. c->head + c->xcnt - 1))));
*/
/*@ requires c == \null || \valid_read(c);
    assigns \nothing;
    ensures \result == full_fault(c); */
static inline pgq_code committed_full_fault(const pgq_snapbuild_committed_full *c)
{
    if (c == NULL || (c->fxip == NULL && c->xcnt_space > 0))
        return PGQ_NULL;
    return c->xcnt_space > FULL_XCNT_MAX || c->head > c->xcnt_space || c->xcnt > c->xcnt_space - c->head
               ? PGQ_SNAPBUILD_CAPACITY
               : PGQ_OK;
}

#endif
