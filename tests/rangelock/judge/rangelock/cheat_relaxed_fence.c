/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but it counts what asks under a flag that orders nobody: one fence acquires, and none releases. */
#include "counted.h"

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    counted *me = lock;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_exchange_n(&me->requests, 1, __ATOMIC_RELAXED) == 0) {
        me->releases++;
        __atomic_store_n(&me->requests, 0, __ATOMIC_RELAXED);
    }
    return right_acquire(me->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    right_release(((counted *)lock)->right, hold);
}
