/* SPDX-License-Identifier: PostgreSQL */
/*
 * S3-FIFO: new pages wait in a small queue, a tenth of the entries. Those used again there go to the main queue, the
 * others leave, and are remembered as ghosts: a page that comes back while it is a ghost goes to the main queue at once.
 * So a scan passes through the small queue and leaves the main one alone. A hit writes one byte and moves nothing.
 *
 * As in the paper's algorithm 1: a page leaves the small queue for the main one after two hits; in the main queue each hit
 * (three at most are counted) buys another round.
 */
#include "tiercache/policy.h"

enum { MOST_HITS = 3, TO_MAIN = 2, SMALL_SHARE = 10 };

static void hit(policy *p, uint32_t entry)
{
    if (p->hits[entry] < MOST_HITS)
        p->hits[entry]++;
}

static void insert(policy *p, uint32_t entry, uint64_t page)
{
    uint32_t ghost = table_get(&p->ghosts, page);

    if (ghost != TABLE_NONE) {
        table_remove(&p->ghosts, page);
        queue_leave(p, ghost);
        p->older[ghost] = p->spare_ghost;
        p->spare_ghost = ghost;
    }
    p->pages[entry] = page;
    p->hits[entry] = 0;
    queue_join(p, ghost == TABLE_NONE ? SMALL : MAIN, entry);
}

/* An entry for one more ghost: a spare one, one never used, or that of the oldest ghost. */
static uint32_t ghost_entry(policy *p)
{
    uint32_t ghost = p->spare_ghost;

    if (ghost != TABLE_NONE) {
        p->spare_ghost = p->older[ghost];
    } else if (p->free_ghost < 2 * p->n) {
        ghost = p->free_ghost++;
    } else {
        ghost = p->queues[GHOST].tail;
        table_remove(&p->ghosts, p->pages[ghost]);
        queue_leave(p, ghost);
    }
    return ghost;
}

static void leave(policy *p, uint32_t entry, bool evicted)
{
    if (evicted && p->queue_of[entry] == SMALL) {
        uint32_t ghost = ghost_entry(p);

        p->pages[ghost] = p->pages[entry];
        table_put(&p->ghosts, p->pages[ghost], ghost);
        queue_join(p, GHOST, ghost);
    }
    queue_leave(p, entry);
}

/* The main queue's victim: the oldest entry whose hits are used up. */
static uint32_t main_victim(policy *p)
{
    for (;;) {
        uint32_t entry = p->queues[MAIN].tail;

        if (p->hits[entry] == 0)
            return entry;
        p->hits[entry]--;
        queue_leave(p, entry);
        queue_join(p, MAIN, entry);
    }
}

static uint32_t victim(policy *p)
{
    uint32_t share = p->n / SMALL_SHARE > 0 ? p->n / SMALL_SHARE : 1;

    if (p->queues[SMALL].count + p->queues[MAIN].count == 0)
        return TABLE_NONE;
    while (p->queues[SMALL].count >= share || p->queues[MAIN].count == 0) {
        uint32_t entry = p->queues[SMALL].tail;

        if (p->hits[entry] < TO_MAIN)
            return entry;
        p->hits[entry] = 0;
        queue_leave(p, entry);
        queue_join(p, MAIN, entry);
    }
    return main_victim(p);
}

const policy_calls pgq_tiercache_s3fifo = {insert, hit, victim, leave};

pgq_status pgq_tiercache_policy_s3fifo(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits)
{
    return pgq_tiercache_policy_replay(&pgq_tiercache_s3fifo, pages, n, frames, hits);
}
