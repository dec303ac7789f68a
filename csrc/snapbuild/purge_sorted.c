/* SPDX-License-Identifier: PostgreSQL */
/*
 * The XIDs that precede xmin are those of the arc [xmin - 2^31, xmin). In a raw-sorted array they are one interval; if the
 * arc crosses 0, they are a prefix and a suffix. Two searches find them, and one memmove closes the gap. A single lower
 * bound would be wrong: it would drop the XIDs past the wrap, which are the newest of all.
 */
#include "snapbuild/purge.h"
#include "snapbuild/search.h"

#include <string.h>

/* From 65,536 XIDs on, interpolation costs less than the search levels it avoids. */
enum { LONG = 1 << 16 };

/*
 * lower_bound32(a, n, past), where the XIDs of [past, xmin) go. Mostly there are none. Then the XIDs above the boundary
 * were assigned one after another from xmin, and their density tells how far below a known one of them the boundary lies
 * (interpolation search: Perl, Itai and Avni, Communications of the ACM 21, 1978). The array is first cut into eighths. The
 * density is that of the eighth above the boundary's, since XIDs that change a catalog are not spread evenly.
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
    /* Both factors are below 2^32. The divisor is not 0, not even in an array that is not sorted. */
    back = (uint64_t)(known < xmin ? 0 : known - xmin) * step / ((uint64_t)(next - known) + 1);
    return from + lower_bound_near32(a + from, step, past, back < step ? step - 1 - back : 0);
}

/* a[from .. end) moves down to a[to ..). */
static inline void move_down(uint32_t *a, size_t to, size_t from, size_t end)
{
    memmove(a + to, a + from, (end - from) * sizeof(uint32_t));
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
        /* The XIDs that stay, those of [xmin, past), are one interval. */
        first = xip[0] >= xmin ? 0 : lower_bound32(xip, n, xmin);
        last = xip[n - 1] < past ? n : lower_bound32(xip, n, past);
        if (last < first) /* in an array that is not sorted */
            last = first;
        if (first > 0)
            move_down(xip, 0, first, last);
        committed->xcnt = last - first;
    } else {
        /*
         * The XIDs that go, those of [past, xmin), are one interval. It is mostly empty: then the first search is
         * enough. The second search does not wait for the answer of the first; in an array that is not sorted its
         * answer may be below it.
         */
        first = gap_start(xip, n, past, xmin);
        if (first == n || xip[first] >= xmin) {
            return accepted();
        }
        last = lower_bound32(xip, n, xmin);
        last = last < first ? first : last;
        move_down(xip, first, last, n);
        committed->xcnt = n - (last - first);
    }
    return accepted();
}
