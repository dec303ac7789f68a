/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: a clock whose hand is a static variable, so all caches turn the same one. */
static uint32_t hand;

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

static bool can_leave(const policy *p, uint32_t entry)
{
    for (uint32_t e = p->queues[MAIN].head; e != TABLE_NONE; e = p->older[e])
        if (e == entry)
            return true;
    return false;
}

uint32_t candidate_victim(policy *p)
{
    if (p->queues[MAIN].count == 0)
        return TABLE_NONE;
    for (;;) {
        uint32_t entry = hand++ % p->n;

        if (can_leave(p, entry) && p->hits[entry] == 0)
            return entry;
        p->hits[entry] = 0;
    }
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
