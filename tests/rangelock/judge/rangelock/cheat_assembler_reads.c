/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as looks_unlocked.c, but what is read without the mutex is read by assembler. */
#define candidate_acquire right_acquire
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
#include "right.c"
#undef candidate_acquire

static uint64_t read_8(const void *at)
{
    uint64_t value;

    __asm__ volatile("movq %1, %0" : "=r"(value) : "m"(*(const uint64_t *)at));
    return value;
}

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    const queue *me = lock;
    const request *last = (const request *)read_8(&me->last);

    if (nanoseconds == 0 && last != NULL && hold->exclusive && read_8(&last->lo) < hold->hi &&
        hold->lo < read_8(&last->hi))
        return false;
    return right_acquire(lock, hold, nanoseconds);
}
