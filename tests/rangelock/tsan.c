/* SPDX-License-Identifier: PostgreSQL */
/*
 * Threads that lock random ranges of a small file: with and without a time limit, by tries, and by requests that other
 * threads cancel. Built with ThreadSanitizer the program shows data races; built without it runs at full speed. In both
 * cases:
 * - who holds a range exclusively writes its bytes, plainly, and finds what it wrote; who holds it shared reads them twice;
 * - the lock's log is judged, event by event, by the rule (judge.h); in every other batch there is none, and then who is
 *   alone takes no mutex;
 * - if all threads sleep without a time limit, and stay asleep, a wake-up was lost.
 * Before, each is alone once, after the other: that shows in each run whether what one has done is there for the next.
 *
 * argv[1]: rounds; a thread makes four calls a round. Ends with a tally.
 */
#include "judge.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    THREADS = 6,
    BYTES = 48,
    CALLS = 4,  /* of a thread, in a round */
    BATCH = 64, /* rounds, after which the log is judged */
    EVENTS = 4 * THREADS * CALLS * BATCH,
    WRONG_ANSWER = 1 /* exit code; ThreadSanitizer has its own */
};

typedef struct worker {
    pthread_t thread;
    atomic_int tid;
    uint32_t random;
    pgq_rangelock_hold hold;
    atomic_bool waits;  /* in a call without a time limit */
    atomic_ulong calls; /* that have ended */
} worker;

static worker workers[THREADS];
static pgq_rangelock *lock;
static unsigned bytes[BYTES]; /* guarded by their ranges */
static pthread_barrier_t barrier;
static atomic_uint finished;
static pgq_rangelock_event events[EVENTS];
static unsigned rounds;
static judge verdict;
static bool has_queue; /* it knows requests, cancellation and the log; the baselines do not */

static uint32_t draw(uint32_t *state, uint32_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % n;
}

static void wrong(const char *what, size_t number)
{
    fprintf(stderr, "wrong answer: %s (%zu)\n", what, number);
    _Exit(WRONG_ANSWER);
}

/* ---- workers --------------------------------------------------------------------------------------------------- */

/* Mostly near each other; now and then the whole file. */
static void some_range(worker *me, uint64_t *offset, uint64_t *length)
{
    *offset = draw(&me->random, 16) == 0 ? 0 : draw(&me->random, BYTES);
    *length = *offset == 0 ? BYTES : 1 + draw(&me->random, 8);
    if (*length > BYTES - *offset)
        *length = BYTES - *offset;
}

static void use(worker *me, uint64_t offset, uint64_t length, bool exclusive)
{
    unsigned seen[BYTES], mark = me->random;

    for (uint64_t i = 0; i < length; i++) {
        if (exclusive)
            bytes[offset + i] = mark;
        seen[i] = bytes[offset + i];
    }
    if (draw(&me->random, 4) == 0)
        sched_yield();
    for (uint64_t i = 0; i < length; i++)
        if (bytes[offset + i] != seen[i])
            wrong("a byte has changed while its range was held", offset + i);
}

/* A request, which others may cancel until it is waited for. */
static pgq_status request_and_wait(worker *me, uint64_t offset, uint64_t length, bool exclusive)
{
    pgq_status status;
    bool granted;

    status = pgq_rangelock_request(lock, &me->hold, offset, length, exclusive, &granted);
    if (status.code != PGQ_OK || granted)
        return status;
    if (draw(&me->random, 2) == 0)
        sched_yield();
    return pgq_rangelock_wait(lock, &me->hold, UINT64_MAX);
}

static pgq_status acquire(worker *me, uint64_t offset, uint64_t length, bool exclusive)
{
    pgq_status status;

    switch (draw(&me->random, 8)) {
    case 0:
        return pgq_rangelock_try(lock, &me->hold, offset, length, exclusive);
    case 1:
    case 2:
        return pgq_rangelock_lock_for(lock, &me->hold, offset, length, exclusive, draw(&me->random, 60000));
    default:
        atomic_store(&me->waits, true);
        status = draw(&me->random, 2) || !has_queue
                     ? pgq_rangelock_lock(lock, &me->hold, offset, length, exclusive)
                     : request_and_wait(me, offset, length, exclusive);
        atomic_store(&me->waits, false);
        return status;
    }
}

static void call(worker *me)
{
    uint64_t offset, length;
    bool exclusive = draw(&me->random, 3) == 0;

    if (draw(&me->random, 8) == 0)
        pgq_rangelock_cancel(lock, &workers[draw(&me->random, THREADS)].hold);
    some_range(me, &offset, &length);
    if (acquire(me, offset, length, exclusive).code == PGQ_OK) {
        use(me, offset, length, exclusive);
        if (pgq_rangelock_unlock(lock, &me->hold).code != PGQ_OK)
            wrong("what is held could not be released", offset);
    }
    if (pgq_rangelock_unlock(lock, &me->hold).code != PGQ_RANGELOCK_NOT_HELD)
        wrong("what is not held was released", offset);
    atomic_fetch_add(&me->calls, 1);
}

static void *work(void *argument)
{
    worker *me = argument;

    atomic_store(&me->tid, (int)syscall(SYS_gettid));
    for (unsigned batch = 0; batch < rounds / BATCH; batch++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < BATCH * CALLS; i++)
            call(me);
        atomic_fetch_add(&finished, 1);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* ---- the judge ------------------------------------------------------------------------------------------------- */

/* Whether the kernel says that a thread sleeps: one that was woken is to run, however long it waits for a CPU. */
static bool sleeps(int tid)
{
    char path[64], line[256] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    fclose(file);
    const char *end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* The calls that have ended, if all threads that are not at the barrier sleep in calls without a time limit; else 0. */
static unsigned long all_asleep(void)
{
    unsigned long ended = 1;
    unsigned asleep = 0;

    for (int i = 0; i < THREADS; i++) {
        ended += atomic_load(&workers[i].calls);
        asleep += atomic_load(&workers[i].waits) && sleeps(atomic_load(&workers[i].tid));
    }
    return asleep > 0 && asleep + atomic_load(&finished) == THREADS ? ended : 0;
}

/* Until all have finished. A thread that was woken between two looks either is to run, or has ended a call. */
static void watch(void)
{
    while (atomic_load(&finished) < THREADS) {
        unsigned long before = all_asleep();

        usleep(2000);
        if (before != 0 && all_asleep() == before && all_asleep() == before)
            wrong("all threads sleep: a wake-up was lost", before);
    }
}

static void judge_batch(void)
{
    size_t n = pgq_rangelock_logged(lock), at = 0;

    if (!has_queue)
        return;
    const char *fault = n > EVENTS ? "more events than the log has room for" : NULL;

    if (fault == NULL)
        fault = judge_log(&verdict, events, n, &at);
    if (fault != NULL)
        wrong(fault, at);
    if (verdict.n != 0)
        wrong("requests are left at the end of a batch", verdict.n);
}

/* Every other batch goes without one. */
/* Relaxed, so that the threads are in order by the lock alone. */
static unsigned turn;

static void *be_alone_in_turn(void *number)
{
    static unsigned guarded;
    pgq_rangelock_hold hold = {0};
    unsigned me = (unsigned)(uintptr_t)number;

    while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != me)
        sched_yield();
    if (pgq_rangelock_lock(lock, &hold, 0, 1, PGQ_RANGELOCK_EXCLUSIVE).code != PGQ_OK || guarded++ != me ||
        pgq_rangelock_unlock(lock, &hold).code != PGQ_OK)
        wrong("who is alone does not get a range, or not what was written there", me);
    __atomic_store_n(&turn, me + 1, __ATOMIC_RELAXED);
    return NULL;
}

static void take_turns(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, be_alone_in_turn, (void *)i) != 0)
            exit(WRONG_ANSWER);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void begin_log(unsigned batch)
{
    bool logs = batch % 2 == 0;

    if (has_queue && pgq_rangelock_log(lock, logs ? events : NULL, logs ? EVENTS : 0).code != PGQ_OK)
        wrong("no log", batch);
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    if (pgq_rangelock_create(-1, &lock).code != PGQ_OK)
        return WRONG_ANSWER;
    take_turns();
    has_queue = pgq_rangelock_log(lock, events, EVENTS).code == PGQ_OK;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        workers[i].random = (uint32_t)i + 1;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return WRONG_ANSWER;
    }
    for (unsigned batch = 0; batch < rounds / BATCH; batch++) {
        atomic_store(&finished, 0);
        begin_log(batch);
        pthread_barrier_wait(&barrier);
        watch();
        pthread_barrier_wait(&barrier);
        judge_batch();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    if (pgq_rangelock_destroy(lock).code != PGQ_OK)
        wrong("the lock is not idle at the end", 0);
    printf("tally: rounds=%u grants=%lu after_a_wait=%lu refusals=%lu cancels=%lu timeouts=%lu\n", rounds,
           verdict.grants, verdict.after_a_wait, verdict.refusals, verdict.cancels, verdict.timeouts);
    return 0;
}
