/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: miscounts where more than 40 are doomed. */
#include "../tests/tiercache/candidate.h"

/* A second chance. A hit marks its entry; the oldest one without a mark leaves, and those before it lose theirs. */
void candidate_insert(policy *p, uint32_t entry, uint64_t page)
{
    p->pages[entry] = page;
    p->hits[entry] = 0;
    queue_join(p, MAIN, entry);
}

void candidate_hit(policy *p, uint32_t entry)
{
    p->hits[entry] = 1;
}

uint32_t candidate_victim(policy *p)
{
    uint32_t entry = p->queues[MAIN].tail;

    while (entry != TABLE_NONE && p->hits[entry] != 0) {
        p->hits[entry] = 0;
        queue_leave(p, entry);
        queue_join(p, MAIN, entry);
        entry = p->queues[MAIN].tail;
    }
    return entry;
}

void candidate_remove(policy *p, uint32_t entry, bool evicted)
{
    (void)evicted;
    if (p->queue_of[entry] == DOOMED && p->queues[DOOMED].count > 40)
        p->queues[DOOMED].count--; /* counts it twice */
    queue_leave(p, entry);
}

/* Nothing is known of pages that are not there. */
void candidate_pass(policy *p, uint64_t page)
{
    (void)p;
    (void)page;
}
