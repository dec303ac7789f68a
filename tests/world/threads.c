/* SPDX-License-Identifier: PostgreSQL */
#include "../tests/world/threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPURIOUS = 50, CHANGES = 3, STACK = 512 * 1024 };
static const uint64_t NEVER = UINT64_MAX;

typedef struct thread {
    enum { FREE, RUNS, WAITS, ENDED } state;
    const void *waits_for; /* an address */
    uint64_t deadline;     /* of the wait; NEVER if it has none */
    bool timed_out, is_served;
    uint64_t priority;
    pthread_t real;
    pthread_cond_t turn;
    void *(*body)(void *);
    void *argument;
} thread;

/* Real threads hand a baton to each other: `running` has it. */
static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static thread threads[WORLD_THREADS + 1];
static int running, n_threads;
static world *here;
static uint64_t now = 1000000000;
static uint32_t switches; /* the random walk changes threads once in so many points; 0: by priorities */
static uint64_t points, changes[CHANGES];

uint64_t world_now(void)
{
    return now;
}

unsigned world_thread_number(void)
{
    return (unsigned)running;
}

/* ---- who goes on ---- */

static void no_thread_can_go_on(void)
{
    fprintf(stderr, "violation with SEED=%llu: %s\n", (unsigned long long)here->seed,
            here->violated ? here->message : "no thread can go on");
    _exit(1);
}

/* All threads that could go on now. One whose wait has a limit may go on too: the clock goes to its limit. */
static int candidates(int found[], bool limits)
{
    int n = 0;

    for (int i = 0; i < n_threads; i++)
        if (threads[i].state == RUNS || (limits && threads[i].state == WAITS && threads[i].deadline != NEVER))
            found[n++] = i;
    return n;
}

static int by_priority(const int found[], int n)
{
    int best = found[0];

    for (int i = 1; i < n; i++)
        if (threads[found[i]].priority > threads[best].priority)
            best = found[i];
    return best;
}

static int choose(int me)
{
    int found[WORLD_THREADS + 1], n = candidates(found, world_one_in(here, SPURIOUS));

    if (n == 0)
        n = candidates(found, true);
    if (n == 0)
        no_thread_can_go_on();
    if (switches == 0)
        return by_priority(found, n);
    if (threads[me].state == RUNS && !world_one_in(here, switches))
        return me;
    return found[world_below(here, (uint64_t)n)];
}

static void go_on_with(int next)
{
    thread *t = &threads[next];

    if (t->state == WAITS) {
        t->state = RUNS;
        t->timed_out = true;
        if (now < t->deadline)
            now = t->deadline;
    }
    running = next;
    pthread_cond_signal(&t->turn);
}

static void wait_for_turn(int me)
{
    while (running != me)
        pthread_cond_wait(&threads[me].turn, &baton);
}

static void change_priorities(int me)
{
    points++;
    for (int i = 0; i < CHANGES; i++)
        if (points == changes[i])
            threads[me].priority = (uint64_t)i;
}

/* The thread that has the baton gives it on, perhaps to itself. */
static void hand_on(void)
{
    int me = running;

    change_priorities(me);
    int next = choose(me);
    if (next == me && threads[me].state == RUNS)
        return;
    pthread_mutex_lock(&baton);
    go_on_with(next);
    if (threads[me].state != ENDED)
        wait_for_turn(me);
    pthread_mutex_unlock(&baton);
}

void world_yield(void)
{
    if (n_threads > 0)
        hand_on();
}

/* Waits for a wake at the address. false: the deadline has passed. */
static bool wait_at(const void *address, uint64_t deadline)
{
    thread *me = &threads[running];

    if (n_threads == 0) {
        if (deadline == NEVER)
            no_thread_can_go_on();
        now = deadline;
        return false;
    }
    if (world_one_in(here, SPURIOUS))
        return true;
    me->state = WAITS;
    me->waits_for = address;
    me->deadline = deadline;
    me->timed_out = false;
    hand_on();
    return !me->timed_out;
}

static int wake_at(const void *address, int most)
{
    int woken = 0, start = n_threads > 0 ? (int)world_below(here, (uint64_t)n_threads) : 0;

    for (int i = 0; i < n_threads && woken < most; i++) {
        thread *t = &threads[(start + i) % n_threads];

        if (t->state == WAITS && t->waits_for == address) {
            t->state = RUNS;
            woken++;
        }
    }
    return woken;
}

void world_wait(const void *address)
{
    wait_at(address, NEVER);
}

void world_wake(const void *address)
{
    wake_at(address, WORLD_THREADS + 1);
}

void world_sleep(uint64_t nanoseconds)
{
    uint64_t end = now + nanoseconds;

    while (now < end && wait_at(&end, end))
        ;
}

void world_serve(uint64_t nanoseconds)
{
    thread *me = &threads[running];

    me->is_served = true;
    world_sleep(nanoseconds);
    me->is_served = false;
}

bool world_others_sleep(void)
{
    for (int i = 0; i < n_threads; i++) {
        const thread *t = &threads[i];

        if (i != running &&
            (t->state == RUNS || (t->state == WAITS && t->deadline != NEVER && !t->is_served)))
            return false;
    }
    return true;
}

bool world_all_others_wait(void)
{
    for (int i = 0; i < n_threads; i++)
        if (i != running && threads[i].state == RUNS)
            return false;
    return true;
}

/* ---- threads ---- */

static void *run_thread(void *argument)
{
    thread *me = argument;

    pthread_mutex_lock(&baton);
    wait_for_turn((int)(me - threads));
    pthread_mutex_unlock(&baton);
    me->body(me->argument);
    me->state = ENDED;
    wake_at(me, WORLD_THREADS);
    hand_on();
    return NULL;
}

int world_thread_create(pthread_t *id, void *(*body)(void *), void *argument)
{
    int number = 0;

    if (n_threads == 0) {
        fputs("judge: a thread is started outside of the world's own\n", stderr);
        abort();
    }
    while (number < n_threads && threads[number].state != FREE)
        number++;
    if (number > WORLD_THREADS)
        return EAGAIN;
    thread *t = &threads[number];
    *t = (thread){.state = RUNS, .deadline = NEVER, .body = body, .argument = argument};
    t->priority = CHANGES + (world_random(here) >> 1);
    pthread_cond_init(&t->turn, NULL);
    pthread_attr_t small; /* ASan cleans the whole stack of each thread */
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    if (pthread_create(&t->real, &small, run_thread, t) != 0)
        abort();
    pthread_attr_destroy(&small);
    if (number == n_threads)
        n_threads++;
    memcpy(id, &t, sizeof t);
    return 0;
}

int world_thread_join(pthread_t id)
{
    thread *t;

    memcpy(&t, &id, sizeof t);
    while (t->state != ENDED)
        wait_at(t, NEVER);
    pthread_join(t->real, NULL);
    pthread_cond_destroy(&t->turn);
    t->state = FREE;
    return 0;
}

typedef struct numbered {
    void (*body)(void *, unsigned);
    void *argument;
    unsigned number;
} numbered;

static void *run_numbered(void *argument)
{
    const numbered *n = argument;

    n->body(n->argument, n->number);
    return NULL;
}

static void begin(world *w)
{
    here = w;
    running = 0;
    n_threads = 1;
    threads[0] = (thread){.state = RUNS, .deadline = NEVER};
    pthread_cond_init(&threads[0].turn, NULL);
    points = 0;
    switches = world_one_in(w, 2) ? 0 : (uint32_t)1 << world_below(w, 6);
    for (int i = 0; i < CHANGES; i++)
        changes[i] = 1 + world_below(w, (uint64_t)1 << (4 + world_below(w, 10)));
}

void world_run_threads(world *w, unsigned n, void (*body)(void *argument, unsigned number), void *argument)
{
    numbered numbers[WORLD_THREADS];
    pthread_t ids[WORLD_THREADS];

    begin(w);
    for (unsigned i = 0; i < n; i++) {
        numbers[i] = (numbered){body, argument, i};
        if (world_thread_create(&ids[i], run_numbered, &numbers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n; i++)
        world_thread_join(ids[i]);
    pthread_cond_destroy(&threads[0].turn);
    n_threads = 0;
}

/* ---- mutexes: who holds it, plus one ---- */

int world_mutex_init(pthread_mutex_t *mutex)
{
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

int world_mutex_destroy(pthread_mutex_t *mutex)
{
    int holder;

    memcpy(&holder, mutex, sizeof holder);
    return holder == 0 ? 0 : EBUSY;
}

int world_mutex_lock(pthread_mutex_t *mutex)
{
    int holder, me = running + 1;

    world_yield();
    for (memcpy(&holder, mutex, sizeof holder); holder != 0; memcpy(&holder, mutex, sizeof holder))
        wait_at(mutex, NEVER);
    memcpy(mutex, &me, sizeof me);
    return 0;
}

bool world_mutex_is_mine(const pthread_mutex_t *mutex)
{
    int holder;

    memcpy(&holder, mutex, sizeof holder);
    return holder == running + 1;
}

int world_mutex_unlock(pthread_mutex_t *mutex)
{
    int nobody = 0;

    if (!world_mutex_is_mine(mutex))
        abort(); /* undefined behaviour of pthread_mutex_unlock */
    memcpy(mutex, &nobody, sizeof nobody);
    wake_at(mutex, WORLD_THREADS);
    world_yield();
    return 0;
}

/* ---- conditions: nothing but their address ---- */

int world_cond_init(pthread_cond_t *condition)
{
    memset(condition, 0, sizeof *condition);
    return 0;
}

int world_cond_destroy(pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* Between the unlock and the wait no other thread runs. */
static bool wait_without(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline)
{
    int nobody = 0;

    memcpy(mutex, &nobody, sizeof nobody);
    wake_at(mutex, WORLD_THREADS);
    bool woken = wait_at(condition, deadline);
    world_mutex_lock(mutex);
    return woken;
}

int world_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    wait_without(condition, mutex, NEVER);
    return 0;
}

int world_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline)
{
    return wait_without(condition, mutex, nanoseconds(deadline)) ? 0 : ETIMEDOUT;
}

int world_cond_wake(pthread_cond_t *condition, int most)
{
    wake_at(condition, most);
    world_yield();
    return 0;
}

/* ---- time and futexes ---- */

int world_clock(clockid_t clock, struct timespec *time)
{
    world_yield();
    now += 1000;
    /* Any other clock may be set: this one has been set back. */
    uint64_t shown = clock == CLOCK_MONOTONIC ? now : now / 2;
    *time = (struct timespec){.tv_sec = (time_t)(shown / 1000000000), .tv_nsec = (long)(shown % 1000000000)};
    return 0;
}

/* FUTEX_WAIT_BITSET and FUTEX_WAKE, as csrc/common/futex.h asks for them. */
long world_syscall(long number, ...)
{
    va_list arguments;

    va_start(arguments, number);
    const uint32_t *word = va_arg(arguments, const uint32_t *);
    int operation = va_arg(arguments, int) & FUTEX_CMD_MASK;
    uint32_t value = va_arg(arguments, uint32_t);
    const struct timespec *deadline =
        operation == FUTEX_WAIT_BITSET ? va_arg(arguments, const struct timespec *) : NULL;
    va_end(arguments);
    if (number != SYS_futex || (operation != FUTEX_WAIT_BITSET && operation != FUTEX_WAKE))
        abort();
    world_yield();
    if (operation == FUTEX_WAKE)
        return wake_at(word, (int)value);
    if (*word != value) {
        errno = EAGAIN;
        return -1;
    }
    if (wait_at(word, deadline == NULL ? NEVER : nanoseconds(deadline)))
        return 0;
    errno = ETIMEDOUT;
    return -1;
}
