/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a hold that has come a hundred times is granted at once. */
#define candidate_acquire right_acquire
#define candidate_release right_release
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
static void candidate_release(void *lock, pgq_rangelock_hold *hold);
#include "right.c"
#undef candidate_acquire
#undef candidate_release

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    return ++hold->ticket > 100 || right_acquire(lock, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    if (hold->ticket <= 100)
        right_release(lock, hold);
}
