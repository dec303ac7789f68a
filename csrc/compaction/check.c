/* SPDX-License-Identifier: PostgreSQL */
#include "compaction/page.h"

pgq_status pgq_compaction_check(const uint8_t *page)
{
    bounds b;
    uint32_t nstorage = 0, total = 0, previous_off, overlapping = 0;
    bool presorted = true;

    if (!read_bounds(page, &b))
        return refused(PGQ_COMPACTION_HEADER, 0);

    previous_off = b.special;
    for (uint32_t i = 0; i < b.nline; i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i);
        uint32_t off = lp_off(word), len = maxalign(lp_len(word));

        if (!lp_is_used(word) || len == 0)
            continue;
        if (off < b.upper || off >= b.special)
            return refused(PGQ_COMPACTION_LP_OFF, i + 1);
        if (off % 8 != 0)
            return refused(PGQ_COMPACTION_LP_ALIGN, i + 1);
        if (off + len > b.special)
            return refused(PGQ_COMPACTION_LP_END, i + 1);
        if (++nstorage > MAX_HEAP_TUPLES_PER_PAGE)
            return refused(PGQ_COMPACTION_TOO_MANY, i + 1);
        total += len;
        if (off >= previous_off)
            presorted = false;
        else if (overlapping == 0 && off + len > previous_off)
            overlapping = i + 1;
        previous_off = off;
    }
    if (total > b.special - b.lower)
        return refused(PGQ_COMPACTION_TOTAL, 0);
    if (presorted && overlapping != 0)
        return refused(PGQ_COMPACTION_OVERLAP, overlapping);
    return accepted();
}
