/* SPDX-License-Identifier: PostgreSQL */
/* A heap page as the compaction kernels see it. Layout: src/include/storage/bufpage.h and itemid.h. */
#ifndef PGQUERN_COMPACTION_PAGE_H
#define PGQUERN_COMPACTION_PAGE_H

#include "common/holds.h"
#include "common/outcome.h"
#include "compaction/compaction.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pages are read as little-endian");

enum {
    BLCKSZ = 8192,
    SIZE_OF_PAGE_HEADER = 24,
    MAX_HEAP_TUPLES_PER_PAGE = 291,
    MAX_LINE_POINTERS = (BLCKSZ - SIZE_OF_PAGE_HEADER) / 4,

    PD_FLAGS = 10,
    PD_LOWER = 12,
    PD_UPPER = 14,
    PD_SPECIAL = 16,
    PD_HAS_FREE_LINES = 1,

    LP_OFF_MASK = 0x7fff
};

/* memcpy reads and writes pages: it needs no alignment, which a binding's buffer may lack, and breaks no aliasing rule. */
static inline uint32_t load16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store16(uint8_t *p, uint32_t value)
{
    uint16_t v = (uint16_t)value;

    memcpy(p, &v, sizeof v);
}

static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

/* Line pointer i, from 0. */
static inline uint8_t *line_pointer(uint8_t *page, uint32_t i)
{
    return page + SIZE_OF_PAGE_HEADER + 4 * i;
}

static inline uint32_t lp_off(uint32_t word)
{
    return word & LP_OFF_MASK;
}

static inline uint32_t lp_flags(uint32_t word)
{
    return word >> 15 & 3;
}

static inline uint32_t lp_len(uint32_t word)
{
    return word >> 17;
}

static inline bool lp_is_used(uint32_t word)
{
    return lp_flags(word) != 0;
}

static inline uint32_t maxalign(uint32_t n)
{
    return (n + 7) & ~7u;
}

/* The header's bounds. nline is the number of line pointers; a remainder of pd_lower - 24 by 4 is ignored. */
typedef struct bounds {
    uint32_t lower, upper, special, nline;
} bounds;

/* False if they are not 24 <= lower <= upper <= special <= 8192 with special MAXALIGNed. */
static inline bool read_bounds(const uint8_t *page, bounds *b)
{
    b->lower = load16(page + PD_LOWER);
    b->upper = load16(page + PD_UPPER);
    b->special = load16(page + PD_SPECIAL);
    b->nline = (b->lower - SIZE_OF_PAGE_HEADER) / 4;
    return b->lower >= SIZE_OF_PAGE_HEADER && b->lower <= b->upper && b->upper <= b->special &&
           b->special <= BLCKSZ && b->special % 8 == 0;
}

/* What the scan found: the line pointers that carry storage, as upstream's itemIdCompactData. */
typedef struct item {
    uint16_t index; /* of the line pointer, from 0 */
    uint16_t off;
    uint16_t len; /* MAXALIGNed */
} item;

static inline uint32_t item_end(const item *it)
{
    return (uint32_t)it->off + it->len;
}

/*
 * Sets the header after compaction: pd_upper, PD_HAS_FREE_LINES, and pd_lower minus the bytes that were cut off. A
 * remainder of pd_lower stays, as in upstream.
 */
static inline void write_header(uint8_t *page, const bounds *b, uint32_t upper, uint32_t nline_left,
                                bool free_lines)
{
    uint32_t flags = load16(page + PD_FLAGS);

    /* Else the next reader refuses the page. */
    HOLDS(b->lower <= upper && upper <= b->special && nline_left <= b->nline);
    store16(page + PD_LOWER, b->lower - 4 * (b->nline - nline_left));
    store16(page + PD_UPPER, upper);
    store16(page + PD_FLAGS, free_lines ? flags | PD_HAS_FREE_LINES : flags & ~(uint32_t)PD_HAS_FREE_LINES);
}

/*
 * The definition of the contract: PGQ_OK, or the first fault in the order that compaction.h gives. Changes nothing. Kernels
 * check in their own, faster ways, and call this to name the fault.
 */
pgq_status pgq_compaction_check(const uint8_t *page);

/* Sorts items as PostgreSQL 13's qsort does, in the order of compare (negative, 0, positive): common/quicksort_template.h. */
void pgq_compaction_sort_items(item *items, uint32_t n, int (*compare)(const void *, const void *));

pgq_status pgq_compaction_pg13(void *page, bool truncate);
pgq_status pgq_compaction_pg14(void *page, bool truncate);
pgq_status pgq_compaction_scalar(void *page, bool truncate);
pgq_status pgq_compaction_avx2(void *page, bool truncate);
pgq_status pgq_compaction_avx512(void *page, bool truncate);
pgq_status pgq_compaction_neon(void *page, bool truncate);

#endif
