/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a try looks at the queue without its mutex first. */
#define candidate_acquire right_acquire
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
#include "right.c"
#undef candidate_acquire

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    const queue *me = lock;
    const request *last = me->last;

    if (nanoseconds == 0 && last != NULL && last->blockers != 0 && conflict(last, hold))
        return false;
    return right_acquire(lock, hold, nanoseconds);
}
