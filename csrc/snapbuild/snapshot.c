/* SPDX-License-Identifier: PostgreSQL */
/* src/backend/replication/logical/snapbuild.c, SnapBuildBuildSnapshot: the copy of committed.xip that it hands out. */
#include "snapbuild/snapshot.h"
#include "snapbuild/qsort.h"

#include <string.h>

static pgq_status copy(const pgq_committed *committed, uint32_t xip[], size_t xip_space)
{
    pgq_code code = committed_fault(committed);

    if (code == PGQ_OK && xip == NULL && xip_space > 0)
        code = PGQ_NULL;
    if (code == PGQ_OK && xip_space < committed->xcnt)
        code = PGQ_CAPACITY;
    if (code == PGQ_OK && committed->xcnt > 0)
        memcpy(xip, committed->xip, committed->xcnt * sizeof(uint32_t));
    return refused(code, 0);
}

/* Upstream: copy and sort, every time. */
pgq_status pgq_snapshot_upstream(const pgq_committed *committed, uint32_t xip[], size_t xip_space)
{
    pgq_status status = copy(committed, xip, xip_space);

    if (status.code == PGQ_OK)
        pgq_qsort32(xip, committed->xcnt, pgq_xid_comparator);
    return status;
}

/* An array that is kept sorted needs only the copy. */
pgq_status pgq_snapshot_sorted(const pgq_committed *committed, uint32_t xip[], size_t xip_space)
{
    pgq_status status = copy(committed, xip, xip_space);

    if (status.code == PGQ_OK && !committed->sorted)
        pgq_qsort32(xip, committed->xcnt, pgq_xid_comparator);
    return status;
}
