/* SPDX-License-Identifier: PostgreSQL */
/*
 * The check of a page: for every header and every few line pointers it answers what compaction.h says, and reads nothing
 * outside the page. The page is of 8192 bytes; those behind the line pointers do not matter to the check.
 */
#include "bounded.h"
#include "compaction/page.h"

static uint8_t page[BLCKSZ];

/* What compaction.h says, in its order, as plain comparisons on the line pointers. */
static pgq_status expected(void)
{
    uint32_t lower = page[12] | page[13] << 8, upper = page[14] | page[15] << 8, special = page[16] | page[17] << 8;
    uint32_t total = 0, before = UINT32_MAX, before_off = special;
    bool falls = true;
    uint32_t overlaps = 0;

    if (!(24 <= lower && lower <= upper && upper <= special && special <= 8192 && special % 8 == 0))
        return (pgq_status){PGQ_COMPACTION_HEADER, 0};
    for (uint32_t i = 0; i < (lower - 24) / 4; i++) {
        const uint8_t *p = page + 24 + 4 * i;
        uint32_t word = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
        uint32_t off = word % 0x8000, flags = word / 0x8000 % 4, len = (word / 0x20000 + 7) / 8 * 8;

        if (flags == 0 || len == 0)
            continue;
        if (off < upper || off >= special)
            return (pgq_status){PGQ_COMPACTION_LP_OFF, i + 1};
        if (off % 8 != 0)
            return (pgq_status){PGQ_COMPACTION_LP_ALIGN, i + 1};
        if (off + len > special)
            return (pgq_status){PGQ_COMPACTION_LP_END, i + 1};
        total += len;
        falls = falls && (before == UINT32_MAX || off < before);
        if (falls && overlaps == 0 && off + len > before_off)
            overlaps = i + 1;
        before = before_off = off;
    }
    if (total > special - lower)
        return (pgq_status){PGQ_COMPACTION_TOTAL, 0};
    if (falls && overlaps != 0)
        return (pgq_status){PGQ_COMPACTION_OVERLAP, overlaps};
    return (pgq_status){PGQ_OK, 0};
}

void proof(void)
{
    pgq_status status, should;

    for (unsigned i = 0; i < 24 + 4 * N; i++)
        page[i] = nondet_u8();
    assume((page[12] | page[13] << 8) < 24 + 4 * (N + 1)); /* no more line pointers than N */
    status = pgq_compaction_check(page);
    should = expected();
    claim(status.code == should.code, "the answer is the first fault in the order of compaction.h, or OK");
    claim(status.index == should.index, "the index names the line pointer at fault");
}
