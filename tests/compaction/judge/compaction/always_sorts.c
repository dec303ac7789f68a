/* SPDX-License-Identifier: PostgreSQL */
/* Right, and slow where the tuples lie in order already: it never looks, sorts them by their numbers, and copies all. */
#include "compaction/baseline.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    return (int)((const item *)a)->index - (int)((const item *)b)->index;
}

pgq_status candidate(void *page_, bool truncate)
{
    uint8_t *page = page_, copy[BLCKSZ];
    bounds b;
    scan s;

    if (page == NULL)
        return refused(PGQ_NULL, 0);
    if (!read_bounds(page, &b) || !scan_line_pointers(page, &b, truncate, true, &s))
        return pgq_compaction_check(page);
    qsort(s.items, s.nitems, sizeof(item), by_number);
    memcpy(copy, page, BLCKSZ);
    for (uint32_t i = 0, upper = b.special; i < s.nitems; i++) {
        upper -= s.items[i].len;
        memcpy(page + upper, copy + s.items[i].off, s.items[i].len);
        set_lp_off(page, s.items[i].index, upper);
    }
    finish(page, &b, &s);
    return accepted();
}
