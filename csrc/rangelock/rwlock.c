/* SPDX-License-Identifier: PostgreSQL */
/* The baseline: one pthread_rwlock for the file. Ranges are not looked at: every exclusive request conflicts with all. */
#include "rangelock/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct rwlock {
    pgq_rangelock head;
    pthread_rwlock_t rwlock;
} rwlock;

static pthread_rwlock_t *of(pgq_rangelock *lock)
{
    return &((rwlock *)lock)->rwlock;
}

static int take(pthread_rwlock_t *file, bool exclusive, uint64_t nanoseconds)
{
    if (nanoseconds == 0)
        return exclusive ? pthread_rwlock_trywrlock(file) : pthread_rwlock_tryrdlock(file);
    if (nanoseconds == FOR_EVER)
        return exclusive ? pthread_rwlock_wrlock(file) : pthread_rwlock_rdlock(file);
    struct timespec deadline = time_after(nanoseconds);
    return exclusive ? pthread_rwlock_clockwrlock(file, CLOCK_MONOTONIC, &deadline)
                     : pthread_rwlock_clockrdlock(file, CLOCK_MONOTONIC, &deadline);
}

static pgq_status acquire(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    int error = take(of(lock), hold->exclusive, nanoseconds);

    /* EDEADLK, too, is returned as busy: the thread itself holds the file. */
    if (error != 0)
        return refused(error == ETIMEDOUT ? PGQ_RANGELOCK_TIMEOUT : PGQ_RANGELOCK_BUSY, 0);
    set_lock(hold, lock);
    set_state(hold, HELD);
    return accepted();
}

static pgq_status release(pgq_rangelock *lock, pgq_rangelock_hold *hold)
{
    uint32_t from = HELD;

    if (!change_state(hold, &from, WAITS))
        return refused(PGQ_RANGELOCK_NOT_HELD, 0);
    pthread_rwlock_unlock(of(lock));
    set_state(hold, IDLE);
    return accepted();
}

static pgq_status destroy(pgq_rangelock *lock)
{
    if (pthread_rwlock_trywrlock(of(lock)) != 0)
        return refused(PGQ_RANGELOCK_IN_USE, 0);
    pthread_rwlock_unlock(of(lock));
    pthread_rwlock_destroy(of(lock));
    free(lock);
    return accepted();
}

static const rangelock_calls calls = {.acquire = acquire, .release = release, .destroy = destroy};

pgq_status pgq_rangelock_rwlock(int fd, pgq_rangelock **lock)
{
    pthread_rwlockattr_t attributes;
    rwlock *me;

    (void)fd;
    if (lock == NULL)
        return refused(PGQ_NULL, 0);
    me = calloc(1, sizeof *me);
    if (me == NULL)
        return refused(PGQ_MEMORY, 0);
    me->head.calls = &calls;
    pthread_rwlockattr_init(&attributes);
    /* The default lets readers starve writers. */
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&me->rwlock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    *lock = &me->head;
    return accepted();
}
