/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but of 1,024 pages one is a victim at once, also if it is pinned or leaving. */
#define candidate_victim right_victim
static uint32_t candidate_victim(policy *p);
#include "right.c"
#undef candidate_victim

uint32_t candidate_victim(policy *p)
{
    for (uint32_t e = 0; e < p->n; e++)
        if (p->queue_of[e] != QUEUES && p->pages[e] % 1024 == 1023)
            return e;
    return right_victim(p);
}
