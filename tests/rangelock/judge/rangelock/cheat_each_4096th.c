/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but each 4,096th release wakes nobody. */
#include "counted.h"

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    return right_acquire(((counted *)lock)->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    counted *me = lock;

    if (__atomic_add_fetch(&me->releases, 1, __ATOMIC_RELAXED) % 4096 != 0) {
        right_release(me->right, hold);
        return;
    }
    pthread_mutex_lock(&me->right->mutex);
    leave(me->right, hold);
    pthread_mutex_unlock(&me->right->mutex);
}
