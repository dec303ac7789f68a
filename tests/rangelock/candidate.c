/* SPDX-License-Identifier: PostgreSQL */
/* The variant `candidate` of `rangelock`: a lock of candidate.h, with the holds' states that all variants keep. */
#include "../tests/rangelock/candidate.h"

#include "../tools/judge/watch.h"

#include "rangelock/lock.h"

#include <stdlib.h>

pgq_status pgq_judge_candidate(int fd, pgq_rangelock **lock);

typedef struct judged {
    pgq_rangelock head;
    void *theirs;
} judged;

static void *of(pgq_rangelock *lock)
{
    return ((judged *)lock)->theirs;
}

static pgq_status acquire(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    bool granted = candidate_acquire(of(lock), hold, nanoseconds);
    if (!granted)
        return refused(nanoseconds == 0 ? PGQ_RANGELOCK_BUSY : PGQ_RANGELOCK_TIMEOUT, 0);
    set_lock(hold, lock);
    set_state(hold, HELD);
    return accepted();
}

static pgq_status release(pgq_rangelock *lock, pgq_rangelock_hold *hold)
{
    uint32_t from = HELD;

    if (!change_state(hold, &from, WAITS))
        return refused(PGQ_RANGELOCK_NOT_HELD, 0);
    candidate_release(of(lock), hold);
    set_state(hold, IDLE);
    return accepted();
}

static pgq_status destroy(pgq_rangelock *lock)
{
    bool destroyed = candidate_destroy(of(lock));
    if (!destroyed)
        return refused(PGQ_RANGELOCK_IN_USE, 0);
    free(lock);
    return accepted();
}

static const rangelock_calls calls = {.acquire = acquire, .release = release, .destroy = destroy};

pgq_status pgq_judge_candidate(int fd, pgq_rangelock **lock)
{
    (void)fd;
    if (lock == NULL)
        return refused(PGQ_NULL, 0);
    judged *me = malloc(sizeof *me);
    if (me == NULL)
        return refused(PGQ_MEMORY, 0);
    me->head.calls = &calls;
    me->theirs = candidate_create();
    if (me->theirs == NULL) {
        free(me);
        return refused(PGQ_MEMORY, 0);
    }
    *lock = &me->head;
    return accepted();
}
