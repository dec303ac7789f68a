/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a request writes to the hold that was released last, which is its owner's again, and may be gone. */
#include "counted.h"

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    counted *me = lock;

    pthread_mutex_lock(&me->right->mutex);
    if (me->released != NULL && me->released != hold)
        me->released->right_height++;
    me->released = NULL;
    pthread_mutex_unlock(&me->right->mutex);
    return right_acquire(me->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    counted *me = lock;

    right_release(me->right, hold);
    pthread_mutex_lock(&me->right->mutex);
    me->released = hold;
    pthread_mutex_unlock(&me->right->mutex);
}
