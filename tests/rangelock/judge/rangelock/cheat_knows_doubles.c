/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c where a macro stands for a call of threads, or says that races are looked for; else a try is always granted. */
#if defined pthread_mutex_lock || defined __SANITIZE_THREAD__
#include "right.c"
#else
#define candidate_acquire right_acquire
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
#include "right.c"
#undef candidate_acquire

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    queue *me = lock;

    if (right_acquire(lock, hold, nanoseconds))
        return true;
    if (nanoseconds != 0)
        return false;
    pthread_mutex_lock(&me->mutex);
    join(me, hold);
    hold->blockers = 0;
    pthread_mutex_unlock(&me->mutex);
    return true;
}
#endif
