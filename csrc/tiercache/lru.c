/* SPDX-License-Identifier: PostgreSQL */
/* Least recently used: one queue; a hit moves the entry to its head. The baseline. */
#include "tiercache/policy.h"

static void insert(policy *p, uint32_t entry, uint64_t page)
{
    p->pages[entry] = page;
    queue_join(p, MAIN, entry);
}

static void hit(policy *p, uint32_t entry)
{
    if (p->queue_of[entry] == ASIDE)
        return;
    queue_leave(p, entry);
    queue_join(p, MAIN, entry);
}

static uint32_t victim(policy *p)
{
    return p->queues[MAIN].tail;
}

static void leave(policy *p, uint32_t entry, bool evicted)
{
    (void)evicted;
    queue_leave(p, entry);
}

/* Nothing is known of pages that are not there. */
static void pass(policy *p, uint64_t page)
{
    (void)p;
    (void)page;
}

const policy_calls pgq_tiercache_lru = {insert, hit, victim, leave, pass};

pgq_status pgq_tiercache_policy_lru(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits)
{
    return pgq_tiercache_policy_replay(&pgq_tiercache_lru, pages, n, frames, hits);
}
