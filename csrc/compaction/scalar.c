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

/*@ // Line pointer i has a tuple that ends where the one before it starts.
    predicate joins{L}(uint8_t *page, integer i) = size_of(page, i) != 0 && end_of(page, i) == start(page, i);

    // Of the first n line pointers each has its tuple in the list, and each joins the one before.
    predicate in_place{L}(uint8_t *page, uint32_t *list, integer n) = \forall integer i; 0 <= i < n ==>
        joins(page, i) && list[i] == off_of(page, i) + 0x10000 * size_of(page, i);

    // Objects of their own.
    predicate apart(uint8_t *page, bounds *b, scan *s, progress *p, findings *f) =
        \base_addr(page) != \base_addr(s) && \base_addr(page) != \base_addr(p) && \base_addr(page) != \base_addr(f) &&
        \base_addr(b) != \base_addr(s) && \base_addr(b) != \base_addr(p) && \base_addr(b) != \base_addr(f) &&
        \base_addr(s) != \base_addr(p) && \base_addr(s) != \base_addr(f) && \base_addr(p) != \base_addr(f);

    // What has been counted of the first n line pointers leaves room in each array.
    predicate counted{L}(bounds *b, progress *p, findings *f, integer n) =
        f->ngaps <= p->nitems && p->nitems + p->nbare <= n <= b->nline <= MAX_LINE_POINTERS;
*/
/*@ ghost
    // What line pointer i adds.
    /@ assigns \nothing;
       ensures counts: used(page, i + 1) == used(page, i) + (flags_in(pointer(page, i)) == 0 ? 0 : 1) &&
                       tuples(page, i + 1) == tuples(page, i) + (size_of(page, i) == 0 ? 0 : 1);
       ensures sizes(page, i + 1) == sizes(page, i) + size_of(page, i);
       ensures start: start(page, i + 1) == (size_of(page, i) == 0 ? start(page, i) : off_of(page, i)); @/
    static void add(const uint8_t *page, uint32_t i) {} */

/*@ requires \valid_read(s) && i <= MAX_LINE_POINTERS;
    assigns \nothing; */
static inline uint32_t tuple_off(const scan *s, uint32_t i)
{
    return s->tuples[i] & 0xffff;
}

/*@ requires \valid_read(s) && i <= MAX_LINE_POINTERS;
    assigns \nothing; */
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
/*@ requires \valid_read(b) && \valid(s) && \valid(f) && \separated(s, b, f);
    requires f->ngaps <= MAX_LINE_POINTERS && i < 0x10000;
    assigns *f, s->gaps[f->ngaps];
    ensures gap: s->gaps[\old(f->ngaps)] == i;
    ensures count: f->ngaps == \old(f->ngaps) + ((uint32_t)(off + len) != \old(f->last_off) ? 1 : 0);
    ensures last: f->last_off == off; */
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
/*@ requires \valid_read(b) && \valid(f) && \separated(b, f);
    assigns f->bad, f->lengths, f->last_off;
    ensures last: f->last_off == off; */
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
/*@ requires \valid_read(page + (0 .. BLCKSZ - 1)) && \valid_read(b) && \valid(s) && \valid(p) && \valid(f);
    requires \separated(s, b, p, f, page + (0 .. BLCKSZ - 1)) && header(page) && b->nline == lines(page);
    requires p->i == 0 && p->upper == b->special == number16(page + PD_SPECIAL);
    assigns s->tuples[0 .. MAX_LINE_POINTERS - 1], s->nkept, p->i, p->upper, p->nitems, f->lengths, f->last_off, f->bad;
    ensures within: p->i <= b->nline;
    ensures place: in_place(page, &s->tuples[0], p->i);
    ensures all: p->i < b->nline ==> !joins(page, p->i);
    ensures count: s->nkept == p->i && p->nitems == p->i;
    ensures upper: p->upper == number16(page + PD_SPECIAL) - sizes(page, p->i);
    ensures sums: tuples(page, p->i) == used(page, p->i) == p->i;
    ensures last: f->last_off == start(page, p->i); */
static inline __attribute__((always_inline)) void skip_in_place(const uint8_t *page, const bounds *b, scan *s,
                                                                progress *p, findings *f)
{
    /*@ loop assigns p->i, p->upper, s->tuples[0 .. MAX_LINE_POINTERS - 1], f->lengths;
        loop invariant within: 0 <= p->i <= b->nline;
        loop invariant place: in_place(page, &s->tuples[0], p->i);
        loop invariant upper: p->upper == number16(page + PD_SPECIAL) - sizes(page, p->i) == start(page, p->i);
        loop invariant sums: tuples(page, p->i) == used(page, p->i) == p->i;
        loop variant b->nline - p->i; */
    for (; p->i < b->nline; p->i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * p->i), off = lp_off(word);
        uint32_t len = maxalign(lp_len(word));

        /*@ assert index: p->i < MAX_LINE_POINTERS && (uint32_t)(4 * p->i) == 4 * p->i; */
        /*@ assert word: word == pointer(page, p->i); */
        /*@ assert off: off == off_of(page, p->i) && off < 0x8000 && len <= 0x8000; */
        /*@ assert size: size_of(page, p->i) == (flags_in(word) == 0 ? 0 : len); */
        /*@ ghost add(page, p->i); */
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
/*@ requires \valid_read(page + (0 .. BLCKSZ - 1)) && \valid_read(b) && \valid(s) && \valid(p) && \valid(f);
    requires apart(page, b, s, p, f) && counted(b, p, f, p->i);
    assigns p->i, p->upper, p->nitems, p->nbare, p->garbage, *f;
    assigns s->words[0 .. MAX_LINE_POINTERS - 1], s->tuples[0 .. MAX_LINE_POINTERS], s->gaps[0 .. MAX_LINE_POINTERS];
    ensures room: counted(b, p, f, p->i) && \old(p->nitems) <= p->nitems; */
static inline __attribute__((always_inline)) void scan_with_branches(const uint8_t *page, const bounds *b,
                                                                     scan *s, progress *p, findings *f)
{
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER;
    uint32_t without = 0;

    /*@ loop assigns p->i, p->upper, p->nitems, p->nbare, p->garbage, *f, without;
        loop assigns s->words[0 .. MAX_LINE_POINTERS - 1], s->tuples[0 .. MAX_LINE_POINTERS];
        loop assigns s->gaps[0 .. MAX_LINE_POINTERS];
        loop invariant counted: counted(b, p, f, p->i);
        loop invariant more: \at(p->nitems, Pre) <= p->nitems;
        loop variant b->nline - p->i; */
    while (p->i < b->nline) {
        uint32_t i = p->i++, word = load32(from + 4 * i), off = lp_off(word), len = maxalign(lp_len(word));

        /*@ assert index: i < b->nline && p->i == i + 1 && (uint32_t)(4 * i) == 4 * i; */
        /*@ assert counted: counted(b, p, f, i); */
        if (__builtin_expect(lp_is_used(word) && len != 0, 1)) {
            p->upper -= len;
            /*@ assert counted: counted(b, p, f, i); */
            s->words[i] = word + (p->upper - off);
            /*@ assert counted: counted(b, p, f, i); */
            s->tuples[p->nitems] = off | len << 16;
            /*@ assert counted: counted(b, p, f, i); */
            if (off + len == f->last_off)
                continue_run(b, f, off, len);
            else
                check_tuple(b, s, f, p->nitems, off, len);
            /*@ assert gaps: f->ngaps <= p->nitems + 1; */
            /*@ assert items: p->nitems + p->nbare <= i; */
            /*@ assert passed: i < b->nline <= MAX_LINE_POINTERS && p->i == i + 1; */
            p->nitems++;
            /*@ assert counted: counted(b, p, f, i + 1) && p->i == i + 1; */
            continue;
        }
        s->words[i] = lp_is_used(word) ? word : 0;
        /*@ assert counted: counted(b, p, f, i); */
        p->nbare += lp_is_used(word);
        p->garbage |= lp_is_used(word) ? 0 : word;
        /*@ assert counted: counted(b, p, f, i + 1) && p->i == i + 1; */
        if (++without > FEW_DEAD + i / SHARE_OF_DEAD)
            return;
    }
}

/*
 * Goes on to the end without branches on the data, then checks the tuples that it found. Masks of all ones or all zeroes
 * take the place of conditions, because compilers would turn conditions into branches.
 */
/*@ requires \valid_read(page + (0 .. BLCKSZ - 1)) && \valid_read(b) && \valid(s) && \valid(p) && \valid(f);
    requires apart(page, b, s, p, f) && counted(b, p, f, p->i);
    assigns p->i, p->upper, p->nitems, p->nbare, p->garbage, *f;
    assigns s->words[0 .. MAX_LINE_POINTERS - 1], s->tuples[0 .. MAX_LINE_POINTERS], s->gaps[0 .. MAX_LINE_POINTERS];
    ensures room: counted(b, p, f, p->i) && \old(p->nitems) <= p->nitems;
    ensures all: p->i == b->nline; */
static inline __attribute__((always_inline)) void scan_without_branches(const uint8_t *page, const bounds *b,
                                                                        scan *s, progress *p, findings *f)
{
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER;
    uint32_t checked = p->nitems;

    /*@ loop assigns p->i, p->upper, p->nitems, p->nbare;
        loop assigns s->words[0 .. MAX_LINE_POINTERS - 1], s->tuples[0 .. MAX_LINE_POINTERS];
        loop invariant counted: counted(b, p, f, p->i) && f->ngaps <= checked <= p->nitems;
        loop variant b->nline - p->i; */
    for (; p->i < b->nline; p->i++) {
        uint32_t word = load32(from + 4 * p->i), off = lp_off(word);
        uint32_t used = lp_is_used(word), len = maxalign(lp_len(word)) & -used, stored = len != 0;

        /*@ assert index: p->i < b->nline && (uint32_t)(4 * p->i) == 4 * p->i; */
        p->upper -= len;
        /*@ assert counted: counted(b, p, f, p->i) && p->i < b->nline && f->ngaps <= checked <= p->nitems; */
        s->words[p->i] = (word & -used) + ((p->upper - off) & -stored);
        /*@ assert counted: counted(b, p, f, p->i) && p->i < b->nline && f->ngaps <= checked <= p->nitems; */
        s->tuples[p->nitems] = off | len << 16;
        /*@ assert gaps: f->ngaps <= checked <= p->nitems; */
        /*@ assert items: p->nitems + p->nbare <= p->i; */
        /*@ assert passed: p->i < b->nline <= MAX_LINE_POINTERS; */
        p->nitems += stored;
        p->nbare += used - stored;
        /*@ assert counted: counted(b, p, f, p->i + 1) && f->ngaps <= checked <= p->nitems; */
    }
    /*@ assert all: p->i == b->nline && p->i <= MAX_LINE_POINTERS; */
    p->garbage = 1;
    /*@ loop assigns checked, *f, s->gaps[0 .. MAX_LINE_POINTERS];
        loop invariant counted: counted(b, p, f, p->i);
        loop invariant checked: f->ngaps <= checked <= p->nitems;
        loop variant p->nitems - checked; */
    for (; checked < p->nitems; checked++)
        check_tuple(b, s, f, checked, tuple_off(s, checked), tuple_len(s, checked));
}

/* Does lp_off fall strictly? */
/*@ requires \valid_read(s) && s->nitems <= MAX_LINE_POINTERS;
    assigns \nothing; */
static bool falls(const scan *s)
{
    /*@ loop assigns i;
        loop invariant within: 1 <= i;
        loop variant s->nitems - i; */
    for (uint32_t i = 1; i < s->nitems; i++)
        if (tuple_off(s, i) >= tuple_off(s, i - 1))
            return false;
    return true;
}

/* The scan as a whole, of a page whose header is in order; b has its bounds. */
/*@ requires \valid_read(page + (0 .. BLCKSZ - 1)) && \valid_read(b) && \valid(s);
    requires \separated(s, b, page + (0 .. BLCKSZ - 1)) && header(page);
    requires \base_addr(page) != \base_addr(s) && \base_addr(s) != \base_addr(b);
    requires b->nline == lines(page) && b->special == number16(page + PD_SPECIAL);
    assigns *s;
    ensures count: s->ngaps <= s->nitems <= s->nused <= b->nline;
    ensures kept: s->nkept <= s->nitems; */
static inline __attribute__((always_inline)) void scan_line_pointers(const uint8_t *page, const bounds *b,
                                                                     scan *s)
{
    progress p = {.upper = b->special};
    findings f = {0};

    /*@ assert apart: apart(page, b, s, &p, &f); */
    skip_in_place(page, b, s, &p, &f);
    /*@ ghost Passed: ; */
    /*@ assert nline: b->nline == lines(page) <= MAX_LINE_POINTERS; */
    /*@ assert gaps: f.ngaps == 0; */
    /*@ assert bare: p.nbare == 0; */
    /*@ assert counted: counted(b, &p, &f, p.i); */
    /*@ assert kept: s->nkept == p.nitems; */
    scan_with_branches(page, b, s, &p, &f);
    /*@ assert more: \at(p.nitems, Passed) <= p.nitems; */
    /*@ assert same: s->nkept == \at(s->nkept, Passed); */
    /*@ assert kept: s->nkept <= p.nitems; */
    if (p.i < b->nline)
        scan_without_branches(page, b, s, &p, &f);
    /*@ assert all: p.i == b->nline && counted(b, &p, &f, b->nline); */
    /*@ assert kept: s->nkept <= p.nitems; */
    s->nitems = p.nitems;
    s->nused = p.nitems + p.nbare;
    s->total = b->special - p.upper;
    s->lengths = f.lengths;
    s->ngaps = f.ngaps;
    /*@ assert count: s->ngaps <= s->nitems <= s->nused <= b->nline <= MAX_LINE_POINTERS; */
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
