/* SPDX-License-Identifier: PostgreSQL */
/*
 * Ours, for AVX-512 (F, BW, VL, VBMI2): the result of pg14, 32 line pointers at a time.
 *
 * 1. Scan, without a branch on the data. 32 line pointers become two vectors of 16-bit halves. Prefix sums of the aligned
 *    lengths give all new lp_off at once; the tuples' lp_off and lengths are packed into dense arrays; each tuple is
 *    compared with the one before it: does lp_off fall, do they overlap, is there a gap between them? Nothing is written
 *    to the page yet.
 * 2. Move, in the way that suits (move_tuples):
 *    - presorted with few gaps: each run of adjacent tuples in place;
 *    - small tuples: each goes to scratch, to its new place, by one load and one store of a fixed size, and all that
 *      moved goes back in one copy; presorted or not makes no difference;
 *    - presorted otherwise: the page is a string of units of 8 bytes, some of them live. The dead ones are squeezed out in
 *      place, a cache line at a time from pd_special downwards, whatever the tuples' lengths;
 *    - the rest: to scratch and back in larger pieces.
 * 3. The new line pointers, and the header.
 *
 * A page that must be refused goes to the scalar variant, to name the fault.
 */
#include "compaction/page.h"

#include <immintrin.h>

enum {
    LANES = 32, /* line pointers at a time */
    LINE = 64,  /* bytes of a vector, and of a cache line */
    UNIT = 8,   /* MAXALIGN */
    UNITS = BLCKSZ / UNIT,

    /* where one way of moving overtakes another, by measurement on Zen 5 */
    FEW_TUPLES =
        16, /* so few small ones are all moved: looking for those in place costs a mispredicted branch */
    FEW_GAPS = 10,     /* up to here, run by run */
    LONG_RUN = 768,    /* bytes from which memmove pays */
    WIDEST = 4 * LINE, /* the longest tuple that goes by windows of one width */
    DEEPEST = 512,     /* and by a list of pieces */
    MAX_PIECES = BLCKSZ / LINE + MAX_HEAP_TUPLES_PER_PAGE
};

typedef struct scan {
    uint32_t words[MAX_LINE_POINTERS + LANES];    /* the line pointers to be */
    uint16_t offs[1 + MAX_LINE_POINTERS + LANES]; /* of the tuples, after pd_special as the first */
    uint16_t lens[MAX_LINE_POINTERS + LANES];
    uint32_t nitems, nused, nline_left;
    uint32_t total, longest;

    /* A gap: a tuple that does not end where the one before it in item order (or pd_special) starts. */
    uint16_t ends[MAX_LINE_POINTERS + LANES];  /* where that tuple ends */
    uint16_t above[MAX_LINE_POINTERS + LANES]; /* lp_off of the one before it */
    uint32_t ngaps;
    uint32_t first; /* the tuple below the first gap: those before it are in place */
    bool out_of_bounds, unsorted, overlapping;
} scan;

/*
 * The lanes of v that m names, packed to the bottom, zeroes above. In assembler for the sake of source and destination
 * being one register: on Zen 5 the instruction waits for the old value of its destination even when that is zeroed, and
 * compilers pick one at will, so that a loop's rounds wait for each other (2.5 ns instead of 0.9 a line).
 */
static inline __m512i pack_words(__mmask32 m, __m512i v)
{
    __asm__("vpcompressw %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

static inline __m512i pack_units(__mmask8 m, __m512i v)
{
    __asm__("vpcompressq %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

/* The first n of the lanes. */
static inline __mmask32 first_lanes(uint32_t n)
{
    return _bzhi_u32(~0u, n);
}

/* Inclusive prefix sums of 32 lanes, modulo 2^16. */
static inline __m512i prefix_sums(__m512i v)
{
    const __m512i top_word = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0f0e0f0e0f0e0f0e, 0x0706070607060706));
    const __m512i zero = _mm512_setzero_si512();
    __m512i quads;

    v = _mm512_add_epi16(v, _mm512_slli_epi64(v, 16));
    v = _mm512_add_epi16(v, _mm512_slli_epi64(v, 32));
    quads = _mm512_shuffle_epi8(v, top_word);
    quads = _mm512_alignr_epi64(quads, zero, 7);
    quads = _mm512_add_epi16(quads, _mm512_alignr_epi64(quads, zero, 7));
    quads = _mm512_add_epi16(quads, _mm512_alignr_epi64(quads, zero, 6));
    quads = _mm512_add_epi16(quads, _mm512_alignr_epi64(quads, zero, 4));
    return _mm512_add_epi16(v, quads);
}

static inline uint32_t max_of_lanes(__m512i v)
{
    __m256i a = _mm256_max_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i b = _mm_max_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));

    return 0xffff - (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(b, _mm_set1_epi16(-1))), 0);
}

/* If a line pointer is out of bounds, the rest is of no use. */
static inline void scan_line_pointers(const uint8_t *page, const bounds *b, scan *s)
{
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30,
                                          28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));
    const __m512i zip_low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                                             7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i zip_high = _mm512_add_epi16(zip_low, _mm512_set1_epi16(16));
    const __m512i lane_before = _mm512_set_epi16(30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                                 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, LANES);
    const __m512i one = _mm512_set1_epi16(1), last_lane = _mm512_set1_epi16(LANES - 1);
    __m512i base = _mm512_set1_epi16((short)b->special), lows = _mm512_set1_epi16(-1);
    __m512i ends = _mm512_setzero_si512(), offs = ends, longest = ends, totals = ends;
    __m512i last_off = base;
    __mmask32 unsorted = 0, overlapping = 0;
    uint32_t nitems = 0, nused = 0, nline_left = 0, ngaps = 0, first = 0;

    s->offs[0] = (uint16_t)b->special;
    for (uint32_t i = 0; i < b->nline; i += LANES) {
        const uint8_t *from = page + SIZE_OF_PAGE_HEADER + 4 * i;
        __mmask32 there = first_lanes(b->nline - i < LANES ? b->nline - i : LANES);
        __m512i words0 = _mm512_maskz_loadu_epi32((__mmask16)there, from);
        __m512i words1 = _mm512_maskz_loadu_epi32((__mmask16)(there >> 16), from + LINE);
        /* lp_off and the low bit of lp_flags; the high bit of lp_flags and lp_len */
        __m512i low = _mm512_permutex2var_epi16(words0, even, words1);
        __m512i high = _mm512_permutex2var_epi16(words0, odd, words1);
        __mmask32 used = _mm512_movepi16_mask(low) | _mm512_test_epi16_mask(high, one);
        __mmask32 stored = _mm512_mask_cmpgt_epu16_mask(used, high, one);
        __m512i off = _mm512_maskz_mov_epi16(stored, _mm512_and_si512(low, _mm512_set1_epi16(LP_OFF_MASK)));
        __m512i len = _mm512_add_epi16(_mm512_srli_epi16(high, 1), _mm512_set1_epi16(7));
        __m512i new_off, above, end;
        __mmask32 gaps;
        uint32_t n;

        len = _mm512_maskz_mov_epi16(stored, _mm512_and_si512(len, _mm512_set1_epi16(~7)));
        lows = _mm512_mask_min_epu16(lows, stored, lows, off);
        ends = _mm512_max_epu16(ends, _mm512_add_epi16(off, len));
        offs = _mm512_or_si512(offs, off);
        longest = _mm512_max_epu16(longest, len);
        totals = _mm512_add_epi32(totals, _mm512_madd_epi16(len, one));

        new_off = _mm512_sub_epi16(base, prefix_sums(len));
        base = _mm512_permutexvar_epi16(last_lane, new_off);
        /* the bits of LP_OFF_MASK from new_off, the other one from low */
        new_off = _mm512_ternarylogic_epi32(low, new_off, _mm512_set1_epi16(LP_OFF_MASK), 0xd8);
        low = _mm512_maskz_mov_epi16(used, _mm512_mask_mov_epi16(low, stored, new_off));
        high = _mm512_maskz_mov_epi16(used, high);
        _mm512_storeu_si512(s->words + i, _mm512_permutex2var_epi16(low, zip_low, high));
        _mm512_storeu_si512(s->words + i + LANES / 2, _mm512_permutex2var_epi16(low, zip_high, high));

        n = (uint32_t)_mm_popcnt_u32(stored);
        off = pack_words(stored, off);
        len = pack_words(stored, len);
        _mm512_storeu_si512(s->offs + 1 + nitems, off);
        _mm512_storeu_si512(s->lens + nitems, len);

        /* each tuple against the one before it, which for the first of these is the last of those before */
        above = _mm512_permutex2var_epi16(off, lane_before, last_off);
        last_off = _mm512_permutex2var_epi16(off, _mm512_set1_epi16((short)(n - 1)), last_off);
        end = _mm512_add_epi16(off, len);
        there = first_lanes(n);
        unsorted |= _mm512_mask_cmpge_epu16_mask(there, off, above);
        overlapping |= _mm512_mask_cmpgt_epu16_mask(there, end, above);
        gaps = _mm512_mask_cmpneq_epu16_mask(there, end, above);
        first = ngaps == 0 ? nitems + (uint32_t)_tzcnt_u32(gaps) : first;
        _mm512_storeu_si512(s->ends + ngaps, pack_words(gaps, end));
        _mm512_storeu_si512(s->above + ngaps, pack_words(gaps, above));

        ngaps += (uint32_t)_mm_popcnt_u32(gaps);
        nitems += n;
        nused += (uint32_t)_mm_popcnt_u32(used);
        nline_left = used ? i + LANES - (uint32_t)_lzcnt_u32(used) : nline_left;
    }
    s->nitems = nitems;
    s->nused = nused;
    s->nline_left = nline_left;
    s->total = (uint32_t)_mm512_reduce_add_epi32(totals);
    s->longest = max_of_lanes(longest);
    s->ngaps = ngaps;
    s->first = first;
    s->out_of_bounds = _mm512_cmplt_epu16_mask(lows, _mm512_set1_epi16((short)b->upper)) |
                       _mm512_cmpgt_epu16_mask(ends, _mm512_set1_epi16((short)b->special)) |
                       _mm512_test_epi16_mask(offs, _mm512_set1_epi16(UNIT - 1));
    s->unsorted = unsorted != 0;
    s->overlapping = overlapping != 0;
}

/* ---- presorted, few gaps: run by run, in place ---- */

/*
 * Moves a run up, in place, from its top: to > from, bytes a multiple of 8. What is stored last, at the bottom, has been
 * read first. No masked stores: they cost more than the branches.
 */
static inline void move_up(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (bytes >= LONG_RUN) {
        memmove(to, from, bytes);
    } else if (bytes >= LINE) {
        __m512i bottom = _mm512_loadu_si512(from);

        for (; bytes >= LINE; bytes -= LINE)
            _mm512_storeu_si512(to + bytes - LINE, _mm512_loadu_si512(from + bytes - LINE));
        _mm512_storeu_si512(to, bottom);
    } else if (bytes >= LINE / 2) {
        __m256i top = _mm256_loadu_si256((const __m256i *)(from + bytes - LINE / 2));
        __m256i bottom = _mm256_loadu_si256((const __m256i *)from);

        _mm256_storeu_si256((__m256i *)(to + bytes - LINE / 2), top);
        _mm256_storeu_si256((__m256i *)to, bottom);
    } else if (bytes >= LINE / 4) {
        __m128i top = _mm_loadu_si128((const __m128i *)(from + bytes - LINE / 4));
        __m128i bottom = _mm_loadu_si128((const __m128i *)from);

        _mm_storeu_si128((__m128i *)(to + bytes - LINE / 4), top);
        _mm_storeu_si128((__m128i *)to, bottom);
    } else {
        memcpy(to, from, UNIT);
    }
}

static inline void move_runs(uint8_t *page, scan *s)
{
    uint32_t to_end = s->above[0];

    s->above[s->ngaps] = s->offs[s->nitems];
    for (uint32_t i = 0; i < s->ngaps; i++) {
        uint32_t bytes = (uint32_t)s->ends[i] - s->above[i + 1];

        to_end -= bytes;
        move_up(page + to_end, page + s->above[i + 1], bytes);
    }
}

/* ---- presorted: squeeze the dead units out, in place ---- */

/* Bit k of each lane becomes the XOR of bits 0 to k. */
static inline __m512i prefix_xor(__m512i v)
{
    v = _mm512_xor_si512(v, _mm512_slli_epi64(v, 1));
    v = _mm512_xor_si512(v, _mm512_slli_epi64(v, 2));
    v = _mm512_xor_si512(v, _mm512_slli_epi64(v, 4));
    v = _mm512_xor_si512(v, _mm512_slli_epi64(v, 8));
    v = _mm512_xor_si512(v, _mm512_slli_epi64(v, 16));
    return _mm512_xor_si512(v, _mm512_slli_epi64(v, 32));
}

/* live[l], bit u: whether unit u of line l is live. All above the first gap is, to the end of the page. */
static inline void mark_live(const scan *s, uint8_t live[UNITS / 8])
{
    const __m512i all = _mm512_set1_epi8(-1);
    uint8_t toggles[UNITS + LINE] = {
        0}; /* 1 where, going upwards, live begins or ends; one past the page counts */
    uint64_t bits[UNITS / 64];
    __m512i low, high;
    uint32_t odd;

    for (uint32_t i = 0; i < s->ngaps; i++) {
        toggles[s->ends[i] / UNIT] = 1;
        toggles[s->above[i] / UNIT] = 1;
    }
    toggles[s->offs[s->nitems] / UNIT] = 1;

    for (uint32_t i = 0; i < UNITS / 64; i++) {
        __m512i t = _mm512_loadu_si512(toggles + i * LINE);

        bits[i] = _mm512_test_epi8_mask(t, t);
    }
    low = prefix_xor(_mm512_loadu_si512(bits));
    high = prefix_xor(_mm512_loadu_si512(bits + 8));
    /* A word below with an odd number of toggles turns all of the words above. */
    odd = _mm512_movepi64_mask(low) | (uint32_t)_mm512_movepi64_mask(high) << 8;
    odd ^= odd << 1;
    odd ^= odd << 2;
    odd ^= odd << 4;
    odd ^= odd << 8;
    odd <<= 1;
    _mm512_storeu_si512(live, _mm512_mask_xor_epi64(low, (__mmask8)odd, low, all));
    _mm512_storeu_si512(live + LINE, _mm512_mask_xor_epi64(high, (__mmask8)(odd >> 8), high, all));
}

/*
 * Each line's live units go up against those above, by one store of a whole line that ends there. What it smashes below
 * has been read already: live units above a line never reach into it. Only the last stores reach into the hole, by less
 * than a line, which is put back. The first line is the one with the lowest tuple in place, or part of it: its units stay.
 */
static inline void squeeze(uint8_t *page, const scan *s, uint32_t new_upper)
{
    static const uint64_t rotation[2 * UNIT] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t live[UNITS / 8];
    __m512i hole = _mm512_loadu_si512(page + new_upper - LINE);
    uint32_t bottom = s->offs[s->nitems] / LINE, line = (s->above[0] + LINE - 1u) / LINE;
    uint8_t *to = page + line * LINE;

    mark_live(s, live);
    while (line-- > bottom) {
        __mmask8 m = live[line];
        uint32_t n = (uint32_t)_mm_popcnt_u32(m);
        __m512i packed = pack_units(m, _mm512_loadu_si512(page + line * LINE));

        packed = _mm512_permutexvar_epi64(_mm512_loadu_si512(rotation + n), packed);
        _mm512_storeu_si512(to - LINE, packed);
        to -= n * UNIT;
    }
    _mm512_storeu_si512(page + new_upper - LINE, hole);
}

/* ---- out of order: by scratch ---- */

/* page[from, to) = scratch[from, to), at least a line; both aligned alike. */
static inline void copy_back(uint8_t *page, const uint8_t *scratch, uint32_t from, uint32_t to)
{
    _mm512_storeu_si512(page + from, _mm512_loadu_si512(scratch + from));
    for (uint32_t at = (from + LINE) / LINE * LINE; at + LINE <= to; at += LINE)
        _mm512_storeu_si512(page + at, _mm512_loadu_si512(scratch + at));
    _mm512_storeu_si512(page + to - LINE, _mm512_loadu_si512(scratch + to - LINE));
}

/*
 * Each tuple goes to scratch as the `window` bytes that end with it; what comes along below it, the next one overwrites.
 * window: a constant at each call, a multiple of 32.
 */
static inline __attribute__((always_inline)) uint32_t
gather(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t first, uint32_t end, uint32_t window)
{
    for (uint32_t i = first; i < s->nitems; i++) {
        uint32_t len = s->lens[i];
        const uint8_t *from = page + s->offs[1 + i] + len - window;
        uint8_t *to = scratch + end - window;

        for (uint32_t k = 0; k < window / LINE; k++)
            _mm512_storeu_si512(to + k * LINE, _mm512_loadu_si512(from + k * LINE));
        if (window % LINE)
            _mm256_storeu_si256((__m256i *)(to + window - 32),
                                _mm256_loadu_si256((const __m256i *)(from + window - 32)));
        end -= len;
    }
    return end;
}

/* Tuples of at most WIDEST bytes, by the narrowest window that holds the longest. Returns where the last one starts. */
static inline uint32_t gather_by_windows(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t first,
                                         uint32_t end)
{
    switch ((s->longest + 31) / 32) {
    case 1:
        return gather(scratch, page, s, first, end, 32);
    case 2:
        return gather(scratch, page, s, first, end, 64);
    case 3:
        return gather(scratch, page, s, first, end, 96);
    case 4:
        return gather(scratch, page, s, first, end, 128);
    case 5:
    case 6:
        return gather(scratch, page, s, first, end, 192);
    default:
        return gather(scratch, page, s, first, end, WIDEST);
    }
}

/*
 * Tuples of mixed lengths: a list of the lines to copy, then one loop over it. First the top line of every tuple, in
 * order, so that what comes along below a short one is overwritten; then the second line of those that have one, and so
 * on, the last one clamped to the tuple's start so that nothing comes along.
 */
static inline uint32_t gather_by_list(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t first,
                                      uint32_t end)
{
    uint16_t from[MAX_PIECES + LANES], to[MAX_PIECES + LANES];
    uint16_t new_offs[MAX_HEAP_TUPLES_PER_PAGE + LANES];
    uint32_t n = 0, new_end = end;

    for (uint32_t i = first; i < s->nitems; i++)
        new_offs[i] = (uint16_t)(new_end -= s->lens[i]);
    for (uint32_t depth = 0; depth < s->longest; depth += LINE) {
        const __m512i below = _mm512_set1_epi16((short)(depth + LINE));

        for (uint32_t i = first; i < s->nitems; i += LANES) {
            __mmask32 there = first_lanes(s->nitems - i < LANES ? s->nitems - i : LANES);
            __m512i len = _mm512_loadu_si512(s->lens + i);
            /* where in the tuple the piece starts; negative in a short one */
            __m512i at = _mm512_sub_epi16(len, below);
            __mmask32 deep = _mm512_mask_cmpgt_epu16_mask(there, len, _mm512_set1_epi16((short)depth));

            if (depth != 0)
                at = _mm512_max_epi16(at, _mm512_setzero_si512());
            _mm512_storeu_si512(from + n,
                                pack_words(deep, _mm512_add_epi16(_mm512_loadu_si512(s->offs + 1 + i), at)));
            _mm512_storeu_si512(to + n,
                                pack_words(deep, _mm512_add_epi16(_mm512_loadu_si512(new_offs + i), at)));
            n += (uint32_t)_mm_popcnt_u32(deep);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        _mm512_storeu_si512(scratch + (int16_t)to[i], _mm512_loadu_si512(page + from[i]));
    return new_end;
}

/* Tuples so long that a call each is cheap. */
static inline uint32_t gather_each(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t first,
                                   uint32_t end)
{
    for (uint32_t i = first; i < s->nitems; i++) {
        end -= s->lens[i];
        memcpy(scratch + end, page + s->offs[1 + i], s->lens[i]);
    }
    return end;
}

typedef uint32_t (*gather_fn)(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t first,
                              uint32_t end);

static inline __attribute__((always_inline)) void
move_by_scratch(uint8_t *page, const scan *s, uint32_t first, uint32_t end, gather_fn gather_tuples)
{
    uint8_t memory[WIDEST + BLCKSZ] __attribute__((aligned(64)));
    uint8_t *scratch = memory + WIDEST;
    uint32_t new_end = gather_tuples(scratch, page, s, first, end);

    if (end - new_end >= LINE)
        copy_back(page, scratch, new_end, end);
    else
        memcpy(page + new_end, scratch + new_end, end - new_end);
}

/* The ways to move, and when each is the fastest. All but the squeeze can do any page, if their bounds below are kept. */
static inline void move_tuples(uint8_t *page, const bounds *b, scan *s)
{
    uint32_t end = s->offs[s->first];
    /* A window may begin below the tuple area, but not below the page: every tuple ends at pd_upper + UNIT or above. */
    bool small = s->longest <= LINE && b->upper + UNIT >= LINE;
    uint32_t few_gaps = small ? s->nitems / 16 : FEW_GAPS;

    if (small && s->nitems <= FEW_TUPLES)
        move_by_scratch(page, s, 0, s->offs[0], gather_by_windows);
    else if (!s->unsorted && s->ngaps <= few_gaps)
        move_runs(page, s);
    else if (small)
        move_by_scratch(page, s, s->first, end, gather_by_windows);
    else if (!s->unsorted && b->special - s->total >= LINE)
        squeeze(page, s, b->special - s->total);
    else if (s->longest <= WIDEST && b->upper + UNIT >= WIDEST)
        move_by_scratch(page, s, s->first, end, gather_by_windows);
    else if (s->longest <= DEEPEST && b->upper + UNIT >= LINE)
        move_by_scratch(page, s, s->first, end, gather_by_list);
    else
        move_by_scratch(page, s, s->first, end, gather_each);
}

static inline void put_line_pointers(uint8_t *page, const scan *s, uint32_t nline)
{
    uint8_t *to = page + SIZE_OF_PAGE_HEADER;
    const uint8_t *words = (const uint8_t *)s->words;
    uint32_t bytes = 4 * nline, at = 0;

    if (bytes < LINE) {
        memcpy(to, words, bytes);
        return;
    }
    for (; at + LINE <= bytes; at += LINE)
        _mm512_storeu_si512(to + at, _mm512_loadu_si512(words + at));
    _mm512_storeu_si512(to + bytes - LINE, _mm512_loadu_si512(words + bytes - LINE));
}

pgq_status pgq_compaction_avx512(void *page_, bool truncate)
{
    uint8_t *page = page_;
    bounds b;
    scan s;
    uint32_t nline_left;

    if (page == NULL || !read_bounds(page, &b))
        return pgq_compaction_scalar(page, truncate);
    scan_line_pointers(page, &b, &s);
    if (s.out_of_bounds || s.nitems > MAX_HEAP_TUPLES_PER_PAGE || s.total > b.special - b.lower ||
        (s.overlapping && !s.unsorted))
        return pgq_compaction_scalar(page, truncate);
    if (s.ngaps != 0)
        move_tuples(page, &b, &s);
    put_line_pointers(page, &s, b.nline);
    nline_left = truncate ? s.nline_left : b.nline;
    write_header(page, &b, b.special - s.total, nline_left, s.nused < nline_left);
    return PGQ_ACCEPTED;
}
