/* SPDX-License-Identifier: PostgreSQL */
/*
 * S3-FIFO: new pages wait in a small queue, a tenth of the entries. Those used again there go to the main queue, the
 * others leave, and are remembered as ghosts: a page that comes back while it is a ghost goes to the main queue at once.
 * So a scan passes through the small queue and leaves the main one alone. A hit writes one byte and moves nothing.
 *
 * As in the paper's algorithm 1: a page leaves the small queue for the main one after two hits; in the main queue each hit
 * (three at most are counted) buys another round. As in libcachesim, whose hits are the same, one by one: the small queue
 * has frames / 10 pages and there are 9 * frames / 10 ghosts, rounded down; when the small queue's turn has come, it goes on
 * until one of its pages leaves or all went to the main queue; and until a page was evicted, the small queue takes no more
 * than its share, so that both fill up. A page's ghost is looked for before the page that makes room becomes one.
 *
 * Who asks twice before a page leaves may get two answers: the pages that the first look sent to the main queue no longer count for the
 * small queue's turn. A cache that writes a victim back asks twice, so with writes its hits differ a little from the paper's.
 */
#include "tiercache/policy.h"

enum { MOST_HITS = 3, TO_MAIN = 2, SMALL_SHARE = 10 };

static void hit(policy *p, uint32_t entry)
{
    if (p->hits[entry] < MOST_HITS)
        p->hits[entry]++;
}

static uint32_t small_share(const policy *p)
{
    return p->n / SMALL_SHARE > 0 ? p->n / SMALL_SHARE : 1;
}

/* The page came after the one that makes room for it has become a ghost: there may be some more ghosts until then. */
static void insert(policy *p, uint32_t entry, uint64_t page)
{
    uint32_t ghost = table_get(&p->ghosts, page);
    bool fills_up = !p->has_evicted && p->queues[SMALL].count >= small_share(p);

    if (ghost != TABLE_NONE)
        ghost_forget(p, ghost);
    while (p->queues[GHOST].count > (uint64_t)p->n * 9 / 10)
        ghost_forget(p, p->queues[GHOST].tail);
    p->pages[entry] = page;
    p->hits[entry] = 0;
    queue_join(p, ghost == TABLE_NONE && !fills_up ? SMALL : MAIN, entry);
}

static void leave(policy *p, uint32_t entry, bool evicted)
{
    p->has_evicted |= evicted;
    if (evicted && p->queue_of[entry] == SMALL)
        ghost_remember(p, entry);
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
    if (p->queues[SMALL].count + p->queues[MAIN].count == 0)
        return TABLE_NONE;
    if (p->queues[SMALL].count >= small_share(p) || p->queues[MAIN].count == 0) {
        while (p->queues[SMALL].count > 0) {
            uint32_t entry = p->queues[SMALL].tail;

            if (p->hits[entry] < TO_MAIN)
                return entry;
            p->hits[entry] = 0;
            queue_leave(p, entry);
            queue_join(p, MAIN, entry);
        }
    }
    return main_victim(p);
}

/* Nothing is known of pages that are not there. */
static void pass(policy *p, uint64_t page)
{
    (void)p;
    (void)page;
}

const policy_calls pgq_tiercache_s3fifo = {insert, hit, victim, leave, pass};

pgq_status pgq_tiercache_policy_s3fifo(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits)
{
    return pgq_tiercache_policy_replay(&pgq_tiercache_s3fifo, pages, n, frames, hits);
}
