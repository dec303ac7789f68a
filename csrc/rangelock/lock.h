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

/*
 * The states of a hold; a cancellation leaves its code there, until it is waited for. AWAITED: it waits, and a thread sleeps
 * or is about to: one alone, so that who gets CANCELLED, or lets the hold go, is always the same. The baselines, which
 * have no queue, take WAITS for a range that is being given back.
 */
enum { IDLE = 0, WAITS = 1, HELD = 2, AWAITED = 3 };

#define FOR_EVER UINT64_MAX

/*
 * A variant's calls; NULL where it has none. The range and the hold were checked, and the hold has its range and mode.
 * acquire: waits for so many nanoseconds; 0 is a try, which answers PGQ_RANGELOCK_BUSY. release: NOT_HELD was checked, but
 * another thread may be faster.
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

/*
 * Whoever reads a state sees what was written before it was set: what the range protects, and the hold's own fields. Only who
 * reads a state as it changes it may do without (spec/rangelock/Litmus.tla).
 */
static inline uint32_t state_of(const pgq_rangelock_hold *hold)
{
    return __atomic_load_n(&hold->state, __ATOMIC_ACQUIRE);
}

static inline void set_state(pgq_rangelock_hold *hold, uint32_t state)
{
    __atomic_store_n(&hold->state, state, __ATOMIC_RELEASE);
}

/* From one state to another, if nobody was faster. *from: what it is otherwise. */
static inline bool change_state(pgq_rangelock_hold *hold, uint32_t *from, uint32_t to)
{
    return __atomic_compare_exchange_n(&hold->state, from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Any thread may ask in which lock a hold is. It is set before the state. */
static inline pgq_rangelock *lock_of(const pgq_rangelock_hold *hold)
{
    return __atomic_load_n(&hold->lock, __ATOMIC_RELAXED);
}

static inline void set_lock(pgq_rangelock_hold *hold, pgq_rangelock *lock)
{
    __atomic_store_n(&hold->lock, lock, __ATOMIC_RELAXED);
}

static inline bool is_held(const pgq_rangelock *lock, const pgq_rangelock_hold *hold)
{
    return state_of(hold) == HELD && lock_of(hold) == lock;
}

static inline bool waits(const pgq_rangelock_hold *hold)
{
    uint32_t state = state_of(hold);

    return state == WAITS || state == AWAITED;
}

/* The time so many nanoseconds from now, of a clock that nobody sets. */
static inline struct timespec time_after(uint64_t nanoseconds)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t nsec = (uint64_t)t.tv_nsec + nanoseconds % 1000000000, sec = nanoseconds / 1000000000;
    t.tv_nsec = (long)(nsec % 1000000000);
    t.tv_sec += (time_t)(sec + nsec / 1000000000);
    return t;
}

#endif
