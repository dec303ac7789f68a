/* SPDX-License-Identifier: PostgreSQL */
/*
 * Our variant in plain C. It has the result of pg14 (pgq_compaction_pg14) and few branches that depend on the data.
 *
 * The scan has three parts. The first passes over the tuples that are in place already. The second branches on whether a
 * line pointer has storage, which is the fastest where nearly all have. Where dead line pointers lie among live ones, that
 * branch is mispredicted at nearly every dead one: after too many of them the third part goes on without branches.
 *
 * The scan computes each new line pointer at once: the result is in item order, so a tuple's new lp_off is pd_special minus
 * the running sum of lengths. The scan does not write to the page. The page changes only after it has been accepted.
 */
#include "compaction/slots.h"

#include "common/holds.h"

enum {
    CACHE_LINE = 64,
    SMALL = 64,         /* the longest tuple that goes by windows */
    FEW_DEAD = 2,       /* the scan's branches put up with so many line pointers without storage, */
    SHARE_OF_DEAD = 16, /* and with one more for each so many line pointers */
    LONG_RUN = 4,       /* tuples in a run, on average, from which runs are moved as a whole out of scratch */
};

typedef struct scan {
    uint32_t words[MAX_LINE_POINTERS];      /* the line pointers to be */
    uint32_t tuples[MAX_LINE_POINTERS + 1]; /* lp_off | length << 16; one more, for what is not kept */
    uint16_t gaps[MAX_LINE_POINTERS + 1];   /* tuples that do not end where the one before starts */
    uint32_t nkept; /* line pointers up to the first that is not of a tuple in place: not in words */
    uint32_t nitems, nused, ngaps, total;
    uint32_t lengths; /* OR of all lengths: if it is at most 64, all are */
    bool refused;
    bool unsorted; /* lp_off does not fall strictly */
    bool changed;  /* words may differ from what the page holds */
} scan;

/* What the scan has gathered from the line pointers before the i-th (counted from 0). */
typedef struct progress {
    uint32_t i;
    uint32_t upper; /* where the last tuple must start */
    uint32_t nitems;
    uint32_t nbare;   /* used, but without storage */
    uint32_t garbage; /* OR of all unused line pointers */
} progress;

/*
 * What the checks have found so far. All numbers are below 2^16, so a negative difference sets the highest bits of bad and
 * overlaps. lengths is the OR of all lengths. last_off is the lp_off of the last tuple.
 */
typedef struct findings {
    uint32_t bad, overlaps, lengths, ngaps, last_off;
} findings;

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

/*
 * Checks the i-th tuple against the page's bounds, and against the one before it. The three low bits of lp_off, which
 * must be 0, go to the highest bits of bad.
 */
static inline __attribute__((always_inline)) void check_tuple(const bounds *b, scan *s, findings *f,
                                                              uint32_t i, uint32_t off, uint32_t len)
{
    uint32_t end = off + len;

    f->bad |= (off - b->upper) | (b->special - end) | off << (32 - 3);
    f->overlaps |= f->last_off - end;
    f->lengths |= len;
    s->gaps[f->ngaps] = (uint16_t)i;
    f->ngaps += end != f->last_off;
    f->last_off = off;
}

/* The same for a tuple that ends where the one before it starts: it is aligned and ends in bounds if that one does. */
static inline __attribute__((always_inline)) void continue_run(const bounds *b, findings *f, uint32_t off,
                                                               uint32_t len)
{
    f->bad |= off - b->upper;
    f->lengths |= len;
    f->last_off = off;
}

/*
 * Passes over the tuples that are in place already: each ends where the one before it starts, the first at pd_special.
 * They keep their line pointers. Such a tuple is aligned and ends in bounds; if one starts below pd_upper, the last does.
 */
static inline __attribute__((always_inline)) void skip_in_place(const uint8_t *page, const bounds *b, scan *s,
                                                                progress *p, findings *f)
{
    for (; p->i < b->nline; p->i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * p->i), off = lp_off(word);
        uint32_t len = maxalign(lp_len(word));

        if (!lp_is_used(word) || len == 0 || off + len != p->upper)
            break;
        s->tuples[p->i] = off | len << 16;
        f->lengths |= len;
        p->upper = off;
    }
    s->nkept = p->nitems = p->i;
    f->last_off = p->upper;
    f->bad = p->upper - b->upper;
}

/* Goes on with branches, to the end of the line pointers or until too many have no storage. */
static inline __attribute__((always_inline)) void scan_with_branches(const uint8_t *page, const bounds *b,
                                                                     scan *s, progress *p, findings *f)
{
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER;
    uint32_t without = 0;

    while (p->i < b->nline) {
        uint32_t i = p->i++, word = load32(from + 4 * i), off = lp_off(word), len = maxalign(lp_len(word));

        if (__builtin_expect(lp_is_used(word) && len != 0, 1)) {
            p->upper -= len;
            s->words[i] = word + (p->upper - off);
            s->tuples[p->nitems] = off | len << 16;
            if (off + len == f->last_off)
                continue_run(b, f, off, len);
            else
                check_tuple(b, s, f, p->nitems, off, len);
            p->nitems++;
            continue;
        }
        s->words[i] = lp_is_used(word) ? word : 0;
        p->nbare += lp_is_used(word);
        p->garbage |= lp_is_used(word) ? 0 : word;
        if (++without > FEW_DEAD + i / SHARE_OF_DEAD)
            return;
    }
}

/*
 * Goes on to the end without branches on the data, then checks the tuples that it found. Masks of all ones or all zeroes
 * take the place of conditions, because compilers would turn conditions into branches.
 */
static inline __attribute__((always_inline)) void scan_without_branches(const uint8_t *page, const bounds *b,
                                                                        scan *s, progress *p, findings *f)
{
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER;
    uint32_t checked = p->nitems;

    for (; p->i < b->nline; p->i++) {
        uint32_t word = load32(from + 4 * p->i), off = lp_off(word);
        uint32_t used = lp_is_used(word), len = maxalign(lp_len(word)) & -used, stored = len != 0;

        p->upper -= len;
        s->words[p->i] = (word & -used) + ((p->upper - off) & -stored);
        s->tuples[p->nitems] = off | len << 16;
        p->nitems += stored;
        p->nbare += used - stored;
    }
    p->garbage = 1;
    for (; checked < p->nitems; checked++)
        check_tuple(b, s, f, checked, tuple_off(s, checked), tuple_len(s, checked));
}

/* Does lp_off fall strictly? */
static bool falls(const scan *s)
{
    for (uint32_t i = 1; i < s->nitems; i++)
        if (tuple_off(s, i) >= tuple_off(s, i - 1))
            return false;
    return true;
}

/* The scan as a whole, of a page whose header is in order; b has its bounds. */
static inline __attribute__((always_inline)) void scan_line_pointers(const uint8_t *page, const bounds *b,
                                                                     scan *s)
{
    progress p = {.upper = b->special};
    findings f = {0};

    skip_in_place(page, b, s, &p, &f);
    scan_with_branches(page, b, s, &p, &f);
    if (p.i < b->nline)
        scan_without_branches(page, b, s, &p, &f);
    s->nitems = p.nitems;
    s->nused = p.nitems + p.nbare;
    s->total = b->special - p.upper;
    s->lengths = f.lengths;
    s->ngaps = f.ngaps;
    s->unsorted = f.overlaps >> 31 && !falls(s);
    s->changed = f.ngaps != 0 || p.garbage != 0;
    s->refused = f.bad >> (32 - 3) || p.nitems > MAX_HEAP_TUPLES_PER_PAGE ||
                 s->total > b->special - b->lower || (f.overlaps >> 31 && !s->unsorted);
}

/*
 * Small tuples: copies each to scratch as the `window` bytes that end with it. The copy of the next tuple overwrites the
 * extra bytes below it. window: a constant at each call. Returns where the last one starts.
 */
static inline __attribute__((always_inline)) uint32_t
gather(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t i, uint32_t end, uint32_t window)
{
    for (; i < s->nitems; i++) {
        HOLDS(tuple_end(s, i) >= window && end >= tuple_len(s, i)); /* no window begins below the page */
        memcpy(scratch + end - window, page + tuple_end(s, i) - window, window);
        end -= tuple_len(s, i);
    }
    return end;
}

static void move_small(uint8_t *page, const scan *s, uint32_t i, uint32_t upper)
{
    _Alignas(CACHE_LINE) uint8_t memory[SMALL + BLCKSZ];
    uint8_t *scratch = memory + SMALL;
    uint32_t new_upper =
        s->lengths <= 32 ? gather(scratch, page, s, i, upper, 32) : gather(scratch, page, s, i, upper, SMALL);

    memcpy(page + new_upper, scratch + new_upper, upper - new_upper);
}

/* Other tuples: moves each run, from below one gap to the next, by one call. from is the page itself or a copy. */
static inline void move_runs(uint8_t *page, const uint8_t *from, scan *s, uint32_t upper)
{
    s->gaps[s->ngaps] = (uint16_t)s->nitems;
    for (uint32_t i = 0; i < s->ngaps; i++) {
        uint32_t run_end = tuple_end(s, s->gaps[i]), run_start = tuple_off(s, s->gaps[i + 1] - 1u);

        upper -= run_end - run_start;
        /* In the page a run moves up, over none that is still to move. */
        HOLDS(from != page || upper >= run_start);
        memmove(page + upper, from + run_start, run_end - run_start);
    }
}

/* Are all tuples long and of one length, and does each lie in a slot of its own? Then fills in t. */
static inline bool find_slots(uint8_t *page, const bounds *b, const scan *s, slots *t)
{
    *t = (slots){.end = page + b->special, .length = s->lengths};
    /* If the lengths differ, their sum is less than their number times their OR. */
    if (s->lengths < SHORTEST_IN_SLOTS || s->total != s->nitems * s->lengths)
        return false;
    for (uint32_t i = 0; i < s->nitems; i++)
        if (!find_slot(t, page + tuple_off(s, i)))
            return false;
    return true;
}

static void copy_tuple(uint8_t *to, const uint8_t *from, uint32_t length)
{
    memcpy(to, from, length);
}

/* Through scratch, which gets an unchanged copy of the tuple area. */
static void move_large(uint8_t *page, const bounds *b, scan *s, uint32_t upper)
{
    _Alignas(CACHE_LINE) uint8_t scratch[BLCKSZ];

    memcpy(scratch + b->upper, page + b->upper, b->special - b->upper);
    if (s->nitems >= LONG_RUN * s->ngaps) {
        move_runs(page, scratch, s, upper);
        return;
    }
    for (uint32_t i = s->gaps[0]; i < s->nitems; i++) {
        upper -= tuple_len(s, i);
        memcpy(page + upper, scratch + tuple_off(s, i), tuple_len(s, i));
    }
}

/* Moves the tuples; at least one is not in place. */
static inline void compact(uint8_t *page, const bounds *b, scan *s)
{
    uint32_t i = s->gaps[0], upper = i > 0 ? tuple_off(s, i - 1) : b->special;
    /* A window may begin below the tuple area, but never below the page: every tuple ends at pd_upper + 8 or above. */
    bool small = s->lengths <= SMALL && b->upper + 8 >= SMALL;

    slots in_slots;

    HOLDS(s->ngaps > 0 && i < s->nitems && upper >= b->upper);
    if (!s->unsorted && (!small || s->ngaps <= 1 + s->nitems / 16))
        move_runs(page, page, s, upper);
    else if (small)
        move_small(page, s, i, upper);
    else if (find_slots(page, b, s, &in_slots))
        permute_slots(&in_slots, copy_tuple);
    else
        move_large(page, b, s, upper);
}

/*
 * Stores line pointers from the i-th on, in pieces of one size. If gcc can bound the size of a memcpy, it emits a string
 * instruction, which is slow to start.
 */
static inline void store_line_pointers(uint8_t *page, const uint32_t *words, uint32_t i, uint32_t nline)
{
    uint8_t *to = page + SIZE_OF_PAGE_HEADER;

    for (; i + 8 <= nline; i += 8)
        memcpy(to + 4 * i, words + i, 32);
    for (; i < nline; i++)
        store32(to + 4 * i, words[i]);
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
    scan_line_pointers(page, &b, &s);
    if (__builtin_expect(s.refused, 0))
        return pgq_compaction_check(page);

    HOLDS(s.nkept <= s.nitems && s.nitems <= s.nused && s.nused <= b.nline);
    if (s.ngaps != 0)
        compact(page, &b, &s);
    if (s.changed)
        store_line_pointers(page, s.words, s.nkept, b.nline);
    for (nline_left = b.nline; truncate && nline_left > s.nkept && s.words[nline_left - 1] == 0;)
        nline_left--;
    write_header(page, &b, b.special - s.total, nline_left, s.nused < nline_left);
    return accepted();
}
