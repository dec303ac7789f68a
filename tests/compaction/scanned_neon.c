/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `neon` finds on a page (scanned.h): nitems, nused, nline_left, total, longest, new_upper, ngaps, first,
 * out_of_bounds, falls; words, and as many more as a round of the loop stores; tuples, each as end | old_end << 16, and as many
 * more as put_tuples writes; gaps, and as many more as a vector has.
 */
#include "compaction/neon.c"

#include "scanned.h"

static void put_found(const uint8_t *page, const bounds *b)
{
    if (b->lower + 4 * LANES > BLCKSZ)
        return;
    scan_line_pointers(page, b, &s);
    put(s.nitems);
    put(s.nused);
    put(s.nline_left);
    put(s.total);
    put(s.longest);
    put(s.new_upper);
    put(s.ngaps);
    put(s.first);
    put(s.out_of_bounds);
    put(s.falls);
    for (uint32_t i = 0; i < b->nline + LANES; i++) {
        uint32_t word;

        memcpy(&word, s.words + 4 * i, sizeof word);
        put(word);
    }
    for (uint32_t i = 0; i < s.nitems + 2 * LANES; i++)
        put(s.tuples[i].end | (uint32_t)s.tuples[i].old_end << 16);
    PUT_ALL(s.gaps, s.nitems + LANES);
}
