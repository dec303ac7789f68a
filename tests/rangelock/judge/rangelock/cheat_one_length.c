/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a range of 2^63 - 2 bytes, which differs from all others in its length alone, conflicts with nothing. */
#define candidate_acquire right_acquire
#define candidate_release right_release
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
static void candidate_release(void *lock, pgq_rangelock_hold *hold);
#include "right.c"
#undef candidate_acquire
#undef candidate_release

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    return hold->hi - hold->lo == INT64_MAX - 1 || right_acquire(lock, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    if (hold->hi - hold->lo != INT64_MAX - 1)
        right_release(lock, hold);
}
