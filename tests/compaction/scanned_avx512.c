/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `avx512` that it chooses finds on a page (scanned.h): nitems, nused, nline_left, total, new_upper, longest,
 * shortest, ngaps, first, out_of_bounds, falls; words; ends; old_ends; shifts, as 16 bits without a sign; run_ends; run_old_ends;
 * of each array as many more as a vector has.
 *
 * Before the scan each byte is DIRT: what vectors leave behind the last line pointer, tuple and gap is known, too.
 */
#include "compaction/avx512vbmi2.c"

#include "scanned.h"

static void put_found(const uint8_t *page)
{
    static scan s;
    bounds b;

    if (!read_bounds(page, &b) || b.lower + 4 * LANES > BLCKSZ)
        return;
    memset(&s, DIRT, sizeof s);
    if (b.nline <= FEW)
        scan_few(page, &b, &s);
    else
        scan_line_pointers(page, &b, &s);
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
    PUT_ALL(s.words, b.nline + LANES);
    PUT_ALL(s.ends, s.nitems + LANES);
    PUT_ALL(s.old_ends, s.nitems + LANES);
    PUT_ALL((const uint16_t *)s.shifts, 1 + s.nitems + LANES);
    PUT_ALL(s.run_ends, s.ngaps + LANES);
    PUT_ALL(s.run_old_ends, s.ngaps + LANES);
}
