/* SPDX-License-Identifier: PostgreSQL */
/*
 * Our variant for AVX-512 (F, BW, VL, VBMI2). It has the result of pg14 and takes 32 line pointers at a time.
 *
 * 1. Scan, without a branch on the data. 32 line pointers become two vectors of 16-bit halves. Prefix sums of the aligned
 *    lengths give all new lp_off at once. For each tuple, where it ends now and where it must end are packed into dense
 *    arrays. The distance that it moves is compared with that of the tuple before it. If it is larger, there was a gap
 *    between them; if it is smaller, they are out of order or overlap. At most 16 line pointers fit into one vector as
 *    whole words. Nothing is written to the page yet.
 * 2. Move the tuples in the way that suits the page (move_tuples):
 *    - few small tuples: all are read into registers, then written;
 *    - presorted with few gaps: each run of adjacent tuples moves in place;
 *    - presorted and small: each moves in place, by one load and one store of a fixed size, read well ahead;
 *    - presorted and of similar lengths: each moves in place, in as many pieces as the longest needs;
 *    - presorted otherwise: the page is a string of units of 8 bytes, some of them live. The dead ones are squeezed out in
 *      place, a cache line at a time from pd_special downwards, for tuples of any length;
 *    - small: each goes to its new place in scratch, by one load and one store of a fixed size; one copy brings all that
 *      moved back;
 *    - long and of one length: from slot to slot, by one copy each (slots.h);
 *    - all others: to scratch and back in larger pieces.
 * 3. Write the new line pointers and the header.
 *
 * The scalar variant takes the pages that must be refused, because it names the fault. It also takes a page whose line
 * pointer array ends so near the page's end that a whole vector of it would reach past the page.
 */
#include "compaction/slots.h"

#include <immintrin.h>

enum {
    LINE = 64,        /* bytes of a vector, and of a cache line */
    LANES = LINE / 2, /* line pointers at a time */
    UNIT = 8,         /* MAXALIGN */
    UNITS = BLCKSZ / UNIT,
    FEW = LINE / 4,      /* line pointers in one vector of whole ones */
    AHEAD = LINE / UNIT, /* so many tuples have a line at least */

    /* where one way of moving overtakes another, by measurement on Zen 4 and Zen 5 */
    FEW_GAPS = 10,     /* up to here, run by run */
    LONG_RUN = 768,    /* bytes from which memmove pays */
    WIDEST = 4 * LINE, /* the longest tuple that goes by windows of one width */
    DEEPEST = 512,     /* and by a list of pieces */
    MAX_PIECES = BLCKSZ / LINE + MAX_HEAP_TUPLES_PER_PAGE
};

typedef struct scan {
    uint32_t words[MAX_LINE_POINTERS + LANES]; /* the line pointers to be */
    /* where each tuple must end, and where it ends now; after the last one the new pd_upper, AHEAD times, as both */
    uint16_t ends[MAX_LINE_POINTERS + LANES], old_ends[MAX_LINE_POINTERS + LANES];
    int16_t shifts[1 + MAX_LINE_POINTERS + LANES]; /* the difference; of pd_special before the first: none */
    uint32_t nitems, nused, nline_left;
    uint32_t total, new_upper, longest, shortest;
    uint32_t ngaps, first; /* tuples that move further than the one before them; the first of those */
    uint16_t run_ends[MAX_LINE_POINTERS + LANES], run_old_ends[MAX_LINE_POINTERS + LANES];
    bool out_of_bounds;
    bool falls; /* a tuple moves less far than the one before it */
} scan;

/*
 * Packs the lanes of v that m selects to the bottom, with zeroes above. It is in assembler so that source and destination
 * are one register. On Zen 5 the instruction waits for the old value of its destination, even if that is zeroed. Compilers
 * choose any register as destination, so the rounds of a loop would wait for each other (2.5 ns instead of 0.9 a line).
 */
static inline __m512i pack(__mmask32 m, __m512i v)
{
    __asm__("vpcompressw %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

static inline __m512i pack_dwords(__mmask16 m, __m512i v)
{
    __asm__("vpcompressd %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

static inline __m512i pack_units(__mmask8 m, __m512i v)
{
    __asm__("vpcompressq %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

/* The first n of the lanes, or all. */
static inline __mmask32 first_lanes(uint32_t n)
{
    return _bzhi_u32(~0u, n < LANES ? n : LANES);
}

/* Inclusive prefix sums of 32 lanes, modulo 2^16: within each 128 bits, then the sums of those below. */
static inline __m512i prefix_sums(__m512i v)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums, below;

    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 2));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 4));
    v = _mm512_add_epi16(v, _mm512_bslli_epi128(v, 8));
    sums = _mm512_shuffle_epi8(v, _mm512_set1_epi16(0x0f0e));
    below = _mm512_add_epi16(_mm512_alignr_epi64(sums, zero, 6), _mm512_alignr_epi64(sums, zero, 4));
    v = _mm512_add_epi16(v, _mm512_alignr_epi64(sums, zero, 2));
    return _mm512_add_epi16(v, below);
}

static inline uint32_t max_of_lanes(__m512i v)
{
    __m256i a = _mm256_max_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i b = _mm_max_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));

    return 0xffff - (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(b, _mm_set1_epi16(-1))), 0);
}

/* The state of the scan between two vectors of line pointers. */
typedef struct survey {
    __m512i base; /* in all lanes: where the last tuple must start */
    __m512i lows, ends, offs, longest, shortest, totals;
    __mmask32 falls;
    /* as in scan, where a store to an array could be meant for them, as far as compilers see */
    uint32_t nitems, nused, nline_left, ngaps, first;
} survey;

/* Aligned lengths and lp_off of line pointers; both are 0 in lanes that are not in `stored`. */
static inline __attribute__((always_inline)) void note_bounds(survey *v, __mmask32 stored, __m512i off,
                                                              __m512i len)
{
    v->lows = _mm512_mask_min_epu16(v->lows, stored, v->lows, off);
    v->ends = _mm512_max_epu16(v->ends, _mm512_add_epi16(off, len));
    v->offs = _mm512_or_si512(v->offs, off);
    v->longest = _mm512_max_epu16(v->longest, len);
    v->shortest = _mm512_mask_min_epu16(v->shortest, stored, v->shortest, len);
    v->totals = _mm512_add_epi32(v->totals, _mm512_madd_epi16(len, _mm512_set1_epi16(1)));
}

/* Puts 32 line pointers together again, from their low and high halves. */
static inline __attribute__((always_inline)) void store_words(uint32_t *words, __m512i low, __m512i high)
{
    const __m512i zip_low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                                             7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i zip_high = _mm512_add_epi16(zip_low, _mm512_set1_epi16(16));

    _mm512_storeu_si512(words, _mm512_permutex2var_epi16(low, zip_low, high));
    _mm512_storeu_si512(words + LANES / 2, _mm512_permutex2var_epi16(low, zip_high, high));
}

/* 32 line pointers from the i-th on, of which those in `there` count: a constant if all do. */
static inline __attribute__((always_inline)) void scan_vector(const uint8_t *page, scan *s, survey *v,
                                                              uint32_t i, __mmask32 there)
{
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30,
                                          28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));
    const __m512i lane_before = _mm512_set_epi16(30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                                 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0);
    const __m512i one = _mm512_set1_epi16(1), last_lane = _mm512_set1_epi16(LANES - 1);
    const uint8_t *from = page + SIZE_OF_PAGE_HEADER + 4 * i;
    __m512i words0 = _mm512_loadu_si512(from), words1 = _mm512_loadu_si512(from + LINE);
    /* lp_off and the low bit of lp_flags; the high bit of lp_flags and lp_len */
    __m512i low = _mm512_permutex2var_epi16(words0, even, words1);
    __m512i high = _mm512_permutex2var_epi16(words0, odd, words1);
    __mmask32 used = there & (_mm512_test_epi16_mask(high, one) | _mm512_movepi16_mask(low));
    __mmask32 stored = _mm512_mask_cmpgt_epu16_mask(used, high, one);
    __m512i off = _mm512_maskz_mov_epi16(stored, _mm512_and_si512(low, _mm512_set1_epi16(LP_OFF_MASK)));
    __m512i len = _mm512_add_epi16(_mm512_srli_epi16(high, 1), _mm512_set1_epi16(7));
    __m512i sums, new_off, shift, end, old_end, before;
    __mmask32 gaps, falls;
    uint32_t n = (uint32_t)_mm_popcnt_u32(stored), used_bits = used;

    len = _mm512_maskz_mov_epi16(stored, _mm512_and_si512(len, _mm512_set1_epi16(~7)));
    note_bounds(v, stored, off, len);

    sums = prefix_sums(len);
    new_off = _mm512_sub_epi16(v->base, sums);
    v->base = _mm512_sub_epi16(v->base, _mm512_permutexvar_epi16(last_lane, sums));

    /* the bits of LP_OFF_MASK from new_off, the other one from low */
    low = _mm512_mask_mov_epi16(
        low, stored, _mm512_ternarylogic_epi32(low, new_off, _mm512_set1_epi16(LP_OFF_MASK), 0xd8));
    low = _mm512_maskz_mov_epi16(used, low);
    high = _mm512_maskz_mov_epi16(used, high);
    store_words(s->words + i, low, high);

    shift = pack(stored, _mm512_sub_epi16(new_off, off));
    before = _mm512_mask_permutexvar_epi16(_mm512_set1_epi16(s->shifts[v->nitems]), ~1u, lane_before, shift);
    end = pack(stored, _mm512_add_epi16(new_off, len));
    _mm512_storeu_si512(s->ends + v->nitems, end);
    old_end = _mm512_sub_epi16(end, shift);
    _mm512_storeu_si512(s->old_ends + v->nitems, old_end);
    _mm512_storeu_si512(s->shifts + 1 + v->nitems, shift);
    gaps = _mm512_mask_cmpgt_epi16_mask(first_lanes(n), shift, before);
    falls = _mm512_mask_cmplt_epi16_mask(first_lanes(n), shift, before);
    v->first = (v->ngaps | v->falls) == 0 ? v->nitems + (uint32_t)_tzcnt_u32(gaps | falls) : v->first;
    v->falls |= falls;
    if (v->falls == 0) { /* out of order, nobody asks for runs */
        _mm512_storeu_si512(s->run_ends + v->ngaps, pack(gaps, end));
        _mm512_storeu_si512(s->run_old_ends + v->ngaps, pack(gaps, old_end));
    }
    v->ngaps += (uint32_t)_mm_popcnt_u32(gaps);
    v->nitems += n;
    v->nused += (uint32_t)_mm_popcnt_u32(used_bits);
    v->nline_left = used_bits ? i + LANES - (uint32_t)_lzcnt_u32(used_bits) : v->nline_left;
}

/* If a line pointer is out of bounds, the rest is of no use. */
static inline void scan_line_pointers(const uint8_t *page, const bounds *b, scan *s)
{
    const __m512i zero = _mm512_setzero_si512();
    survey v = {.base = _mm512_set1_epi16((short)b->special),
                .lows = _mm512_set1_epi16(-1),
                .ends = zero,
                .offs = zero,
                .longest = zero,
                .shortest = _mm512_set1_epi16(-1),
                .totals = zero};
    uint32_t i = 0;

    s->shifts[0] = 0;
    for (; i + LANES <= b->nline; i += LANES)
        scan_vector(page, s, &v, i, ~0u);
    if (i < b->nline)
        scan_vector(page, s, &v, i, first_lanes(b->nline - i));
    s->nitems = v.nitems;
    s->nused = v.nused;
    s->nline_left = v.nline_left;
    s->ngaps = v.ngaps;
    s->first = v.first;
    s->total = (uint32_t)_mm512_reduce_add_epi32(v.totals);
    s->longest = max_of_lanes(v.longest);
    s->shortest = 0xffff - max_of_lanes(_mm512_xor_si512(v.shortest, _mm512_set1_epi16(-1)));
    s->out_of_bounds = _mm512_cmplt_epu16_mask(v.lows, _mm512_set1_epi16((short)b->upper)) |
                       _mm512_cmpgt_epu16_mask(v.ends, _mm512_set1_epi16((short)b->special)) |
                       _mm512_test_epi16_mask(v.offs, _mm512_set1_epi16(UNIT - 1));
    s->falls = v.falls != 0;
    s->new_upper = b->special - s->total;
    _mm512_storeu_si512(s->ends + s->nitems, v.base);
    _mm512_storeu_si512(s->old_ends + s->nitems, v.base);
}

/* Inclusive prefix sums of 16 lanes of 32 bits. */
static inline __m512i prefix_sums_of_dwords(__m512i v)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums, below;

    sums = _mm512_add_epi32(v, _mm512_bslli_epi128(v, 4));
    sums = _mm512_add_epi32(sums, _mm512_bslli_epi128(sums, 8));
    below = _mm512_shuffle_epi32(sums, _MM_PERM_DDDD);
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi64(below, zero, 6));
    return _mm512_add_epi32(
        sums, _mm512_add_epi32(_mm512_alignr_epi64(below, zero, 4), _mm512_alignr_epi64(below, zero, 2)));
}

/* The same of at most FEW line pointers, in one vector of whole ones. */
static inline void scan_few(const uint8_t *page, const bounds *b, scan *s)
{
    const __m512i zero = _mm512_setzero_si512(), low = _mm512_set1_epi32(0xffff);
    __m512i words = _mm512_loadu_si512(page + SIZE_OF_PAGE_HEADER);
    __mmask16 used =
        _mm512_mask_test_epi32_mask((__mmask16)first_lanes(b->nline), words, _mm512_set1_epi32(3 << 15));
    __mmask16 stored = _mm512_mask_cmpgt_epu32_mask(used, words, _mm512_set1_epi32((1 << 17) - 1)), there;
    __m512i off = _mm512_maskz_and_epi32(stored, words, _mm512_set1_epi32(LP_OFF_MASK));
    __m512i len = _mm512_maskz_add_epi32(stored, _mm512_srli_epi32(words, 17), _mm512_set1_epi32(7));
    __m512i new_off, outside, tuples, before, old_ends;
    __mmask16 gaps, falls;
    uint32_t used_bits = used;

    len = _mm512_and_si512(len, _mm512_set1_epi32(~7));
    new_off = _mm512_sub_epi32(_mm512_set1_epi32((int)b->special), prefix_sums_of_dwords(len));

    /* a fault shows in the sign bit */
    outside =
        _mm512_or_si512(_mm512_sub_epi32(off, _mm512_set1_epi32((int)b->upper)),
                        _mm512_sub_epi32(_mm512_set1_epi32((int)b->special), _mm512_add_epi32(off, len)));
    s->out_of_bounds = _mm512_mask_cmplt_epi32_mask(stored, outside, zero) |
                       _mm512_test_epi32_mask(off, _mm512_set1_epi32(UNIT - 1));

    /* of each tuple where it must end, and above that by how much it moves */
    tuples = _mm512_or_si512(_mm512_slli_epi32(_mm512_sub_epi32(new_off, off), 16),
                             _mm512_add_epi32(new_off, len));
    tuples = pack_dwords(stored, tuples);
    s->nitems = (uint32_t)_mm_popcnt_u32(stored);
    s->total = b->special - (uint32_t)_mm_extract_epi32(_mm512_extracti32x4_epi32(new_off, 3), 3);
    s->new_upper = b->special - s->total;
    there = (__mmask16)first_lanes(s->nitems);
    tuples = _mm512_mask_mov_epi32(_mm512_set1_epi32((int)s->new_upper), there, tuples);
    before = _mm512_alignr_epi32(tuples, zero, LANES / 2 - 1);
    gaps = _mm512_mask_cmpgt_epi32_mask(there, tuples, _mm512_or_si512(before, low));
    falls = _mm512_mask_cmpgt_epi32_mask(there, before, _mm512_or_si512(tuples, low));
    s->falls = falls != 0;
    s->ngaps = (uint32_t)_mm_popcnt_u32(gaps);
    s->first = (uint32_t)_tzcnt_u32(gaps | falls);

    words = _mm512_mask_ternarylogic_epi32(words, stored, new_off, _mm512_set1_epi32(LP_OFF_MASK), 0xd8);
    _mm512_storeu_si512(s->words, _mm512_maskz_mov_epi32(used, words));
    s->nused = (uint32_t)_mm_popcnt_u32(used_bits);
    s->nline_left = 32 - (uint32_t)_lzcnt_u32(used_bits);
    s->longest = _mm512_reduce_max_epu32(len);
    s->shortest = 0; /* not looked for */

    if (s->ngaps == 0 && !s->falls)
        return;
    old_ends = _mm512_sub_epi32(tuples, _mm512_srli_epi32(tuples, 16));
    _mm256_storeu_si256((__m256i *)s->ends, _mm512_cvtepi32_epi16(tuples));
    _mm256_storeu_si256((__m256i *)s->old_ends, _mm512_cvtepi32_epi16(old_ends));
    s->ends[FEW] = s->old_ends[FEW] = (uint16_t)s->new_upper;
    _mm256_storeu_si256((__m256i *)s->run_ends, _mm512_cvtepi32_epi16(pack_dwords(gaps, tuples)));
    _mm256_storeu_si256((__m256i *)s->run_old_ends, _mm512_cvtepi32_epi16(pack_dwords(gaps, old_ends)));
}

/* Whether lp_off falls strictly over all tuples. */
static inline bool presorted(const scan *s)
{
    int32_t above = BLCKSZ;

    for (uint32_t i = 0; i < s->nitems; i++) {
        int32_t off = s->old_ends[i] - (s->ends[i] - s->ends[i + 1]);

        if (off >= above)
            return false;
        above = off;
    }
    return true;
}

/* ---- presorted, few gaps: run by run, in place ---- */

/*
 * Moves a run up, in place, from its top. to > from; bytes is a multiple of 8. The bottom of the run is read first and
 * stored last. Masked stores would cost more than the branches.
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
    for (uint32_t i = 0; i < s->ngaps; i++) {
        uint32_t bytes = (uint32_t)s->run_ends[i] - s->run_ends[i + 1];

        move_up(page + s->run_ends[i + 1], page + s->run_old_ends[i] - bytes, bytes);
    }
}

/* ---- small tuples, as windows: the 32 or 64 bytes that end with them; `window` is a constant at each call ---- */

static inline __attribute__((always_inline)) __m512i load_window(const uint8_t *end, uint32_t window)
{
    return window == LINE ? _mm512_loadu_si512(end - LINE)
                          : _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(end - LINE / 2)));
}

static inline __attribute__((always_inline)) void store_window(uint8_t *end, uint32_t window, __m512i v)
{
    if (window == LINE)
        _mm512_storeu_si512(end - LINE, v);
    else
        _mm256_storeu_si256((__m256i *)(end - LINE / 2), _mm512_castsi512_si256(v));
}

/*
 * For at most n tuples, in any order: all are read before any is written. A store also writes bytes below its tuple; the
 * store of the next tuple corrects them. Below the last tuple lies the hole, which is read and written as one more tuple.
 */
static inline __attribute__((always_inline)) void permute(uint8_t *page, const scan *s, uint32_t window,
                                                          uint32_t n)
{
    __m512i v[FEW + 1];

#pragma GCC unroll 17
    for (uint32_t i = 0; i <= n; i++)
        v[i] = load_window(page + s->old_ends[i], window);
#pragma GCC unroll 17
    for (uint32_t i = 0; i <= n; i++)
        store_window(page + s->ends[i], window, v[i]);
}

static inline void permute_few(uint8_t *page, const scan *s)
{
    if (s->longest > LINE / 2)
        permute(page, s, LINE, FEW);
    else if (s->nitems <= FEW / 2)
        permute(page, s, LINE / 2, FEW / 2);
    else
        permute(page, s, LINE / 2, FEW);
}

/*
 * For presorted tuples: each moves in place. A store also overwrites less than a line of bytes below its tuple. These were
 * read before, since the next AHEAD tuples are at least a line long. After the last one, the hole counts as one more tuple.
 */
static inline __attribute__((always_inline)) void slide(uint8_t *page, const scan *s, uint32_t window)
{
    uint32_t nitems = s->nitems;
    __m512i v[AHEAD], next[AHEAD];

#pragma GCC unroll 8
    for (uint32_t k = 0; k < AHEAD; k++)
        next[k] = load_window(page + s->old_ends[s->first + k], window);
    for (uint32_t i = s->first; i <= nitems; i += AHEAD) {
#pragma GCC unroll 8
        for (uint32_t k = 0; k < AHEAD; k++) {
            v[k] = next[k];
            next[k] = load_window(page + s->old_ends[i + AHEAD + k], window);
        }
#pragma GCC unroll 8
        for (uint32_t k = 0; k < AHEAD; k++)
            store_window(page + s->ends[i + k], window, v[k]);
    }
}

/* ---- presorted, tuples of similar lengths ---- */

/* Each tuple goes up as `pieces` of 32 bytes from its end on downwards, none of which reaches below it. */
static inline __attribute__((always_inline)) void climb(uint8_t *page, const scan *s, uint32_t pieces)
{
    uint32_t nitems = s->nitems;

    for (uint32_t i = s->first; i < nitems; i++) {
        int32_t len = s->ends[i] - s->ends[i + 1];
        const uint8_t *from = page + s->old_ends[i] - len;
        uint8_t *to = page + s->ends[i + 1];
        __m256i v[6];

#pragma GCC unroll 6
        for (int32_t k = 0; k < (int32_t)pieces; k++)
            v[k] = _mm256_loadu_si256((const __m256i *)(from + (len > 32 * k + 32 ? len - 32 * k - 32 : 0)));
#pragma GCC unroll 6
        for (int32_t k = 0; k < (int32_t)pieces; k++)
            _mm256_storeu_si256((__m256i *)(to + (len > 32 * k + 32 ? len - 32 * k - 32 : 0)), v[k]);
    }
}

static inline void climb_in_pieces(uint8_t *page, const scan *s)
{
    switch ((s->longest + 31) / 32) {
    case 3:
        climb(page, s, 3);
        break;
    case 4:
        climb(page, s, 4);
        break;
    case 5:
        climb(page, s, 5);
        break;
    default:
        climb(page, s, 6);
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

/* live[l], bit u: whether unit u of line l is live. All units from the first gap up to the end of the page are live. */
static inline void mark_live(const scan *s, uint8_t live[UNITS / 8])
{
    const __m512i all = _mm512_set1_epi8(-1);
    uint8_t toggles[UNITS + LINE] = {
        0}; /* 1 where, going upwards, live begins or ends; one past the page counts */
    uint64_t bits[UNITS / 64];
    __m512i low, high;
    uint32_t odd, above = s->run_ends[0];

    for (uint32_t i = 0; i < s->ngaps; i++) {
        toggles[above / UNIT] = 1;
        toggles[s->run_old_ends[i] / UNIT] = 1;
        above = s->run_old_ends[i] - ((uint32_t)s->run_ends[i] - s->run_ends[i + 1]);
    }
    toggles[above / UNIT] = 1;

    for (uint32_t i = 0; i < UNITS / 64; i++) {
        __m512i t = _mm512_loadu_si512(toggles + i * LINE);

        bits[i] = _mm512_test_epi8_mask(t, t);
    }
    low = prefix_xor(_mm512_loadu_si512(bits));
    high = prefix_xor(_mm512_loadu_si512(bits + 8));
    /* If a word has an odd number of toggles, all words above it are inverted. */
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
 * The live units of each line move up to those above them, by one store of a whole line that ends there. The bytes that
 * the store overwrites below them were read before: the live units from above never reach down into a line that is not
 * read. Only the last stores reach into the hole, by less than a line; these bytes are restored. The first line holds the
 * lowest tuple that is in place, or part of it; its units stay.
 */
static inline void squeeze(uint8_t *page, scan *s)
{
    static const uint64_t rotation[2 * UNIT] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t live[UNITS / 8];
    uint8_t *hole = page + s->new_upper - LINE, *to;
    __m512i saved = _mm512_loadu_si512(hole);
    uint32_t bottom, line;

    line = (s->run_ends[0] + LINE - 1u) / LINE;
    bottom = (s->run_old_ends[s->ngaps - 1] - (s->run_ends[s->ngaps - 1] - s->new_upper)) / LINE;
    to = page + line * LINE;
    mark_live(s, live);
    while (line-- > bottom) {
        __mmask8 m = live[line];
        uint32_t n = (uint32_t)_mm_popcnt_u32(m);
        __m512i packed = pack_units(m, _mm512_loadu_si512(page + line * LINE));

        packed = _mm512_permutexvar_epi64(_mm512_loadu_si512(rotation + n), packed);
        _mm512_storeu_si512(to - LINE, packed);
        to -= n * UNIT;
    }
    _mm512_storeu_si512(hole, saved);
}

/* ---- out of order: by scratch ---- */

/* page[from, to) = scratch[from, to), at least a line. Both have the same alignment. */
static inline void copy_back(uint8_t *page, const uint8_t *scratch, uint32_t from, uint32_t to)
{
    _mm512_storeu_si512(page + from, _mm512_loadu_si512(scratch + from));
    for (uint32_t at = (from + LINE) / LINE * LINE; at + LINE <= to; at += LINE)
        _mm512_storeu_si512(page + at, _mm512_loadu_si512(scratch + at));
    _mm512_storeu_si512(page + to - LINE, _mm512_loadu_si512(scratch + to - LINE));
}

/*
 * Copies each tuple to scratch as the `window` bytes that end with it. The copy of the next tuple overwrites the extra
 * bytes below it. window: a constant at each call, a multiple of 32.
 */
static inline __attribute__((always_inline)) void gather(uint8_t *scratch, const uint8_t *page, const scan *s,
                                                         uint32_t window)
{
    uint32_t nitems = s->nitems;

    for (uint32_t i = s->first; i < nitems; i++) {
        const uint8_t *from = page + s->old_ends[i] - window;
        uint8_t *to = scratch + s->ends[i] - window;

#pragma GCC unroll 4
        for (uint32_t k = 0; k < window / LINE; k++)
            _mm512_storeu_si512(to + k * LINE, _mm512_loadu_si512(from + k * LINE));
        if (window % LINE)
            _mm256_storeu_si256((__m256i *)(to + window - 32),
                                _mm256_loadu_si256((const __m256i *)(from + window - 32)));
    }
}

/* Tuples of at most WIDEST bytes, by the narrowest window that holds the longest. */
static inline void gather_by_windows(uint8_t *scratch, const uint8_t *page, const scan *s)
{
    switch ((s->longest + 31) / 32) {
    case 1:
        gather(scratch, page, s, 32);
        break;
    case 2:
        gather(scratch, page, s, 64);
        break;
    case 3:
        gather(scratch, page, s, 96);
        break;
    case 4:
        gather(scratch, page, s, 128);
        break;
    case 5:
    case 6:
        gather(scratch, page, s, 192);
        break;
    default:
        gather(scratch, page, s, WIDEST);
    }
}

/*
 * For tuples of mixed lengths: makes a list of the lines to copy, then copies them in one loop. First comes the top line of
 * every tuple, in order, so that the extra bytes below a short tuple are overwritten. Then comes the second line of the
 * tuples that have one, and so on. The last line of a tuple begins at its start, so it has no extra bytes.
 */
static inline void gather_by_list(uint8_t *scratch, const uint8_t *page, const scan *s)
{
    int16_t to[MAX_PIECES + LANES], from[MAX_PIECES + LANES];
    uint32_t n = 0;

    for (uint32_t depth = 0; depth < s->longest; depth += LINE) {
        for (uint32_t i = s->first; i < s->nitems; i += LANES) {
            __m512i end = _mm512_loadu_si512(s->ends + i), off = _mm512_loadu_si512(s->ends + i + 1);
            __m512i top = _mm512_sub_epi16(end, _mm512_set1_epi16((short)depth));
            /* where the piece must start; negative at the page's beginning */
            __m512i at = _mm512_sub_epi16(top, _mm512_set1_epi16(LINE));
            __mmask32 deep = _mm512_mask_cmpgt_epi16_mask(first_lanes(s->nitems - i), top, off);

            if (depth != 0)
                at = _mm512_max_epi16(at, off);
            _mm512_storeu_si512(to + n, pack(deep, at));
            at = _mm512_add_epi16(_mm512_loadu_si512(s->old_ends + i), _mm512_sub_epi16(at, end));
            _mm512_storeu_si512(from + n, pack(deep, at));
            n += (uint32_t)_mm_popcnt_u32(deep);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        _mm512_storeu_si512(scratch + to[i], _mm512_loadu_si512(page + from[i]));
}

/*
 * For long tuples: copies the bytes from the lowest to the highest tuple to scratch, then each tuple to its place, in whole
 * lines from its end downwards. The copy of the next tuple overwrites the extra bytes; below the last one lies the hole.
 */
static inline void move_lines(uint8_t *page, const bounds *b, const scan *s)
{
    uint8_t memory[LINE + BLCKSZ] __attribute__((aligned(64)));
    uint8_t *scratch = memory + LINE;
    __m512i hole = _mm512_loadu_si512(page + s->new_upper - LINE);

    for (uint32_t at = b->upper / LINE * LINE; at < b->special; at += LINE)
        _mm512_store_si512(scratch + at, _mm512_loadu_si512(page + at));
    for (uint32_t i = s->first; i < s->nitems; i++) {
        int32_t end = s->ends[i], off = s->ends[i + 1], by = s->old_ends[i] - end;

        _mm512_storeu_si512(page + end - LINE, _mm512_loadu_si512(scratch + end + by - LINE));
        for (int32_t at = end / LINE * LINE; at > off; at -= LINE)
            _mm512_storeu_si512(page + at - LINE, _mm512_loadu_si512(scratch + at + by - LINE));
    }
    _mm512_storeu_si512(page + s->new_upper - LINE, hole);
}

/* Each by a call. */
static inline void gather_each(uint8_t *scratch, const uint8_t *page, const scan *s)
{
    for (uint32_t i = s->first; i < s->nitems; i++) {
        uint32_t off = s->ends[i + 1], len = s->ends[i] - off;

        memcpy(scratch + off, page + s->old_ends[i] - len, len);
    }
}

/* ---- out of order, long tuples of one length ---- */

static inline void copy_lines(uint8_t *to, const uint8_t *from, uint32_t length)
{
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
    for (uint32_t at = LINE - (uint32_t)((uintptr_t)to % LINE); at < length - LINE; at += LINE)
        _mm512_storeu_si512(to + at, _mm512_loadu_si512(from + at));
    _mm512_storeu_si512(to + length - LINE, _mm512_loadu_si512(from + length - LINE));
}

/* False if tuples are shorter, or have several lengths, or a tuple is not in a slot of its own. */
static inline bool find_slots(uint8_t *page, const bounds *b, const scan *s, slots *t)
{
    *t = (slots){.end = page + b->special, .length = s->longest};
    if (s->longest < SHORTEST_IN_SLOTS || s->total != s->nitems * s->longest)
        return false;
    for (uint32_t i = 0; i < s->nitems; i++)
        if (!find_slot(t, page + s->old_ends[i] - t->length))
            return false;
    return true;
}

typedef void (*gather_fn)(uint8_t *scratch, const uint8_t *page, const scan *s);

static inline __attribute__((always_inline)) void move_by_scratch(uint8_t *page, const scan *s,
                                                                  gather_fn gather_tuples)
{
    uint8_t memory[WIDEST + BLCKSZ] __attribute__((aligned(64)));
    uint8_t *scratch = memory + WIDEST;
    uint32_t end = s->ends[s->first];

    gather_tuples(scratch, page, s);
    if (end - s->new_upper >= LINE)
        copy_back(page, scratch, s->new_upper, end);
    else
        memcpy(page + s->new_upper, scratch + s->new_upper, end - s->new_upper);
}

/*
 * Chooses the fastest way to move. The ways that are not in place can take any page within their bounds below. Squeezing
 * needs a line below the tuples: it gets pages with more than FEW_GAPS of them, whose line pointers take more than a line.
 */
static inline void move_tuples(uint8_t *page, const bounds *b, scan *s)
{
    /* A window may begin below the tuple area, but never below the page: every tuple ends at pd_upper + UNIT or above. */
    bool small = s->longest <= LINE && b->upper >= LINE;
    bool similar = s->shortest >= LINE / 2 && s->longest <= 3 * LINE;
    slots in_slots;

    s->run_ends[s->ngaps] = (uint16_t)s->new_upper;
    if (small && s->nitems <= FEW && s->new_upper >= LINE)
        permute_few(page, s);
    else if (!s->falls && s->ngaps <= (small ? s->nitems / 16 : similar ? s->nitems / 6 : FEW_GAPS))
        move_runs(page, s);
    else if (!s->falls && small)
        s->longest <= LINE / 2 ? slide(page, s, LINE / 2) : slide(page, s, LINE);
    else if (!s->falls && similar)
        climb_in_pieces(page, s);
    else if (small)
        move_by_scratch(page, s, gather_by_windows);
    else if (!s->falls)
        squeeze(page, s);
    else if (s->longest <= WIDEST && b->upper + UNIT >= WIDEST)
        move_by_scratch(page, s, gather_by_windows);
    else if (find_slots(page, b, s, &in_slots))
        permute_slots(&in_slots, copy_lines);
    else if (s->longest <= DEEPEST && b->upper + UNIT >= LINE)
        move_by_scratch(page, s, gather_by_list);
    else if (s->new_upper >= LINE && 4 * s->total >= 3 * (b->special - b->upper))
        move_lines(page, b, s);
    else
        move_by_scratch(page, s, gather_each);
}

static inline void put_line_pointers(uint8_t *page, const scan *s, uint32_t nline)
{
    uint8_t *to = page + SIZE_OF_PAGE_HEADER;
    const uint8_t *words = (const uint8_t *)s->words;
    uint32_t bytes = 4 * nline, at = 0;

    if (nline <= FEW) {
        _mm512_mask_storeu_epi32(to, (__mmask16)first_lanes(nline), _mm512_loadu_si512(words));
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

    if (page == NULL || !read_bounds(page, &b) || b.lower + 4 * LANES > BLCKSZ)
        return pgq_compaction_scalar(page, truncate);
    if (b.nline <= FEW)
        scan_few(page, &b, &s);
    else
        scan_line_pointers(page, &b, &s);
    if (s.out_of_bounds || s.nitems > MAX_HEAP_TUPLES_PER_PAGE || s.total > b.special - b.lower ||
        (s.falls && presorted(&s)))
        return pgq_compaction_scalar(page, truncate);
    if (s.ngaps != 0 || s.falls)
        move_tuples(page, &b, &s);
    put_line_pointers(page, &s, b.nline);
    nline_left = truncate ? s.nline_left : b.nline;
    write_header(page, &b, s.new_upper, nline_left, s.nused < nline_left);
    return accepted();
}
