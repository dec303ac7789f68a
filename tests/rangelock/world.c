/* SPDX-License-Identifier: PostgreSQL */
/*
 * Threads that lock ranges of a small file in every order that a seed gives: with and without a time limit, by tries, by
 * requests that others cancel or give back for them. In half of the steps there is a log, which is judged by the rule
 * (judge.h); without one, who is alone takes no mutex. Beside it:
 * - while a range is held, no other thread has a byte of it against it;
 * - a call with a limit ends at the limit or after it, never before;
 * - a cancellation that was accepted ends a wait; nobody sleeps for ever;
 * - if two threads give one hold back, one of them does, and the other one is told so, whoever runs meanwhile;
 * - if two threads wait with one hold, one is refused, and how the wait ended is told once;
 * - a hold that was in another lock before is not held there any more, whoever asks, and when.
 */
#include "judge.h"

#include "../tests/world/interpose.h"
#include "../tests/world/system.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 5, BYTES = 12, CALLS = 6, EVENTS = 8 * MOST_THREADS * CALLS };
enum {
    GRANTS,
    LATE_GRANTS,
    REFUSALS,
    TIMEOUTS,
    CANCELS,
    GIVEN_BACK,
    BY_OTHERS,
    SECOND_WAITS,
    IN_USE,
    TAKEN,
    NO_MEMORY
};
const char *const world_counts[] = {"grants",    "after_a_wait", "refusals",  "timeouts",
                                    "cancelled", "given_back",   "by_others", "second_waits",
                                    "in_use",    "taken",        "no_memory", NULL};
const unsigned world_steps = 8;

typedef struct worker {
    pgq_rangelock_hold hold;
    bool shows;            /* others may cancel this worker's request */
    pthread_mutex_t other; /* another thread has it while it waits with this worker's hold */
    bool shares;           /* others may wait with it */
    bool taken;            /* one of these was told how the wait ended */
    bool lends;            /* others may give back what it holds */
    unsigned given;        /* how many of them did */
    unsigned turns;        /* odd: the hold is in the file's lock, or on its way */
} worker;

typedef struct file {
    world *world;
    const pgq_rangelock_variant *variant;
    pgq_rangelock *lock, *another; /* nobody stays in the other one */
    unsigned threads;
    worker workers[MOST_THREADS];
    int readers[BYTES], writers[BYTES];
    pgq_rangelock_event events[EVENTS];
} file;

static void use(file *f, uint64_t lo, uint64_t hi, bool exclusive)
{
    for (uint64_t i = lo; i < hi; i++) {
        if (f->writers[i] > 0 || (exclusive && f->readers[i] > 0))
            world_violation(f->world, "byte %llu is held against its holder", (unsigned long long)i);
        *(exclusive ? &f->writers[i] : &f->readers[i]) += 1;
    }
    world_yield();
    for (uint64_t i = lo; i < hi; i++)
        *(exclusive ? &f->writers[i] : &f->readers[i]) -= 1;
}

/* A wait with or without a limit; it must not end before the limit. */
static pgq_code ends_in_time(file *f, uint64_t start, uint64_t limit, pgq_code code)
{
    if (code == PGQ_RANGELOCK_TIMEOUT && (limit == UINT64_MAX || world_now() - start < limit))
        world_violation(f->world, "a time limit of %llu ns ended after %llu", (unsigned long long)limit,
                        (unsigned long long)(world_now() - start));
    if (code == PGQ_RANGELOCK_TIMEOUT)
        world_count(TIMEOUTS);
    return code;
}

/* Another thread's wait with a hold. If it ends in any way but a grant, its owner hears no more of it. */
static void wait_with(file *f, worker *owner)
{
    world *w = f->world;
    uint64_t limit = world_one_in(w, 2) ? world_below(w, 100000) : UINT64_MAX, start = world_now();

    pthread_mutex_lock(&owner->other);
    if (owner->shares) {
        pgq_code code = ends_in_time(f, start, limit, pgq_rangelock_wait(f->lock, &owner->hold, limit).code);
        world_count(code == PGQ_RANGELOCK_IN_USE ? IN_USE : SECOND_WAITS);
        if (code == PGQ_RANGELOCK_TIMEOUT || code == PGQ_RANGELOCK_CANCELLED)
            owner->taken = true;
        else if (code != PGQ_OK && code != PGQ_RANGELOCK_IN_USE && code != PGQ_RANGELOCK_NOT_WAITING)
            world_violation(w, "a second wait ended with code %d", code);
    }
    pthread_mutex_unlock(&owner->other);
}

/* Until no other thread waits with it. */
static void sole(worker *me)
{
    pthread_mutex_lock(&me->other);
    pthread_mutex_unlock(&me->other);
}

/* How a wait has ended with whose hold others may have waited too. */
static pgq_code told_once(file *f, worker *me, uint64_t limit, pgq_code code)
{
    if (code == PGQ_RANGELOCK_NOT_WAITING && me->taken) {
        world_count(TAKEN);
        return PGQ_RANGELOCK_CANCELLED;
    }
    if (code != PGQ_OK && pgq_rangelock_wait(f->lock, &me->hold, limit).code != PGQ_RANGELOCK_NOT_WAITING)
        world_violation(f->world, "how a wait ended was told twice");
    return code;
}

/* The wait for what was requested. */
static pgq_code wait_among_others(file *f, worker *me, uint64_t limit)
{
    uint64_t start = world_now();
    pgq_code code;

    while ((code = pgq_rangelock_wait(f->lock, &me->hold, limit).code) == PGQ_RANGELOCK_IN_USE)
        sole(me);
    return told_once(f, me, limit, ends_in_time(f, start, limit, code));
}

static pgq_code acquire(file *f, worker *me, uint64_t lo, uint64_t length, bool exclusive)
{
    world *w = f->world;
    uint64_t limit = world_one_in(w, 3) ? world_below(w, 100000) : UINT64_MAX, start = world_now();
    bool granted = false;

    me->taken = false;
    switch (world_below(w, 4)) {
    case 0:
        return pgq_rangelock_try(f->lock, &me->hold, lo, length, exclusive).code;
    case 1:
        me->shows = me->shares = true;
        if (pgq_rangelock_request(f->lock, &me->hold, lo, length, exclusive, &granted).code != PGQ_OK)
            world_violation(w, "a request was refused");
        world_yield();
        return wait_among_others(f, me, limit);
    default:
        me->shows = me->shares = world_one_in(w, 2);
        return told_once(
            f, me, limit,
            ends_in_time(f, start, limit,
                         pgq_rangelock_lock_for(f->lock, &me->hold, lo, length, exclusive, limit).code));
    }
}

/* Another thread gives back what is held with a hold. */
static void give_back_for(file *f, worker *owner)
{
    pthread_mutex_lock(&owner->other);
    if (owner->lends) {
        pgq_code code = pgq_rangelock_unlock(f->lock, &owner->hold).code;
        owner->given += code == PGQ_OK;
        if (code == PGQ_OK)
            world_count(BY_OTHERS);
        else if (code != PGQ_RANGELOCK_NOT_HELD)
            world_violation(f->world, "another's release ended with code %d", code);
    }
    pthread_mutex_unlock(&owner->other);
}

/* So does its owner; one of them may, whoever comes first. */
static void give_back(file *f, worker *me)
{
    world *w = f->world;

    me->given = 0;
    me->lends = world_one_in(w, 3);
    world_yield();
    pgq_code code = pgq_rangelock_unlock(f->lock, &me->hold).code;
    me->lends = false;
    sole(me);
    if (pgq_rangelock_is_held(f->lock, &me->hold))
        world_violation(w, "what was given back already is held");
    if ((code == PGQ_OK) + me->given != 1)
        world_violation(w, "what is held was given back %u times", (code == PGQ_OK) + me->given);
    world_count(GIVEN_BACK);
}

/* Another thread asks for a worker's hold in the lock that it was in before. */
static void ask_elsewhere(file *f, const worker *owner)
{
    unsigned turns = owner->turns;

    if (turns % 2 == 1 && pgq_rangelock_is_held(f->another, &owner->hold) && owner->turns == turns)
        world_violation(f->world, "a hold is held in the lock that it has left");
}

/* In the other lock, if nobody is there, and out again. */
static void visit(file *f, worker *me)
{
    if (pgq_rangelock_try(f->another, &me->hold, 0, 1, PGQ_RANGELOCK_EXCLUSIVE).code == PGQ_OK &&
        pgq_rangelock_unlock(f->another, &me->hold).code != PGQ_OK)
        world_violation(f->world, "what is held in the other lock could not be released");
}

static void disturb(file *f, worker *other)
{
    if (other->lends)
        give_back_for(f, other);
    else if (other->shares && world_one_in(f->world, 2))
        wait_with(f, other);
    else if (other->shows && pgq_rangelock_cancel(f->lock, &other->hold).code == PGQ_OK)
        world_count(CANCELS);
}

static void call(file *f, worker *me)
{
    world *w = f->world;
    uint64_t lo = world_below(w, BYTES), length = 1 + world_below(w, BYTES - lo);
    bool exclusive = world_one_in(w, 2);

    if (world_one_in(w, 3))
        disturb(f, &f->workers[world_below(w, f->threads)]);
    ask_elsewhere(f, &f->workers[world_below(w, f->threads)]);
    visit(f, me);
    me->turns++;
    pgq_code code = acquire(f, me, lo, length, exclusive);
    me->shows = me->shares = false;
    if (code == PGQ_OK) {
        use(f, lo, lo + length, exclusive);
        give_back(f, me);
    } else if (code != PGQ_RANGELOCK_BUSY && code != PGQ_RANGELOCK_TIMEOUT &&
               code != PGQ_RANGELOCK_CANCELLED) {
        world_violation(w, "code %d", code);
    }
    sole(me); /* before its hold is used again */
    me->turns++;
    if (pgq_rangelock_is_held(f->lock, &me->hold) ||
        pgq_rangelock_unlock(f->lock, &me->hold).code != PGQ_RANGELOCK_NOT_HELD)
        world_violation(w, "what is not held was released");
}

static void work(void *argument, unsigned number)
{
    file *f = argument;

    for (int i = 0; i < CALLS; i++)
        call(f, &f->workers[number]);
}

static void judge_calls(file *f)
{
    judge verdict = {.n = 0};
    size_t at;
    const char *fault = judge_log(&verdict, f->events, pgq_rangelock_logged(f->lock), &at);

    if (fault != NULL)
        world_violation(f->world, "event %zu: %s", at, fault);
    if (verdict.n > 0)
        world_violation(f->world, "%zu requests have not left", verdict.n);
    for (unsigned long i = 0; i < verdict.grants; i++)
        world_count(GRANTS);
    for (unsigned long i = 0; i < verdict.after_a_wait; i++)
        world_count(LATE_GRANTS);
    for (unsigned long i = 0; i < verdict.refusals; i++)
        world_count(REFUSALS);
}

void *world_begin(world *w)
{
    file *f = calloc(1, sizeof *f);

    if (f == NULL)
        abort();
    f->world = w;
    for (size_t i = 0; i < pgq_rangelock_variant_count; i++)
        if (strcmp(pgq_rangelock_variants[i].name, "interval") == 0)
            f->variant = &pgq_rangelock_variants[i];
    if (f->variant == NULL || f->variant->fn(-1, &f->lock).code != PGQ_OK ||
        f->variant->fn(-1, &f->another).code != PGQ_OK)
        abort();
    for (unsigned i = 0; i < MOST_THREADS; i++)
        pthread_mutex_init(&f->workers[i].other, NULL);
    return f;
}

void world_step(void *row, world *w, unsigned step)
{
    file *f = row;

    (void)step;
    f->threads = 2 + (unsigned)world_below(w, MOST_THREADS - 1);
    bool logs = world_one_in(w, 2);

    if (pgq_rangelock_log(f->lock, logs ? f->events : NULL, logs ? EVENTS : 0).code != PGQ_OK)
        world_violation(w, "no log");
    world_run_threads(w, f->threads, work, f);
    judge_calls(f);
}

/* A lock for which there is no memory. */
static pgq_code create_and_destroy(void *row)
{
    file *f = row;
    pgq_status status = f->variant->fn(-1, &f->lock);

    return status.code == PGQ_OK ? pgq_rangelock_destroy(f->lock).code : status.code;
}

void world_end(void *row, world *w)
{
    file *f = row;

    if (pgq_rangelock_destroy(f->lock).code != PGQ_OK || pgq_rangelock_destroy(f->another).code != PGQ_OK)
        world_violation(w, "a lock of which nothing is held could not be ended");
    for (unsigned n = system_refuse_each(w, create_and_destroy, f); n > 0; n--)
        world_count(NO_MEMORY);
    free(f);
}
