/* SPDX-License-Identifier: PostgreSQL */
/*
 * Ours, in plain C: the result of pg14 (pgq_compaction_pg14), without the branches that depend on the data.
 *
 * Upstream's scan mispredicts at nearly every dead line pointer among live ones. Here one pass without branches gathers
 * the tuples and computes every line pointer's new value, which is known at once: the result is in item order, so a
 * tuple's new lp_off is pd_special less the running sum of lengths. A second pass, over the tuples, checks them. All goes
 * to the side and reaches the page after acceptance only.
 */
#include "compaction/page.h"

enum {
    SMALL = 64 /* the longest tuple that goes by windows */
};

typedef struct scan {
    uint32_t words[MAX_LINE_POINTERS];      /* the line pointers to be */
    uint32_t tuples[MAX_LINE_POINTERS + 1]; /* lp_off | length << 16; one more, for what is not kept */
    uint16_t gaps[MAX_LINE_POINTERS + 1];   /* tuples that do not end where the one before starts */
    uint32_t nitems, nused, ngaps, total;
    uint32_t lengths; /* OR of all lengths: if it is at most 64, all are */
    bool refused;
    bool unsorted; /* lp_off does not fall strictly */
} scan;

static inline uint32_t tuple_off(const scan *s, uint32_t i)
{
    return s->tuples[i] & 0xffff;
}

static inline uint32_t tuple_len(const scan *s, uint32_t i)
{
    return s->tuples[i] >> 16;
}

static inline uint32_t tuple_end(const scan *s, uint32_t i)
{
    return tuple_off(s, i) + tuple_len(s, i);
}

/* Masks of all ones or zero, in place of conditions: compilers make branches of those. */
static inline void gather_tuples(const uint8_t *page, const bounds *b, scan *s)
{
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER;
    uint32_t nline = b->nline, upper = b->special, nitems = 0, nused = 0;

    for (uint32_t i = 0; i < nline; i++) {
        uint32_t word = load32(from + 4 * i), off = lp_off(word);
        uint32_t used = lp_is_used(word), len = maxalign(lp_len(word)) & -used, stored = len != 0;

        upper -= len;
        s->words[i] = (word & -used) + ((upper - off) & -stored);
        s->tuples[nitems] = off | len << 16;
        nitems += stored;
        nused += used;
    }
    s->nitems = nitems;
    s->nused = nused;
    s->total = b->special - upper;
}

/* A fault shows in the sign bit of a difference. */
static inline void check_tuples(const bounds *b, scan *s)
{
    uint32_t bad = 0, offs = 0, lengths = 0, unsorted = 0, overlaps = 0, ngaps = 0, last_off = b->special;
    uint32_t upper = b->upper, special = b->special, n = s->nitems;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t off = tuple_off(s, i), len = tuple_len(s, i), end = off + len;

        bad |= (off - upper) | (special - end);
        offs |= off;
        lengths |= len;
        unsorted |= last_off - 1 - off;
        overlaps |= last_off - end;
        s->gaps[ngaps] = (uint16_t)i;
        ngaps += end != last_off;
        last_off = off;
    }
    s->lengths = lengths;
    s->ngaps = ngaps;
    s->unsorted = unsorted >> 31;
    s->refused = bad >> 31 || offs % 8 != 0 || n > MAX_HEAP_TUPLES_PER_PAGE ||
                 s->total > special - b->lower || (overlaps >> 31 && !s->unsorted);
}

/*
 * Small tuples: each goes to scratch as the `window` bytes that end with it; what comes along below it, the next one
 * overwrites. window: a constant at each call. Returns where the last one starts.
 */
static inline __attribute__((always_inline)) uint32_t
gather(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t i, uint32_t end, uint32_t window)
{
    for (; i < s->nitems; i++) {
        memcpy(scratch + end - window, page + tuple_end(s, i) - window, window);
        end -= tuple_len(s, i);
    }
    return end;
}

static void move_small(uint8_t *page, const scan *s, uint32_t i, uint32_t upper)
{
    uint8_t memory[SMALL + BLCKSZ];
    uint8_t *scratch = memory + SMALL;
    uint32_t new_upper =
        s->lengths <= 32 ? gather(scratch, page, s, i, upper, 32) : gather(scratch, page, s, i, upper, SMALL);

    memcpy(page + new_upper, scratch + new_upper, upper - new_upper);
}

/* The others: each run, from below one gap to the next, by one call. from is the page itself or a copy. */
static inline void move_runs(uint8_t *page, const uint8_t *from, scan *s, uint32_t upper)
{
    s->gaps[s->ngaps] = (uint16_t)s->nitems;
    for (uint32_t i = 0; i < s->ngaps; i++) {
        uint32_t run_end = tuple_end(s, s->gaps[i]), run_start = tuple_off(s, s->gaps[i + 1] - 1u);

        upper -= run_end - run_start;
        memmove(page + upper, from + run_start, run_end - run_start);
    }
}

static void move_large(uint8_t *page, const bounds *b, scan *s, uint32_t upper)
{
    uint8_t scratch[BLCKSZ];

    memcpy(scratch + b->upper, page + b->upper, b->special - b->upper);
    move_runs(page, scratch, s, upper);
}

/* Some tuple is not in place. */
static inline void compact(uint8_t *page, const bounds *b, scan *s)
{
    uint32_t i = s->gaps[0], upper = i > 0 ? tuple_off(s, i - 1) : b->special;
    /* A window may begin below the tuple area, but not below the page: every tuple ends at pd_upper + 8 or above. */
    bool small = s->lengths <= SMALL && b->upper + 8 >= SMALL;

    if (!s->unsorted && (!small || s->ngaps <= s->nitems / 16))
        move_runs(page, page, s, upper);
    else if (small)
        move_small(page, s, i, upper);
    else
        move_large(page, b, s, upper);
}

pgq_status pgq_compaction_scalar(void *page_, bool truncate)
{
    uint8_t *page = page_;
    bounds b;
    scan s;
    uint32_t nline_left;

    if (page == NULL)
        return refused(PGQ_NULL, 0);
    if (!read_bounds(page, &b))
        return pgq_compaction_check(page);
    gather_tuples(page, &b, &s);
    check_tuples(&b, &s);
    if (__builtin_expect(s.refused, 0))
        return pgq_compaction_check(page);

    if (s.ngaps != 0)
        compact(page, &b, &s);
    memcpy(page + SIZE_OF_PAGE_HEADER, s.words, 4 * b.nline);
    for (nline_left = b.nline; truncate && nline_left > 0 && s.words[nline_left - 1] == 0;)
        nline_left--;
    write_header(page, &b, b.special - s.total, nline_left, s.nused < nline_left);
    return accepted();
}
