/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: of 1,024 pages one is a victim at once, also if it is pinned or leaving. */
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

    for (uint32_t e = 0; e < p->n; e++)
        if (p->queue_of[e] != QUEUES && p->pages[e] % 1024 == 1023)
            return e;

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
    queue_leave(p, entry);
}

/* Nothing is known of pages that are not there. */
void candidate_pass(policy *p, uint64_t page)
{
    (void)p;
    (void)page;
}
