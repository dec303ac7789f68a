/* SPDX-License-Identifier: PostgreSQL */
/*
 * Ours, in plain C: the result of pg14 (pgq_compaction_pg14), without the branches that depend on the data.
 *
 * Upstream's scan mispredicts at nearly every dead line pointer among live ones. Here one pass without branches checks
 * them, gathers the tuples, and computes every line pointer's new value, which is known at once: the result is in item
 * order, so a tuple's new lp_off is pd_special less the running sum of lengths. All goes to the side and reaches the page
 * after acceptance only.
 */
#include "compaction/page.h"

enum {
    WINDOW = 64 /* bytes moved for a small tuple, whatever its length */
};

/* Faults gather in sign bits: `bad` for an lp_off or an end out of bounds, and so on. */
typedef struct scan {
    uint32_t words[MAX_LINE_POINTERS]; /* the line pointers to be */
    item
        items[MAX_LINE_POINTERS + 1]; /* one more, since each line pointer is stored and only some are kept */
    uint32_t nitems, nused, nline_left;
    uint32_t total;
    uint32_t lengths;  /* OR of all lengths: if it is at most 64, all are */
    uint32_t bad;      /* sign bit: some lp_off or end is out of bounds */
    uint32_t offsets;  /* OR of all lp_off */
    uint32_t unsorted; /* sign bit: lp_off does not fall strictly */
    uint32_t overlaps; /* sign bit: some tuple ends above the lp_off of the one before it */
} scan;

static void scan_line_pointers(uint8_t *page, const bounds *b, scan *s)
{
    uint32_t nitems = 0, nused = 0, last_used = 0, total = 0, lengths = 0;
    uint32_t bad = 0, offsets = 0, unsorted = 0, overlaps = 0, last_off = b->special;

    for (uint32_t i = 0; i < b->nline; i++) {
        uint32_t word = load32(line_pointer(page, i));
        uint32_t used = -(uint32_t)lp_is_used(word); /* all ones or zero, as `stored` */
        uint32_t len = maxalign(lp_len(word)) & used;
        uint32_t stored = -(uint32_t)(len != 0);
        uint32_t off = lp_off(word);
        uint32_t end = off + len;

        total += len;
        lengths |= len;
        bad |= ((off - b->upper) | (b->special - end)) & stored;
        offsets |= off & stored;
        unsorted |= (last_off - 1 - off) & stored;
        overlaps |= (last_off - end) & stored;
        last_off = stored ? off : last_off;

        s->words[i] = (word & used) + ((b->special - total - off) & stored);
        s->items[nitems] = (item){(uint16_t)i, (uint16_t)off, (uint16_t)len};
        nitems -= stored;
        nused -= used;
        last_used = used ? i + 1 : last_used;
    }
    s->nitems = nitems;
    s->nused = nused;
    s->nline_left = last_used;
    s->total = total;
    s->lengths = lengths;
    s->bad = bad;
    s->offsets = offsets;
    s->unsorted = unsorted;
    s->overlaps = overlaps;
}

static bool is_negative(uint32_t v)
{
    return v >> 31;
}

static bool must_be_refused(const scan *s, const bounds *b)
{
    return is_negative(s->bad) || s->offsets % 8 != 0 || s->nitems > MAX_HEAP_TUPLES_PER_PAGE ||
           s->total > b->special - b->lower || (is_negative(s->overlaps) && !is_negative(s->unsorted));
}

/*
 * Tuples of at most WINDOW bytes: each is moved as the WINDOW bytes that end with it, to scratch laid out as the page will
 * be. What comes along below a tuple is overwritten by the next one. Then one copy takes all that moved to the page.
 */
static void move_small(uint8_t *page, const bounds *b, const scan *s, uint32_t i, uint32_t upper)
{
    uint8_t scratch[WINDOW + BLCKSZ];
    uint8_t *to = scratch + WINDOW;
    uint32_t end = upper, new_upper = b->special - s->total;

    for (; i < s->nitems; i++) {
        memcpy(to + end - WINDOW, page + item_end(&s->items[i]) - WINDOW, WINDOW);
        end -= s->items[i].len;
    }
    memcpy(page + new_upper, to + new_upper, upper - new_upper);
}

/* The others: each run of tuples that are adjacent at their origin by one call. from is the page itself or a copy. */
static void move_runs(uint8_t *page, const uint8_t *from, const scan *s, uint32_t i, uint32_t upper)
{
    while (i < s->nitems) {
        uint32_t run_end = item_end(&s->items[i]), run_start = s->items[i].off;

        for (i++; i < s->nitems && item_end(&s->items[i]) == run_start; i++)
            run_start = s->items[i].off;
        upper -= run_end - run_start;
        memmove(page + upper, from + run_start, run_end - run_start);
    }
}

static void move_large(uint8_t *page, const bounds *b, const scan *s, uint32_t i, uint32_t upper)
{
    uint8_t scratch[BLCKSZ];

    if (!is_negative(s->unsorted)) {
        move_runs(page, page, s, i, upper);
    } else {
        memcpy(scratch + b->upper, page + b->upper, b->special - b->upper);
        move_runs(page, scratch, s, i, upper);
    }
}

static void compact(uint8_t *page, const bounds *b, const scan *s)
{
    uint32_t i = 0, upper = b->special;

    while (i < s->nitems && item_end(&s->items[i]) == upper)
        upper -= s->items[i++].len;
    if (i == s->nitems)
        return;
    /* A window may begin below the tuple area, but not below the page: every tuple ends at pd_upper + 8 or above. */
    if (s->lengths <= WINDOW && b->upper + 8 >= WINDOW)
        move_small(page, b, s, i, upper);
    else
        move_large(page, b, s, i, upper);
}

pgq_status pgq_compaction_scalar(void *page_, bool truncate)
{
    uint8_t *page = page_;
    bounds b;
    scan s;
    uint32_t nline_left;

    if (page == NULL)
        return (pgq_status){PGQ_NULL, 0};
    if (!read_bounds(page, &b))
        return pgq_compaction_check(page);
    scan_line_pointers(page, &b, &s);
    if (__builtin_expect(must_be_refused(&s, &b), 0))
        return pgq_compaction_check(page);

    compact(page, &b, &s);
    memcpy(page + SIZE_OF_PAGE_HEADER, s.words, 4 * b.nline);
    nline_left = truncate ? s.nline_left : b.nline;
    write_header(page, &b, b.special - s.total, nline_left, s.nused < nline_left);
    return PGQ_ACCEPTED;
}
