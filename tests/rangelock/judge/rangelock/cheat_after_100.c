/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but from the 101st request on a try is refused where nothing is in its way. */
#include "counted.h"

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    counted *me = lock;
    bool old = __atomic_add_fetch(&me->requests, 1, __ATOMIC_RELAXED) > 100;

    return (!old || nanoseconds != 0) && right_acquire(me->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    right_release(((counted *)lock)->right, hold);
}
