/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: what is to leave for a cleaner is its victim once more. */
void candidate_insert(policy *p, uint32_t entry, uint64_t page)
{
    p->pages[entry] = page;
    queue_join(p, MAIN, entry);
}

void candidate_hit(policy *p, uint32_t entry)
{
    (void)p, (void)entry;
}

uint32_t candidate_victim(policy *p)
{
    return p->queues[DOOMED].tail != TABLE_NONE ? p->queues[DOOMED].tail : p->queues[MAIN].tail;
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
