/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: it looks at what is held, and at nobody who waits. So late readers pass a writer, which may starve. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* right of a hold: the next one that is held. */
typedef struct lock {
    pthread_mutex_t mutex;
    pthread_cond_t released;
    pgq_rangelock_hold *held;
} lock;

void *candidate_create(void)
{
    pthread_condattr_t monotonic;
    lock *me = calloc(1, sizeof *me);

    if (me == NULL)
        return NULL;
    pthread_mutex_init(&me->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&me->released, &monotonic);
    return me;
}

static bool may_go(const lock *me, const pgq_rangelock_hold *x)
{
    for (const pgq_rangelock_hold *h = me->held; h != NULL; h = h->right)
        if (h->lo < x->hi && x->lo < h->hi && (h->exclusive || x->exclusive))
            return false;
    return true;
}

bool candidate_acquire(void *candidate, pgq_rangelock_hold *x, uint64_t nanoseconds)
{
    lock *me = candidate;
    struct timespec end;
    int late = nanoseconds == 0;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)(nanoseconds / 1000000000);
    end.tv_nsec += (long)(nanoseconds % 1000000000);
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&me->mutex);
    while (!may_go(me, x) && !late)
        late = nanoseconds == UINT64_MAX ? pthread_cond_wait(&me->released, &me->mutex)
                                         : pthread_cond_timedwait(&me->released, &me->mutex, &end);
    bool granted = may_go(me, x);
    if (granted) {
        x->right = me->held;
        me->held = x;
    }
    pthread_mutex_unlock(&me->mutex);
    return granted;
}

void candidate_release(void *candidate, pgq_rangelock_hold *x)
{
    lock *me = candidate;
    pgq_rangelock_hold **at = &me->held;

    pthread_mutex_lock(&me->mutex);
    while (*at != x)
        at = &(*at)->right;
    *at = x->right;
    pthread_cond_broadcast(&me->released);
    pthread_mutex_unlock(&me->mutex);
}

bool candidate_destroy(void *candidate)
{
    lock *me = candidate;

    if (me->held != NULL)
        return false;
    free(me);
    return true;
}
