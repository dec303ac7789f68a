/* SPDX-License-Identifier: PostgreSQL */
/* In place, and free of branches on the data: half of them surviving at random would mispredict every other one. */
#include "snapbuild/purge.h"

pgq_status pgq_purge_scalar(pgq_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);

    if (code != PGQ_OK)
        return refused(code, 0);
    if (xid_is_normal(xmin))
        committed->xcnt = slide_survivors(committed->xip, committed->xip, committed->xcnt, xmin);
    return accepted();
}
