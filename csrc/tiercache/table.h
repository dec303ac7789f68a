/* SPDX-License-Identifier: PostgreSQL */
/*
 * A hash table from page numbers to 32-bit numbers, of fixed size: linear probing, and removal without tombstones. One thread at a time
 * uses it; others may peek.
 */
#ifndef PGQUERN_TIERCACHE_TABLE_H
#define PGQUERN_TIERCACHE_TABLE_H

#include "common/holds.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define TABLE_NONE UINT32_MAX

typedef struct table_entry {
    uint64_t page;
    uint32_t after; /* the value + 1; 0: empty */
} table_entry;

typedef struct table {
    table_entry *entries;
    uint64_t mask;
    unsigned shift;
} table;

/* Room for n keys, at most half of the entries. false: no memory. */
static inline bool table_make(table *t, uint64_t n)
{
    unsigned bits = 4;

    while ((uint64_t)1 << bits < 2 * n)
        bits++;
    t->mask = ((uint64_t)1 << bits) - 1;
    t->shift = 64 - bits;
    t->entries = calloc(t->mask + 1, sizeof *t->entries);
    return t->entries != NULL;
}

/* Fibonacci hashing: the upper bits of a product with 2^64 / the golden ratio. */
static inline uint64_t table_home(const table *t, uint64_t page)
{
    return (page * UINT64_C(0x9E3779B97F4A7C15)) >> t->shift;
}

/* The place of a page's entry, or of the empty one where it belongs. */
static inline uint64_t table_find(const table *t, uint64_t page)
{
    uint64_t i = table_home(t, page);

    while (t->entries[i].after != 0 && t->entries[i].page != page)
        i = (i + 1) & t->mask;
    return i;
}

static inline uint32_t table_get(const table *t, uint64_t page)
{
    return t->entries[table_find(t, page)].after - 1; /* TABLE_NONE of an empty one */
}

/* Who peeks may see one of the two before the other. */
static inline void table_set(table_entry *entry, uint64_t page, uint32_t after)
{
    __atomic_store_n(&entry->page, page, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->after, after, __ATOMIC_RELAXED);
}

static inline void table_put(table *t, uint64_t page, uint32_t value)
{
    table_set(&t->entries[table_find(t, page)], page, value + 1);
}

enum { TABLE_PEEKS = 16 };

/* A guess, while the table is being changed. It may be another page's number, or TABLE_NONE though the page is there. */
static inline uint32_t table_peek(const table *t, uint64_t page)
{
    uint64_t i = table_home(t, page);

    for (int peeks = 0; peeks < TABLE_PEEKS; peeks++, i = (i + 1) & t->mask) {
        uint32_t after = __atomic_load_n(&t->entries[i].after, __ATOMIC_RELAXED);

        if (after == 0 || __atomic_load_n(&t->entries[i].page, __ATOMIC_RELAXED) == page)
            return after - 1;
    }
    return TABLE_NONE;
}

/* Removes a page that is there. Entries behind it move up if their way from home led over its place. */
static inline void table_remove(table *t, uint64_t page)
{
    uint64_t hole = table_find(t, page);

    HOLDS(t->entries[hole].after != 0);
    for (uint64_t i = (hole + 1) & t->mask; t->entries[i].after != 0; i = (i + 1) & t->mask) {
        uint64_t home = table_home(t, t->entries[i].page);

        if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
            table_set(&t->entries[hole], t->entries[i].page, t->entries[i].after);
            hole = i;
        }
    }
    table_set(&t->entries[hole], 0, 0);
}

#endif
