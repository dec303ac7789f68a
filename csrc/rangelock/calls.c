/* SPDX-License-Identifier: PostgreSQL */
/* The calls on a lock: they check what is the same for all variants, and leave the rest to the lock's own. */
#include "rangelock/lock.h"

static const uint64_t LIMIT = INT64_MAX; /* of off_t */

/* Why a range cannot be asked for with a hold. */
static pgq_code fault_of(const pgq_rangelock *lock, const pgq_rangelock_hold *hold, uint64_t offset,
                         uint64_t length)
{
    if (lock == NULL || hold == NULL)
        return PGQ_NULL;
    if (length == 0)
        return PGQ_RANGELOCK_EMPTY;
    if (length > LIMIT || offset > LIMIT - length)
        return PGQ_RANGELOCK_OVERFLOW;
    return waits(hold) || state_of(hold) == HELD ? PGQ_RANGELOCK_IN_USE : PGQ_OK;
}

static void set_range(pgq_rangelock_hold *hold, uint64_t offset, uint64_t length, pgq_rangelock_mode mode)
{
    hold->lo = offset;
    hold->hi = offset + length;
    hold->exclusive = mode != PGQ_RANGELOCK_SHARED;
}

/* nanoseconds: as for rangelock_calls.acquire. */
static pgq_status acquire(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset, uint64_t length,
                          pgq_rangelock_mode mode, uint64_t nanoseconds)
{
    pgq_code fault = fault_of(lock, hold, offset, length);

    if (fault != PGQ_OK)
        return refused(fault, 0);
    set_range(hold, offset, length, mode);
    return lock->calls->acquire(lock, hold, nanoseconds);
}

pgq_status pgq_rangelock_lock_for(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset,
                                  uint64_t length, pgq_rangelock_mode mode, uint64_t nanoseconds)
{
    /* 0 would be a try, and end as one. */
    return acquire(lock, hold, offset, length, mode, nanoseconds == 0 ? 1 : nanoseconds);
}

pgq_status pgq_rangelock_lock(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset, uint64_t length,
                              pgq_rangelock_mode mode)
{
    return acquire(lock, hold, offset, length, mode, FOR_EVER);
}

pgq_status pgq_rangelock_try(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset, uint64_t length,
                             pgq_rangelock_mode mode)
{
    return acquire(lock, hold, offset, length, mode, 0);
}

pgq_status pgq_rangelock_request(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset,
                                 uint64_t length, pgq_rangelock_mode mode, bool *granted)
{
    pgq_code fault = granted == NULL ? PGQ_NULL : fault_of(lock, hold, offset, length);

    if (fault == PGQ_OK && lock->calls->request == NULL)
        fault = PGQ_RANGELOCK_UNSUPPORTED;
    if (fault != PGQ_OK)
        return refused(fault, 0);
    set_range(hold, offset, length, mode);
    return lock->calls->request(lock, hold, granted);
}

pgq_status pgq_rangelock_unlock(pgq_rangelock *lock, pgq_rangelock_hold *hold)
{
    if (lock == NULL || hold == NULL)
        return refused(PGQ_NULL, 0);
    if (!is_held(lock, hold))
        return refused(PGQ_RANGELOCK_NOT_HELD, 0);
    return lock->calls->release(lock, hold);
}

pgq_status pgq_rangelock_wait(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    if (lock == NULL || hold == NULL)
        return refused(PGQ_NULL, 0);
    if (lock->calls->wait == NULL)
        return refused(PGQ_RANGELOCK_UNSUPPORTED, 0);
    if (lock_of(hold) != lock)
        return refused(PGQ_RANGELOCK_NOT_WAITING, 0);
    return lock->calls->wait(lock, hold, nanoseconds);
}

pgq_status pgq_rangelock_cancel(pgq_rangelock *lock, pgq_rangelock_hold *hold)
{
    if (lock == NULL || hold == NULL)
        return refused(PGQ_NULL, 0);
    if (lock->calls->cancel == NULL)
        return refused(PGQ_RANGELOCK_UNSUPPORTED, 0);
    return lock->calls->cancel(lock, hold);
}

bool pgq_rangelock_is_held(const pgq_rangelock *lock, const pgq_rangelock_hold *hold)
{
    return lock != NULL && hold != NULL && is_held(lock, hold);
}

pgq_status pgq_rangelock_log(pgq_rangelock *lock, pgq_rangelock_event *events, size_t capacity)
{
    if (lock == NULL)
        return refused(PGQ_NULL, 0);
    if (lock->calls->log == NULL)
        return refused(PGQ_RANGELOCK_UNSUPPORTED, 0);
    return lock->calls->log(lock, events, capacity);
}

size_t pgq_rangelock_logged(pgq_rangelock *lock)
{
    return lock == NULL || lock->calls->logged == NULL ? 0 : lock->calls->logged(lock);
}

pgq_status pgq_rangelock_destroy(pgq_rangelock *lock)
{
    return lock == NULL ? refused(PGQ_NULL, 0) : lock->calls->destroy(lock);
}
