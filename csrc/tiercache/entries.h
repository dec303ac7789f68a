/* SPDX-License-Identifier: PostgreSQL */
/*
 * A set of entries of a tier, in no order: to ask, to put in and to take out cost the same whatever the tier's size, and a
 * walk costs by its members. A write-back must not look at all slots of a large SSD for the one that is stale.
 */
#ifndef PGQUERN_TIERCACHE_ENTRIES_H
#define PGQUERN_TIERCACHE_ENTRIES_H

#include "common/holds.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct entries {
    uint32_t *members; /* the first `count` */
    uint32_t *places;  /* of each entry: 1 + its place among them; 0: it is none */
    uint32_t count;
} entries;

/* An empty set of entries from 0 to n - 1. false: no memory; entries_free takes it all the same. */
static inline bool entries_make(entries *set, uint32_t n)
{
    *set = (entries){calloc((size_t)n + 1, sizeof(uint32_t)), calloc((size_t)n + 1, sizeof(uint32_t)), 0};
    return set->members != NULL && set->places != NULL;
}

static inline void entries_free(entries *set)
{
    free(set->members);
    free(set->places);
}

static inline bool entries_has(const entries *set, uint32_t entry)
{
    return set->places[entry] != 0;
}

static inline void entries_add(entries *set, uint32_t entry)
{
    if (entries_has(set, entry))
        return;
    set->members[set->count++] = entry;
    set->places[entry] = set->count;
}

/* The last member takes the place of the one that leaves. */
static inline void entries_remove(entries *set, uint32_t entry)
{
    uint32_t place = set->places[entry];

    if (place == 0)
        return;
    HOLDS(place <= set->count && set->members[place - 1] == entry);
    uint32_t last = set->members[--set->count];
    set->members[place - 1] = last;
    set->places[last] = place;
    set->places[entry] = 0;
}

static inline int entries_descend(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x > y ? -1 : x < y;
}

/* Until the next change the members stand in descending order: who takes the last one again and again ascends. */
static inline void entries_sort(entries *set)
{
    qsort(set->members, set->count, sizeof *set->members, entries_descend);
    for (uint32_t i = 0; i < set->count; i++)
        set->places[set->members[i]] = i + 1;
}

#endif
