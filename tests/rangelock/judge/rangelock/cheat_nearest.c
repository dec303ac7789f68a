/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but if the nearest forty requests before one do not conflict with it, it looks at no other. */
#define candidate_acquire right_acquire
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
#include "right.c"
#undef candidate_acquire

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    queue *me = lock;
    int near = 0;

    pthread_mutex_lock(&me->mutex);
    for (const request *x = me->last; x != NULL && near < 40 && !conflict(x, hold); x = x->left)
        near++;
    if (near == 40) {
        hold->blockers = 0;
        join(me, hold);
    }
    pthread_mutex_unlock(&me->mutex);
    return near == 40 || right_acquire(lock, hold, nanoseconds);
}
