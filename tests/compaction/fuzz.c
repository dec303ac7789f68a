/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: makes a page of any bytes and gives it to every variant of compaction that this CPU runs. All must refuse
 * it with the same fault, and leave it unchanged, or make the same page of it as the first variant of their order. What is
 * right the tests say that compare with the definition.
 *
 * Input: a byte of bits (below), one that says how often the line pointers are repeated, one for the slack below the tuples;
 * then the page's own bytes, or line pointers by four bytes each (see describe).
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 8192, HEADER = 24, CODES = 16, HEAD = 3, LINES = 400 };
enum { TRUNCATE = 1, RAW = 2, OWN_HEADER = 4 };

static unsigned long long answers[CODES];

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
    fprintf(stderr, "\n");
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void set_header(uint8_t *page, unsigned lower, unsigned upper)
{
    put16(page + 12, lower);
    put16(page + 14, upper);
    put16(page + 16, PAGE);
}

/*
 * A line pointer of four bytes. Most lie in order: each below the one before, now and then with a gap, or a unit into it.
 * Some lie anywhere, at a multiple of 4, or are unused. So small numbers make full pages. The whole list is repeated.
 */
static void describe(uint8_t *page, const uint8_t *in, size_t size, unsigned repeats, unsigned slack)
{
    unsigned n = 0, pos = PAGE, lowest = PAGE, room = HEADER + 4 * LINES + 8;

    for (unsigned r = 0; r <= repeats; r++)
        for (size_t k = 0; k + 4 <= size && n < LINES; k += 4) {
            const uint8_t *p = in + k;
            bool anywhere = (p[0] & 0x18) == 0x18 && p[3] & 0x80, overlaps = p[2] % 64 == 7;
            unsigned flags = p[3] % 8 == 5 ? 0 : p[0] % 3 + 1, len = p[0] & 4 ? p[1] * 8u : p[1];
            unsigned aligned = (len + 7) / 8 * 8, gap = p[2] < 200 ? 0 : p[2] % 8 * 8;
            unsigned off = anywhere ? (p[2] | (p[3] & 3u) << 8) * 8 : pos + overlaps * 8 - aligned - gap;

            if (!anywhere && pos < room + aligned + gap)
                break;
            if (!anywhere && flags != 0)
                pos = off;
            lowest = off < lowest && flags != 0 ? off : lowest;
            off += (p[0] & 0xe0) == 0xe0 ? 4 : 0;
            put16(page + HEADER + 4 * n, (off & 0x7fff) | (flags & 1) << 15);
            put16(page + HEADER + 4 * n + 2, flags >> 1 | len << 1);
            n++;
        }
    room = HEADER + 4 * n;
    set_header(page, room, lowest < room + slack ? room : lowest - slack);
}

static void make_page(uint8_t *page, const uint8_t *in, size_t size)
{
    uint32_t filler = 2463534242u;

    /* Bytes that differ from their neighbours, so that a wrong move shows. */
    for (unsigned i = 0; i < PAGE; i++) {
        filler = filler * 1664525u + 1013904223u;
        page[i] = (uint8_t)(filler >> 24);
    }
    if (!(in[0] & RAW)) {
        describe(page, in + HEAD, size - HEAD, in[1] % 64, in[2] % 64);
        return;
    }
    memcpy(page, in + HEAD, size - HEAD < PAGE ? size - HEAD : PAGE);
    if (!(in[0] & OWN_HEADER))
        set_header(page, HEADER + in[1] * 4u, HEADER + in[1] * 4u + in[2] * 8u);
}

static void require(bool holds, const char *what, const char *variant)
{
    if (!holds) {
        fprintf(stderr, "fuzz compaction: %s: %s\n", variant, what);
        abort();
    }
}

/* The pages that the first variant of each order makes. */
typedef struct answer {
    pgq_status status;
    bool made[2];
    uint8_t page[2][PAGE];
} answer;

static void try_variant(const pgq_compaction_variant *v, const uint8_t *before, uint8_t *after, bool truncate,
                        answer *first)
{
    pgq_status got;

    memcpy(after, before, PAGE);
    got = v->fn(after, truncate);
    if (!first->made[0] && !first->made[1])
        first->status = got;
    require(got.code == first->status.code && got.index == first->status.index, "another answer", v->name);
    require(got.code == PGQ_OK || memcmp(before, after, PAGE) == 0, "a refused page was changed", v->name);
    if (!first->made[v->order])
        memcpy(first->page[v->order], after, PAGE);
    first->made[v->order] = true;
    require(memcmp(first->page[v->order], after, PAGE) == 0, "another page", v->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* On the heap, each page by itself: a byte read or written outside it is an ASan report. */
    uint8_t *before, *after;
    static answer first;

    if (size < HEAD)
        return 0;
    before = malloc(PAGE);
    after = malloc(PAGE);
    if (before == NULL || after == NULL)
        abort();
    make_page(before, data, size);
    first.made[0] = first.made[1] = false;
    for (size_t i = 0; i < pgq_compaction_variant_count; i++)
        if (pgq_compaction_variants[i].supported())
            try_variant(&pgq_compaction_variants[i], before, after, data[0] & TRUNCATE, &first);
    answers[first.status.code]++;
    free(before);
    free(after);
    return 0;
}
