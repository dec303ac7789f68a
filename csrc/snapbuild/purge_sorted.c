/* SPDX-License-Identifier: PostgreSQL */
/*
 * In a raw-sorted array what precedes xmin, the arc [xmin - 2^31, xmin), is one interval, or, when that arc crosses 0, a
 * prefix and a suffix. So two searches find it, and one memmove closes the gap. A single lower bound, the obvious
 * thing, would drop the XIDs that lie past the wrap and are the newest of all.
 */
#include "snapbuild/purge.h"
#include "snapbuild/search.h"

#include <string.h>

pgq_status pgq_purge_sorted_scalar(pgq_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    uint32_t *xip, past = xmin + HALF_RING;
    size_t n, first, last;

    if (code == PGQ_OK && !committed->sorted)
        code = PGQ_UNSORTED;
    if (code != PGQ_OK)
        return refused(code, 0);
    n = committed->xcnt;
    if (!xid_is_normal(xmin) || n == 0)
        return accepted();
    xip = committed->xip;

    if (xmin <= past) {
        /* What is kept, [xmin, past), is one interval. */
        first = xip[0] >= xmin ? 0 : lower_bound32(xip, n, xmin);
        last = xip[n - 1] < past ? n : lower_bound32(xip, n, past);
        if (first > 0)
            memmove(xip, xip + first, (last - first) * sizeof(uint32_t));
        committed->xcnt = last - first;
    } else {
        /*
         * What goes, [past, xmin), is one interval. Mostly none is in it: then one search tells. The other does not wait
         * for its answer.
         */
        first = lower_bound32(xip, n, past);
        if (first == n || xip[first] >= xmin)
            return accepted();
        last = lower_bound32(xip, n, xmin);
        memmove(xip + first, xip + last, (n - last) * sizeof(uint32_t));
        committed->xcnt = n - (last - first);
    }
    return accepted();
}
