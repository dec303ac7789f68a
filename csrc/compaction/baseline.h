/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the two upstream variants share: the line pointer scan and the finish of PageRepairFragmentation, as in
 * src/backend/storage/page/bufpage.c of PostgreSQL 13 and 15, at upstream's cost. The differences and their costs:
 *
 * - Unused line pointers become zero after the page is accepted, not during the scan, since a refused page must stay
 *   unchanged. The scan ORs them together; a second pass runs only if one of them is not zero already.
 * - Two compares against pd_upper and pd_special became two against pd_upper and the tuple's end, and one for alignment.
 * - Upstream's item array holds 291 and overflows at the 292nd; this one holds all that a page can have.
 */
#ifndef PGQUERN_COMPACTION_BASELINE_H
#define PGQUERN_COMPACTION_BASELINE_H

#include "compaction/page.h"

typedef struct scan {
    item items[MAX_LINE_POINTERS];
    uint32_t nitems, nunused, nline_left;
    uint32_t total;
    uint32_t garbage; /* OR of all unused line pointers */
    bool presorted;   /* lp_off falls strictly; true if not looked for */
} scan;

/*
 * False if the page must be refused; pgq_compaction_check says why. With neighbours (a constant at each call) each tuple is
 * compared with the one before it, for presorted and PGQ_COMPACTION_OVERLAP, as upstream does from 14 on.
 */
static inline __attribute__((always_inline)) bool scan_line_pointers(uint8_t *page, const bounds *b,
                                                                     bool truncate, bool neighbours, scan *s)
{
    uint32_t last_off = b->special, last_used = 0, nitems = 0, nunused = 0, total = 0, garbage = 0;
    bool presorted = true, overlapping = false;

    for (uint32_t i = 0; i < b->nline; i++) {
        uint32_t word = load32(line_pointer(page, i));

        if (lp_is_used(word)) {
            uint32_t len = maxalign(lp_len(word));

            if (len != 0) {
                uint32_t off = lp_off(word);

                if (__builtin_expect(off < b->upper || off + len > b->special || off % 8 != 0, 0))
                    return false;
                s->items[nitems++] = (item){(uint16_t)i, (uint16_t)off, (uint16_t)len};
                total += len;
                if (neighbours) {
                    overlapping |= off + len > last_off;
                    if (last_off > off)
                        last_off = off;
                    else
                        presorted = false;
                }
            }
            last_used = i + 1;
        } else {
            garbage |= word;
            nunused++;
        }
    }
    s->nitems = nitems;
    s->nline_left = truncate ? last_used : b->nline;
    s->nunused = nunused - (b->nline - s->nline_left);
    s->total = total;
    s->garbage = garbage;
    s->presorted = presorted;
    return nitems <= MAX_HEAP_TUPLES_PER_PAGE && total <= b->special - b->lower &&
           !(presorted && overlapping);
}

static inline void zero_unused(uint8_t *page, uint32_t nline)
{
    for (uint32_t i = 0; i < nline; i++)
        if (!lp_is_used(load32(line_pointer(page, i))))
            store32(line_pointer(page, i), 0);
}

static inline void finish(uint8_t *page, const bounds *b, const scan *s)
{
    if (s->garbage != 0)
        zero_unused(page, b->nline);
    write_header(page, b, b->special - s->total, s->nline_left, s->nunused != 0);
}

static inline void set_lp_off(uint8_t *page, uint32_t i, uint32_t off)
{
    uint32_t word = load32(line_pointer(page, i));

    store32(line_pointer(page, i), (word & ~(uint32_t)LP_OFF_MASK) | off);
}

#endif
