/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the kernels in plain C, of AVX2, AVX-512 and NEON do to an array. Records from stdin to stdout, as those of
 * proofs/oracle/snapbuild_operations.ml.
 */
#include "snapbuild/full.h"
#include "snapbuild/insert.h"
#include "snapbuild/known_assigned.h"
#include "snapbuild/purge.h"
#include "snapbuild/snapshot.h"

#include <accesses.h>
#include <stdio.h>
#include <string.h>

/* An array of its own, with space for `more` elements. */
static void *laid_out(size_t n, size_t more, size_t width)
{
    char *bytes = guarded((n + more) * width);

    for (size_t i = 0; i < n; i++) {
        uint64_t x;

        input(&x, sizeof x);
        memcpy(bytes + width * i, &x, width); /* little-endian: the low bytes come first */
    }
    return bytes;
}

/* Behind an array there is space for a batch that is inserted. */
static size_t space_for(int op, size_t m)
{
    return op == 6 || op == 10 || op == 11 || op == 15 ? m : 0;
}

/* n XIDs, and beside them m flags, or XIDs of a batch, or the space of a snapshot. xmin of flags: the tail. */
static bool run(int op, void *xids, size_t n, void *beside, size_t m, uint64_t xmin)
{
    pgq_snapbuild_committed committed = {xids, n, n + space_for(op, m), op == 1 || op == 7 || op == 10};
    pgq_snapbuild_committed_full full = {xids, 0, n, n};

    switch (op) {
    case 0:
        return pgq_snapbuild_purge_inplace(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 1:
        return pgq_snapbuild_purge_sorted_scalar(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 2:
        return pgq_snapbuild_purge_scalar(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 3:
        return pgq_snapbuild_purge_full_memmove(&full, xmin).code == PGQ_OK;
    case 16: /* before the head lie as many as beside them */
        full = (pgq_snapbuild_committed_full){xids, m, n - m, n};
        return pgq_snapbuild_purge_full_lazy_head(&full, xmin).code == PGQ_OK;
    case 4:
        return pgq_snapbuild_known_assigned_upstream(committed.xip, beside, xmin, n) <= n;
    case 5:
        watch_allocated(1, sizeof(uint32_t));
        return pgq_snapbuild_purge_upstream(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 6:
        return pgq_snapbuild_insert_append(&committed, beside, m, false).code == PGQ_OK;
    case 7:
        return pgq_snapbuild_snapshot_sorted(&committed, beside, m).code == PGQ_OK;
    case 13:
        return pgq_snapbuild_snapshot_upstream(&committed, beside, m).code == PGQ_OK;
    case 8:
        return pgq_snapbuild_known_assigned_scalar(committed.xip, beside, xmin, n) <= n;
#if defined(__x86_64__)
    case 9:
        return pgq_snapbuild_purge_avx2(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 14:
        return pgq_snapbuild_purge_avx512(&committed, (uint32_t)xmin).code == PGQ_OK;
#elif defined(__aarch64__)
    case 12:
        return pgq_snapbuild_purge_neon(&committed, (uint32_t)xmin).code == PGQ_OK;
#endif
    case 10:
    case 11:
    case 15:
        return pgq_snapbuild_insert_sorted_after_consistent(&committed, beside, m, op != 11).code == PGQ_OK;
    default:
        return false;
    }
}

int main(void)
{
    for (int op; (op = getchar()) != EOF;) {
        size_t width = op == 3 || op == 16 ? 8 : 4;
        size_t beside_width = op == 4 || op == 8 ? 1 : 4;
        uint32_t n, m;
        uint64_t xmin;
        void *xids, *beside;

        input(&n, sizeof n);
        input(&m, sizeof m);
        input(&xmin, sizeof xmin);
        xids = laid_out(n, space_for(op, m), width);
        beside = laid_out(m, 0, beside_width);
        watch(0, xids, (n + space_for(op, m)) * width, width);
        if (op != 5)
            watch(1, beside, m * beside_width, beside_width);
        if (!run(op, xids, n, beside, m, xmin)) {
            fprintf(stderr, "traced: operation %d is refused\n", op);
            return 2;
        }
        tell_operations();
        guarded_free(xids);
        guarded_free(beside);
    }
    return 0;
}
