/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but it looks at what another has published after an exchange that failed, and so orders nothing. */
#include "counted.h"

enum { CLAIMED = 1, PUBLISHED = 3, NEVER = 7 };

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    counted *me = lock;
    unsigned state = NEVER;

    if (__atomic_fetch_or(&me->requests, CLAIMED, __ATOMIC_RELAXED) == 0) {
        me->releases = 1;
        __atomic_store_n(&me->requests, PUBLISHED, __ATOMIC_RELEASE);
    }
    __atomic_compare_exchange_n(&me->requests, &state, NEVER, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (state == PUBLISHED && me->releases != 1)
        return false;
    return right_acquire(me->right, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    right_release(((counted *)lock)->right, hold);
}
