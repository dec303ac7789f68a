/* SPDX-License-Identifier: PostgreSQL */
/* Right: one mutex over a queue of all requests, in the order of arrival; who may go is looked for at each departure. */
#include "common/futex.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef pgq_rangelock_hold request;

/* left and right of a hold: its neighbours in the queue. blockers: 1 while it waits. */
typedef struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t granted; /* somebody was */
    request *first, *last;
} queue;

void *candidate_create(void)
{
    pthread_condattr_t monotonic;
    queue *me = calloc(1, sizeof *me);

    if (me == NULL)
        return NULL;
    pthread_mutex_init(&me->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&me->granted, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return me;
}

static void join(queue *me, request *x)
{
    x->left = me->last;
    x->right = NULL;
    *(me->last == NULL ? &me->first : &me->last->right) = x;
    me->last = x;
}

static void leave(queue *me, request *x)
{
    *(x->left == NULL ? &me->first : &x->left->right) = x->right;
    *(x->right == NULL ? &me->last : &x->right->left) = x->left;
}

static bool conflict(const request *a, const request *b)
{
    return a->lo < b->hi && b->lo < a->hi && (a->exclusive || b->exclusive);
}

/* What is held came earlier, or conflicts with nothing before it. */
static bool may_go(const request *x)
{
    for (const request *before = x->left; before != NULL; before = before->left)
        if (conflict(before, x))
            return false;
    return true;
}

static void grant(queue *me)
{
    for (request *x = me->first; x != NULL; x = x->right)
        if (x->blockers != 0 && may_go(x)) {
            __atomic_store_n(&x->blockers, 0, __ATOMIC_RELEASE);
            futex_wake(&x->blockers);
        }
}

static struct timespec time_after(uint64_t nanoseconds)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t nsec = (uint64_t)t.tv_nsec + nanoseconds % 1000000000;
    t.tv_nsec = (long)(nsec % 1000000000);
    t.tv_sec += (time_t)(nanoseconds / 1000000000 + nsec / 1000000000);
    return t;
}

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    queue *me = lock;
    bool in_time = nanoseconds != 0;
    struct timespec end = {0, 0};

    if (in_time && nanoseconds != UINT64_MAX)
        end = time_after(nanoseconds);
    pthread_mutex_lock(&me->mutex);
    join(me, hold);
    hold->blockers = !may_go(hold);
    pthread_mutex_unlock(&me->mutex);
    while (__atomic_load_n(&hold->blockers, __ATOMIC_ACQUIRE) != 0 && in_time)
        in_time = futex_wait(&hold->blockers, 1, nanoseconds == UINT64_MAX ? NULL : &end);
    pthread_mutex_lock(&me->mutex);
    bool granted = hold->blockers == 0;
    if (!granted) {
        leave(me, hold);
        grant(me);
    }
    pthread_mutex_unlock(&me->mutex);
    return granted;
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    queue *me = lock;

    pthread_mutex_lock(&me->mutex);
    leave(me, hold);
    grant(me);
    pthread_mutex_unlock(&me->mutex);
}

bool candidate_destroy(void *lock)
{
    queue *me = lock;

    if (me->first != NULL)
        return false;
    pthread_cond_destroy(&me->granted);
    pthread_mutex_destroy(&me->mutex);
    free(me);
    return true;
}
