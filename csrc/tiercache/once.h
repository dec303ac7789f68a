/* SPDX-License-Identifier: PostgreSQL */
/*
 * Pages that have left memory after one touch: the last n of them. One that comes back while it is remembered was asked for twice.
 * How many come back says whether a slot of the SSD would have paid for such pages.
 */
#ifndef PGQUERN_TIERCACHE_ONCE_H
#define PGQUERN_TIERCACHE_ONCE_H

#include "tiercache/table.h"

enum { ONCE_PERIODS = 4, ONCE_PAYS = 2, ONCE_PAYS_OF = 5 };

typedef struct once {
    table where;     /* page -> its place */
    uint64_t *pages; /* a ring; a place counts if the table says so */
    uint32_t n, next;
    uint32_t left, back; /* in this period: pages that left, and that came back */
    bool pays;           /* in the one before, two of five came back */
} once;

/* false: no memory; once_free takes it all the same. */
static inline bool once_make(once *o, uint32_t n)
{
    o->n = n;
    o->pages = calloc((size_t)n + 1, sizeof *o->pages);
    return table_make(&o->where, n) && o->pages != NULL;
}

static inline void once_free(once *o)
{
    free(o->where.entries);
    free(o->pages);
}

/* A page comes to memory. Whether it was remembered; it is not, from now on. */
static inline bool once_take(once *o, uint64_t page)
{
    if (table_get(&o->where, page) == TABLE_NONE)
        return false;
    table_remove(&o->where, page);
    o->back++;
    return true;
}

/* A page that is not remembered leaves. The oldest one is forgotten. A period is a quarter of n pages. */
static inline void once_add(once *o, uint64_t page)
{
    if (o->n == 0)
        return;
    HOLDS(table_get(&o->where, page) == TABLE_NONE); /* else its older place would be forgotten for it */
    if (table_get(&o->where, o->pages[o->next]) == o->next)
        table_remove(&o->where, o->pages[o->next]);
    o->pages[o->next] = page;
    table_put(&o->where, page, o->next);
    o->next = o->next + 1 < o->n ? o->next + 1 : 0;
    if ((uint64_t)++o->left * ONCE_PERIODS >= o->n) {
        o->pays = (uint64_t)o->back * ONCE_PAYS_OF >= (uint64_t)o->left * ONCE_PAYS;
        o->left = o->back = 0;
    }
}

#endif
