/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: if all else is pinned, it names a page that is pinned, too. */
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
    return p->queues[MAIN].tail != TABLE_NONE ? p->queues[MAIN].tail : p->queues[ASIDE].tail;
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
