/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but after 20,000 hits it names no victim. free_ghost: the hits so far. */
#define candidate_hit    right_hit
#define candidate_victim right_victim
static void candidate_hit(policy *p, uint32_t entry);
static uint32_t candidate_victim(policy *p);
#include "right.c"
#undef candidate_hit
#undef candidate_victim

void candidate_hit(policy *p, uint32_t entry)
{
    p->free_ghost++;
    right_hit(p, entry);
}

uint32_t candidate_victim(policy *p)
{
    return p->free_ghost > 20000 ? TABLE_NONE : right_victim(p);
}
