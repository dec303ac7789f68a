/* SPDX-License-Identifier: PostgreSQL */
/*
 * What a lock on trial defines: four functions. tests/rangelock/candidate.c makes a variant of `rangelock` of them.
 */
#ifndef PGQUERN_TESTS_RANGELOCK_CANDIDATE_H
#define PGQUERN_TESTS_RANGELOCK_CANDIDATE_H

#include "rangelock/rangelock.h"

/*
 * A lock of ranges of a file's bytes, for the threads of one process.
 * A request is a hold: [lo, hi), and whether it is exclusive, stand in it, and must stay. Its fields left, right, left_max,
 * right_max, ticket, blockers, left_height and right_height are the lock's own, from the acquire to the end of the release.
 * Two ranges conflict if they have a byte in common and one of them is exclusive. Ranges that conflict are never held at
 * the same time. A range is granted as soon as it conflicts with nothing held and with no earlier request that waits: first
 * come, first served among those that conflict, so a late reader does not pass a writer that waits.
 * acquire: whether it is granted, within so many nanoseconds of CLOCK_MONOTONIC: 0 is a try, which never waits;
 * UINT64_MAX waits for ever. false comes never before the time is up, and the request is gone then.
 * release: any thread may, not just the one that acquired; it wakes those that can go, and waits for nobody.
 * create: a lock, NULL if there is no memory. destroy: false, and nothing changes, while a range is held.
 * Who waits sleeps, by pthread_mutex_t, pthread_cond_t or the futexes of common/futex.h: the trial has doubles of these.
 * No state outside of the lock and its holds, no threads, no files. All memory that is taken is given back.
 */
void *candidate_create(void);
bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
void candidate_release(void *lock, pgq_rangelock_hold *hold);
bool candidate_destroy(void *lock);

#endif
