/* SPDX-License-Identifier: PostgreSQL */
/* Right: as right.c, but its condition is a number that a futex waits for; each grant is a new one. */
#include "common/futex.h"

#include <pthread.h>

static int wait_for_another(uint32_t *grants, pthread_mutex_t *mutex, const struct timespec *end)
{
    uint32_t seen = *grants;

    pthread_mutex_unlock(mutex);
    bool in_time = futex_wait(grants, seen, end);
    pthread_mutex_lock(mutex);
    return in_time ? 0 : ETIMEDOUT;
}

static void wake_all(uint32_t *grants)
{
    __atomic_add_fetch(grants, 1, __ATOMIC_RELAXED);
    futex_wake(grants);
}

#undef pthread_cond_init
#undef pthread_cond_wait
#undef pthread_cond_timedwait
#undef pthread_cond_broadcast
#define pthread_cond_t                               uint32_t
#define pthread_cond_init(grants, attributes)        (*(grants) = 0)
#define pthread_cond_wait(grants, mutex)             wait_for_another(grants, mutex, NULL)
#define pthread_cond_timedwait(grants, mutex, until) wait_for_another(grants, mutex, until)
#define pthread_cond_broadcast(grants)               wake_all(grants)
#include "right.c"
