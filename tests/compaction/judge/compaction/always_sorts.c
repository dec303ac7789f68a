/* SPDX-License-Identifier: PostgreSQL */
/* Right, and slow where the tuples lie in order already: it never looks, copies all, and sorts them by their numbers. */
#include "compaction/baseline.h"

static void sort_by_number(item *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i; j > 0 && items[j].index < items[j - 1].index; j--) {
            item swapped = items[j];

            items[j] = items[j - 1];
            items[j - 1] = swapped;
        }
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
    /* From the end, so that the sort has something to do. */
    for (uint32_t i = 0, j = s.nitems; i + 1 < j; i++) {
        item swapped = s.items[i];

        s.items[i] = s.items[--j];
        s.items[j] = swapped;
    }
    sort_by_number(s.items, s.nitems);
    memcpy(copy, page, BLCKSZ);
    for (uint32_t i = 0, upper = b.special; i < s.nitems; i++) {
        upper -= s.items[i].len;
        memcpy(page + upper, copy + s.items[i].off, s.items[i].len);
        set_lp_off(page, s.items[i].index, upper);
    }
    finish(page, &b, &s);
    return accepted();
}
