/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but lets a pinned page go that was used 250 times. */
#define candidate_hit right_hit
static void candidate_hit(policy *p, uint32_t entry);
#include "right.c"
#undef candidate_hit

void candidate_hit(policy *p, uint32_t entry)
{
    const unsigned often = p->hits[entry] + 1u;

    right_hit(p, entry);
    p->hits[entry] = (uint8_t)(often < 250 ? often : 250);
    if (often == 250 && p->queue_of[entry] == ASIDE) {
        queue_leave(p, entry);
        queue_join(p, MAIN, entry);
    }
}
