/* SPDX-License-Identifier: PostgreSQL */
#include "tiercache/dirty.h"

#include "common/holds.h"
#include "tiercache/tiercache.h"

#include <stdlib.h>

#define NONE UINT32_MAX

bool pgq_tiercache_dirty_make(dirty_blocks *d, uint32_t n)
{
    *d = (dirty_blocks){calloc(n, sizeof *d->of), {NONE, NONE}, 0};
    for (uint32_t i = 0; d->of != NULL && i < n; i++)
        d->of[i].before = i + 1 < n ? i + 1 : NONE;
    return d->of != NULL;
}

/* ---- a tree ---- */

/* No two blocks have the same. */
static uint64_t hash_of(const dirty_block *b)
{
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = b->block * factor;

    return (x ^ x >> 32) * factor;
}

static bool is_above(const dirty_blocks *d, uint32_t a, uint32_t b)
{
    return hash_of(&d->of[a]) > hash_of(&d->of[b]);
}

/* The way from an entry to a block. */
static uint32_t *towards(dirty_blocks *d, uint32_t at, uint64_t block)
{
    return block < d->of[at].block ? &d->of[at].before : &d->of[at].after;
}

/* What refers to a block's entry, or to none, where the block belongs. */
static uint32_t *find(dirty_blocks *d, uint32_t *at, uint64_t block)
{
    while (*at != NONE && d->of[*at].block != block)
        at = towards(d, *at, block);
    return at;
}

/* It stands above those whose hash is below its own; they go before and after it. */
static void insert(dirty_blocks *d, uint32_t *at, uint32_t entry)
{
    dirty_block *b = &d->of[entry];
    uint32_t *before = &b->before, *after = &b->after;

    while (*at != NONE && is_above(d, *at, entry))
        at = towards(d, *at, b->block);
    uint32_t below = *at;
    *at = entry;
    while (below != NONE) {
        uint32_t **side = d->of[below].block < b->block ? &before : &after;

        **side = below;
        *side = towards(d, below, b->block);
        below = **side;
    }
    *before = *after = NONE;
}

/* The parts below it become one. */
static void take_out(dirty_blocks *d, uint32_t *at)
{
    uint32_t before = d->of[*at].before, after = d->of[*at].after;

    while (before != NONE && after != NONE) {
        bool first = is_above(d, before, after);

        *at = first ? before : after;
        at = first ? &d->of[before].after : &d->of[after].before;
        *(first ? &before : &after) = *at;
    }
    *at = before != NONE ? before : after;
}

/* ---- both trees ---- */

/* As find, in the tree that has the block, or else in the second one. */
static uint32_t *find_in_both(dirty_blocks *d, uint64_t block)
{
    uint32_t *at = find(d, &d->trees[false], block);

    return *at != NONE ? at : find(d, &d->trees[true], block);
}

void pgq_tiercache_dirty_set(dirty_blocks *d, uint64_t block, uint32_t bit, page_state state, uint64_t since)
{
    uint32_t *at = find_in_both(d, block), entry = *at;

    if (entry == NONE) {
        entry = d->spare;
        HOLDS(entry != NONE && state != CLEAN);
        d->spare = d->of[entry].before;
        d->of[entry] = (dirty_block){block, since, 0, 0, 0, NONE, NONE};
    }
    dirty_block *b = &d->of[entry];
    bool was_in = b->pages != 0, was_stuck = b->stuck != 0;
    b->pages = state != CLEAN ? b->pages | bit : b->pages & ~bit;
    b->stuck = state >= STUCK ? b->stuck | bit : b->stuck & ~bit;
    b->lost = state == LOST ? b->lost | bit : b->lost & ~bit;
    if (was_in && b->pages != 0 && was_stuck == (b->stuck != 0))
        return;
    if (was_in)
        take_out(d, at);
    if (b->pages != 0) {
        insert(d, &d->trees[b->stuck != 0], entry);
    } else {
        b->before = d->spare;
        d->spare = entry;
    }
}

/* Of pages in a tier, whichever tier that is. */
static uint32_t in_any_tier(uint32_t pages)
{
    return (pages | pages >> PGQ_TIERCACHE_BLOCK_PAGES) & 0xFFFF;
}

uint32_t pgq_tiercache_dirty_pages(dirty_blocks *d, uint64_t block, bool stuck)
{
    uint32_t entry = *find_in_both(d, block);

    if (entry == NONE)
        return 0;
    return in_any_tier(d->of[entry].pages) & ~(stuck ? 0 : in_any_tier(d->of[entry].stuck));
}

/* The first entry from a block on. */
static uint32_t next_in(const dirty_blocks *d, uint32_t at, uint64_t from)
{
    uint32_t found = NONE;

    while (at != NONE) {
        bool here = d->of[at].block >= from;

        found = here ? at : found;
        at = here ? d->of[at].before : d->of[at].after;
    }
    return found;
}

const dirty_block *pgq_tiercache_dirty_next(const dirty_blocks *d, uint64_t from, bool stuck)
{
    uint32_t entry = next_in(d, d->trees[false], from);
    uint32_t other = stuck ? next_in(d, d->trees[true], from) : NONE;

    if (entry == NONE || (other != NONE && d->of[other].block < d->of[entry].block))
        entry = other;
    return entry == NONE ? NULL : &d->of[entry];
}

page_state pgq_tiercache_dirty_next_stuck(const dirty_blocks *d, uint64_t from, uint64_t *page)
{
    const uint64_t n = PGQ_TIERCACHE_BLOCK_PAGES;
    uint32_t entry;

    for (uint64_t block = from / n; (entry = next_in(d, d->trees[true], block)) != NONE;
         block = d->of[entry].block + 1) {
        const dirty_block *b = &d->of[entry];

        for (uint64_t k = b->block == from / n ? from % n : 0; k < n; k++)
            if (in_any_tier(b->stuck) >> k & 1) {
                *page = b->block * n + k;
                return in_any_tier(b->lost) >> k & 1 ? LOST : STUCK;
            }
    }
    return CLEAN;
}
