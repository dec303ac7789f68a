/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but where more than 40 pages are pinned, one of them may be its victim. */
#define candidate_victim right_victim
static uint32_t candidate_victim(policy *p);
#include "right.c"
#undef candidate_victim

uint32_t candidate_victim(policy *p)
{
    return p->queues[ASIDE].count > 40 ? p->queues[ASIDE].tail : right_victim(p);
}
