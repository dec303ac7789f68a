/* SPDX-License-Identifier: PostgreSQL */
/*
 * Right: below xmin and not more than half a ring away lie the XIDs of [xmin - 2^31, xmin) on the ring. Of a raw-sorted
 * array that is one run, or, across the wrap, a run at each end: two searches find its borders.
 */
#include "pgquern.h"

#include <string.h>

static size_t lower_bound(const uint32_t *xids, size_t n, uint32_t x)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (xids[middle] < x)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    uint32_t *xids, oldest = xmin - ((uint32_t)1 << 31);
    size_t n, from, to;

    if (committed == NULL)
        return (pgq_status){.code = PGQ_NULL};
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > (size_t)1 << 28)
        return (pgq_status){.code = PGQ_SNAPBUILD_CAPACITY};
    if (committed->xip == NULL && committed->xcnt_space > 0)
        return (pgq_status){.code = PGQ_NULL};
    if (!committed->sorted)
        return (pgq_status){.code = PGQ_SNAPBUILD_UNSORTED};
    if (xmin < 3 || committed->xcnt == 0)
        return (pgq_status){.code = PGQ_OK};
    xids = committed->xip;
    n = committed->xcnt;
    from = lower_bound(xids, n, oldest);
    to = lower_bound(xids, n, xmin);
    if (oldest < xmin) { /* [from, to) goes */
        memmove(xids + from, xids + to, (n - to) * sizeof *xids);
        committed->xcnt = from + n - to;
    } else { /* [to, from) stays */
        memmove(xids, xids + to, (from - to) * sizeof *xids);
        committed->xcnt = from - to;
    }
    return (pgq_status){.code = PGQ_OK};
}
