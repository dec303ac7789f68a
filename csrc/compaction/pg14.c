/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's algorithm from PostgreSQL 14 on: the tuples go to the end of the tuple area in the order of their line
 * pointers. Rewritten from the description of compactify_tuples in src/backend/storage/page/bufpage.c (commit 19c60ad6).
 *
 * It differs from upstream as baseline.h says, and in one more point. On a dense page a tuple may reach above the prefix of
 * tuples that are in place. That is an overlap; upstream does not look for it. This variant then copies the whole tuple area
 * to scratch. To find this takes one compare a tuple.
 */
#include "compaction/baseline.h"

#include "common/holds.h"

/* Skips the tuples that are in place already. Returns the first one that is not; *upper is then where it must end. */
static uint32_t skip_in_place(const scan *s, uint32_t *upper)
{
    uint32_t i = 0;

    while (i < s->nitems && item_end(&s->items[i]) == *upper)
        *upper -= s->items[i++].len;
    return i;
}

/*
 * Moves the tuples from the i-th on so that the first of them ends at upper, each run of tuples that are adjacent at
 * their origin by one call. from is the page itself or a copy.
 */
static void move_runs(uint8_t *page, const uint8_t *from, const scan *s, uint32_t i, uint32_t upper)
{
    uint32_t run_start, run_end;

    if (i == s->nitems)
        return;
    run_start = run_end = item_end(&s->items[i]);
    for (; i < s->nitems; i++) {
        const item *it = &s->items[i];

        if (item_end(it) != run_start) {
            memmove(page + upper, from + run_start, run_end - run_start);
            run_end = item_end(it);
        }
        upper -= it->len;
        HOLDS(from != page || upper >= it->off); /* over no tuple that is still to move */
        run_start = it->off;
        set_lp_off(page, it->index, upper);
    }
    memmove(page + upper, from + run_start, run_end - run_start);
}

static bool reaches_above(const scan *s, uint32_t i, uint32_t upper)
{
    bool above = false;

    for (; i < s->nitems; i++)
        above |= item_end(&s->items[i]) > upper;
    return above;
}

static void compact_through_scratch(uint8_t *page, const bounds *b, const scan *s)
{
    uint8_t scratch[BLCKSZ];
    uint32_t upper = b->special, i = 0;

    if (s->nitems < b->nline / 4) {
        for (uint32_t j = 0; j < s->nitems; j++)
            memcpy(scratch + s->items[j].off, page + s->items[j].off, s->items[j].len);
    } else {
        uint32_t top;

        i = skip_in_place(s, &upper);
        top = __builtin_expect(reaches_above(s, i, upper), 0) ? b->special : upper;
        memcpy(scratch + b->upper, page + b->upper, top - b->upper);
    }
    move_runs(page, scratch, s, i, upper);
}

pgq_status pgq_compaction_pg14(void *page_, bool truncate)
{
    uint8_t *page = page_;
    bounds b;
    scan s;

    if (page == NULL)
        return refused(PGQ_NULL, 0);
    if (!read_bounds(page, &b) || !scan_line_pointers(page, &b, truncate, true, &s))
        return pgq_compaction_check(page);

    if (s.presorted) {
        uint32_t upper = b.special, i = skip_in_place(&s, &upper);

        move_runs(page, page, &s, i, upper);
    } else {
        compact_through_scratch(page, &b, &s);
    }
    finish(page, &b, &s);
    return accepted();
}
