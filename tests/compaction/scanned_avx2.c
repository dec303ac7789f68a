/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `avx2` finds on a page (scanned.h): nitems, nused, nline_left, total, longest, ngaps, first, out_of_bounds,
 * unsorted, overlapping; words, and as many more as a round of the loop stores; tuples from pd_special on, and as many more;
 * gaps, and as many more as a vector has.
 */
#include "compaction/avx2.c"

#include "scanned.h"

static void put_found(const uint8_t *page, const bounds *b)
{
    if (b->lower + 4 * LANES > BLCKSZ)
        return;
    if (b->nline <= LANES)
        scan_line_pointers(page, b, &s, true);
    else
        scan_line_pointers(page, b, &s, false);
    put(s.nitems);
    put(s.nused);
    put(s.nline_left);
    put(s.total);
    put(s.longest);
    put(s.ngaps);
    put(s.first);
    put(s.out_of_bounds);
    put(s.unsorted);
    put(s.overlapping);
    PUT_ALL(s.words, b->nline + LANES);
    PUT_ALL(s.tuples, 1 + s.nitems + LANES);
    PUT_ALL(s.gaps, s.ngaps + HALF);
}
