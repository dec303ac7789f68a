/* SPDX-License-Identifier: PostgreSQL */
/*
 * In a raw-sorted array what precedes xmin, the arc [xmin - 2^31, xmin), is one interval, or, when that arc crosses 0, a
 * prefix and a suffix. So two searches find it, and one memmove closes the gap. A single lower bound, the obvious
 * thing, would drop the XIDs that lie past the wrap and are the newest of all.
 */
#include "snapbuild/purge.h"
#include "snapbuild/search.h"

#include <string.h>

/* From 65,536 XIDs on, interpolation costs less than the search levels it avoids. */
enum { LONG = 1 << 16 };

/*
 * lower_bound32(a, n, past) where [past, xmin) is what goes. Mostly nothing does: then those above the border have been dealt
 * out by a counter from xmin on, and how densely tells how far below the first of them that is known the border must lie
 * (interpolation search: Perl, Itai and Avni, Communications of the ACM 21, 1978). One rank of eighths comes first: the
 * guess is made from the eighth above that of the border, since XIDs that change a catalog are not dealt out evenly.
 */
static size_t gap_start(const uint32_t *a, size_t n, uint32_t past, uint32_t xmin)
{
    size_t step = n / 8, below, from;
    uint64_t back;
    uint32_t known, next;

    if (n < LONG)
        return lower_bound32(a, n, past);
    below = count_below32(a, step, 7, past);
    from = below * step;
    if (below == 7)
        return from + lower_bound32(a + from, n - from, past);
    known = a[from + step - 1];
    next = a[from + 2 * step - 1];
    /* Both factors are below 2^32; in disorder, too, the divisor isn't 0. */
    back = (uint64_t)(known < xmin ? 0 : known - xmin) * step / ((uint64_t)(next - known) + 1);
    return from + lower_bound_near32(a + from, step, past, back < step ? step - 1 - back : 0);
}

pgq_status pgq_snapbuild_purge_sorted_scalar(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    uint32_t *xip, past = xmin + HALF_RING;
    size_t n, first, last;

    if (code == PGQ_OK && !committed->sorted)
        code = PGQ_SNAPBUILD_UNSORTED;
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
         * for its answer, and in disorder might end below it.
         */
        first = gap_start(xip, n, past, xmin);
        if (first == n || xip[first] >= xmin)
            return accepted();
        last = lower_bound32(xip, n, xmin);
        last = last < first ? first : last;
        memmove(xip + first, xip + last, (n - last) * sizeof(uint32_t));
        committed->xcnt = n - (last - first);
    }
    return accepted();
}
