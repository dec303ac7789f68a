/* SPDX-License-Identifier: PostgreSQL */
#include "compaction/page.h"

pgq_status pgq_compaction_check(const uint8_t *page)
{
    bounds b;
    uint32_t nstorage = 0, total = 0, previous_off, overlapping = 0;
    bool presorted = true;

    if (!read_bounds(page, &b))
        return (pgq_status){PGQ_HEADER, 0};

    previous_off = b.special;
    for (uint32_t i = 0; i < b.nline; i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i);
        uint32_t off = lp_off(word), len = maxalign(lp_len(word));

        if (!lp_is_used(word) || len == 0)
            continue;
        if (off < b.upper || off >= b.special)
            return (pgq_status){PGQ_LP_OFF, i + 1};
        if (off % 8 != 0)
            return (pgq_status){PGQ_LP_ALIGN, i + 1};
        if (off + len > b.special)
            return (pgq_status){PGQ_LP_END, i + 1};
        if (++nstorage > MAX_HEAP_TUPLES_PER_PAGE)
            return (pgq_status){PGQ_TOO_MANY, i + 1};
        total += len;
        if (off >= previous_off)
            presorted = false;
        else if (overlapping == 0 && off + len > previous_off)
            overlapping = i + 1;
        previous_off = off;
    }
    if (total > b.special - b.lower)
        return (pgq_status){PGQ_TOTAL, 0};
    if (presorted && overlapping != 0)
        return (pgq_status){PGQ_OVERLAP, overlapping};
    return PGQ_ACCEPTED;
}
