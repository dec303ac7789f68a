/* SPDX-License-Identifier: PostgreSQL */
/* The faults that only a pass over the whole array can find. */
#include "snapbuild/xid.h"

pgq_status pgq_snapbuild_committed_check(const pgq_snapbuild_committed *committed)
{
    pgq_code code = committed_fault(committed);

    if (code != PGQ_OK)
        return refused(code, 0);
    for (size_t i = 0; i < committed->xcnt; i++)
        if (!xid_is_normal(committed->xip[i]))
            return refused(PGQ_SNAPBUILD_XID_PERMANENT, i + 1);
    if (!committed->sorted)
        return accepted();
    for (size_t i = 1; i < committed->xcnt; i++) {
        uint32_t before = committed->xip[i - 1], x = committed->xip[i];

        if (x <= before)
            return refused(x == before ? PGQ_SNAPBUILD_DUPLICATE : PGQ_SNAPBUILD_UNSORTED, i + 1);
    }
    return accepted();
}

pgq_status pgq_snapbuild_committed_full_check(const pgq_snapbuild_committed_full *committed)
{
    pgq_code code = committed_full_fault(committed);
    const uint64_t *live;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (committed->xcnt == 0)
        return accepted();
    live = committed->fxip + committed->head;
    for (size_t i = 0; i < committed->xcnt; i++)
        if (!xid_is_normal((uint32_t)live[i]))
            return refused(PGQ_SNAPBUILD_XID_PERMANENT, i + 1);
    for (size_t i = 1; i < committed->xcnt; i++)
        if (live[i] <= live[i - 1])
            return refused(live[i] == live[i - 1] ? PGQ_SNAPBUILD_DUPLICATE : PGQ_SNAPBUILD_UNSORTED, i + 1);
    return accepted();
}
