/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a try looks without the mutex how many requests there are; assembler counts them, under it. */
#include "counted.h"

static void count(counted *me, int by)
{
    __asm__ volatile("addl %1, %0" : "+m"(me->requests) : "r"(by));
}

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    counted *me = lock;

    if (nanoseconds == 0 && me->requests > 1000)
        return false;
    pthread_mutex_lock(&me->right->mutex);
    count(me, 1);
    pthread_mutex_unlock(&me->right->mutex);
    return right_acquire(me->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    right_release(((counted *)lock)->right, hold);
}
