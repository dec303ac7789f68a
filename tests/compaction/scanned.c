/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `scalar` finds on a page (scanned.h): nkept, nitems, nused, ngaps, total, lengths, refused, unsorted, changed;
 * words from the nkept-th to the last; tuples; gaps. If the header is refused: none.
 */
#include "compaction/scalar.c"

#include "scanned.h"

static void put_found(const uint8_t *page, const bounds *b)
{
    scan_line_pointers(page, b, &s);
    put(s.nkept);
    put(s.nitems);
    put(s.nused);
    put(s.ngaps);
    put(s.total);
    put(s.lengths);
    put(s.refused);
    put(s.unsorted);
    put(s.changed);
    PUT_ALL(s.words + s.nkept, b->nline - s.nkept);
    PUT_ALL(s.tuples, s.nitems);
    PUT_ALL(s.gaps, s.ngaps);
}
