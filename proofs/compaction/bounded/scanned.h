/* SPDX-License-Identifier: PostgreSQL */
/* What a scan by vectors must find on a page, line pointer by line pointer. */
#ifndef PGQUERN_BOUNDED_SCANNED_H
#define PGQUERN_BOUNDED_SCANNED_H

#include "bounded.h"
#include "compaction/page.h"

/* The header, and what the vectors read behind it: N line pointers, one more that is not theirs, and zeros. */
static uint8_t page[SIZE_OF_PAGE_HEADER + 4 * 32];

typedef struct scanned {
    bool out_of_bounds;
    uint32_t nused, nline_left, nitems, total, longest;
    uint32_t words[N];        /* the line pointers to be */
    uint32_t off[N], len[N];  /* of the tuples */
    uint32_t new_off[N];      /* where they must start */
    bool gap[N];              /* the tuple does not end where the one before it, or pd_special, starts */
    bool unsorted, overlapping;
} scanned;

static bounds any_bounds(void)
{
    bounds b = {nondet_u16(), nondet_u16(), nondet_u16(), N};

    assume(24 + 4 * N <= b.lower && b.lower <= b.upper && b.upper <= b.special);
    assume(b.special <= BLCKSZ && b.special % 8 == 0);
    for (uint32_t i = 0; i <= N; i++)
        store32(line_pointer(page, i), nondet_u32());
    return b;
}

static scanned expected(const bounds *b)
{
    scanned x = {0};
    uint32_t above = b->special;

    for (uint32_t i = 0; i < N; i++) {
        const uint8_t *p = page + SIZE_OF_PAGE_HEADER + 4 * i;
        uint32_t word = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
        uint32_t off = word % 0x8000, flags = word / 0x8000 % 4, len = (word / 0x20000 + 7) / 8 * 8;

        if (flags == 0)
            continue;
        x.nused++;
        x.nline_left = i + 1;
        x.words[i] = word;
        if (len == 0)
            continue;
        if (off < b->upper || off % 8 != 0 || off + len > b->special)
            x.out_of_bounds = true;
        x.total += len;
        x.longest = len > x.longest ? len : x.longest;
        x.off[x.nitems] = off, x.len[x.nitems] = len;
        x.new_off[x.nitems] = b->special - x.total;
        x.words[i] = word - off + (b->special - x.total) % 0x8000;
        x.gap[x.nitems++] = off + len != above;
        x.unsorted = x.unsorted || off >= above;
        x.overlapping = x.overlapping || off + len > above;
        above = off;
    }
    return x;
}

#endif
