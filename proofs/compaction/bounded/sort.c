/* SPDX-License-Identifier: PostgreSQL */
/* Sorting gives the same items in the order of compare. */
#include "bounded.h"
#include "compaction/page.h"

static int by_offset(const void *a_, const void *b_)
{
    const item *a = a_, *b = b_;

    return (int)a->off - (int)b->off;
}

static void sort_of(uint32_t n)
{
    item items[N + 1], before[N + 1];
    uint16_t index = nondet_u16();
    size_t had = 0, has = 0;

    for (uint32_t i = 0; i <= N; i++)
        before[i] = items[i] = (item){nondet_u16(), nondet_u16(), 0};
    pgq_compaction_sort_items(items, n, by_offset);

    for (uint32_t i = 1; i < n; i++)
        claim(items[i - 1].off <= items[i].off, "the items stand in order");
    /* Every item is there as often as before. */
    item x = {index, nondet_u16(), 0};
    for (uint32_t i = 0; i < n; i++) {
        had += before[i].index == x.index && before[i].off == x.off;
        has += items[i].index == x.index && items[i].off == x.off;
    }
    claim(had == has, "each item is there as often as before");
    claim(items[n].index == before[n].index && items[n].off == before[n].off, "nothing behind them changes");
}

void proof(void)
{
    for (uint32_t n = 0; n <= N; n++)
        sort_of(n);
}
