/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but gives up where the 500 oldest are all used. */
#define candidate_victim right_victim
static uint32_t candidate_victim(policy *p);
#include "right.c"
#undef candidate_victim

uint32_t candidate_victim(policy *p)
{
    uint32_t entry = p->queues[MAIN].tail;

    for (int looked = 0; entry != TABLE_NONE && p->hits[entry] != 0; looked++, entry = p->newer[entry])
        if (looked == 500)
            return TABLE_NONE;
    return right_victim(p);
}
