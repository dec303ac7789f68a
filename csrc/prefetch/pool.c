/* SPDX-License-Identifier: PostgreSQL */
#include "prefetch/pool.h"

#include "common/holds.h"

#include <stdlib.h>

static bool same(pgq_prefetch_access a, pgq_prefetch_access b)
{
    return a.block == b.block && a.file == b.file;
}

static uint32_t home_of(const pool *pool, pgq_prefetch_access block)
{
    uint64_t mixed = ((uint64_t)block.file << 32 | block.block) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(mixed >> 32) & pool->mask;
}

bool pgq_prefetch_pool_make(pool *pool, uint32_t count)
{
    size_t slots = 4;

    while (slots < 2 * (size_t)count)
        slots *= 2;
    pool->count = count;
    pool->hand = 0;
    pool->mask = (uint32_t)(slots - 1);
    pool->pages = aligned_alloc(4096, (size_t)count * POOL_PAGE);
    pool->frames = calloc(count, sizeof *pool->frames);
    pool->slots = calloc(slots, sizeof *pool->slots);
    return pool->pages != NULL && pool->frames != NULL && pool->slots != NULL;
}

void pgq_prefetch_pool_free(pool *pool)
{
    free(pool->pages);
    free(pool->frames);
    free(pool->slots);
}

/* The slot that has the block, or the free one where it belongs. At most half of the slots are in use. */
static uint32_t search(const pool *pool, pgq_prefetch_access block)
{
    uint32_t slot = home_of(pool, block);

    while (pool->slots[slot] != 0 && !same(pool->frames[pool->slots[slot] - 1].holds, block))
        slot = (slot + 1) & pool->mask;
    return slot;
}

int64_t pgq_prefetch_pool_find(const pool *pool, pgq_prefetch_access block)
{
    return (int64_t)pool->slots[search(pool, block)] - 1;
}

/* Takes a block out of the hash table, and moves later ones down so that no search ends before it should. */
static void forget(pool *pool, pgq_prefetch_access block)
{
    uint32_t gap = search(pool, block);

    for (uint32_t slot = (gap + 1) & pool->mask; pool->slots[slot] != 0; slot = (slot + 1) & pool->mask) {
        uint32_t home = home_of(pool, pool->frames[pool->slots[slot] - 1].holds);

        /* It may move if its search passes the gap. */
        if (((slot - home) & pool->mask) >= ((slot - gap) & pool->mask)) {
            pool->slots[gap] = pool->slots[slot];
            gap = slot;
        }
    }
    pool->slots[gap] = 0;
}

static void move_on(pool *pool)
{
    pool->hand = pool->hand + 1 == pool->count ? 0 : pool->hand + 1;
}

uint32_t pgq_prefetch_pool_next(pool *pool)
{
    while (pool->frames[pool->hand].pinned)
        move_on(pool);
    return pool->hand;
}

uint32_t pgq_prefetch_pool_take(pool *pool, pgq_prefetch_access block)
{
    uint32_t taken = pgq_prefetch_pool_next(pool);
    pool_frame *frame = &pool->frames[taken];

    HOLDS(!frame->pending); /* the kernel may write to it */
    HOLDS(pgq_prefetch_pool_find(pool, block) == POOL_NONE);
    move_on(pool);
    if (frame->used)
        forget(pool, frame->holds);
    pool->slots[search(pool, block)] = taken + 1;
    *frame = (pool_frame){.holds = block, .used = true, .result = POOL_PAGE};
    return taken;
}
