/* SPDX-License-Identifier: PostgreSQL */
/*
 * Our variant for AVX2 and BMI2. It has the result of pg14 and takes 16 line pointers at a time. The steps are those of
 * avx512vbmi2.c:
 *
 * 1. Scan, without a branch on the data. Prefix sums give all new lp_off. A table of permutations packs the tuples. Each
 *    tuple is compared with the one before it.
 * 2. Move the tuples. On a presorted page with few gaps or large tuples, runs move in place. Tuples of at most a vector,
 *    if they are few or presorted, move by one load and one store each, read ahead. Long tuples of one length move from
 *    slot to slot (slots.h). The others go to their new places in scratch, by loads and stores of a fixed size, and come
 *    back in one copy.
 * 3. Write the new line pointers and the header.
 *
 * The scalar variant takes the pages that must be refused, because it names the fault. It also takes a page whose line
 * pointer array ends so near the page's end that a whole vector of it would reach past the page.
 */
#include "compaction/slots.h"
#include "common/left_pack.h"

enum {
    LANES = 16,
    HALF = LANES / 2, /* line pointers in a vector */
    VECTOR = 32,      /* bytes */
    UNIT = 8,         /* MAXALIGN */
    AHEAD = 8,        /* so many tuples have more than a vector */

    /* where one way of moving overtakes another, by measurement on Zen 5 */
    SMALL = 64,
    LONG_RUN = 512,
    WIDEST = 256
};

typedef struct scan {
    uint32_t words[MAX_LINE_POINTERS + LANES];      /* the line pointers to be */
    uint32_t tuples[1 + MAX_LINE_POINTERS + LANES]; /* lp_off | length << 16, after pd_special as the first */
    uint32_t nitems, nused, nline_left;
    uint32_t total, longest;

    /* A gap: a tuple that does not end where the one before it in item order (or pd_special) starts. */
    uint32_t gaps[MAX_LINE_POINTERS + HALF]; /* end of that tuple | lp_off of the one before it << 16 */
    uint32_t ngaps;
    uint32_t first; /* the tuple below the first gap: those before it are in place */
    bool out_of_bounds, unsorted, overlapping;
} scan;

static inline uint32_t tuple_off(const scan *s, uint32_t i)
{
    return s->tuples[1 + i] & 0xffff;
}

static inline uint32_t tuple_len(const scan *s, uint32_t i)
{
    return s->tuples[1 + i] >> 16;
}

/* lp_off of the tuple before the i-th; pd_special for the first. */
static inline uint32_t off_above(const scan *s, uint32_t i)
{
    return s->tuples[i] & 0xffff;
}

/* The low, or the high, 16 bits of 16 line pointers. */
static inline __m256i low_halves(__m256i a, __m256i b)
{
    const __m256i mask = _mm256_set1_epi32(0xffff);

    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)),
                                    0xd8);
}

static inline __m256i high_halves(__m256i a, __m256i b)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)),
                                    0xd8);
}

/* Two vectors of 32-bit lanes from their low and high halves. */
static inline void zip(__m256i low, __m256i high, __m256i *first, __m256i *second)
{
    __m256i a = _mm256_unpacklo_epi16(low, high), b = _mm256_unpackhi_epi16(low, high);

    *first = _mm256_permute2x128_si256(a, b, 0x20);
    *second = _mm256_permute2x128_si256(a, b, 0x31);
}

/* The highest 16-bit lane of each 128, in all lanes of it. */
static inline __m256i spread_last_word(__m256i v)
{
    return _mm256_shuffle_epi8(v, _mm256_set1_epi16(0x0f0e));
}

/* Inclusive prefix sums of 16 lanes, modulo 2^16. */
static inline __m256i prefix_sums(__m256i v)
{
    __m256i below;

    v = _mm256_add_epi16(v, _mm256_slli_si256(v, 2));
    v = _mm256_add_epi16(v, _mm256_slli_si256(v, 4));
    v = _mm256_add_epi16(v, _mm256_slli_si256(v, 8));
    below = spread_last_word(v);
    return _mm256_add_epi16(v, _mm256_permute2x128_si256(below, below, 0x08));
}

/* One bit for each 16-bit lane of a mask vector. */
static inline uint32_t lane_bits(__m256i mask)
{
    __m256i bytes = _mm256_packs_epi16(mask, _mm256_setzero_si256());

    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8));
}

static inline uint32_t max_of_lanes(__m256i v)
{
    __m128i m = _mm_max_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    return 0xffff ^ (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(m, _mm_set1_epi16(-1))), 0);
}

static inline uint32_t sum_of_lanes(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

static inline bool any(__m256i mask)
{
    return !_mm256_testz_si256(mask, mask);
}

/* Packs the lanes of v that the 8 bits of m select to the bottom. The lanes above them are undefined. */
static inline __m256i pack(uint32_t m, __m256i v)
{
    return _mm256_permutevar8x32_epi32(v, left_pack(m));
}

/* What the comparison of each tuple with the one before it has found so far. */
typedef struct survey {
    __m256i unsorted, overlapping; /* lanes where it was seen */
    uint32_t *next_gap;
    uint32_t first;
} survey;

/* Compares tuples i to i + n - 1 (n at most 8, or more: then 8), as in scan.tuples, with those before them. */
static inline void compare_tuples(scan *s, survey *v, uint32_t i, uint32_t n, __m256i tuple, __m256i before)
{
    const __m256i numbers = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), mask = _mm256_set1_epi32(0xffff);
    __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), numbers);
    __m256i off = _mm256_and_si256(tuple, mask), above = _mm256_and_si256(before, mask);
    __m256i end = _mm256_add_epi32(off, _mm256_srli_epi32(tuple, 16));
    __m256i gap = _mm256_andnot_si256(_mm256_cmpeq_epi32(end, above), there);
    uint32_t bits = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(gap));

    v->unsorted = _mm256_or_si256(v->unsorted, _mm256_andnot_si256(_mm256_cmpgt_epi32(above, off), there));
    v->overlapping = _mm256_or_si256(v->overlapping, _mm256_and_si256(_mm256_cmpgt_epi32(end, above), there));
    v->first = v->next_gap == s->gaps ? i + (uint32_t)_tzcnt_u32(bits) : v->first;
    _mm256_storeu_si256((__m256i *)v->next_gap,
                        pack(bits, _mm256_or_si256(end, _mm256_slli_epi32(above, 16))));
    v->next_gap += (uint32_t)_mm_popcnt_u32(bits);
}

/* From memory. */
static inline void survey_tuples(scan *s, survey *v)
{
    for (uint32_t i = 0; i < s->nitems; i += HALF)
        compare_tuples(s, v, i, s->nitems - i, _mm256_loadu_si256((const __m256i *)(s->tuples + 1 + i)),
                       _mm256_loadu_si256((const __m256i *)(s->tuples + i)));
}

/*
 * For few tuples, which are still in registers: the low 8 bits of m select those in a, the next 8 those in b. Reading them
 * back from memory so soon after the stores, by vectors of another size, would stall. On a small page that is noticeable.
 */
static inline void survey_few(scan *s, survey *v, uint32_t m, __m256i a, __m256i b, uint32_t special)
{
    const __m256i lane_before = _mm256_set_epi32(6, 5, 4, 3, 2, 1, 0, 7);
    uint32_t n = (uint32_t)_mm_popcnt_u32(m & 0xff);
    __m256i last = _mm256_set1_epi32((int)special), count = _mm256_set1_epi32((int)n), before;

    a = pack(m & 0xff, a);
    b = pack(m >> 8, b);
    before = _mm256_permutevar8x32_epi32(a, lane_before);
    compare_tuples(s, v, 0, n, a, _mm256_blend_epi32(before, last, 1));
    last = _mm256_blendv_epi8(last,
                              _mm256_permutevar8x32_epi32(a, _mm256_sub_epi32(count, _mm256_set1_epi32(1))),
                              _mm256_cmpgt_epi32(count, _mm256_setzero_si256()));
    before = _mm256_permutevar8x32_epi32(b, lane_before);
    compare_tuples(s, v, n, s->nitems - n, b, _mm256_blend_epi32(before, last, 1));
}

/* What the scan knows of all tuples so far, by lane: the lowest lp_off, the highest end, and so on. */
typedef struct extremes {
    __m256i lows, ends, offs, longest, totals;
} extremes;

/* Aligned lengths and lp_off of 16 line pointers; both are 0 where `stored` is 0. */
static inline __attribute__((always_inline)) void note_bounds(extremes *x, __m256i stored, __m256i off,
                                                              __m256i len)
{
    __m256i low = _mm256_or_si256(off, _mm256_xor_si256(stored, _mm256_set1_epi16(-1)));

    x->lows = _mm256_min_epu16(x->lows, low);
    x->ends = _mm256_max_epu16(x->ends, _mm256_add_epi16(off, len));
    x->offs = _mm256_or_si256(x->offs, off);
    x->longest = _mm256_max_epu16(x->longest, len);
    x->totals = _mm256_add_epi32(x->totals, _mm256_madd_epi16(len, _mm256_set1_epi16(1)));
}

/* All are within bounds if min(low, upper) == upper, max(end, special) == special, off % 8 == 0. */
static inline __attribute__((always_inline)) bool out_of_bounds(const extremes *x, const bounds *b)
{
    const __m256i upper = _mm256_set1_epi16((short)b->upper), special = _mm256_set1_epi16((short)b->special);
    __m256i bad = _mm256_xor_si256(_mm256_min_epu16(x->lows, upper), upper);

    bad = _mm256_or_si256(bad, _mm256_xor_si256(_mm256_max_epu16(x->ends, special), special));
    return any(_mm256_or_si256(bad, _mm256_and_si256(x->offs, _mm256_set1_epi16(UNIT - 1))));
}

/* Stores the tuples that `stored` names: its low 8 bits those of first, the next 8 those of second. Past the last one. */
static inline __attribute__((always_inline)) uint32_t *store_tuples(uint32_t *to, uint32_t stored,
                                                                    __m256i first, __m256i second)
{
    _mm256_storeu_si256((__m256i *)to, pack(stored & 0xff, first));
    to += (uint32_t)_mm_popcnt_u32(stored & 0xff);
    _mm256_storeu_si256((__m256i *)to, pack(stored >> 8, second));
    return to + (uint32_t)_mm_popcnt_u32(stored >> 8);
}

/* A mask of the line pointers, given by their halves, whose lp_flags are not 0. */
static inline __attribute__((always_inline)) __m256i used_lanes(__m256i low, __m256i high)
{
    const __m256i one = _mm256_set1_epi16(1);

    return _mm256_or_si256(_mm256_srai_epi16(low, 15), _mm256_cmpeq_epi16(_mm256_and_si256(high, one), one));
}

/* What the comparison of all tuples has found. */
static inline __attribute__((always_inline)) void put_survey(scan *s, const survey *v)
{
    s->ngaps = (uint32_t)(v->next_gap - s->gaps);
    s->first = v->first;
    s->unsorted = any(v->unsorted);
    s->overlapping = any(v->overlapping);
}

/* few: at most LANES line pointers; a constant at each call. If a line pointer is out of bounds, the rest is of no use. */
static inline __attribute__((always_inline)) void scan_line_pointers(const uint8_t *page, const bounds *b,
                                                                     scan *s, bool few)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i off_mask = _mm256_set1_epi16(LP_OFF_MASK);
    const __m256i numbers = _mm256_set_epi16(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m256i base = _mm256_set1_epi16((short)b->special), first = zero, second = zero;
    extremes x = {_mm256_set1_epi16(-1), zero, zero, zero, zero};
    survey v = {zero, zero, s->gaps, 0};
    uint32_t *next = s->tuples + 1;
    uint32_t stored_bits = 0;
    uint32_t nused = 0, nline_left = 0;

    s->tuples[0] = b->special;
    for (uint32_t i = 0; i < b->nline; i += LANES) {
        const uint8_t *from = page + SIZE_OF_PAGE_HEADER + 4 * i;
        __m256i words0 = _mm256_loadu_si256((const __m256i *)from);
        __m256i words1 = _mm256_loadu_si256((const __m256i *)(from + VECTOR));
        __m256i there = _mm256_cmpgt_epi16(_mm256_set1_epi16((short)(b->nline - i)), numbers);
        /* lp_off and the low bit of lp_flags; the high bit of lp_flags and lp_len */
        __m256i low = low_halves(words0, words1), high = high_halves(words0, words1);
        __m256i used = _mm256_and_si256(used_lanes(low, high), there);
        __m256i len = _mm256_srli_epi16(high, 1), off, stored, new_off;
        uint32_t used_bits;

        stored = _mm256_andnot_si256(_mm256_cmpeq_epi16(len, zero), used);
        len = _mm256_and_si256(_mm256_add_epi16(len, _mm256_set1_epi16(7)), _mm256_set1_epi16(~7));
        len = _mm256_and_si256(len, stored);
        off = _mm256_and_si256(_mm256_and_si256(low, off_mask), stored);
        note_bounds(&x, stored, off, len);

        new_off = _mm256_sub_epi16(base, prefix_sums(len));
        base = _mm256_permute4x64_epi64(spread_last_word(new_off), 0xff);
        new_off = _mm256_or_si256(_mm256_andnot_si256(off_mask, low), _mm256_and_si256(new_off, off_mask));
        low = _mm256_and_si256(_mm256_blendv_epi8(low, new_off, stored), used);
        high = _mm256_and_si256(high, used);
        zip(low, high, &first, &second);
        _mm256_storeu_si256((__m256i *)(s->words + i), first);
        _mm256_storeu_si256((__m256i *)(s->words + i + HALF), second);

        zip(off, len, &first, &second);
        stored_bits = lane_bits(stored);
        next = store_tuples(next, stored_bits, first, second);
        used_bits = lane_bits(used);
        nused += (uint32_t)_mm_popcnt_u32(used_bits);
        nline_left = used_bits ? i + 32 - (uint32_t)_lzcnt_u32(used_bits) : nline_left;
    }
    s->nitems = (uint32_t)(next - s->tuples) - 1;
    if (few)
        survey_few(s, &v, stored_bits, first, second, b->special);
    else
        survey_tuples(s, &v);
    put_survey(s, &v);
    s->nused = nused;
    s->nline_left = nline_left;
    s->total = sum_of_lanes(x.totals);
    s->longest = max_of_lanes(x.longest);
    s->out_of_bounds = out_of_bounds(&x, b);
}

/* ---- presorted: run by run, in place ---- */

static inline void copy32(uint8_t *to, const uint8_t *from)
{
    _mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
}

/*
 * Moves a run up, in place, from its top. to > from; bytes is a multiple of 8. The bottom of the run is read first and
 * stored last.
 */
static inline void move_up(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (bytes >= LONG_RUN) {
        memmove(to, from, bytes);
    } else if (bytes >= VECTOR) {
        __m256i bottom = _mm256_loadu_si256((const __m256i *)from);

        for (; bytes >= VECTOR; bytes -= VECTOR)
            copy32(to + bytes - VECTOR, from + bytes - VECTOR);
        _mm256_storeu_si256((__m256i *)to, bottom);
    } else if (bytes >= VECTOR / 2) {
        __m128i top = _mm_loadu_si128((const __m128i *)(from + bytes - VECTOR / 2));
        __m128i bottom = _mm_loadu_si128((const __m128i *)from);

        _mm_storeu_si128((__m128i *)(to + bytes - VECTOR / 2), top);
        _mm_storeu_si128((__m128i *)to, bottom);
    } else {
        memcpy(to, from, UNIT);
    }
}

/* A run begins below a gap and reaches down to the next one. */
static inline void move_runs(uint8_t *page, scan *s)
{
    uint32_t to_end = s->gaps[0] >> 16;

    s->gaps[s->ngaps] = off_above(s, s->nitems) << 16;
    for (uint32_t i = 0; i < s->ngaps; i++) {
        uint32_t from = s->gaps[i + 1] >> 16, bytes = (s->gaps[i] & 0xffff) - from;

        to_end -= bytes;
        move_up(page + to_end, page + from, bytes);
    }
}

/* ---- tuples of at most a vector, as the vectors that end with them ---- */

static inline __m256i load_tuple(const uint8_t *page, const scan *s, uint32_t i)
{
    return _mm256_loadu_si256((const __m256i *)(page + tuple_off(s, i) + tuple_len(s, i) - VECTOR));
}

/*
 * For few tuples: all are read before any is written. A store also writes bytes below its tuple; the store of the next
 * tuple corrects them. Below the last tuple lies the hole, which is read and written as one more tuple.
 */
static inline void permute_few(uint8_t *page, const bounds *b, const scan *s)
{
    uint8_t *end = page + b->special, *hole = end - s->total - VECTOR;
    __m256i v[LANES], saved = _mm256_loadu_si256((const __m256i *)hole);

    for (uint32_t i = 0; i < s->nitems; i++)
        v[i] = load_tuple(page, s, i);
    for (uint32_t i = 0; i < s->nitems; i++) {
        _mm256_storeu_si256((__m256i *)(end - VECTOR), v[i]);
        end -= tuple_len(s, i);
    }
    _mm256_storeu_si256((__m256i *)hole, saved);
}

/*
 * For presorted tuples: each moves in place. A store also overwrites less than a vector of bytes below its tuple. These
 * were read before, since the next AHEAD tuples are at least a vector long. After the last one, the hole counts as tuples
 * of length 0.
 */
static inline void slide(uint8_t *page, const bounds *b, scan *s)
{
    uint8_t *end = page + off_above(s, s->first);
    __m256i v[AHEAD], next[AHEAD];

    for (uint32_t k = 0; k < 2 * AHEAD; k++)
        s->tuples[1 + s->nitems + k] = b->special - s->total;
#pragma GCC unroll 8
    for (uint32_t k = 0; k < AHEAD; k++)
        next[k] = load_tuple(page, s, s->first + k);
    for (uint32_t i = s->first; i <= s->nitems; i += AHEAD) {
#pragma GCC unroll 8
        for (uint32_t k = 0; k < AHEAD; k++) {
            v[k] = next[k];
            next[k] = load_tuple(page, s, i + AHEAD + k);
        }
#pragma GCC unroll 8
        for (uint32_t k = 0; k < AHEAD; k++) {
            _mm256_storeu_si256((__m256i *)(end - VECTOR), v[k]);
            end -= tuple_len(s, i + k);
        }
    }
}

/* ---- by scratch ---- */

/* page[from, to) = scratch[from, to), at least a vector. Both have the same alignment. */
static inline void copy_back(uint8_t *page, const uint8_t *scratch, uint32_t from, uint32_t to)
{
    copy32(page + from, scratch + from);
    for (uint32_t at = (from + VECTOR) / VECTOR * VECTOR; at + VECTOR <= to; at += VECTOR)
        copy32(page + at, scratch + at);
    copy32(page + to - VECTOR, scratch + to - VECTOR);
}

/*
 * Copies each tuple to scratch as the `window` bytes that end with it. The copy of the next tuple overwrites the extra
 * bytes below it. window: a constant at each call, a multiple of 32.
 */
static inline __attribute__((always_inline)) uint32_t gather(uint8_t *scratch, const uint8_t *page,
                                                             const scan *s, uint32_t end, uint32_t window)
{
    const uint32_t nitems = s->nitems; /* compilers think that a store to scratch may change it */

    for (uint32_t i = s->first; i < nitems; i++) {
        uint32_t len = tuple_len(s, i);
        const uint8_t *from = page + tuple_off(s, i) + len - window;
        uint8_t *to = scratch + end - window;

#pragma GCC unroll 8
        for (uint32_t k = 0; k < window; k += VECTOR)
            copy32(to + k, from + k);
        end -= len;
    }
    return end;
}

/* Tuples of at most WIDEST bytes, by the narrowest window that holds the longest. Returns where the last one starts. */
static inline uint32_t gather_by_windows(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t end)
{
    switch ((s->longest + VECTOR - 1) / VECTOR) {
    case 1:
        return gather(scratch, page, s, end, 32);
    case 2:
        return gather(scratch, page, s, end, 64);
    case 3:
        return gather(scratch, page, s, end, 96);
    case 4:
        return gather(scratch, page, s, end, 128);
    case 5:
    case 6:
        return gather(scratch, page, s, end, 192);
    default:
        return gather(scratch, page, s, end, WIDEST);
    }
}

static inline uint32_t gather_each(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t end)
{
    for (uint32_t i = s->first; i < s->nitems; i++) {
        end -= tuple_len(s, i);
        memcpy(scratch + end, page + tuple_off(s, i), tuple_len(s, i));
    }
    return end;
}

typedef uint32_t (*gather_fn)(uint8_t *scratch, const uint8_t *page, const scan *s, uint32_t end);

static inline __attribute__((always_inline)) void move_by_scratch(uint8_t *page, const scan *s,
                                                                  gather_fn gather_tuples)
{
    uint8_t memory[WIDEST + BLCKSZ] __attribute__((aligned(64)));
    uint8_t *scratch = memory + WIDEST;
    uint32_t end = off_above(s, s->first), new_end = gather_tuples(scratch, page, s, end);

    if (end - new_end >= VECTOR)
        copy_back(page, scratch, new_end, end);
    else
        memcpy(page + new_end, scratch + new_end, end - new_end);
}

/* ---- long tuples of one length ---- */

static inline void copy_vectors(uint8_t *to, const uint8_t *from, uint32_t length)
{
    uint32_t at = VECTOR - (uint32_t)((uintptr_t)to % VECTOR);

    copy32(to, from);
    for (; at < length - 2 * VECTOR; at += 2 * VECTOR) {
        copy32(to + at, from + at);
        copy32(to + at + VECTOR, from + at + VECTOR);
    }
    copy32(to + length - 2 * VECTOR, from + length - 2 * VECTOR);
    copy32(to + length - VECTOR, from + length - VECTOR);
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

/* For long tuples, most of them live: copies the whole tuple area to scratch, then each tuple to its place. */
static inline void move_by_area(uint8_t *page, const bounds *b, const scan *s)
{
    uint8_t scratch[BLCKSZ];
    uint32_t end = off_above(s, s->first);

    memcpy(scratch + b->upper, page + b->upper, b->special - b->upper);
    for (uint32_t i = s->first; i < s->nitems; i++) {
        end -= tuple_len(s, i);
        memcpy(page + end, scratch + tuple_off(s, i), tuple_len(s, i));
    }
}

static inline void move_tuples(uint8_t *page, const bounds *b, scan *s)
{
    /* A window may begin below the tuple area, but never below the page: every tuple ends at pd_upper + UNIT or above. */
    bool small = s->longest <= SMALL && b->upper + UNIT >= SMALL;
    /* So it is with a vector: pd_lower is at least 28 here, so a tuple ends, and pd_upper will be, at 32 or above. */
    bool vectors = s->longest <= VECTOR;
    slots in_slots;

    if (vectors && s->nitems <= LANES)
        permute_few(page, b, s);
    else if (!s->unsorted && (!small || s->ngaps <= s->nitems / 16))
        move_runs(page, s);
    else if (vectors && !s->unsorted)
        slide(page, b, s);
    else if (small || (s->longest <= WIDEST && b->upper + UNIT >= WIDEST))
        move_by_scratch(page, s, gather_by_windows);
    else if (find_slots(page, b, s, &in_slots))
        permute_slots(&in_slots, copy_vectors);
    else if (4 * s->total >= 3 * (b->special - b->upper))
        move_by_area(page, b, s);
    else
        move_by_scratch(page, s, gather_each);
}

static inline void put_line_pointers(uint8_t *page, const scan *s, uint32_t nline)
{
    uint8_t *to = page + SIZE_OF_PAGE_HEADER;
    const uint8_t *words = (const uint8_t *)s->words;
    uint32_t bytes = 4 * nline;

    if (bytes < VECTOR) {
        memcpy(to, words, bytes);
        return;
    }
    for (uint32_t at = 0; at + VECTOR <= bytes; at += VECTOR)
        copy32(to + at, words + at);
    copy32(to + bytes - VECTOR, words + bytes - VECTOR);
}

pgq_status pgq_compaction_avx2(void *page_, bool truncate)
{
    uint8_t *page = page_;
    bounds b;
    scan s;
    uint32_t nline_left;

    if (page == NULL || !read_bounds(page, &b) || b.lower + 4 * LANES > BLCKSZ)
        return pgq_compaction_scalar(page, truncate);
    if (b.nline <= LANES)
        scan_line_pointers(page, &b, &s, true);
    else
        scan_line_pointers(page, &b, &s, false);
    if (s.out_of_bounds || s.nitems > MAX_HEAP_TUPLES_PER_PAGE || s.total > b.special - b.lower ||
        (s.overlapping && !s.unsorted))
        return pgq_compaction_scalar(page, truncate);
    if (s.ngaps != 0)
        move_tuples(page, &b, &s);
    put_line_pointers(page, &s, b.nline);
    nline_left = truncate ? s.nline_left : b.nline;
    write_header(page, &b, b.special - s.total, nline_left, s.nused < nline_left);
    return accepted();
}
