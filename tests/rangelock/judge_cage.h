/* SPDX-License-Identifier: PostgreSQL */
/*
 * A lock in a process of its own (tools/judge/cage.h), with the holds and all that it allots. Each call of it is a fiber there, which
 * runs from one mutex, condition, futex, atomic or look at the clock to another: a slice. The thread that has called, outside, asks for
 * one slice after the other, and sleeps if the fiber does; so who schedules these threads schedules the fibers. What a call
 * returns is all that is taken from there, and whether there was a data race (tools/judge/races.h): a thread outside is always the
 * same fiber. A hold, and a lock from its creation on, come to a thread in order; nothing else from outside orders threads.
 */
#include "../tests/rangelock/candidate.h"
#include "../tools/judge/cage.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIBERS = 64, HOLDS = 2048, STACK = 64 << 10, RETURNED = 0x5a };
enum { CREATE, ACQUIRE, RELEASE, DESTROY, GO_ON };
enum { FREE, READY, ASLEEP, DONE };

typedef struct arguments {
    void *lock;
    pgq_rangelock_hold *hold;
    uint64_t nanoseconds, now, other_now; /* other_now: of the clock that may be set */
    uint32_t what, fiber, budget;         /* budget: of points at which it could stop, which it passes */
    /* what comes back */
    uint32_t is;
    bool result, raced, unseen;
    bool is_another;          /* the fiber was another thread's, for want of fibers: all is in order for it */
    uint64_t deadline, ready; /* of a sleep; the fibers that can go on, as bits */
    uint64_t blocks;          /* of memory that the lock has */
} arguments;

#ifdef JUDGE_HOST
#include "../tools/judge/races.h"

#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>

const bool judge_keeps_memory = true;

typedef struct fiber {
    jmp_buf at;
    arguments call;
    int is;
    const void *sleeps_on;
    uint64_t deadline;
    bool timed_out;
} fiber;

static fiber fibers[FIBERS];
static char stacks[FIBERS][STACK] __attribute__((aligned(64)));
static jmp_buf keeper;
static ucontext_t first, back;
static fiber *running;
static arguments *now_asked;
static uint32_t budget;
static bool unseen;

static void body(void)
{
    fiber *me = running;

    if (_setjmp(me->at) == 0)
        swapcontext(&first, &back);
    for (;;) {
        me = running;
        arguments *a = &me->call;
        if (a->is_another || a->what == DESTROY)
            take_all();
        take(a->hold);
        take(a->lock);
        if (a->what == CREATE)
            a->lock = candidate_create();
        else if (a->what == ACQUIRE)
            a->result = candidate_acquire(a->lock, a->hold, a->nanoseconds);
        else if (a->what == RELEASE)
            candidate_release(a->lock, a->hold);
        else
            a->result = candidate_destroy(a->lock);
        me = running;
        give(a->what == CREATE ? a->lock : (void *)a->hold);
        me->is = DONE;
        if (_setjmp(me->at) == 0)
            _longjmp(keeper, 1);
    }
}

/* Before it is shut in: swapcontext makes system calls. */
void judge_prepare(void)
{
    begin_races();
    for (int i = 0; i < FIBERS; i++) {
        running = &fibers[i];
        getcontext(&first);
        first.uc_stack.ss_sp = stacks[i];
        first.uc_stack.ss_size = STACK;
        makecontext(&first, body, 0);
        swapcontext(&back, &first);
    }
}

static void stop(int is)
{
    fiber *me = running;

    me->is = is;
    if (_setjmp(me->at) == 0)
        _longjmp(keeper, 1);
}

static void may_stop(void)
{
    if (budget-- == 0)
        stop(READY);
}

static void atomic_comes(void)
{
    may_stop();
}

/* Whether it was woken, and not by the clock. */
static bool sleep_on(const void *what, uint64_t deadline)
{
    running->sleeps_on = what;
    running->deadline = deadline;
    running->timed_out = false;
    stop(ASLEEP);
    return !running->timed_out;
}

static void wake(const void *what, int most)
{
    for (int i = 0; i < FIBERS && most > 0; i++)
        if (fibers[i].is == ASLEEP && fibers[i].sleeps_on == what) {
            fibers[i].is = READY;
            most--;
        }
}

static uint64_t nanoseconds_of(const struct timespec *t)
{
    return t == NULL || t->tv_sec >= 18000000000 ? UINT64_MAX
                                                 : (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static int *taken(pthread_mutex_t *mutex)
{
    return (int *)mutex;
}

static void set_taken(pthread_mutex_t *mutex, int by)
{
    writes_itself(mutex, sizeof by);
    *taken(mutex) = by;
}

RACES_DOUBLE(int, judge_double_pthread_mutex_init, pthread_mutex_t *mutex, const void *attributes)
{
    (void)attributes;
    set_taken(mutex, 0);
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_mutex_destroy, pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_mutex_lock, pthread_mutex_t *mutex)
{
    may_stop();
    while (*taken(mutex) != 0)
        sleep_on(mutex, UINT64_MAX);
    set_taken(mutex, (int)(running - fibers) + 1);
    take(mutex);
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_mutex_unlock, pthread_mutex_t *mutex)
{
    give(mutex);
    set_taken(mutex, 0);
    wake(mutex, 1);
    may_stop();
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_cond_init, pthread_cond_t *condition, const void *attributes)
{
    (void)condition;
    (void)attributes;
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_cond_destroy, pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
             const struct timespec *deadline)
{
    uint64_t until = nanoseconds_of(deadline);

    give(mutex);
    set_taken(mutex, 0);
    wake(mutex, 1);
    bool woken = sleep_on(condition, until);
    judge_double_pthread_mutex_lock(mutex);
    return woken ? 0 : ETIMEDOUT;
}

RACES_DOUBLE(int, judge_double_pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return judge_double_pthread_cond_timedwait(condition, mutex, NULL);
}

RACES_DOUBLE(int, judge_double_pthread_cond_signal, pthread_cond_t *condition)
{
    wake(condition, 1);
    may_stop();
    return 0;
}

RACES_DOUBLE(int, judge_double_pthread_cond_broadcast, pthread_cond_t *condition)
{
    wake(condition, FIBERS);
    may_stop();
    return 0;
}

RACES_DOUBLE(int, judge_double_clock_gettime, clockid_t clock, struct timespec *time)
{
    writes_itself(time, sizeof *time);
    uint64_t now = clock == CLOCK_MONOTONIC ? now_asked->now : now_asked->other_now;

    *time = (struct timespec){.tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
    return 0;
}

RACES_DOUBLE(long, judge_double_syscall, long number, ...)
{
    va_list rest;

    va_start(rest, number);
    const uint32_t *word = va_arg(rest, const uint32_t *);
    int operation = va_arg(rest, int) & FUTEX_CMD_MASK;
    uint32_t value = va_arg(rest, uint32_t);
    const struct timespec *deadline =
        operation == FUTEX_WAIT_BITSET ? va_arg(rest, const struct timespec *) : NULL;
    va_end(rest);
    if (number == SYS_sched_yield)
        number = -1; /* by this one a host says that it is done */
    if (number != SYS_futex || (operation != FUTEX_WAIT_BITSET && operation != FUTEX_WAKE))
        return syscall(number); /* and its keeper says so */
    may_stop();
    if (operation == FUTEX_WAKE) {
        wake(word, (int)value);
        return 0;
    }
    uint32_t is = __tsan_atomic32_load(word, __ATOMIC_RELAXED);
    bool woken = is == value && sleep_on(word, nanoseconds_of(deadline));
    errno = is != value ? EAGAIN : ETIMEDOUT; /* not before: all fibers have one */
    return woken ? 0 : -1;
}

static void *renewed(void *block, size_t size)
{
    renew(block, size);
    return block;
}

RACES_DOUBLE(void *, judge_double_malloc, size_t size)
{
    return renewed(malloc(size), size);
}

RACES_DOUBLE(void *, judge_double_calloc, size_t n, size_t size)
{
    return renewed(calloc(n, size), n * size);
}

RACES_DOUBLE(void *, judge_double_realloc, void *block, size_t size)
{
    return renewed(realloc(block, size), size);
}

RACES_DOUBLE(void *, judge_double_aligned_alloc, size_t alignment, size_t size)
{
    return renewed(aligned_alloc(alignment, size), size);
}

RACES_DOUBLE(void, judge_double_free, void *block)
{
    free(block);
}

/* What the holds and the allotted memory held before a slice; fewer of them, if they are more than that. */
static char before[2 << 20];
static size_t holds_used;

/* Of the two the one that is asked for; *size: of what is looked at. */
static const char *shared(const arguments *a, bool heap, size_t *size)
{
    size_t allotted;
    const char *first = judge_allotted(&allotted);

    *size = !heap                                   ? holds_used
            : allotted < sizeof before - holds_used ? allotted
                                                    : sizeof before - holds_used;
    return heap ? first : (const char *)a - JUDGE_ARGUMENTS + judge_area_at(0);
}

static void invoke(arguments *a)
{
    fiber *f = &fibers[a->fiber % FIBERS];

    if (a->what != GO_ON) {
        f->call = *a;
        f->is = READY;
    } else if (f->is == ASLEEP && f->deadline <= a->now) {
        f->is = READY;
        f->timed_out = true;
    }
    if (f->is == READY) {
        size_t end = (size_t)((const char *)a->hold - (const char *)a + JUDGE_ARGUMENTS) - judge_area_at(0) +
                     sizeof *a->hold;
        if (a->what != GO_ON && a->hold != NULL && end > holds_used)
            holds_used = end;
        size_t of_holds, of_heap;
        const char *held = shared(a, false, &of_holds), *heap = shared(a, true, &of_heap);
        memcpy(before, held, of_holds);
        memcpy(before + of_holds, heap, of_heap);
        running = f;
        racer = a->fiber % FIBERS;
        now_asked = a;
        budget = a->budget;
        begin_slice();
        if (_setjmp(keeper) == 0)
            _longjmp(f->at, 1);
        end_slice();
        unseen = unseen || changed_unseen(held, before, of_holds) ||
                 changed_unseen(heap, before + of_holds, of_heap);
    }
    a->unseen = unseen;
    a->is = (uint32_t)f->is;
    a->deadline = f->deadline;
    a->lock = f->call.lock;
    a->result = f->call.result;
    a->raced = raced;
    a->blocks = judge_blocks();
    a->ready = 0;
    for (int i = 0; i < FIBERS; i++)
        a->ready |= (uint64_t)(fibers[i].is == READY) << i;
}
#else

/* ---- its keeper ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static judge_host host;
static pid_t of;
static uint64_t used, ready, chance = 88172645463325252; /* fibers in use, and those that can go on */
static const void *owners[FIBERS];                       /* the threads whose they are */
static _Thread_local char self;
static unsigned long live;               /* locks */
static pgq_rangelock_hold *holds[HOLDS]; /* whose copies there are; NULL: free */

static size_t place_of(size_t i)
{
    return judge_area_at(0) + i * sizeof(pgq_rangelock_hold);
}

static _Noreturn void breaks(const char *what)
{
    pgq_judge_breaks(what);
}

/* The hold is its owner's again: nobody writes to what was its copy. */
static void return_hold(size_t i)
{
    memset(host.memory + place_of(i), RETURNED, sizeof(pgq_rangelock_hold));
    holds[i] = NULL;
}

static void look_at_returned(size_t i)
{
    const char *at = host.memory + place_of(i);

    for (size_t byte = 0; byte < sizeof(pgq_rangelock_hold); byte++)
        if (at[byte] != RETURNED)
            breaks("it writes to a hold that is released, or was refused");
}

static void begin(void)
{
    const char *program = getenv("PGQUERN_JUDGE_HOST");
    pthread_condattr_t monotonic;

    if (of == getpid())
        return;
    if (program == NULL)
        breaks("PGQUERN_JUDGE_HOST names no program");
    judge_start(&host, program);
    pgq_judge_open = host.open_namespaces;
    of = getpid();
    used = ready = live = 0;
    for (size_t i = 0; i < HOLDS; i++)
        return_hold(i);
    memset(owners, 0, sizeof owners);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &monotonic);
}

static uint64_t time_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t deadline)
{
    struct timespec t = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)};

    if (deadline == UINT64_MAX)
        pthread_cond_wait(&changed, &mutex);
    else
        pthread_cond_timedwait(&changed, &mutex, &t);
}

static void slice(arguments *a)
{
    arguments *there = (arguments *)(host.memory + JUDGE_ARGUMENTS);

    a->now = time_of(CLOCK_MONOTONIC);
    a->other_now = time_of(CLOCK_REALTIME);
    a->budget = (uint32_t)(judge_random(&chance) >> 32) % 8;
    *there = *a;
    if (!judge_run(&host, 1, NULL))
        breaks(host.why);
    *a = *there;
    ready = a->ready;
    if (a->raced)
        breaks(
            "a data race: two threads reach the same bytes, one of them to write, and nothing orders them");
    if (a->unseen)
        breaks(
            "it writes by assembler or a builtin, which hides races: write plain C, or an __atomic builtin");
}

/* A free fiber: that of this thread, or one that was nobody's, or any. */
static void choose_fiber(arguments *a)
{
    const void *const owner[] = {&self, NULL};

    for (int i = 0; i < 2 * FIBERS; i++)
        if (owners[i % FIBERS] == owner[i / FIBERS] && (used >> i % FIBERS & 1) == 0) {
            a->fiber = (uint32_t)i % FIBERS;
            owners[a->fiber] = &self;
            return;
        }
    a->fiber = (uint32_t)__builtin_ctzll(~used);
    a->is_another = true;
}

/* A call, to its end; of `hold`, as it is outside. The mutex is held. */
static arguments call(arguments a, const pgq_rangelock_hold *hold, size_t i)
{
    while (used == UINT64_MAX)
        pthread_cond_wait(&changed, &mutex);
    choose_fiber(&a);
    used |= UINT64_C(1) << a.fiber;
    pgq_judge_calls_made++;
    for (;; a.what = GO_ON) {
        slice(&a);
        const pgq_rangelock_hold *there = (const void *)(host.memory + place_of(i));
        if (hold != NULL && holds[i] == hold &&
            (there->lo != hold->lo || there->hi != hold->hi || there->exclusive != hold->exclusive))
            breaks("it changes the range of a request");
        if (ready != 0 || a.is == DONE)
            pthread_cond_broadcast(&changed);
        if (a.is == DONE)
            break;
        while (a.is == ASLEEP && (ready >> a.fiber & 1) == 0 && time_of(CLOCK_MONOTONIC) < a.deadline)
            sleep_until(a.deadline);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    used &= ~(UINT64_C(1) << a.fiber);
    return a;
}

void *candidate_create(void)
{
    pthread_mutex_lock(&mutex);
    begin();
    void *lock = call((arguments){.what = CREATE}, NULL, 0).lock;
    live += lock != NULL;
    pthread_mutex_unlock(&mutex);
    return lock;
}

static size_t index_of(const pgq_rangelock_hold *hold)
{
    size_t i = 0;

    while (i < HOLDS && holds[i] != hold)
        i++;
    if (i == HOLDS)
        breaks("more requests than the judge has room for");
    return i;
}

bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    pthread_mutex_lock(&mutex);
    size_t i = index_of(NULL);
    look_at_returned(i);
    holds[i] = hold;
    *(pgq_rangelock_hold *)(host.memory + place_of(i)) =
        (pgq_rangelock_hold){.lo = hold->lo, .hi = hold->hi, .exclusive = hold->exclusive};
    bool granted = call((arguments){.what = ACQUIRE,
                                    .lock = lock,
                                    .hold = (pgq_rangelock_hold *)(host.base + place_of(i)),
                                    .nanoseconds = nanoseconds},
                        hold, i)
                       .result;
    if (!granted)
        return_hold(i);
    pthread_mutex_unlock(&mutex);
    return granted;
}

void candidate_release(void *lock, pgq_rangelock_hold *hold)
{
    pthread_mutex_lock(&mutex);
    size_t i = index_of(hold);
    call((arguments){.what = RELEASE, .lock = lock, .hold = (pgq_rangelock_hold *)(host.base + place_of(i))},
         hold, i);
    return_hold(i);
    pthread_mutex_unlock(&mutex);
}

bool candidate_destroy(void *lock)
{
    pthread_mutex_lock(&mutex);
    arguments done = call((arguments){.what = DESTROY, .lock = lock}, NULL, 0);
    live -= done.result;
    for (size_t i = 0; i < HOLDS; i++)
        if (holds[i] == NULL)
            look_at_returned(i);
    if (live == 0 && done.blocks != 0)
        breaks("all its locks are gone, and it has not given all its memory back");
    pthread_mutex_unlock(&mutex);
    return done.result;
}
#endif
