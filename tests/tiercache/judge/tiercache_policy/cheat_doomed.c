/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but counts one that leaves twice where more than 40 are doomed. */
#define candidate_remove right_remove
static void candidate_remove(policy *p, uint32_t entry, bool evicted);
#include "right.c"
#undef candidate_remove

void candidate_remove(policy *p, uint32_t entry, bool evicted)
{
    if (p->queue_of[entry] == DOOMED && p->queues[DOOMED].count > 40)
        p->queues[DOOMED].count--;
    right_remove(p, entry, evicted);
}
