/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's algorithm up to PostgreSQL 13: sort the tuples by falling lp_off, then move each to the end of the tuple
 * area in that order, so that they keep their physical order. Rewritten from the description of compactify_tuples in
 * src/backend/storage/page/bufpage.c before commit 19c60ad6.
 *
 * It differs from upstream as baseline.h says, and in one more point. If tuples overlap on a page that is not presorted,
 * upstream would destroy some of them. This variant copies them through scratch; tuples of equal lp_off stay in the order of
 * their line pointers. To find overlap takes one compare a tuple after the sort.
 */
#include "compaction/baseline.h"

#include "common/holds.h"

static int by_falling_offset(const void *a_, const void *b_)
{
    const item *a = a_, *b = b_;

    return (int)b->off - (int)a->off;
}

static int by_falling_offset_then_index(const void *a_, const void *b_)
{
    const item *a = a_, *b = b_;

    return a->off != b->off ? (int)b->off - (int)a->off : (int)a->index - (int)b->index;
}

static bool any_overlap(const item *items, uint32_t n)
{
    bool overlap = false;

    for (uint32_t i = 1; i < n; i++)
        overlap |= item_end(&items[i]) > items[i - 1].off;
    return overlap;
}

/* from: a copy of the page from before the first move; or the page itself, if no move overwrites a tuple yet to be moved. */
static void move_down_from_special(uint8_t *page, const uint8_t *from, const scan *s, uint32_t special)
{
    uint32_t upper = special;

    for (uint32_t i = 0; i < s->nitems; i++) {
        const item *it = &s->items[i];

        upper -= it->len;
        HOLDS(from != page || upper >= it->off); /* over no tuple that is still to move */
        memmove(page + upper, from + it->off, it->len);
        set_lp_off(page, it->index, upper);
    }
}

pgq_status pgq_compaction_pg13(void *page_, bool truncate)
{
    uint8_t *page = page_, scratch[BLCKSZ];
    bounds b;
    scan s;

    if (page == NULL)
        return refused(PGQ_NULL, 0);
    if (!read_bounds(page, &b) || !scan_line_pointers(page, &b, truncate, false, &s))
        return pgq_compaction_check(page);

    pgq_compaction_sort_items(s.items, s.nitems, by_falling_offset);
    if (__builtin_expect(!any_overlap(s.items, s.nitems), 1)) {
        move_down_from_special(page, page, &s, b.special);
    } else {
        pgq_status status = pgq_compaction_check(page);

        if (status.code != PGQ_OK)
            return status;
        pgq_compaction_sort_items(s.items, s.nitems, by_falling_offset_then_index);
        memcpy(scratch + b.upper, page + b.upper, b.special - b.upper);
        move_down_from_special(page, scratch, &s, b.special);
    }
    finish(page, &b, &s);
    return accepted();
}
