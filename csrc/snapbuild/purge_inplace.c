/* SPDX-License-Identifier: PostgreSQL */
/* The change that the mailing list proposed in October 2025: no workspace; XIDs that stay move down within the array. */
#include "snapbuild/purge.h"

pgq_status pgq_snapbuild_purge_inplace(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    size_t surviving = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(xmin))
        return accepted();
    for (size_t off = 0; off < committed->xcnt; off++) {
        uint32_t x = committed->xip[off];

        if (!xid_normal_precedes(x, xmin))
            committed->xip[surviving++] = x;
    }
    committed->xcnt = surviving;
    return accepted();
}
