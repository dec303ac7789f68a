/* SPDX-License-Identifier: PostgreSQL */
/*
 * Runs a stem's world for many seeds: PROGRAM FIRST COUNT [whole]. It ends at the first violation: prints the seed, and the history
 * that is left when all steps were taken away without which a violation still comes. A crash, and a run without an end, are
 * violations too. If there is none it prints `tally: states=N NAME=N ...`, `digest: HEX` and the calls of calls.h. A state is
 * what a step leaves, judged by the stem.
 */
#include "../tests/world/calls.h"
#include "../tests/world/world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_COUNTS = 64, CPU_SECONDS = 10 };

/*
 * Memory that was given back is used again soon: the runs are short, and fresh pages cost more than what they find. No copies of
 * the stack: gcc 14 does not align them for registers of 64 bytes (its bug 110027).
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=4:malloc_context_size=4:detect_stack_use_after_return=0";
}

static unsigned long long counts[MAX_COUNTS], states;
static uint64_t digest; /* of all that was drawn and counted: the same digest is the same runs */
static char ended[40];  /* how the last process ended, if a signal ended it */
static bool endless;    /* it came to no end */

/* ---- randomness: splitmix64 (Steele, Lea, Flood, OOPSLA 2014) ---- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t stream_of(uint64_t seed, uint64_t step)
{
    return mixed(mixed(seed + 1) + UINT64_C(0x9e3779b97f4a7c15) * (step + 1));
}

uint64_t world_random(world *w)
{
    uint64_t drawn = mixed(w->stream += UINT64_C(0x9e3779b97f4a7c15));

    digest = mixed(digest ^ drawn);
    return drawn;
}

uint64_t world_below(world *w, uint64_t n)
{
    digest = mixed(digest ^ n);
    return world_random(w) % n;
}

bool world_one_in(world *w, uint32_t n)
{
    return n != 0 && world_below(w, n) == 0;
}

bool world_comes(world *w, world_fault fault)
{
    return world_one_in(w, w->rate[fault]);
}

/* ---- what a run says ---- */

void world_violation(world *w, const char *format, ...)
{
    va_list arguments;

    if (w->violated)
        return;
    w->violated = true;
    va_start(arguments, format);
    vsnprintf(w->message, sizeof w->message, format, arguments);
    va_end(arguments);
}

void world_says(world *w, const char *format, ...)
{
    va_list arguments;

    if (!w->tracing)
        return;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void world_count(unsigned what)
{
    if (what >= MAX_COUNTS)
        abort();
    counts[what]++;
    digest = mixed(digest + what);
}

/* ---- runs ---- */

/* CPU time, not the clock: a busy machine changes nothing. */
static void limit_time(void)
{
    struct itimerval limit = {.it_value = {.tv_sec = CPU_SECONDS}};

    setitimer(ITIMER_PROF, &limit, NULL);
}

/* Half of the faults, each from often to rarely. */
static void choose_faults(world *w)
{
    for (int fault = 0; fault < WORLD_FAULTS; fault++)
        if (world_one_in(w, 2))
            w->rate[fault] = (uint32_t)3 << world_below(w, 8);
}

/* keeps[i]: step i is done. true: a violation. */
static bool run(uint64_t seed, const bool keeps[], bool tracing)
{
    world w = {.seed = seed, .stream = stream_of(seed, 0), .tracing = tracing};

    limit_time();
    choose_faults(&w);
    world_seed_entropy(seed);
    void *row = world_begin(&w);
    for (unsigned step = 0; step < world_steps && !w.violated; step++) {
        if (!keeps[step])
            continue;
        w.stream = stream_of(seed, step + UINT64_C(1));
        world_says(&w, "step %u", step);
        world_step(row, &w, step);
        states++;
    }
    w.stream = stream_of(seed, world_steps + UINT64_C(1));
    world_end(row, &w);
    if (w.violated && tracing)
        fprintf(stderr, "violation with SEED=%llu: %s\n", (unsigned long long)seed, w.message);
    return w.violated;
}

/* ---- processes: a run may crash, or not end ---- */

/* false: the process has exited by itself, with 0. */
static bool goes_wrong(pid_t child)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(3);
    }
    if (WIFSIGNALED(status))
        snprintf(ended, sizeof ended, "signal %d", WTERMSIG(status));
    endless = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* One run in a process of its own. */
static bool fails(uint64_t seed, const bool keeps[], bool tracing)
{
    fflush(NULL);
    pid_t child = fork();

    if (child == 0) {
        if (!tracing && freopen("/dev/null", "w", stderr) == NULL)
            _exit(3);
        _exit(run(seed, keeps, tracing));
    }
    return goes_wrong(child);
}

/* Takes steps away, half of them at first, as long as the run still fails. */
static void shorten(uint64_t seed, bool keeps[])
{
    for (unsigned size = world_steps; size > 0; size /= 2)
        for (unsigned from = 0; from < world_steps; from += size) {
            bool before[world_steps];

            memcpy(before, keeps, sizeof before);
            for (unsigned i = from; i < from + size && i < world_steps; i++)
                keeps[i] = false;
            if (!fails(seed, keeps, false))
                memcpy(keeps, before, sizeof before);
        }
}

static void report(uint64_t seed, bool whole)
{
    bool keeps[world_steps];

    memset(keeps, true, sizeof keeps);
    if (!whole)
        shorten(seed, keeps);
    ended[0] = '\0';
    fails(seed, keeps, true);
    if (ended[0] != '\0')
        fprintf(stderr, "violation with SEED=%llu: %s\n", (unsigned long long)seed, ended);
}

/* All seeds, up to the first that fails; *seed is the one at work. */
static void run_all(volatile uint64_t *seed, uint64_t first, uint64_t n)
{
    bool keeps[world_steps];

    memset(keeps, true, sizeof keeps);
    for (*seed = first; *seed < first + n; (*seed)++)
        if (run(*seed, keeps, false))
            exit(1);
    printf("tally: states=%llu", states);
    for (unsigned i = 0; world_counts[i] != NULL; i++)
        printf(" %s=%llu", world_counts[i], counts[i]);
    printf("\ndigest: %016llx\n", (unsigned long long)digest);
    world_print_calls();
    exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s FIRST-SEED NUMBER-OF-SEEDS [whole: no steps are taken away]\n", argv[0]);
        return 2;
    }
    volatile uint64_t *seed =
        mmap(NULL, sizeof *seed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seed == MAP_FAILED) {
        perror("mmap");
        return 3;
    }
    pid_t child = fork();
    if (child == 0)
        run_all(seed, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
    if (!goes_wrong(child))
        return 0;
    report(*seed, argc == 4 || endless); /* each shorter run would take as long */
    return 1;
}
