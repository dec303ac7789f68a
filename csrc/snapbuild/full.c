/* SPDX-License-Identifier: PostgreSQL */
/*
 * committed.xip with FullTransactionIds, as proposed on the mailing list in October 2025. Their order is total, so one
 * lower bound finds what to purge; a purge then only moves the head past it.
 */
#include "snapbuild/full.h"
#include "snapbuild/merge.h"

#include <stdlib.h>

/* Upstream's algorithm (SnapBuildPurgeOlderTxn) with this type: the XIDs that stay go to a workspace and back. */
pgq_status pgq_snapbuild_purge_full_upstream(pgq_snapbuild_committed_full *committed, uint64_t full_xmin)
{
    pgq_code code = committed_full_fault(committed);
    uint64_t *workspace, *fxip;
    size_t surviving = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal((uint32_t)full_xmin) || committed->xcnt == 0)
        return accepted();
    workspace = malloc(committed->xcnt * sizeof(uint64_t));
    if (workspace == NULL)
        return refused(PGQ_MEMORY, 0);
    fxip = committed->fxip + committed->head;
    for (size_t off = 0; off < committed->xcnt; off++) {
        if (fxip[off] < full_xmin)
            continue;
        workspace[surviving++] = fxip[off];
    }
    memcpy(fxip, workspace, surviving * sizeof(uint64_t));
    committed->xcnt = surviving;
    free(workspace);
    return accepted();
}

/* One lower bound; the XIDs that stay move down at once. */
pgq_status pgq_snapbuild_purge_full_memmove(pgq_snapbuild_committed_full *committed, uint64_t full_xmin)
{
    pgq_code code = committed_full_fault(committed);
    uint64_t *fxip;
    size_t gone;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal((uint32_t)full_xmin) || committed->xcnt == 0)
        return accepted();
    fxip = committed->fxip + committed->head;
    gone = lower_bound64(fxip, committed->xcnt, full_xmin);
    committed->xcnt -= gone;
    if (gone > 0)
        memmove(fxip, fxip + gone, committed->xcnt * sizeof(uint64_t));
    return accepted();
}

/* One lower bound; the head moves, and pgq_snapbuild_insert_full takes the space back when it needs it. */
pgq_status pgq_snapbuild_purge_full_lazy_head(pgq_snapbuild_committed_full *committed, uint64_t full_xmin)
{
    pgq_code code = committed_full_fault(committed);
    size_t gone;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal((uint32_t)full_xmin) || committed->xcnt == 0)
        return accepted();
    gone = lower_bound64(committed->fxip + committed->head, committed->xcnt, full_xmin);
    committed->xcnt -= gone;
    committed->head = committed->xcnt == 0 ? 0 : committed->head + gone;
    return accepted();
}

pgq_status pgq_snapbuild_insert_full(pgq_snapbuild_committed_full *committed, uint64_t batch[], size_t m)
{
    pgq_code code = committed_full_fault(committed);
    uint64_t *fxip;

    if (code == PGQ_OK && batch == NULL && m > 0)
        code = PGQ_NULL;
    if (code != PGQ_OK)
        return refused(code, 0);
    for (size_t i = 0; i < m; i++)
        if (!xid_is_normal((uint32_t)batch[i]))
            return refused(PGQ_SNAPBUILD_XID_PERMANENT, i + 1);
    if (m > committed->xcnt_space - committed->xcnt)
        return refused(PGQ_SNAPBUILD_CAPACITY, 0);
    if (m == 0)
        return accepted();

    fxip = committed->fxip;
    if (m > committed->xcnt_space - committed->xcnt - committed->head) {
        memmove(fxip, fxip + committed->head, committed->xcnt * sizeof(uint64_t));
        committed->head = 0;
    }
    m = sort_batch64(batch, m);
    HOLDS(rises64(batch, m) && m <= committed->xcnt_space - committed->xcnt - committed->head);
    committed->xcnt = merge_batch64(fxip + committed->head, committed->xcnt, batch, m);
    return accepted();
}

static void narrow(uint32_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint32_t)from[i];
}

pgq_status pgq_snapbuild_snapshot_full(const pgq_snapbuild_committed_full *committed, uint32_t xip[],
                                       size_t xip_space)
{
    pgq_code code = committed_full_fault(committed);
    const uint64_t *fxip;
    size_t n, wrap;

    if (code == PGQ_OK && xip == NULL && xip_space > 0)
        code = PGQ_NULL;
    if (code == PGQ_OK && xip_space < committed->xcnt)
        code = PGQ_SNAPBUILD_CAPACITY;
    if (code != PGQ_OK)
        return refused(code, 0);
    if (committed->xcnt == 0)
        return accepted();
    n = committed->xcnt;
    fxip = committed->fxip + committed->head;
    if (fxip[n - 1] - fxip[0] > UINT32_MAX)
        return refused(PGQ_SNAPBUILD_UNSORTED, 0);
    /* The entries of the younger epoch have the lower XIDs. */
    wrap = lower_bound64(fxip, n, fxip[n - 1] >> 32 << 32);
    narrow(xip, fxip + wrap, n - wrap);
    narrow(xip + n - wrap, fxip, wrap);
    return accepted();
}
