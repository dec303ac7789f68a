/* SPDX-License-Identifier: PostgreSQL */
/* The change that the mailing list proposed in October 2025: no workspace; XIDs that stay move down within the array. */
#include "snapbuild/purge.h"

/*@ requires given(committed);
    assigns committed->xcnt, committed->xip[0 .. committed->xcnt - 1];
    ensures code: \result.code == \old(fault(committed));
    behavior idle:
      assumes fault(committed) != PGQ_OK || xmin < FIRST_NORMAL_XID;
      assigns \nothing;
    behavior purge:
      assumes fault(committed) == PGQ_OK && xmin >= FIRST_NORMAL_XID;
      ensures count: committed->xcnt == staying{Pre}(committed->xip, \old(committed->xcnt), xmin);
      ensures order: slid{Pre, Post}(committed->xip, committed->xip, \old(committed->xcnt), xmin); */
pgq_status pgq_snapbuild_purge_inplace(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    size_t surviving = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(xmin))
        return accepted();
    /*@ loop assigns off, surviving, committed->xip[0 .. committed->xcnt - 1];
        loop invariant within: 0 <= surviving <= off <= committed->xcnt;
        loop invariant count: surviving == staying{Pre}(committed->xip, off, xmin);
        loop invariant below: \forall integer i; 0 <= i < off && !precedes(\at(committed->xip[i], Pre), xmin) ==>
            0 <= staying{Pre}(committed->xip, i, xmin) < surviving;
        loop invariant order: slid{Pre, Here}(committed->xip, committed->xip, off, xmin);
        loop invariant ahead: \forall integer i; off <= i < committed->xcnt ==>
            committed->xip[i] == \at(committed->xip[i], Pre);
        loop variant committed->xcnt - off; */
    for (size_t off = 0; off < committed->xcnt; off++) {
        uint32_t x = committed->xip[off];

        if (!xid_normal_precedes(x, xmin))
            committed->xip[surviving++] = x;
    }
    committed->xcnt = surviving;
    return accepted();
}
