/* SPDX-License-Identifier: PostgreSQL */
/* What the variants share. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_RANGELOCK_LOCK_H
#define PGQUERN_RANGELOCK_LOCK_H

#include "common/outcome.h"
#include "rangelock/rangelock.h"

#include <time.h>

pgq_status pgq_rangelock_rwlock(int fd, pgq_rangelock **lock);
pgq_status pgq_rangelock_ofd(int fd, pgq_rangelock **lock);
pgq_status pgq_rangelock_interval(int fd, pgq_rangelock **lock);

/* The states of a hold; a wait that ended otherwise leaves its code there. */
enum { IDLE = 0, WAITS = 1, HELD = 2 };

#define FOR_EVER UINT64_MAX

/*
 * A variant's calls; NULL where it has none. The range and the hold were checked, and the hold has its range and mode.
 * acquire: waits for so many nanoseconds; 0 is a try, which answers PGQ_RANGELOCK_BUSY. release: NOT_HELD was checked,
 * except by `interval`, which looks under its mutex.
 */
typedef struct rangelock_calls {
    pgq_status (*acquire)(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
    pgq_status (*release)(pgq_rangelock *lock, pgq_rangelock_hold *hold);
    pgq_status (*destroy)(pgq_rangelock *lock);
    pgq_status (*request)(pgq_rangelock *lock, pgq_rangelock_hold *hold, bool *granted);
    pgq_status (*wait)(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
    pgq_status (*cancel)(pgq_rangelock *lock, pgq_rangelock_hold *hold);
    pgq_status (*log)(pgq_rangelock *lock, pgq_rangelock_event *events, size_t capacity);
    size_t (*logged)(pgq_rangelock *lock);
} rangelock_calls;

/* The head of every variant's lock. */
struct pgq_rangelock {
    const rangelock_calls *calls;
};

static inline uint32_t state_of(const pgq_rangelock_hold *hold)
{
    return __atomic_load_n(&hold->state, __ATOMIC_ACQUIRE);
}

static inline void set_state(pgq_rangelock_hold *hold, uint32_t state)
{
    __atomic_store_n(&hold->state, state, __ATOMIC_RELEASE);
}

/* The time of a clock so many nanoseconds from now; the clock's last second if that is too far. */
static inline struct timespec time_after(clockid_t clock, uint64_t nanoseconds)
{
    struct timespec t;

    clock_gettime(clock, &t);
    uint64_t nsec = (uint64_t)t.tv_nsec + nanoseconds % 1000000000, sec = nanoseconds / 1000000000;
    t.tv_nsec = (long)(nsec % 1000000000);
    t.tv_sec += (time_t)(sec + nsec / 1000000000);
    return t;
}

#endif
