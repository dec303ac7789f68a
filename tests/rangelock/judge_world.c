/* SPDX-License-Identifier: PostgreSQL */
/*
 * What `pgquern judge` demands of any lock of ranges, by what can be seen from outside: by its grants alone, without its log.
 *
 * In a directed step one thread tells the others what to ask for and what to give back, one call at a time, and waits until
 * all sleep: in the lock, or for the next order. So the order of arrival is known, and each moment is judged by the rule:
 * who waits has something in its way, and who is granted has passed nobody. In a free step they all call at will.
 */
#include "../tests/world/interpose.h"

#include "pgquern.h"

#include <string.h>

enum { MOST_THREADS = WORLD_THREADS, FEW = 6, BYTES = 12, CALLS = 4, OLD = 14, MOST_NS = 3000000 };
enum { CROWD = 300, CROWD_BYTES = 512 }; /* ranges that the director holds, and where */
enum {
    LONG = 100,
    HANDED = 5000
}; /* of so many seeds one has two threads that hand a range to and fro, so often */
enum { GRANTS, LATE_GRANTS, REFUSALS, TIMEOUTS, GIVEN_BACK };
const char *const world_counts[] = {"grants", "after_a_wait", "refusals", "timeouts", "given_back", NULL};
const unsigned world_steps = 16;
const unsigned world_weight = 16;

typedef enum order { NOTHING, ASK, GIVE_BACK, GO_HOME } order;
typedef enum state { IDLE, WAITS, HELD, REFUSED } state; /* REFUSED: until the director has seen it */

typedef struct worker {
    pgq_rangelock_hold hold;
    uint64_t lo, hi, from, to, limit, asked_at, arrival; /* from, to: the places' numbers */
    bool exclusive, was_waiting;                         /* at the last look */
    order next;
    state is;
    pgq_code code;
} worker;

typedef struct file {
    world *world;
    pgq_rangelock *lock;
    unsigned threads, all, calls;    /* all: with the director's own ranges, which lie behind the threads' */
    uint64_t arrivals, bytes;        /* bytes: places of which ranges are made */
    uint64_t edges[CROWD_BYTES + 1]; /* where they begin and end */
    worker workers[MOST_THREADS + CROWD];
    int readers[BYTES], writers[BYTES];
} file;

static void choose_range(file *f, worker *w)
{
    w->from = world_below(f->world, f->bytes);
    uint64_t rest = f->bytes - w->from;

    w->to = w->from + 1 + world_below(f->world, rest > BYTES && !world_one_in(f->world, 8) ? 3 : rest);
    w->lo = f->edges[w->from];
    w->hi = f->edges[w->to];
    w->exclusive = f->bytes == 1 || world_one_in(f->world, 2);
    w->limit = f->bytes == 1               ? UINT64_MAX
               : world_one_in(f->world, 4) ? 0
               : world_one_in(f->world, 3) ? 1 + world_below(f->world, MOST_NS)
                                           : UINT64_MAX;
}

/* ---- a worker's calls ------------------------------------------------------------------------------------------------ */

static const char *mode_of(const worker *w)
{
    return w->exclusive ? "exclusive" : "shared";
}

static void ask(file *f, worker *w)
{
    world *in = f->world;
    uint64_t length = w->hi - w->lo;

    w->asked_at = world_now();
    if (w->limit == 0)
        w->code = pgq_rangelock_try(f->lock, &w->hold, w->lo, length, w->exclusive).code;
    else if (w->limit == UINT64_MAX)
        w->code = pgq_rangelock_lock(f->lock, &w->hold, w->lo, length, w->exclusive).code;
    else
        w->code = pgq_rangelock_lock_for(f->lock, &w->hold, w->lo, length, w->exclusive, w->limit).code;
    if (w->code == PGQ_RANGELOCK_TIMEOUT && (w->limit == UINT64_MAX || world_now() - w->asked_at < w->limit))
        world_violation(in, "a wait with a limit of %llu ns was given up after %llu ns",
                        (unsigned long long)w->limit, (unsigned long long)(world_now() - w->asked_at));
    if (w->code == PGQ_OK)
        world_count(GRANTS);
    else if (w->code == PGQ_RANGELOCK_BUSY && w->limit == 0)
        world_count(REFUSALS);
    else if (w->code == PGQ_RANGELOCK_TIMEOUT && w->limit != 0)
        world_count(TIMEOUTS);
    else
        world_violation(in, "a request ended with code %d", w->code);
    w->is = w->code == PGQ_OK ? HELD : REFUSED;
}

static void give_back(file *f, worker *w)
{
    if (pgq_rangelock_unlock(f->lock, &w->hold).code != PGQ_OK)
        world_violation(f->world, "what is held could not be released");
    world_count(GIVEN_BACK);
    w->is = IDLE;
}

static void obey(file *f, worker *w)
{
    for (;;) {
        while (w->next == NOTHING)
            world_wait(&w->next);
        order what = w->next;
        w->next = NOTHING;
        if (what == GO_HOME)
            return;
        if (what == ASK)
            ask(f, w);
        else
            give_back(f, w);
    }
}

/* ---- the director ---------------------------------------------------------------------------------------------------- */

static bool conflict(const worker *a, const worker *b)
{
    return a->lo < b->hi && b->lo < a->hi && (a->exclusive || b->exclusive);
}

static bool is_in_the_way(const worker *w, const worker *of)
{
    return w != of && conflict(w, of) && (w->is == HELD || (w->is == WAITS && w->arrival < of->arrival));
}

/* NULL: nobody. */
static worker *in_the_way(file *f, const worker *of)
{
    for (unsigned i = 1; i < f->all; i++)
        if (is_in_the_way(&f->workers[i], of))
            return &f->workers[i];
    return NULL;
}

/* Who may have been in the way of a try: also who has given up since. */
static bool was_in_the_way(file *f, const worker *of)
{
    for (unsigned i = 1; i < f->threads; i++) {
        worker before = f->workers[i];

        before.is = before.was_waiting ? WAITS : before.is;
        if (&f->workers[i] != of && is_in_the_way(&before, of))
            return true;
    }
    return in_the_way(f, of) != NULL;
}

static void judge_worker(file *f, worker *w)
{
    const worker *other = in_the_way(f, w);
    unsigned me = (unsigned)(w - f->workers);

    if (w->is == WAITS && other == NULL)
        world_violation(f->world,
                        "a request that may go was not granted, and waits for ever: nothing conflicts with "
                        "thread %u's that is held or came earlier",
                        me);
    if (w->is == HELD && other != NULL && other->is == HELD)
        world_violation(f->world, "threads %u and %u hold ranges that conflict", me,
                        (unsigned)(other - f->workers));
    if (w->is == HELD && w->was_waiting && other != NULL && other->is == WAITS)
        world_violation(f->world,
                        "a late request has passed an earlier one that waits: thread %u's that of %u", me,
                        (unsigned)(other - f->workers));
    if (w->is == REFUSED && w->limit == 0 && !was_in_the_way(f, w))
        world_violation(f->world, "a try was refused, though nothing is in the way of thread %u's", me);
}

/* Until all sleep; then what they have is judged. A request that waits has at most come to its end since the last look. */
static void settle(file *f, const worker *told)
{
    while (!world_all_others_wait())
        world_sleep(1);
    for (unsigned i = 1; i < f->all; i++)
        judge_worker(f, &f->workers[i]);
    if (told != NULL && told->is == HELD && !told->was_waiting)
        world_violation(f->world, "a release waits, which nobody needs to: thread %u's",
                        (unsigned)(told - f->workers));
    if (told != NULL && told->is == WAITS && told->limit == 0)
        world_violation(f->world, "a try waits: thread %u's", (unsigned)(told - f->workers));
    for (unsigned i = 1; i < f->threads; i++) {
        worker *w = &f->workers[i];

        if (w->was_waiting && w->is != WAITS) {
            world_says(f->world, "  thread %u %s", i, w->is == HELD ? "is granted" : "is refused");
            if (w->is == HELD)
                world_count(LATE_GRANTS);
        }
        if (w->is == REFUSED)
            w->is = IDLE;
        w->was_waiting = w->is == WAITS;
    }
}

static void tell(worker *w, order what)
{
    w->next = what;
    world_wake(&w->next);
}

static void tell_to_ask(file *f, worker *w)
{
    choose_range(f, w);
    w->arrival = ++f->arrivals;
    w->is = WAITS;
    w->was_waiting = true;
    world_says(f->world, "  thread %u asks for [%llu, %llu) %s%s", (unsigned)(w - f->workers),
               (unsigned long long)w->lo, (unsigned long long)w->hi, mode_of(w),
               w->limit == 0            ? ", without waiting"
               : w->limit == UINT64_MAX ? ""
                                        : ", for a time");
    tell(w, ASK);
}

static void tell_to_give_back(file *f, worker *w)
{
    world_says(f->world, "  thread %u gives back", (unsigned)(w - f->workers));
    tell(w, GIVE_BACK);
}

static worker *some_worker(file *f, state is)
{
    unsigned start = (unsigned)world_below(f->world, f->threads - 1);

    for (unsigned i = 0; i < f->threads - 1; i++) {
        worker *w = &f->workers[1 + (start + i) % (f->threads - 1)];

        if (w->is == is)
            return w;
    }
    return NULL;
}

/* Before anybody waits: ranges that many requests conflict with one of, among all the others. */
static void gather(file *f, unsigned most)
{
    for (; most > 0 && !f->world->violated; most--) {
        worker *w = &f->workers[f->all++];

        *w = (worker){.hold = w->hold};
        choose_range(f, w);
        w->exclusive = world_one_in(f->world, 8);
        w->limit = 0;
        ask(f, w);
        judge_worker(f, w);
        if (w->is == REFUSED) { /* in a later step it may be a thread's place */
            w->is = IDLE;
            f->all--;
        }
    }
    world_says(f->world, "  the director holds %u ranges", f->all - f->threads);
}

/* One of the director's, if it has any. */
static void let_one_go(file *f)
{
    if (f->all == f->threads)
        return;
    worker *last = &f->workers[f->all - 1];
    world_says(f->world, "  the director gives [%llu, %llu) back", (unsigned long long)last->lo,
               (unsigned long long)last->hi);
    give_back(f, last);
    f->all--;
    settle(f, NULL);
}

static void direct(file *f)
{
    worker *w;

    if (f->bytes > BYTES)
        gather(f, 1 + (unsigned)world_below(f->world, CROWD));
    for (unsigned i = 0; i < 6 + 2 * f->threads && !f->world->violated; i++) {
        w = some_worker(f, world_one_in(f->world, 3) ? HELD : IDLE);
        if (w == NULL || world_one_in(f->world, 8)) {
            let_one_go(f);
            continue;
        }
        if (w->is == HELD)
            tell_to_give_back(f, w);
        else
            tell_to_ask(f, w);
        settle(f, w);
    }
    while (!f->world->violated && f->all > f->threads)
        let_one_go(f);
    while (!f->world->violated && (w = some_worker(f, HELD)) != NULL) {
        tell_to_give_back(f, w);
        settle(f, w);
    }
    for (unsigned i = 1; i < f->threads; i++)
        tell(&f->workers[i], GO_HOME);
}

static void act(void *argument, unsigned number)
{
    file *f = argument;

    if (number == 0)
        direct(f);
    else
        obey(f, &f->workers[number]);
}

/* ---- all at will ----------------------------------------------------------------------------------------------------- */

static void use(file *f, const worker *w)
{
    for (uint64_t i = w->from; i < w->to; i++) {
        if (f->writers[i] > 0 || (w->exclusive && f->readers[i] > 0))
            world_violation(f->world, "byte %llu is held against its holder",
                            (unsigned long long)f->edges[i]);
        *(w->exclusive ? &f->writers[i] : &f->readers[i]) += 1;
    }
    world_yield();
    for (uint64_t i = w->from; i < w->to; i++)
        *(w->exclusive ? &f->writers[i] : &f->readers[i]) -= 1;
}

static void call_at_will(void *argument, unsigned number)
{
    file *f = argument;
    worker *w = &f->workers[number];

    for (unsigned i = 0; i < f->calls; i++) {
        choose_range(f, w);
        ask(f, w);
        if (w->is == HELD) {
            use(f, w);
            give_back(f, w);
        }
        w->is = IDLE;
    }
}

/* What a lock counts: who is alone comes and goes, so many times. */
static void grow_old(file *f)
{
    for (uint64_t i = UINT64_C(1) << world_below(f->world, OLD + 1); i > 0 && !f->world->violated; i--) {
        pgq_rangelock_hold *hold = &f->workers[i % MOST_THREADS].hold;

        if (pgq_rangelock_try(f->lock, hold, i, 1, PGQ_RANGELOCK_EXCLUSIVE).code != PGQ_OK ||
            pgq_rangelock_unlock(f->lock, hold).code != PGQ_OK)
            world_violation(f->world, "who was alone did not get a range, or could not release it");
    }
}

/* ---- where ranges are ------------------------------------------------------------------------------------------------ */

static void add_edge(file *f, uint64_t edge)
{
    uint64_t i = 0;

    while (i <= f->bytes && f->edges[i] < edge)
        i++;
    if (edge > INT64_MAX || (i <= f->bytes && f->edges[i] == edge))
        return;
    memmove(&f->edges[i + 1], &f->edges[i], (size_t)(++f->bytes - i) * sizeof *f->edges);
    f->edges[i] = edge;
}

/* Offsets, lengths and ends near powers of two: from 0 on, or from another such offset on. */
static void near_powers(file *f)
{
    world *w = f->world;
    const uint64_t first = UINT64_C(1) << world_below(w, 64), second = UINT64_C(1) << world_below(w, 64);
    const uint64_t bases[] = {0, first, second, first + second};

    f->bytes = 1;
    f->edges[0] = world_below(w, 3);
    f->edges[1] = INT64_MAX - world_below(w, 3);
    for (int i = 0; i < 3 * BYTES && f->bytes < BYTES; i++)
        add_edge(f, bases[world_below(w, 4)] + world_below(w, 5) - 2);
}

/* All of one length; from 0 on, from anywhere, or so that the last one ends at 2^63 - 1. */
static void at_same_distance(file *f)
{
    world *w = f->world;
    uint64_t unit = world_one_in(w, 2) ? 1 : UINT64_C(1) << world_below(w, f->bytes > BYTES ? 53 : 59);
    uint64_t last = (uint64_t)INT64_MAX - f->bytes * unit;

    f->edges[0] = world_one_in(w, 3)   ? last
                  : world_one_in(w, 2) ? world_below(w, last) >> world_below(w, 63)
                                       : 0;
    for (uint64_t i = 1; i <= f->bytes; i++)
        f->edges[i] = f->edges[i - 1] + unit;
}

/* ---- the world's calls ----------------------------------------------------------------------------------------------- */

void *world_begin(world *w)
{
    file *f = calloc(1, sizeof *f);

    if (f == NULL || pgq_rangelock_create(-1, &f->lock).code != PGQ_OK)
        abort();
    f->world = w;
    if (world_one_in(w, 16))
        grow_old(f);
    return f;
}

void world_step(void *row, world *w, unsigned step)
{
    file *f = row;

    const bool hands = w->seed % LONG == 0 && step == 1;

    f->bytes = hands ? 1 : step % 2 == 0 && world_one_in(w, 16) ? CROWD_BYTES : BYTES;
    f->calls = hands ? HANDED : CALLS;
    if (f->bytes == BYTES && world_one_in(w, 2))
        near_powers(f);
    else
        at_same_distance(f);
    f->threads = hands ? 2 : 3 + (unsigned)world_below(w, (world_one_in(w, 4) ? MOST_THREADS : FEW) - 2);
    f->all = f->threads;
    world_says(w, "  %u threads, %s", f->threads, step % 2 == 0 ? "the first directs" : "all at will");
    world_run_threads(w, f->threads, step % 2 == 0 ? act : call_at_will, f);
}

void world_end(void *row, world *w)
{
    file *f = row;

    if (pgq_rangelock_destroy(f->lock).code != PGQ_OK)
        world_violation(w, "a lock of which nothing is held could not be ended");
    free(f);
}
