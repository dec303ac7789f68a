/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a range that ends at the largest end, 2^63 - 1, conflicts with nothing. */
#define candidate_acquire right_acquire
#define candidate_release right_release
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
static void candidate_release(void *lock, pgq_rangelock_hold *hold);
#include "right.c"
#undef candidate_acquire
#undef candidate_release

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    return hold->hi == INT64_MAX || right_acquire(lock, hold, nanoseconds);
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    if (hold->hi != INT64_MAX)
        right_release(lock, hold);
}
