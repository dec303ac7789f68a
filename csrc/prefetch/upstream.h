/* SPDX-License-Identifier: PostgreSQL */
/* The filters in upstream's structures; filters.h says what each function does. Internal. */
#ifndef PGQUERN_PREFETCH_UPSTREAM_H
#define PGQUERN_PREFETCH_UPSTREAM_H

#include "prefetch/prefetch.h"

void pgq_prefetch_upstream_clear(pgq_prefetch_upstream *table);
bool pgq_prefetch_upstream_is_empty(const pgq_prefetch_upstream *table);

/* False: no memory, and nothing changes. */
bool pgq_prefetch_upstream_add(pgq_prefetch_upstream *table, pgq_prefetch_relation key, uint32_t block,
                               uint64_t lsn);

bool pgq_prefetch_upstream_find(const pgq_prefetch_upstream *table, pgq_prefetch_relation relation,
                                uint32_t block);
void pgq_prefetch_upstream_drop(pgq_prefetch_upstream *table, uint64_t replayed_up_to);

#endif
