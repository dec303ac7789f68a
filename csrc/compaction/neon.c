/* SPDX-License-Identifier: PostgreSQL */
/*
 * Our variant for ARM's NEON. It has the result of pg14 and takes 8 line pointers at a time.
 *
 * 1. Scan, without a branch on the data. Prefix sums give all new lp_off. Of each tuple, where it must end and where it ends
 *    now are packed by a table of permutations. Then, as in avx512vbmi2.c, the distance that a tuple moves is compared with
 *    that of the tuple before it: if it is larger, there was a gap between them; if it is smaller, they are out of order or
 *    overlap.
 * 2. Move the tuples. On a presorted page with few gaps or large tuples, runs move in place. If presorted tuples have at most
 *    32 bytes, each moves in place by two registers, read ahead. Other small ones go to their new places in scratch, by loads
 *    and stores of a fixed size, and come back in one copy. Long tuples of one length move from slot to slot (slots.h).
 * 3. Write the new line pointers and the header.
 *
 * The scalar variant takes the pages that must be refused, because it names the fault. It also takes a page whose line
 * pointer array ends so near the page's end that whole vectors of it would reach past the page.
 */
#include "common/left_pack_neon.h"
#include "compaction/slots.h"

enum {
    VECTOR = 16, /* bytes */
    LANES = 8,   /* line pointers, or tuples, at a time */
    UNIT = 8,    /* MAXALIGN */
    PAIR = 2 * VECTOR,
    AHEAD = PAIR / UNIT, /* so many tuples have a pair of vectors at least */

    /* where one way of moving overtakes another: as in avx2.c, since no clock of an ARM machine was at hand */
    SMALL = 64,
    WIDEST = 256
};

typedef struct tuple {
    uint16_t end, old_end; /* where it must end, and where it ends now */
} tuple;

typedef struct scan {
    uint8_t words[4 * (MAX_LINE_POINTERS + LANES)]; /* the line pointers to be */
    tuple tuples[MAX_LINE_POINTERS + 2 * LANES];
    uint32_t nitems, nused, nline_left;
    uint32_t total, new_upper, longest;
    uint8_t
        gaps[MAX_LINE_POINTERS + LANES]; /* 0xff: a tuple that moves further than the one before it; else 0 */
    uint32_t ngaps;
    uint32_t first; /* those before it are in place */
    bool out_of_bounds;
    bool falls; /* a tuple moves less far than the one before it */
} scan;

/* After the last tuple, the hole below it counts as one more. */
static inline uint32_t tuple_len(const scan *s, uint32_t i)
{
    return (uint32_t)s->tuples[i].end - s->tuples[i + 1].end;
}

static inline uint32_t tuple_off(const scan *s, uint32_t i)
{
    return s->tuples[i].old_end - tuple_len(s, i);
}

/* Writes 2 * LANES of them. */
static inline void put_tuples(tuple *to, uint32_t end, uint32_t old_end)
{
    uint16x8_t four = vreinterpretq_u16_u32(vdupq_n_u32(end | old_end << 16));

    for (uint32_t k = 0; k < 2 * LANES; k += LANES / 2)
        vst1q_u16((uint16_t *)(to + k), four);
}

/* Inclusive prefix sums, modulo 2^16. */
static inline uint16x8_t prefix_sums(uint16x8_t v)
{
    const uint16x8_t zero = vdupq_n_u16(0);

    v = vaddq_u16(v, vextq_u16(zero, v, 7));
    v = vaddq_u16(v, vextq_u16(zero, v, 6));
    return vaddq_u16(v, vextq_u16(zero, v, 4));
}

static inline uint16x8_t load_halves(const uint8_t *from)
{
    return vreinterpretq_u16_u8(vld1q_u8(from));
}

static inline void store_halves(uint8_t *to, uint16x8_t v)
{
    vst1q_u8(to, vreinterpretq_u8_u16(v));
}

/* Stores the tuples that `stored` names; returns where the next one goes. */
static inline tuple *pack_tuples(tuple *to, uint16x8_t stored, uint16x8_t end, uint16x8_t old_end)
{
    /* Lane i adds bit i, and 1 to the number of the lower lanes, in bits 8 to 11, or of the upper ones, above. */
    static const uint16_t weights[LANES] = {0x101, 0x102, 0x104, 0x108, 0x1010, 0x1020, 0x1040, 0x1080};
    uint32_t sum = vaddvq_u16(vandq_u16(stored, vld1q_u16(weights)));
    uint32x4_t lower = vreinterpretq_u32_u16(vzip1q_u16(end, old_end));
    uint32x4_t upper = vreinterpretq_u32_u16(vzip2q_u16(end, old_end));

    vst1q_u16((uint16_t *)to, vreinterpretq_u16_u32(packed_lanes(lower, sum & 15)));
    to += sum >> 8 & 15;
    vst1q_u16((uint16_t *)to, vreinterpretq_u16_u32(packed_lanes(upper, sum >> 4 & 15)));
    return to + (sum >> 12);
}

/* What the scan knows of all line pointers so far, by lane: the lowest lp_off, the highest end, and so on. */
typedef struct extremes {
    uint16x8_t lows, ends, offs, longest, nused, last_used;
    uint32x4_t totals;
} extremes;

/* Aligned lengths and lp_off of line pointers; both are 0 where `stored` is 0. */
static inline __attribute__((always_inline)) void note_bounds(extremes *x, uint16x8_t stored, uint16x8_t off,
                                                              uint16x8_t len)
{
    x->lows = vminq_u16(x->lows, vornq_u16(off, stored));
    x->ends = vmaxq_u16(x->ends, vaddq_u16(off, len));
    x->offs = vorrq_u16(x->offs, off);
    x->longest = vmaxq_u16(x->longest, len);
    x->totals = vpadalq_u16(x->totals, len);
}

static inline bool any(uint16x8_t v)
{
    return vmaxvq_u16(v) != 0;
}

/* Compares the distance that each tuple moves with that of the one before it; pd_special moves nowhere. */
static inline __attribute__((always_inline)) void compare_tuples(scan *s)
{
    static const uint16_t first_numbers[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint16x8_t numbers = vld1q_u16(first_numbers), ngaps = vdupq_n_u16(0), falls = ngaps;
    uint16x8_t first = vdupq_n_u16(UINT16_MAX);
    int16x8_t last = vdupq_n_s16(0);
    uint8_t *gaps = s->gaps;

    for (const tuple *t = s->tuples, *end = t + s->nitems; t < end; t += LANES) {
        uint16x8x2_t ends = vld2q_u16((const uint16_t *)t);
        int16x8_t shift = vreinterpretq_s16_u16(vsubq_u16(ends.val[0], ends.val[1]));
        int16x8_t before = vextq_s16(last, shift, LANES - 1);
        uint16x8_t gap = vcgtq_s16(shift, before), fall = vcgtq_s16(before, shift);

        vst1_u8(gaps, vmovn_u16(gap));
        gaps += LANES;
        ngaps = vsubq_u16(ngaps, gap);
        falls = vorrq_u16(falls, fall);
        first = vminq_u16(first, vornq_u16(numbers, vorrq_u16(gap, fall)));
        numbers = vaddq_u16(numbers, vdupq_n_u16(LANES));
        last = shift;
    }
    s->ngaps = vaddvq_u16(ngaps);
    s->first = vminvq_u16(first);
    s->falls = any(falls);
}

/* If a line pointer is out of bounds, the rest is of no use. */
static inline __attribute__((always_inline)) void scan_line_pointers(const uint8_t *page, const bounds *b,
                                                                     scan *s)
{
    static const uint16_t first_numbers[LANES] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint16x8_t zero = vdupq_n_u16(0), one = vdupq_n_u16(1), nline = vdupq_n_u16((uint16_t)b->nline);
    const uint16x8_t off_mask = vdupq_n_u16(LP_OFF_MASK);
    extremes x = {vdupq_n_u16(UINT16_MAX), zero, zero, zero, zero, zero, vdupq_n_u32(0)};
    uint16x8_t base = vdupq_n_u16((uint16_t)b->special), numbers = vld1q_u16(first_numbers);
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER, *end = from + 4 * b->nline;
    uint8_t *words = s->words;
    tuple *next = s->tuples;

    for (; from < end; from += 4 * LANES, words += 4 * LANES) {
        uint16x8_t words0 = load_halves(from), words1 = load_halves(from + VECTOR);
        /* lp_off and the low bit of lp_flags; the high bit of lp_flags and lp_len */
        uint16x8_t low = vuzp1q_u16(words0, words1), high = vuzp2q_u16(words0, words1);
        uint16x8_t used = vorrq_u16(vcltzq_s16(vreinterpretq_s16_u16(low)), vtstq_u16(high, one));
        uint16x8_t len = vshrq_n_u16(high, 1), stored, off, new_off;

        used = vandq_u16(used, vcleq_u16(numbers, nline));
        stored = vandq_u16(used, vtstq_u16(len, len));
        len = vandq_u16(vandq_u16(vaddq_u16(len, vdupq_n_u16(UNIT - 1)), vdupq_n_u16(0xffff - (UNIT - 1))),
                        stored);
        off = vandq_u16(vandq_u16(low, off_mask), stored);
        note_bounds(&x, stored, off, len);
        x.nused = vsubq_u16(x.nused, used);
        x.last_used = vmaxq_u16(x.last_used, vandq_u16(numbers, used));
        numbers = vaddq_u16(numbers, vdupq_n_u16(LANES));

        new_off = vsubq_u16(base, prefix_sums(len));
        base = vdupq_laneq_u16(new_off, LANES - 1);
        low = vandq_u16(vbslq_u16(vandq_u16(stored, off_mask), new_off, low), used);
        high = vandq_u16(high, used);
        store_halves(words, vzip1q_u16(low, high));
        store_halves(words + VECTOR, vzip2q_u16(low, high));
        next = pack_tuples(next, stored, vaddq_u16(new_off, len), vaddq_u16(off, len));
    }
    s->nitems = (uint32_t)(next - s->tuples);
    s->nused = vaddvq_u16(x.nused);
    s->nline_left = vmaxvq_u16(x.last_used);
    s->total = vaddvq_u32(x.totals);
    s->longest = vmaxvq_u16(x.longest);
    s->new_upper = b->special - s->total;
    s->out_of_bounds = vminvq_u16(x.lows) < b->upper || vmaxvq_u16(x.ends) > b->special ||
                       any(vandq_u16(x.offs, vdupq_n_u16(UNIT - 1)));
    /* What moves as far as the last tuple makes no gap: there may be fewer than LANES left. */
    if (s->nitems != 0)
        put_tuples(next, next[-1].end, next[-1].old_end);
    compare_tuples(s);
    put_tuples(next, s->new_upper, s->new_upper);
}

/* Whether lp_off falls strictly over all tuples. */
static bool presorted(const scan *s)
{
    for (uint32_t i = 1; i < s->nitems; i++)
        if (tuple_off(s, i) >= tuple_off(s, i - 1))
            return false;
    return true;
}

/* ---- presorted: run by run, or tuple by tuple, in place ---- */

static inline void move_run(uint8_t *page, const scan *s, uint32_t i, uint32_t next)
{
    uint32_t to = s->tuples[next].end, bytes = s->tuples[i].end - to;

    memmove(page + to, page + s->tuples[i].old_end - bytes, bytes);
}

/* A run begins below a gap and reaches down to the next one. Above the first gap nothing moves. */
static inline void move_runs(uint8_t *page, const scan *s)
{
    uint32_t run = s->first;

    for (uint32_t i = 0; i < s->nitems; i += LANES) {
        uint64_t gaps;

        memcpy(&gaps, s->gaps + i, sizeof gaps);
        for (gaps &= UINT64_C(0x0101010101010101); gaps != 0; gaps &= gaps - 1) {
            uint32_t next = i + (uint32_t)__builtin_ctzll(gaps) / 8;

            move_run(page, s, run, next);
            run = next;
        }
    }
    move_run(page, s, run, s->nitems);
}

typedef struct pair {
    uint8x16_t low, high;
} pair;

static inline __attribute__((always_inline)) void load_pairs(pair v[AHEAD], const uint8_t *page,
                                                             const tuple *t)
{
#pragma GCC unroll 4
    for (uint32_t k = 0; k < AHEAD; k++) {
        const uint8_t *end = page + t[k].old_end;

        v[k] = (pair){vld1q_u8(end - PAIR), vld1q_u8(end - VECTOR)};
    }
}

static inline __attribute__((always_inline)) void store_pairs(uint8_t *page, const tuple *t,
                                                              const pair v[AHEAD])
{
#pragma GCC unroll 4
    for (uint32_t k = 0; k < AHEAD; k++) {
        uint8_t *end = page + t[k].end;

        vst1q_u8(end - PAIR, v[k].low);
        vst1q_u8(end - VECTOR, v[k].high);
    }
}

/*
 * For tuples of at most a pair of vectors. A store also overwrites less than a pair of bytes below its tuple. These were
 * read before, since the next AHEAD tuples are at least a pair long. After the last one, the hole counts as tuples of
 * length 0.
 */
static inline void slide(uint8_t *page, const scan *s)
{
    const tuple *t = s->tuples + s->first, *end = s->tuples + s->nitems;
    pair a[AHEAD], b[AHEAD];

    load_pairs(a, page, t);
    for (;;) {
        load_pairs(b, page, t + AHEAD);
        store_pairs(page, t, a);
        if ((t += AHEAD) > end)
            return;
        load_pairs(a, page, t + AHEAD);
        store_pairs(page, t, b);
        if ((t += AHEAD) > end)
            return;
    }
}

/* ---- by scratch ---- */

/*
 * Copies each tuple to scratch as the `window` bytes that end with it. The copy of the next tuple overwrites the extra
 * bytes below it. window: a constant at each call.
 */
static inline __attribute__((always_inline)) void gather(uint8_t *scratch, const uint8_t *page, const scan *s,
                                                         uint32_t window)
{
    for (const tuple *t = s->tuples + s->first, *end = s->tuples + s->nitems; t < end; t++)
        memcpy(scratch + t->end - window, page + t->old_end - window, window);
}

/* Tuples of at most WIDEST bytes, by the narrowest window that holds the longest. */
static inline void gather_by_windows(uint8_t *scratch, const uint8_t *page, const scan *s)
{
    switch ((s->longest + PAIR - 1) / PAIR) {
    case 1:
        return gather(scratch, page, s, 32);
    case 2:
        return gather(scratch, page, s, 64);
    case 3:
        return gather(scratch, page, s, 96);
    case 4:
        return gather(scratch, page, s, 128);
    case 5:
    case 6:
        return gather(scratch, page, s, 192);
    default:
        return gather(scratch, page, s, WIDEST);
    }
}

static inline void gather_each(uint8_t *scratch, const uint8_t *page, const scan *s)
{
    for (uint32_t i = s->first; i < s->nitems; i++) {
        uint32_t len = tuple_len(s, i);

        memcpy(scratch + s->tuples[i].end - len, page + tuple_off(s, i), len);
    }
}

typedef void (*gather_fn)(uint8_t *scratch, const uint8_t *page, const scan *s);

static inline __attribute__((always_inline)) void move_by_scratch(uint8_t *page, const scan *s,
                                                                  gather_fn gather_tuples)
{
    uint8_t memory[WIDEST + BLCKSZ] __attribute__((aligned(64)));
    uint8_t *scratch = memory + WIDEST;

    gather_tuples(scratch, page, s);
    memcpy(page + s->new_upper, scratch + s->new_upper, s->tuples[s->first].end - s->new_upper);
}

/* ---- long tuples of one length ---- */

static inline void copy_tuple(uint8_t *to, const uint8_t *from, uint32_t length)
{
    memcpy(to, from, length);
}

/* False if tuples are shorter, or have several lengths, or a tuple is not in a slot of its own. */
static inline bool find_slots(uint8_t *page, const bounds *b, const scan *s, slots *t)
{
    *t = (slots){.end = page + b->special, .length = s->longest};
    if (s->longest < SHORTEST_IN_SLOTS || s->total != s->nitems * s->longest)
        return false;
    for (uint32_t i = 0; i < s->nitems; i++)
        if (!find_slot(t, page + tuple_off(s, i)))
            return false;
    return true;
}

static inline void move_tuples(uint8_t *page, const bounds *b, const scan *s)
{
    /* A window may begin below the tuple area, but never below the page: every tuple ends at pd_upper + UNIT or above. */
    bool small = s->longest <= SMALL && b->upper + UNIT >= SMALL;
    /* So it is with a pair: pd_lower is at least 28 here, so a tuple ends, and pd_upper will be, at 32 or above. */
    bool pairs = s->longest <= PAIR;
    slots in_slots;

    if (!s->falls && (!small || s->ngaps <= s->nitems / 16))
        move_runs(page, s);
    else if (pairs && !s->falls)
        slide(page, s);
    else if (small || (s->longest <= WIDEST && b->upper + UNIT >= WIDEST))
        move_by_scratch(page, s, gather_by_windows);
    else if (find_slots(page, b, s, &in_slots))
        permute_slots(&in_slots, copy_tuple);
    else
        move_by_scratch(page, s, gather_each);
}

pgq_status pgq_compaction_neon(void *page_, bool truncate)
{
    uint8_t *page = page_;
    bounds b;
    scan s;
    uint32_t nline_left;

    if (page == NULL || !read_bounds(page, &b) || b.lower + 4 * LANES > BLCKSZ)
        return pgq_compaction_scalar(page, truncate);
    scan_line_pointers(page, &b, &s);
    if (s.out_of_bounds || s.nitems > MAX_HEAP_TUPLES_PER_PAGE || s.total > b.special - b.lower ||
        (s.falls && presorted(&s)))
        return pgq_compaction_scalar(page, truncate);
    if (s.ngaps != 0 || s.falls)
        move_tuples(page, &b, &s);
    memcpy(page + SIZE_OF_PAGE_HEADER, s.words, 4 * b.nline);
    nline_left = truncate ? s.nline_left : b.nline;
    write_header(page, &b, s.new_upper, nline_left, s.nused < nline_left);
    return accepted();
}
