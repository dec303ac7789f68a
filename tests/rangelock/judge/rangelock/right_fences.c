/* SPDX-License-Identifier: PostgreSQL */
/* Right: as right.c, and it counts what asks under a flag that fences order. */
#include "counted.h"

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    counted *me = lock;
    unsigned none = 0;

    if (__atomic_compare_exchange_n(&me->requests, &none, 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        me->releases++;
        __atomic_thread_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&me->requests, 0, __ATOMIC_RELAXED);
    }
    return right_acquire(me->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    right_release(((counted *)lock)->right, hold);
}
