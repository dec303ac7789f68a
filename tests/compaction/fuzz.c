/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: makes a page of any bytes and gives it to every variant of compaction that this CPU runs. All must refuse
 * it with the same fault, and leave it unchanged, or make the same page of it as the first variant of their order. What is
 * right the tests say that compare with the definition. One variant, or the dispatched one, gets the page as a batch too.
 *
 * Input: byte 0 says how the rest is read. RAW: the page's own bytes, the header set right on request. Otherwise the rest
 * describes a page, five bytes a line pointer (see describe), so that most inputs reach the deep states; what is left
 * over after the description is applied to the page as patches of two bytes' position and one byte's value.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 8192,
    HEADER = 24,
    CODES = 16,

    /* bits of byte 0 */
    TRUNCATE = 1,
    RAW = 2,
    FIX_HEADER = 4,
    UNSORTED = 8,
    PATCHED = 16,
    STRETCHED = 32,
    TINY = 64
};

typedef struct line {
    unsigned off, flags, len, aligned;
} line;

static unsigned long long answers[CODES];
/* Pages that a kernel may take by a way that is guarded: see count_classes(). */
static unsigned long long odd_upper, overlap_taken, overlap_of_few, falls_below_a_line, batches;

/* How often each answer was given. The runner fails if one was never given, as in a run that passes no check. */
__attribute__((destructor)) static void print_tally(void)
{
    static const struct {
        const char *name;
        pgq_code code;
    } meant[] = {
        {"repaired", PGQ_OK},
        {"HEADER", PGQ_COMPACTION_HEADER},
        {"LP_OFF", PGQ_COMPACTION_LP_OFF},
        {"LP_ALIGN", PGQ_COMPACTION_LP_ALIGN},
        {"LP_END", PGQ_COMPACTION_LP_END},
        {"TOO_MANY", PGQ_COMPACTION_TOO_MANY},
        {"TOTAL", PGQ_COMPACTION_TOTAL},
        {"OVERLAP", PGQ_COMPACTION_OVERLAP},
    };

    fprintf(stderr, "tally:");
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        fprintf(stderr, " %s=%llu", meant[i].name, answers[meant[i].code]);
    fprintf(stderr,
            " odd_upper=%llu overlap_taken=%llu overlap_of_few=%llu falls_below_a_line=%llu batches=%llu\n",
            odd_upper, overlap_taken, overlap_of_few, falls_below_a_line, batches);
}

static unsigned get16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static line get_line(const uint8_t *page, unsigned i)
{
    const uint8_t *p = page + HEADER + 4 * i;
    uint32_t word = get16(p) | (uint32_t)get16(p + 2) << 16;
    unsigned len = word >> 17;

    return (line){word & 0x7fff, word >> 15 & 3, len, (len + 7) / 8 * 8};
}

static void put_line(uint8_t *page, unsigned i, unsigned off, unsigned flags, unsigned len)
{
    uint32_t word = (off & 0x7fff) | (flags & 3) << 15 | (uint32_t)(len & 0x7fff) << 17;

    put16(page + HEADER + 4 * i, word & 0xffff);
    put16(page + HEADER + 4 * i + 2, word >> 16);
}

static bool has_storage(line l)
{
    return l.flags != 0 && l.len != 0;
}

/* ---- making a page of the input ---- */

static void set_header(uint8_t *page, unsigned flags, unsigned lower, unsigned upper, unsigned special)
{
    put16(page + 10, flags);
    put16(page + 12, lower);
    put16(page + 14, upper);
    put16(page + 16, special);
}

static void fix_header(uint8_t *page)
{
    unsigned special = PAGE - get16(page + 16) % 64 * 8, lower = HEADER + get16(page + 12) % 1300;
    unsigned upper = lower + get16(page + 14) % (special - lower + 1);

    set_header(page, get16(page + 10), lower, upper, special);
}

/* All tuples lie lower. */
static void pull_down(uint8_t *page, const unsigned *stored, unsigned nstored, unsigned by)
{
    for (unsigned k = 0; k < nstored; k++) {
        line l = get_line(page, stored[k]);

        put_line(page, stored[k], l.off - by, l.flags, l.len);
    }
}

/* Tuples reach up beyond their places, by up to 7 units, where they stay below pd_special and the total within `room`. */
static void stretch(uint8_t *page, const unsigned *stored, unsigned nstored, const uint8_t *in,
                    size_t pattern, unsigned special, unsigned room)
{
    unsigned total = 0;

    for (unsigned k = 0; k < nstored; k++)
        total += get_line(page, stored[k]).aligned;
    for (unsigned k = 0; k < nstored; k++) {
        line l = get_line(page, stored[k]);
        unsigned more = in[4 * (k % pattern) + 3] / 32 * 8;

        if (l.off + l.aligned + more > special || total + more > room)
            continue;
        put_line(page, stored[k], l.off, l.flags, l.len + more);
        total += more;
    }
}

/*
 * A well-formed page, unless the description says otherwise. Three bytes: special space, remainder of pd_lower and slack
 * below the tuples, number of repetitions of the pattern of line pointers. Then four bytes for each line pointer of the
 * pattern: kind (low 3 bits: 0, 1 unused; 2 dead without storage; 3 redirect; else stored, flags by bits 3 and 4), length
 * (times 1, or 8 if bit 5 of kind is set), gap above the tuple in units of 8, and where the tuple goes when the page is to
 * be unsorted, or how much longer than its place it is when tuples are to be stretched. Returns how many bytes were used.
 */
static size_t describe(uint8_t *page, const uint8_t *in, size_t size, uint8_t how)
{
    unsigned special, repeat, pos, nline = 0, nstored = 0, slack;
    unsigned room = 0, stored[512];
    size_t pattern = 0, used;

    if (size < 3)
        return size;
    special = PAGE - (in[0] < 128 ? 0 : in[0] % 8 * 8);
    slack = in[1];
    repeat = 1 + in[2] % (how & TINY ? 2 : 32);
    in += 3, size -= 3;
    while (pattern < 96 && (pattern + 1) * 4 <= size && in[pattern * 4] != 0xff)
        pattern++;
    used = 3 + pattern * 4 + (pattern < 96 && size > pattern * 4);

    pos = special;
    for (unsigned r = 0; r < repeat; r++)
        for (size_t k = 0; k < pattern && nline < 500; k++) {
            const uint8_t *p = in + 4 * k;
            unsigned kind = p[0] % 8, len = p[0] & 32 ? p[1] * 8u : p[1], gap = p[2] < 200 ? 0 : p[2] % 8 * 8;
            unsigned aligned = (len + 7) / 8 * 8;

            room = HEADER + 4 * (nline + 1) + 3;
            if (kind < 2) {
                put_line(page, nline++, kind ? p[1] * 99u : 0, 0, kind ? p[2] * 77u : 0);
            } else if (kind < 4 || len == 0) {
                put_line(page, nline++, kind == 3 ? p[1] : 0, kind == 2 ? 3 : 2, 0);
            } else {
                if (pos < room + aligned + gap)
                    goto full;
                pos -= gap + aligned;
                stored[nstored++] = nline;
                put_line(page, nline++, pos, (p[0] >> 3 & 3) ? p[0] >> 3 & 3 : 1, len);
            }
        }
full:
    if (how & UNSORTED && pattern > 0)
        for (unsigned k = 0; k < nstored; k++) {
            unsigned j = (k * 7919u + in[4 * (k % pattern) + 3]) % nstored;
            uint8_t *a = page + HEADER + 4 * stored[k], *b = page + HEADER + 4 * stored[j], t[4];

            memcpy(t, a, 4);
            memcpy(a, b, 4);
            memcpy(b, t, 4);
        }
    room = HEADER + 4 * nline + slack % 4;
    if (how & TINY && pos > (room + 7) / 8 * 8 + 8 * (slack % 8)) {
        unsigned down = pos - (room + 7) / 8 * 8 - 8 * (slack % 8);

        pull_down(page, stored, nstored, down);
        pos -= down;
        special -= down;
    }
    if (how & STRETCHED && pattern > 0)
        stretch(page, stored, nstored, in, pattern, special, special - room);
    if (how & TINY)
        slack /= 32;
    set_header(page, slack, room, pos < room + slack ? room : pos - slack, special);
    return used > size + 3 ? size + 3 : used;
}

static void patch(uint8_t *page, const uint8_t *in, size_t size)
{
    for (; size >= 3; in += 3, size -= 3)
        page[get16(in) % PAGE] = in[2];
}

static bool make_page(uint8_t *page, const uint8_t *in, size_t size)
{
    uint8_t how = in[0];
    uint32_t filler = 2463534242u;

    /* Bytes that differ from their neighbours, so that a wrong move shows. */
    for (unsigned i = 0; i < PAGE; i++) {
        filler = filler * 1664525u + 1013904223u;
        page[i] = (uint8_t)(filler >> 24);
    }
    in++, size--;
    if (how & RAW) {
        memcpy(page, in, size < PAGE ? size : PAGE);
        if (how & FIX_HEADER)
            fix_header(page);
    } else {
        size_t used = describe(page, in, size, how);

        if (how & PATCHED)
            patch(page, in + used, size - used);
    }
    return how & TRUNCATE;
}

/* ---- judging an answer ---- */

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: variant %s: not so: %s\n", __FILE__, __LINE__, variant, #condition);     \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* The pages that the first variant of each order makes. */
typedef struct answer {
    pgq_status status;
    bool made[2];
    uint8_t page[2][PAGE];
} answer;

static void try_variant(const pgq_compaction_variant *v, const uint8_t *before, uint8_t *after, bool truncate,
                        answer *first)
{
    const char *variant = v->name;
    pgq_status got;

    memcpy(after, before, PAGE);
    got = v->fn(after, truncate);
    if (!first->made[0] && !first->made[1])
        first->status = got;
    REQUIRE(got.code == first->status.code && got.index == first->status.index);
    REQUIRE(got.code == PGQ_OK || memcmp(before, after, PAGE) == 0);
    if (!first->made[v->order])
        memcpy(first->page[v->order], after, PAGE);
    first->made[v->order] = true;
    REQUIRE(memcmp(first->page[v->order], after, PAGE) == 0);
}

/*
 * A batch of the page, NULL, and the page again: the same answers as of one page, and no status is written beyond the
 * last. single: the page after the variant, or as it was if it is refused. fn NULL: the dispatched variant.
 */
static void try_batch(const char *variant, pgq_compaction_fn fn, const uint8_t *before, const uint8_t *single,
                      pgq_status expected, bool truncate)
{
    uint8_t *one = malloc(PAGE), *two = malloc(PAGE);
    pgq_status *status = malloc(3 * sizeof *status);
    void *pages[] = {one, NULL, two};
    size_t refused = 1 + 2 * (expected.code != PGQ_OK), got;

    if (one == NULL || two == NULL || status == NULL)
        abort();
    memcpy(one, before, PAGE);
    memcpy(two, before, PAGE);
    got = fn ? pgq_compaction_batch(fn, pages, 3, truncate, status)
             : pgq_compaction_repair_fragmentation_batch(pages, 3, truncate, status);
    REQUIRE(got == refused);
    REQUIRE(status[0].code == expected.code && status[0].index == expected.index);
    REQUIRE(status[1].code == PGQ_NULL && status[1].index == 0);
    REQUIRE(status[2].code == expected.code && status[2].index == expected.index);
    REQUIRE(memcmp(one, single, PAGE) == 0 && memcmp(two, single, PAGE) == 0);
    batches++;
    free(one);
    free(two);
    free(status);
}

static void try_some_batch(const pgq_compaction_variant *v, const uint8_t *before, uint8_t *single,
                           pgq_status expected, bool truncate)
{
    if (!v->supported())
        return;
    memcpy(single, before, PAGE);
    (void)v->fn(single, truncate);
    try_batch(v->name, v->fn, before, single, expected, truncate);
}

static bool overlaps(const uint8_t *page)
{
    uint8_t taken[PAGE / 8] = {0};

    for (unsigned i = 0; i < (get16(page + 12) - HEADER) / 4; i++) {
        line l = get_line(page, i);

        for (unsigned unit = l.off / 8; has_storage(l) && unit < (l.off + l.aligned) / 8; unit++)
            if (taken[unit]++)
                return true;
    }
    return false;
}

static void count_classes(const uint8_t *before, const uint8_t *after, pgq_status status)
{
    answers[status.code]++;
    overlap_of_few += status.code == PGQ_COMPACTION_OVERLAP && get16(before + 12) <= HEADER + 4 * 16;
    if (status.code != PGQ_OK)
        return;
    odd_upper += get16(before + 14) % 2;
    overlap_taken += overlaps(before);
    falls_below_a_line += get16(before + 14) >= 64 && get16(after + 14) < 64;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* On the heap, each page by itself: a byte read or written outside it is an ASan report. */
    uint8_t *before, *after;
    bool truncate;
    pgq_status status;
    static answer first;

    if (size == 0)
        return 0;
    before = malloc(PAGE);
    after = malloc(PAGE);
    if (before == NULL || after == NULL)
        abort();
    truncate = make_page(before, data, size);
    first.made[0] = first.made[1] = false;
    for (size_t i = 0; i < pgq_compaction_variant_count; i++)
        if (pgq_compaction_variants[i].supported())
            try_variant(&pgq_compaction_variants[i], before, after, truncate, &first);
    status = first.status;
    memcpy(after, before, PAGE);
    (void)pgq_compaction_repair_fragmentation(after, truncate);
    count_classes(before, after, status);
    if (size % 4 == 0)
        try_batch("dispatched", NULL, before, after, status, truncate);
    else
        try_some_batch(&pgq_compaction_variants[size % pgq_compaction_variant_count], before, after, status,
                       truncate);
    free(before);
    free(after);
    return 0;
}
