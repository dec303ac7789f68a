/* SPDX-License-Identifier: PostgreSQL */
/*
 * src/backend/replication/logical/snapbuild.c, SnapBuildAddCommittedTxn, for all XIDs of a commit at once. Upstream
 * appends, and sorts at every snapshot. The two other variants keep the array sorted, so that a snapshot is a copy.
 */
#include "snapbuild/insert.h"
#include "snapbuild/merge.h"
#include "snapbuild/qsort.h"

enum { FEW = 8 };

/* Not XID by XID: the end of so short a loop is mispredicted, which costs more than all else for a small batch. */
static inline bool has_permanent(const uint32_t batch[], size_t m)
{
    bool permanent = false;
    size_t i = 0;

    for (; m - i >= 8; i += 8)
#pragma GCC unroll 8
        for (size_t k = 0; k < 8; k++)
            permanent |= !xid_is_normal(batch[i + k]);
    for (; i < m; i++)
        permanent |= !xid_is_normal(batch[i]);
    return permanent;
}

static pgq_status check(const pgq_snapbuild_committed *committed, const uint32_t batch[], size_t m)
{
    pgq_code code = committed_fault(committed);

    if (code == PGQ_OK && batch == NULL && m > 0)
        code = PGQ_NULL;
    if (code != PGQ_OK)
        return refused(code, 0);
    if (has_permanent(batch, m))
        for (size_t i = 0; i < m; i++)
            if (!xid_is_normal(batch[i]))
                return refused(PGQ_SNAPBUILD_XID_PERMANENT, i + 1);
    return m > committed->xcnt_space - committed->xcnt ? refused(PGQ_SNAPBUILD_CAPACITY, 0) : accepted();
}

/* 1 to FEW XIDs, without a call of memcpy: the first and the last 2 or 4 of them, which may overlap. */
static inline void store_few(uint32_t *to, const uint32_t *from, size_t m)
{
    uint64_t ends[4];
    size_t bytes = m * sizeof(uint32_t);

    if (m == 1) {
        *to = *from;
    } else if (m < 4) {
        memcpy(ends, from, 8);
        memcpy(ends + 1, (const uint8_t *)from + bytes - 8, 8);
        memcpy(to, ends, 8);
        memcpy((uint8_t *)to + bytes - 8, ends + 1, 8);
    } else {
        memcpy(ends, from, 16);
        memcpy(ends + 2, (const uint8_t *)from + bytes - 16, 16);
        memcpy(to, ends, 16);
        memcpy((uint8_t *)to + bytes - 16, ends + 2, 16);
    }
}

static void append(pgq_snapbuild_committed *committed, const uint32_t batch[], size_t m)
{
    if (m == 0)
        return;
    memcpy(committed->xip + committed->xcnt, batch, m * sizeof(uint32_t));
    committed->xcnt += m;
    committed->sorted = false;
}

static void sort_all(pgq_snapbuild_committed *committed)
{
    uint32_t *xip = committed->xip;
    size_t n = committed->xcnt, kept = n > 0;

    pgq_snapbuild_qsort32(xip, n, pgq_snapbuild_xid_comparator);
    for (size_t i = 1; i < n; i++) {
        uint32_t x = xip[i];

        if (x != xip[kept - 1])
            xip[kept++] = x;
    }
    HOLDS(rises32(xip, kept));
    committed->xcnt = kept;
    committed->sorted = true;
}

static void merge(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m)
{
    if (!committed->sorted)
        sort_all(committed);
    m = sort_batch32(batch, m);
    HOLDS(rises32(batch, m));
    committed->xcnt = merge_batch32(committed->xip, committed->xcnt, batch, m);
}

static inline pgq_status check_and_append(pgq_snapbuild_committed *committed, const uint32_t batch[],
                                          size_t m)
{
    pgq_status status = check(committed, batch, m);

    if (status.code == PGQ_OK)
        append(committed, batch, m);
    return status;
}

/* Upstream. */
pgq_status pgq_snapbuild_insert_append(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                       bool consistent)
{
    (void)consistent;
    return check_and_append(committed, batch, m);
}

/* Always sorted. */
__attribute__((noinline)) pgq_status pgq_snapbuild_insert_batch_merge(pgq_snapbuild_committed *committed,
                                                                      uint32_t batch[], size_t m,
                                                                      bool consistent)
{
    pgq_status status = check(committed, batch, m);

    (void)consistent;
    if (status.code == PGQ_OK)
        merge(committed, batch, m);
    return status;
}

/*
 * Appends until the builder is consistent. Before that point the builder may track every commit, for an exported snapshot,
 * and builds few snapshots: merging would cost more than it saves. The first insert after that point sorts the array.
 * Until then this costs one test more than upstream: the merge is a called function and takes none of its registers. Most
 * commits have few XIDs; storing them without a call of memcpy pays for that test.
 */
pgq_status pgq_snapbuild_insert_sorted_after_consistent(pgq_snapbuild_committed *committed, uint32_t batch[],
                                                        size_t m, bool consistent)
{
    if (consistent)
        return pgq_snapbuild_insert_batch_merge(committed, batch, m, consistent);
    if (m == 0 || m > FEW)
        return check_and_append(committed, batch, m);

    pgq_status status = check(committed, batch, m);

    if (status.code == PGQ_OK) {
        store_few(committed->xip + committed->xcnt, batch, m);
        committed->xcnt += m;
        committed->sorted = false;
    }
    return status;
}
