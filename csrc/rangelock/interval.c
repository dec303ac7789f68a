/* SPDX-License-Identifier: PostgreSQL */
/*
 * Our range lock. All requests that have arrived and not left, held or waiting, are in one of two trees, by their mode. A
 * request counts its *blockers* as it arrives: the requests that conflict with it, all of them earlier. Whoever leaves,
 * by release, cancellation or timeout, takes itself off the count of every later request that it conflicts with. Who has
 * no blockers holds its range. So a release touches exactly those that it blocked, in O((k + 1) log n) for k of them, and
 * a reader never looks at readers.
 *
 * Who comes while nobody is there does not even take the mutex. It puts its hold into one word, `alone`, and takes it out
 * of there as it leaves: one compare and swap each. Whoever comes meanwhile takes the mutex, shuts the word for all who come
 * later, and puts into a tree who was found there: that one came first. The word is opened as soon as both trees are empty.
 *
 * One mutex covers the trees and the counts, for the time of a search. Who must wait sleeps on its own hold's state, and
 * is woken by who grants, after the mutex is free. Nobody spins. proofs/rangelock/ proves that the counts and the word
 * keep the rule, spec/rangelock/rangelock_steps.tla has the steps below.
 */
#include "common/futex.h"
#include "common/holds.h"
#include "rangelock/tree.h"

#include <pthread.h>
#include <stdlib.h>

enum { AT_ONCE = 16 }; /* so many are woken after the mutex is free; those beyond, before */

typedef struct interval {
    pgq_rangelock head;
    node *alone;           /* NULL: nobody is here, and there is no log; or who is here alone; or SHUT */
    pthread_mutex_t mutex; /* over all below, over the holds in the trees, and over who shuts and opens */
    node *trees[2];        /* by mode */
    size_t waiting;        /* requests that have blockers */
    uint64_t arrivals;
    pgq_rangelock_event *events; /* NULL: no log */
    size_t capacity, logged;
} interval;

static node shut_word;
#define SHUT (&shut_word) /* in `alone`: who comes takes the mutex, and looks into the trees */

/* Who was granted, and must be woken. */
typedef struct wakes {
    const uint32_t *words[AT_ONCE];
    size_t n;
} wakes;

static void wake_all(wakes *w)
{
    for (size_t i = 0; i < w->n; i++)
        futex_wake(w->words[i]);
    w->n = 0;
}

/*
 * Says how a wait has ended. From now on its owner may go, and the hold with it. It releases what the owner, who has no mutex,
 * reads next; nothing is read here that would have to be acquired (spec/rangelock/Litmus.tla).
 */
static void tell(node *x, uint32_t state, wakes *w)
{
    if (__atomic_exchange_n(&x->state, state, __ATOMIC_RELEASE) != AWAITED)
        return;
    if (w->n == AT_ONCE)
        wake_all(w);
    w->words[w->n++] = &x->state;
}

static interval *of(pgq_rangelock *lock)
{
    return (interval *)lock;
}

static void note(interval *lock, pgq_rangelock_what what, const node *x)
{
    if (lock->events == NULL)
        return;
    if (lock->logged < lock->capacity)
        lock->events[lock->logged] = (pgq_rangelock_event){x->ticket, x->lo, x->hi, what, x->exclusive};
    lock->logged++;
}

/* ---- blockers: with the mutex held -------------------------------------------------------------------------------- */

/* How many ranges of a tree overlap x. */
static uint32_t count(const node *tree, const node *x)
{
    uint32_t n = 0;

    for (; tree != NULL; tree = tree->right) {
        if (tree->left_max > x->lo)
            n += count(tree->left, x);
        if (tree->lo >= x->hi)
            break;
        n += tree->hi > x->lo;
        if (tree->right_max <= x->lo)
            break;
    }
    return n;
}

/* Takes x, which has left, off the counts of the later ranges of a tree that overlap it. */
static void unblock(interval *lock, node *tree, const node *x, wakes *w)
{
    for (; tree != NULL; tree = tree->right) {
        if (tree->left_max > x->lo)
            unblock(lock, tree->left, x, w);
        if (tree->lo >= x->hi)
            break;
        HOLDS(tree->hi <= x->lo || tree->ticket < x->ticket || tree->blockers > 0); /* it has counted x */
        if (tree->hi > x->lo && tree->ticket > x->ticket && --tree->blockers == 0) {
            HOLDS(lock->waiting > 0);
            lock->waiting--;
            note(lock, PGQ_RANGELOCK_EVENT_GRANT, tree);
            tell(tree, HELD, w); /* it stays in the tree until its owner has the mutex */
        }
        if (tree->right_max <= x->lo)
            break;
    }
}

/* ---- who is alone ------------------------------------------------------------------------------------------------- */

/* 0: it has never been in a tree since it came. Who gives back what another thread gives back looks there. */
static inline uint64_t ticket_of(const node *x)
{
    return __atomic_load_n(&x->ticket, __ATOMIC_ACQUIRE);
}

static inline void set_ticket(node *x, uint64_t ticket)
{
    __atomic_store_n(&x->ticket, ticket, __ATOMIC_RELEASE);
}

static inline node *word_of(const interval *lock)
{
    return __atomic_load_n(&lock->alone, __ATOMIC_RELAXED);
}

/*
 * Comes without the mutex, if nobody is there: nobody is in the trees while the word is open. It acquires what the one
 * before has released, and releases x, which another thread may put into a tree from now on; that one leaves the state alone.
 */
static inline bool come_alone(interval *lock, node *x)
{
    node *nobody = NULL;

    if (word_of(lock) != NULL)
        return false;
    set_ticket(x, 0);
    if (!__atomic_compare_exchange_n(&lock->alone, &nobody, x, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    set_lock(x, &lock->head);
    set_state(x, HELD);
    return true;
}

/* False if it is not there, or was put into a tree. The lock may go as soon as the word is empty. */
static inline bool leave_alone(interval *lock, node *x)
{
    node *found = x;

    if (word_of(lock) != x ||
        !__atomic_compare_exchange_n(&lock->alone, &found, NULL, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return false;
    set_state(x, IDLE);
    return true;
}

/* With the mutex held, and trees that are empty if the word is not shut: from now on all who come take the mutex. */
static inline void shut(interval *lock)
{
    node *first;

    HOLDS(IS_LOCKED(&lock->mutex));
    if (word_of(lock) == SHUT)
        return;
    first = __atomic_exchange_n(&lock->alone, SHUT, __ATOMIC_ACQUIRE);
    HOLDS(lock->trees[0] == NULL && lock->trees[1] == NULL && lock->waiting == 0);
    if (first == NULL)
        return;
    set_ticket(first, ++lock->arrivals);
    first->blockers = 0;
    lock->trees[first->exclusive] = pgq_rangelock_tree_insert(NULL, first);
}

/* With the mutex held, and the word shut. A log wants to hear of everybody. */
static inline void open_if_empty(interval *lock)
{
    HOLDS(lock->trees[0] != NULL || lock->trees[1] != NULL || lock->waiting == 0); /* nobody is forgotten */
    if (lock->trees[0] == NULL && lock->trees[1] == NULL && lock->events == NULL)
        __atomic_store_n(&lock->alone, NULL, __ATOMIC_RELEASE);
}

/* ---- arrivals and departures: with the mutex held, and the word shut ------------------------------------------------ */

/* A request arrives: all others are earlier. An empty tree costs no call. */
static inline void arrive(interval *lock, node *x)
{
    const node *writers = lock->trees[PGQ_RANGELOCK_EXCLUSIVE], *readers = lock->trees[PGQ_RANGELOCK_SHARED];

    HOLDS(x->lo < x->hi); /* an empty range would overlap nothing, and still be held */
    set_ticket(x, ++lock->arrivals);
    x->blockers = writers == NULL ? 0 : count(writers, x);
    if (x->exclusive && readers != NULL)
        x->blockers += count(readers, x);
}

/* It stays: held, or in the queue, and then its state is `queued`. */
static inline void stay(interval *lock, node *x, uint32_t queued)
{
    lock->trees[x->exclusive] = pgq_rangelock_tree_insert(lock->trees[x->exclusive], x);
    set_lock(x, &lock->head);
    note(lock, PGQ_RANGELOCK_EVENT_REQUEST, x);
    if (x->blockers == 0)
        note(lock, PGQ_RANGELOCK_EVENT_GRANT, x);
    else
        lock->waiting++;
    set_state(x, x->blockers == 0 ? HELD : queued);
}

/* It leaves; its state is set by who calls. While nobody waits, nobody is blocked. */
static inline void leave(interval *lock, node *x, pgq_rangelock_what why, wakes *w)
{
    node **trees = lock->trees;

    HOLDS(IS_LOCKED(&lock->mutex) && (x->blockers == 0 || lock->waiting > 0));
    /* Who has no blockers holds its range, no other. */
    HOLDS((x->blockers == 0) == (why == PGQ_RANGELOCK_EVENT_RELEASE));
    trees[x->exclusive] = pgq_rangelock_tree_remove(trees[x->exclusive], x);
    lock->waiting -= x->blockers != 0;
    note(lock, why, x);
    if (lock->waiting != 0) {
        unblock(lock, trees[PGQ_RANGELOCK_EXCLUSIVE], x, w);
        if (x->exclusive)
            unblock(lock, trees[PGQ_RANGELOCK_SHARED], x, w);
    }
    open_if_empty(lock);
}

/* ---- the calls ---------------------------------------------------------------------------------------------------- */

/* Whether it is held; otherwise it waits, and its state is `queued`. */
static bool ask(interval *me, node *x, uint32_t queued)
{
    bool granted;

    if (come_alone(me, x))
        return true;
    pthread_mutex_lock(&me->mutex);
    shut(me);
    arrive(me, x);
    stay(me, x, queued);
    granted = x->blockers == 0;
    pthread_mutex_unlock(&me->mutex);
    return granted;
}

static pgq_status request(pgq_rangelock *lock, node *x, bool *granted)
{
    *granted = ask(of(lock), x, WAITS);
    return accepted();
}

static pgq_status try(pgq_rangelock *lock, node *x)
{
    interval *me = of(lock);
    bool granted;

    if (come_alone(me, x))
        return accepted();
    pthread_mutex_lock(&me->mutex);
    shut(me);
    arrive(me, x);
    granted = x->blockers == 0;
    if (granted)
        stay(me, x, WAITS);
    else
        note(me, PGQ_RANGELOCK_EVENT_REFUSE, x);
    pthread_mutex_unlock(&me->mutex);
    return granted ? accepted() : refused(PGQ_RANGELOCK_BUSY, 0);
}

/* Sleeps until x no longer waits; false if the time is up first. */
static bool sleep_until_granted(const node *x, uint64_t nanoseconds)
{
    struct timespec deadline;

    if (nanoseconds != FOR_EVER)
        deadline = time_after(nanoseconds);
    while (state_of(x) == AWAITED)
        if (!futex_wait(&x->state, AWAITED, nanoseconds == FOR_EVER ? NULL : &deadline))
            return false;
    return true;
}

/* Its time is up: it leaves the queue, unless it was granted or cancelled meanwhile. */
static bool gave_up(interval *me, node *x)
{
    wakes w;
    bool late;

    w.n = 0;
    pthread_mutex_lock(&me->mutex);
    late = state_of(x) == AWAITED;
    if (late) {
        leave(me, x, PGQ_RANGELOCK_EVENT_TIMEOUT, &w);
        set_state(x, IDLE);
    }
    pthread_mutex_unlock(&me->mutex);
    wake_all(&w);
    return late;
}

/* How a request has ended that was in this state, and neither WAITS nor AWAITED. */
static pgq_status how_it_ended(node *x, uint32_t state)
{
    if (state == HELD)
        return accepted();
    /* A cancellation is returned once. */
    if (state > AWAITED && change_state(x, &state, IDLE))
        return refused((pgq_code)state, 0);
    return refused(PGQ_RANGELOCK_NOT_WAITING, 0);
}

/* The wait of the thread that has made the request AWAITED. */
static pgq_status await(interval *me, node *x, uint64_t nanoseconds)
{
    if (!sleep_until_granted(x, nanoseconds) && gave_up(me, x))
        return refused(PGQ_RANGELOCK_TIMEOUT, 0);
    return how_it_ended(x, state_of(x));
}

/* What it saw counts: a request that comes now, with the same hold, is not the one that was waited for. */
static pgq_status wait_for(pgq_rangelock *lock, node *x, uint64_t nanoseconds)
{
    uint32_t from = WAITS;

    if (change_state(x, &from, AWAITED))
        return await(of(lock), x, nanoseconds);
    return from == AWAITED ? refused(PGQ_RANGELOCK_IN_USE, 0) : how_it_ended(x, from);
}

static pgq_status acquire(pgq_rangelock *lock, node *x, uint64_t nanoseconds)
{
    if (nanoseconds == 0)
        return try(lock, x);
    return ask(of(lock), x, AWAITED) ? accepted() : await(of(lock), x, nanoseconds);
}

/*
 * Gives back what is in a tree; false if it is in none. Who is said to be held, and has no number, is being given back by a
 * thread that has left the word, and is about to say so. The number is read before the state: a hold that another lock has
 * by now has that lock's number, and then not this lock.
 */
static bool release_from_tree(interval *me, node *x)
{
    wakes w;
    bool here;

    w.n = 0; /* and not the words, which would cost more than the rest */
    pthread_mutex_lock(&me->mutex);
    shut(me);
    here = ticket_of(x) != 0 && is_held(&me->head, x);
    if (here) {
        leave(me, x, PGQ_RANGELOCK_EVENT_RELEASE, &w);
        set_state(x, IDLE);
    } else {
        open_if_empty(me);
    }
    pthread_mutex_unlock(&me->mutex);
    wake_all(&w);
    return here;
}

/* It tries once: who finds that another thread gives it back does not wait for that one. */
static pgq_status release(pgq_rangelock *lock, node *x)
{
    return leave_alone(of(lock), x) || release_from_tree(of(lock), x) ? accepted()
                                                                      : refused(PGQ_RANGELOCK_NOT_HELD, 0);
}

static pgq_status cancel(pgq_rangelock *lock, node *x)
{
    interval *me = of(lock);
    wakes w;
    bool here;

    w.n = 0;
    pthread_mutex_lock(&me->mutex);
    here = waits(x) && lock_of(x) == lock;
    if (here) {
        leave(me, x, PGQ_RANGELOCK_EVENT_CANCEL, &w);
        tell(x, PGQ_RANGELOCK_CANCELLED, &w);
    }
    pthread_mutex_unlock(&me->mutex);
    wake_all(&w);
    return here ? accepted() : refused(PGQ_RANGELOCK_NOT_WAITING, 0);
}

static pgq_status set_log(pgq_rangelock *lock, pgq_rangelock_event *events, size_t capacity)
{
    interval *me = of(lock);

    if (events == NULL && capacity != 0)
        return refused(PGQ_NULL, 0);
    pthread_mutex_lock(&me->mutex);
    shut(me);
    me->events = capacity == 0 ? NULL : events;
    me->capacity = capacity;
    me->logged = 0;
    open_if_empty(me);
    pthread_mutex_unlock(&me->mutex);
    return accepted();
}

static size_t logged(pgq_rangelock *lock)
{
    interval *me = of(lock);
    size_t n;

    pthread_mutex_lock(&me->mutex);
    n = me->logged;
    pthread_mutex_unlock(&me->mutex);
    return n;
}

static pgq_status destroy(pgq_rangelock *lock)
{
    interval *me = of(lock);
    node *alone;
    bool idle;

    pthread_mutex_lock(&me->mutex);
    alone = __atomic_load_n(&me->alone, __ATOMIC_ACQUIRE);
    idle = (alone == NULL || alone == SHUT) && me->trees[0] == NULL && me->trees[1] == NULL;
    pthread_mutex_unlock(&me->mutex);
    if (!idle)
        return refused(PGQ_RANGELOCK_IN_USE, 0);
    pthread_mutex_destroy(&me->mutex);
    free(me);
    return accepted();
}

static const rangelock_calls calls = {acquire, release, destroy, request, wait_for, cancel, set_log, logged};

pgq_status pgq_rangelock_interval(int fd, pgq_rangelock **lock)
{
    interval *me;

    (void)fd;
    if (lock == NULL)
        return refused(PGQ_NULL, 0);
    me = calloc(1, sizeof *me);
    if (me == NULL)
        return refused(PGQ_MEMORY, 0);
    me->head.calls = &calls;
    pthread_mutex_init(&me->mutex, NULL);
    *lock = &me->head;
    return accepted();
}
