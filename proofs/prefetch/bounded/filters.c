/* SPDX-License-Identifier: PostgreSQL */
/* The filters: what was hidden by any of them is hidden, until its record is replayed; and nothing else is. */
#include "bounded.h"
#include "prefetch/filters.c"

/* Two relations of a database, one of another, and the whole of the first database. */
static const pgq_prefetch_relation keys[4] = {{5, 1, 7}, {5, 1, 8}, {5, 2, 7}, {0, 1, 0}};

void proof(void)
{
    static pgq_prefetch_filter slots[SIZE];
    pgq_prefetch p = {.filters = slots, .filter_space = SIZE};
    uint32_t from[4], block = nondet_u32(), used = 0;
    bool right = true;
    uint64_t until[4] = {0}, lsn = 0, upto = nondet_u8();

    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t k = nondet_u8() % 4, first = nondet_u32();
        bool fits = until[k] > 0 || used + 1 < SIZE;

        lsn += 1 + nondet_u8() % 4;
        right &= pgq_prefetch_filters_add(&p, keys[k], first, lsn) == fits; /* one slot stays free */
        if (fits) {
            used += until[k] == 0;
            from[k] = until[k] == 0 || first < from[k] ? first : from[k];
            until[k] = lsn;
        }
    }
    pgq_prefetch_filters_drop(&p, upto);
    for (uint32_t k = 0; k < 4; k++)
        if (until[k] > 0 && until[k] < upto)
            until[k] = 0, used--;
    claim(right && p.filter_count == used, "those whose record is replayed have left");
    for (uint32_t k = 0; k < 3; k++)
        claim(filters_hide(&p, keys[k], block) ==
                  ((until[k] > 0 && from[k] <= block) || (k < 2 && until[3] > 0)),
              "a block is hidden by its relation's filter, or by its database's");
}
