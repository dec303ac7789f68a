/* SPDX-License-Identifier: PostgreSQL */
/* src/backend/replication/logical/snapbuild.c, SnapBuildBuildSnapshot: the copy of committed.xip that it hands out. */
#include "snapbuild/snapshot.h"
#include "snapbuild/qsort.h"

#include <string.h>

/* The checks and the copy that both variants make. */
static pgq_code copy(const pgq_snapbuild_committed *committed, uint32_t xip[], size_t xip_space)
{
    pgq_code code = committed_fault(committed);

    if (code == PGQ_OK && xip == NULL && xip_space > 0)
        code = PGQ_NULL;
    if (code == PGQ_OK && xip_space < committed->xcnt)
        code = PGQ_SNAPBUILD_CAPACITY;
    if (code == PGQ_OK && committed->xcnt > 0)
        memcpy(xip, committed->xip, committed->xcnt * sizeof(uint32_t));
    return code;
}

/* As upstream: copy and sort, every time. */
pgq_status pgq_snapbuild_snapshot_upstream(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                           size_t xip_space)
{
    pgq_code code = copy(committed, xip, xip_space);

    if (code != PGQ_OK)
        return refused(code, 0);
    pgq_snapbuild_qsort32(xip, committed->xcnt, pgq_snapbuild_xid_comparator);
    return accepted();
}

/* An array that is kept sorted needs only the copy. */
pgq_status pgq_snapbuild_snapshot_sorted(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                         size_t xip_space)
{
    pgq_code code = copy(committed, xip, xip_space);

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!committed->sorted)
        pgq_snapbuild_qsort32(xip, committed->xcnt, pgq_snapbuild_xid_comparator);
    return accepted();
}
