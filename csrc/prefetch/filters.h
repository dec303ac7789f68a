/* SPDX-License-Identifier: PostgreSQL */
/*
 * The filters: blocks that may not exist yet. A hash table with linear probing, in which a removal closes the gap, so that
 * a search ends at the first free slot. The filters are also linked in the order in which they were set, or set again: that
 * of `until`, as LSNs only grow. Only where pgq_prefetch_begin_read went back are some dropped later than they could be.
 *
 * Upstream (XLogPrefetcherAddFilter, ...CompleteFilters, ...IsFiltered) has a dynahash table and a dlist.
 */
#ifndef PGQUERN_PREFETCH_FILTERS_H
#define PGQUERN_PREFETCH_FILTERS_H

#include "prefetch/prefetch.h"

/* Forgets all filters. */
void pgq_prefetch_filters_clear(pgq_prefetch *p);

/*
 * From now on, and until the record at lsn is replayed, no block of `key` from `block` on exists. A second reason for the
 * same key extends the time and lowers the block. False: the table is full, and nothing changes.
 */
bool pgq_prefetch_filters_add(pgq_prefetch *p, pgq_prefetch_relation key, uint32_t block, uint64_t lsn);

/* Whether the block may not exist yet. There is at least one filter. */
bool pgq_prefetch_filters_find(const pgq_prefetch *p, pgq_prefetch_relation relation, uint32_t block);

/* Drops the oldest filters, up to one whose record has not been replayed. There is at least one filter. */
void pgq_prefetch_filters_drop(pgq_prefetch *p, uint64_t replayed_up_to);

/* As a rule there are no filters, and then these two cost a comparison. */
static inline bool filters_hide(const pgq_prefetch *p, pgq_prefetch_relation relation, uint32_t block)
{
    return p->filter_count != 0 && pgq_prefetch_filters_find(p, relation, block);
}

static inline void filters_complete(pgq_prefetch *p, uint64_t replayed_up_to)
{
    if (p->filter_count != 0)
        pgq_prefetch_filters_drop(p, replayed_up_to);
}

#endif
