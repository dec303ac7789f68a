/* SPDX-License-Identifier: PostgreSQL */
#include "prefetch/filters.h"

#include "common/holds.h"
#include "prefetch/upstream.h"

#include <string.h>

static bool same(pgq_prefetch_relation a, pgq_prefetch_relation b)
{
    return a.number == b.number && a.database == b.database && a.tablespace == b.tablespace;
}

static pgq_prefetch_relation of_database(uint32_t database)
{
    return (pgq_prefetch_relation){0, database, 0};
}

static bool is_of_database(pgq_prefetch_relation key)
{
    return key.tablespace == 0 && key.number == 0;
}

/*
 * The slot where the search for a key starts: the upper bits of a product, scaled to the table. The factor is 2^64 by the
 * golden ratio: numbers that follow each other, as those of new relations do, get slots that lie far from each other.
 */
static uint32_t home_of(const pgq_prefetch *p, pgq_prefetch_relation key)
{
    uint64_t database = ((uint64_t)key.database << 32 | key.tablespace) * 0xd6e8feb86659fd93u;
    uint64_t mixed = (database + key.number) * 0x9e3779b97f4a7c15u;

    return (uint32_t)((mixed >> 32) * p->filter_space >> 32);
}

static uint32_t after(const pgq_prefetch *p, uint32_t slot)
{
    return slot + 1 == p->filter_space ? 0 : slot + 1;
}

/* The slot that has the key, or the free one where it belongs. */
static uint32_t search(const pgq_prefetch *p, pgq_prefetch_relation key)
{
    uint32_t slot = home_of(p, key);

    while (p->filters[slot].until != 0 && !same(p->filters[slot].key, key))
        slot = after(p, slot);
    return slot;
}

/* ---- the order of `until` ---- */

/* Where the neighbours of a filter keep its slot: the members that must change when it moves or leaves. */
static uint32_t *link_from_older(pgq_prefetch *p, const pgq_prefetch_filter *filter)
{
    return filter->older ? &p->filters[filter->older - 1].newer : &p->oldest_filter;
}

static uint32_t *link_from_newer(pgq_prefetch *p, const pgq_prefetch_filter *filter)
{
    return filter->newer ? &p->filters[filter->newer - 1].older : &p->newest_filter;
}

static void unlink(pgq_prefetch *p, const pgq_prefetch_filter *filter)
{
    *link_from_older(p, filter) = filter->newer;
    *link_from_newer(p, filter) = filter->older;
}

static void link_as_newest(pgq_prefetch *p, uint32_t slot)
{
    pgq_prefetch_filter *filter = &p->filters[slot];

    filter->older = p->newest_filter;
    filter->newer = 0;
    *link_from_older(p, filter) = slot + 1;
    p->newest_filter = slot + 1;
}

/* ---- the table ---- */

/* Whether `place` lies on the way from `home` to `slot`, so that a search from home passes it before slot. */
static bool passes(uint32_t home, uint32_t place, uint32_t slot)
{
    return home <= slot ? home <= place && place < slot : home <= place || place < slot;
}

/* Frees the slot of the oldest filter, and moves later filters down so that no search ends before it should. */
static void free_oldest(pgq_prefetch *p)
{
    uint32_t gap = p->oldest_filter - 1, slot;

    HOLDS(p->filter_count > 0 && p->filters[gap].older == 0);
    p->oldest_filter = p->filters[gap].newer;
    *link_from_newer(p, &p->filters[gap]) = 0;
    p->filter_count--;
    p->database_filters -= is_of_database(p->filters[gap].key);
    for (slot = after(p, gap); p->filters[slot].until != 0; slot = after(p, slot))
        if (passes(home_of(p, p->filters[slot].key), gap, slot)) {
            p->filters[gap] = p->filters[slot];
            *link_from_older(p, &p->filters[gap]) = gap + 1;
            *link_from_newer(p, &p->filters[gap]) = gap + 1;
            gap = slot;
        }
    p->filters[gap].until = 0;
}

void pgq_prefetch_filters_clear(pgq_prefetch *p)
{
    if (p->upstream != NULL)
        pgq_prefetch_upstream_clear(p->upstream);
    memset(p->filters, 0, p->filter_space * sizeof *p->filters);
    p->filter_count = p->database_filters = p->oldest_filter = p->newest_filter = 0;
}

bool pgq_prefetch_filters_add(pgq_prefetch *p, pgq_prefetch_relation key, uint32_t block, uint64_t lsn)
{
    uint32_t slot;
    pgq_prefetch_filter *filter;

    if (p->upstream != NULL) {
        bool added = pgq_prefetch_upstream_add(p->upstream, key, block, lsn);

        p->filter_count = !pgq_prefetch_upstream_is_empty(p->upstream);
        return added;
    }
    slot = search(p, key);
    filter = &p->filters[slot];
    if (filter->until != 0) {
        unlink(p, filter);
        block = filter->from_block < block ? filter->from_block : block;
    } else {
        if (p->filter_count + 1 == p->filter_space)
            return false;
        p->filter_count++;
        p->database_filters += is_of_database(key);
    }
    HOLDS(p->filter_count < p->filter_space); /* a search ends at a slot that is free */
    *filter = (pgq_prefetch_filter){.key = key, .from_block = block, .until = lsn};
    link_as_newest(p, slot);
    return true;
}

bool pgq_prefetch_filters_find(const pgq_prefetch *p, pgq_prefetch_relation relation, uint32_t block)
{
    const pgq_prefetch_filter *own;

    if (p->upstream != NULL)
        return pgq_prefetch_upstream_find(p->upstream, relation, block);
    own = &p->filters[search(p, relation)];
    if (own->until != 0 && own->from_block <= block)
        return true;
    return p->database_filters != 0 && p->filters[search(p, of_database(relation.database))].until != 0;
}

void pgq_prefetch_filters_drop(pgq_prefetch *p, uint64_t replayed_up_to)
{
    if (p->upstream != NULL) {
        pgq_prefetch_upstream_drop(p->upstream, replayed_up_to);
        p->filter_count = !pgq_prefetch_upstream_is_empty(p->upstream);
        return;
    }
    while (p->oldest_filter != 0 && p->filters[p->oldest_filter - 1].until < replayed_up_to)
        free_oldest(p);
}
