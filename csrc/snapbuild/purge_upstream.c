/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's algorithm: src/backend/replication/logical/snapbuild.c, SnapBuildPurgeOlderTxn, of 9.4 to 18. The XIDs that stay
 * are copied to a workspace, allocated for this one purge, and back. It differs in that it calls malloc, not palloc, and has
 * no messages of level DEBUG3.
 */
#include "snapbuild/purge.h"

#include <stdlib.h>
#include <string.h>

pgq_status pgq_snapbuild_purge_upstream(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    uint32_t *workspace;
    size_t surviving = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(xmin) || committed->xcnt == 0)
        return accepted();
    workspace = malloc(committed->xcnt * sizeof(uint32_t));
    if (workspace == NULL)
        return refused(PGQ_MEMORY, 0);
    for (size_t off = 0; off < committed->xcnt; off++) {
        uint32_t xid = committed->xip[off];

        if (!xid_normal_precedes(xid, xmin))
            workspace[surviving++] = xid;
    }
    memcpy(committed->xip, workspace, surviving * sizeof(uint32_t));
    committed->xcnt = surviving;
    free(workspace);
    return accepted();
}

pgq_status pgq_snapbuild_purge_sorted_upstream(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);

    if (code == PGQ_OK && !committed->sorted)
        code = PGQ_SNAPBUILD_UNSORTED;
    return code != PGQ_OK ? refused(code, 0) : pgq_snapbuild_purge_upstream(committed, xmin);
}
