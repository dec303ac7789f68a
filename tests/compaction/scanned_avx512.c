/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `avx512` that it chooses finds on a page (scanned.h): nitems, nused, nline_left, total, new_upper, longest,
 * shortest, ngaps, first, out_of_bounds, falls; words; ends; old_ends; shifts, as 16 bits without a sign; run_ends; run_old_ends;
 * of each array as many more as a vector has.
 */
#include "compaction/avx512vbmi2.c"

#include "scanned.h"

static void put_found(const uint8_t *page, const bounds *b)
{
    if (b->lower + 4 * LANES > BLCKSZ)
        return;
    if (b->nline <= FEW)
        scan_few(page, b, &s);
    else
        scan_line_pointers(page, b, &s);
    put(s.nitems);
    put(s.nused);
    put(s.nline_left);
    put(s.total);
    put(s.new_upper);
    put(s.longest);
    put(s.shortest);
    put(s.ngaps);
    put(s.first);
    put(s.out_of_bounds);
    put(s.falls);
    PUT_ALL(s.words, b->nline + LANES);
    PUT_ALL(s.ends, s.nitems + LANES);
    PUT_ALL(s.old_ends, s.nitems + LANES);
    PUT_ALL((const uint16_t *)s.shifts, 1 + s.nitems + LANES);
    PUT_ALL(s.run_ends, s.ngaps + LANES);
    PUT_ALL(s.run_old_ends, s.ngaps + LANES);
}
