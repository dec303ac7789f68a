/* SPDX-License-Identifier: PostgreSQL */
/*
 * Range locks: lock a range of a file's bytes, shared or exclusive, instead of the whole file. A request is granted as
 * soon as it conflicts with no range that is held and with no earlier request that waits: first come, first served among
 * those that conflict. Two ranges conflict if they have a byte in common and one of them is exclusive.
 *
 * One kind, `rangelock`, of which a variant makes locks. All locks have the same calls; they are for the threads of one
 * process. Whoever holds a range and asks for another one can deadlock. Asking in ascending order prevents that only where
 * all ranges are equal or disjoint, as pages are: a wide request that waits comes before the second range, and waits for
 * the first one. A blocked pgq_rangelock_lock sees no deadlock; pgq_rangelock_lock_for ends it. Nor does a thread own
 * ranges: one that asks for a range that conflicts with its own waits as any other does.
 *
 * A refused call changes nothing, neither outputs nor holds, except that a request that was refused as busy or by the kernel,
 * timed out or was cancelled has left its range in the hold's fields.
 *
 * Source: Kara's range locks for Linux (2013); Kogan, Dice and Issa, EuroSys 2020. PostgreSQL has none: it leaves a file
 * to the kernel, which takes i_rwsem, a lock of the whole file, for a write.
 */
#ifndef PGQUERN_RANGELOCK_H
#define PGQUERN_RANGELOCK_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct pgq_rangelock pgq_rangelock;

typedef enum pgq_rangelock_mode { PGQ_RANGELOCK_SHARED = 0, PGQ_RANGELOCK_EXCLUSIVE = 1 } pgq_rangelock_mode;

/*
 * A request, in memory of the caller (its stack, mostly): the lock itself allocates nothing for it. Set it to zeroes once.
 * It can be used again, in any lock, as soon as its range is released or its request is gone, and whoever waited with it, or
 * gave it back, has returned. Until then it must stay where it is. It must also outlive each call of another thread that has
 * it as an argument: pgq_rangelock_unlock, pgq_rangelock_cancel, pgq_rangelock_is_held. Such a call cannot know a hold that
 * is gone, nor a request from the one after it with the same hold: whoever shares a hold sees to it that nobody cancels, or
 * gives back, what has ended.
 *
 * One thread at a time asks with a hold, and one waits with it. Other threads may meanwhile cancel it, ask whether it is
 * held, and release what was granted (`rwlock` excepted). If several release it at once, one of them does; the others get
 * PGQ_RANGELOCK_NOT_HELD at once, perhaps before that one has returned.
 *
 * A wait ends by a grant, a cancellation or its time limit, and by nothing else. A signal handler that returns does not
 * end it. One that does not return (longjmp), or a thread that is killed while it waits, would leave a request in the lock
 * whose memory is gone: never do that. In the child of a fork neither locks nor holds may be used.
 *
 * The fields are the lock's own; those that a search reads come first. What is known of a child stands in its parent, so
 * that nobody has to look at a child to pass it.
 */
typedef struct pgq_rangelock_hold {
    struct pgq_rangelock_hold *left,
        *right;                   /* children in a tree of the lock, ordered by lo, then by ticket */
    uint64_t lo, hi;              /* [lo, hi) */
    uint64_t left_max, right_max; /* the largest hi of each child and those below it; 0 without the child */
    uint64_t ticket;   /* numbers the requests of a lock in the order of arrival; who is alone has none */
    uint32_t blockers; /* earlier requests that conflict and have not left */
    uint8_t left_height, right_height, exclusive;
    pgq_rangelock *lock; /* where it waits or is held */
    uint32_t
        state; /* 0: idle, 1: waits, 2: held, 3: a thread waits with it; else the code of how its wait ended */
    int32_t fd; /* `ofd`: its open file description */
} pgq_rangelock_hold;

/*
 * Makes a lock and writes it to *lock. fd: a file open for reading and writing, which the lock does not close; `ofd`
 * needs it, the others take any number. Refused: PGQ_NULL; PGQ_MEMORY; PGQ_RANGELOCK_FILE.
 */
typedef pgq_status (*pgq_rangelock_fn)(int fd, pgq_rangelock **lock);

/*
 * rwlock   one pthread_rwlock for the file; writers that wait go before readers that come. The thread that locks must also unlock. A
 *          thread that asks again while it holds the file exclusively gets PGQ_RANGELOCK_BUSY, at once. The baseline.
 * ofd      the kernel's own: open file description locks of fcntl(2), each request in a description of its own, kept for
 *          the next one. Waiting with a time limit tries again every 100 us. Not first come, first served.
 * interval ours: one short mutex, two balanced trees of ranges, a futex for each request that waits. Who comes while nobody
 *          is there, and there is no log, needs none of these: one compare and swap to come, and one to leave. Who comes
 *          while somebody is there takes the mutex, and pays for two ranges in the trees where that one was alone.
 */
typedef struct pgq_rangelock_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_rangelock_fn fn;
} pgq_rangelock_variant;

extern const pgq_rangelock_variant pgq_rangelock_variants[];
extern const size_t pgq_rangelock_variant_count;

/* A lock by the dispatched variant. */
pgq_status pgq_rangelock_create(int fd, pgq_rangelock **lock);

/*
 * Ends a lock; no other call of it may begin any more. Refused: PGQ_NULL; PGQ_RANGELOCK_IN_USE: ranges are held, or waited
 * for, and the lock stays. `rwlock` and `ofd` notice what is held only.
 */
pgq_status pgq_rangelock_destroy(pgq_rangelock *lock);

/*
 * Waits until [offset, offset + length) is granted. All calls with a range refuse, and change nothing:
 *   PGQ_NULL                lock or hold is NULL
 *   PGQ_RANGELOCK_EMPTY     length is 0
 *   PGQ_RANGELOCK_OVERFLOW  offset + length is above 2^63 - 1
 *   PGQ_RANGELOCK_IN_USE    the hold waits or is held
 * PGQ_RANGELOCK_CANCELLED: another thread has cancelled it. PGQ_RANGELOCK_FILE: the kernel has refused. mode: anything but
 * PGQ_RANGELOCK_SHARED is exclusive.
 */
pgq_status pgq_rangelock_lock(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset, uint64_t length,
                              pgq_rangelock_mode mode);

/*
 * The same, for so many nanoseconds (UINT64_MAX: for ever): then PGQ_RANGELOCK_TIMEOUT, never before, and the request is
 * gone. A range that is free is granted with any limit, 0 too. The time is that of CLOCK_MONOTONIC: a clock that is set
 * changes nothing. A grant or a cancellation that comes before the request is gone counts, though the time is up.
 */
pgq_status pgq_rangelock_lock_for(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset,
                                  uint64_t length, pgq_rangelock_mode mode, uint64_t nanoseconds);

/* Without waiting: PGQ_RANGELOCK_BUSY if it cannot be granted at once. */
pgq_status pgq_rangelock_try(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset, uint64_t length,
                             pgq_rangelock_mode mode);

/*
 * Gives a range back, and wakes exactly those that can go. Refused: PGQ_NULL; PGQ_RANGELOCK_NOT_HELD: the hold holds
 * nothing in this lock, or another thread gives it back already.
 */
pgq_status pgq_rangelock_unlock(pgq_rangelock *lock, pgq_rangelock_hold *hold);

/* ---- `interval` alone; the others answer PGQ_RANGELOCK_UNSUPPORTED, tell what is held, and have logged 0 events ---- */

/*
 * Asks for a range and returns at once; *granted tells whether it is held. If not, the request waits in the queue until it
 * is granted, cancelled, or given up by pgq_rangelock_wait: whoever made it must end it by one of these. It may be granted
 * at any time, before this call returns too; pgq_rangelock_is_held tells.
 */
pgq_status pgq_rangelock_request(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t offset,
                                 uint64_t length, pgq_rangelock_mode mode, bool *granted);

/*
 * Waits for what was requested, for so many nanoseconds (UINT64_MAX: for ever). Returns as pgq_rangelock_lock_for; PGQ_OK
 * again if it is held already; PGQ_RANGELOCK_NOT_WAITING if the hold is idle, or in another lock;
 * PGQ_RANGELOCK_IN_USE, at once, if another thread waits with this hold, by this call or by pgq_rangelock_lock. After
 * PGQ_RANGELOCK_TIMEOUT and PGQ_RANGELOCK_CANCELLED the hold is idle: each is returned once. If the other thread has been
 * cancelled, and has not looked yet, this call may return that in its place: the other one gets PGQ_RANGELOCK_NOT_WAITING.
 */
pgq_status pgq_rangelock_wait(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);

/*
 * Withdraws a request that waits, of any thread; that thread's call ends with PGQ_RANGELOCK_CANCELLED, and so does the next
 * pgq_rangelock_wait if no thread waits now: unless the hold asks for a range before that, and not by a try that is refused.
 * Refused: PGQ_RANGELOCK_NOT_WAITING: it is idle, held by now, or in another lock. The hold must exist until this call has
 * returned: see there.
 */
pgq_status pgq_rangelock_cancel(pgq_rangelock *lock, pgq_rangelock_hold *hold);

/* Whether the hold's range is held, in this lock. While another thread gives it back: either answer. */
bool pgq_rangelock_is_held(const pgq_rangelock *lock, const pgq_rangelock_hold *hold);

typedef enum pgq_rangelock_what {
    PGQ_RANGELOCK_EVENT_REQUEST,
    PGQ_RANGELOCK_EVENT_GRANT,
    PGQ_RANGELOCK_EVENT_REFUSE, /* a try that would have had to wait */
    PGQ_RANGELOCK_EVENT_RELEASE,
    PGQ_RANGELOCK_EVENT_CANCEL,
    PGQ_RANGELOCK_EVENT_TIMEOUT
} pgq_rangelock_what;

typedef struct pgq_rangelock_event {
    uint64_t ticket, lo, hi;
    uint32_t what; /* pgq_rangelock_what */
    uint32_t exclusive;
} pgq_rangelock_event;

/*
 * Writes each event to events[], in the order in which the lock decided them: the index is the sequence number, taken
 * under the lock's mutex. Stops when capacity events are there. capacity 0 ends the log; events[] may go then, and when
 * another log has begun. Refused: PGQ_NULL, also if events is NULL and capacity is not 0.
 */
pgq_status pgq_rangelock_log(pgq_rangelock *lock, pgq_rangelock_event *events, size_t capacity);

/* How many events there have been since the log began, those beyond its capacity included; 0 without a log. */
size_t pgq_rangelock_logged(pgq_rangelock *lock);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
