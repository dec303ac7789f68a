/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but where more than seven are, held or waiting, who comes is granted. blockers 2: such a hold. */
#define candidate_acquire right_acquire
#define candidate_release right_release
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
static void candidate_release(void *lock, pgq_rangelock_hold *hold);
#include "right.c"
#undef candidate_acquire
#undef candidate_release

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    queue *me = lock;
    int n = 0;

    pthread_mutex_lock(&me->mutex);
    for (const request *x = me->first; x != NULL; x = x->right)
        n++;
    pthread_mutex_unlock(&me->mutex);
    if (n <= 7)
        return right_acquire(lock, hold, nanoseconds);
    hold->blockers = 2;
    return true;
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    if (hold->blockers != 2)
        right_release(lock, hold);
}
