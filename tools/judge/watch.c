/* SPDX-License-Identifier: PostgreSQL */
/*
 * Watches the calls of a candidate. Nothing here looks at a clock, so a busy machine changes no verdict: a thread that
 * sleeps gives up its CPU of its own accord, and the kernel counts that apart from being pushed off it.
 *
 * The candidate's static memory lies in sections of their own, judge_data and judge_bss: the judge has renamed them in
 * its object file.
 */
#include "watch.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPER = 86, MANY = 20, ONE_IN = 100, ALONE = 3 /* links of /proc/self/task with one thread */ };

/* Calls, and how many of them did what no kernel may do. The order is that of SEEN in tools/judge/child.py. */
__attribute__((visibility("default"))) _Atomic unsigned long pgq_judge_seen[8];
enum { CALLS, SLEPT, THREADS, FILES, CHILDREN, STATICS, BLIND, HEAP };

extern char __start_judge_data[] __attribute__((weak)), __stop_judge_data[] __attribute__((weak));
extern char __start_judge_bss[] __attribute__((weak)), __stop_judge_bss[] __attribute__((weak));

/* What there is at one moment. */
typedef struct moment {
    long sleeps, faults;
    unsigned long threads;
    int file; /* the lowest free descriptor */
    char children[256];
} moment;

static _Thread_local moment before;
static char *statics;

static size_t data_size(void)
{
    return (size_t)(__stop_judge_data - __start_judge_data);
}

static size_t bss_size(void)
{
    return (size_t)(__stop_judge_bss - __start_judge_bss);
}

static void copy_statics(void)
{
    if (data_size() > 0)
        memcpy(statics, __start_judge_data, data_size());
    if (bss_size() > 0)
        memcpy(statics + data_size(), __start_judge_bss, bss_size());
}

static int statics_differ(void)
{
    return (data_size() > 0 && memcmp(statics, __start_judge_data, data_size()) != 0) ||
           (bss_size() > 0 && memcmp(statics + data_size(), __start_judge_bss, bss_size()) != 0);
}

static void count_sleeps(moment *at)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    at->sleeps = usage.ru_nvcsw;
    at->faults = usage.ru_majflt;
}

static void count_the_rest(moment *at)
{
    struct stat tasks;
    int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);

    memset(at->children, 0, sizeof at->children);
    if (list >= 0) {
        if (read(list, at->children, sizeof at->children) < 0)
            at->children[0] = '\0';
        close(list);
    }
    at->threads = stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink : 0;
    at->file = fcntl(0, F_DUPFD_CLOEXEC, 0);
    close(at->file);
}

/* Before the first call: the statics as they were loaded, and whether sleep can be seen here at all. */
__attribute__((constructor)) static void begin(void)
{
    const struct timespec instant = {.tv_nsec = 1000000};
    moment awake, slept;

    statics = malloc(data_size() + bss_size() + 1);
    if (statics == NULL)
        abort();
    copy_statics();
    count_sleeps(&awake);
    nanosleep(&instant, NULL);
    count_sleeps(&slept);
    pgq_judge_seen[BLIND] = slept.sleeps == awake.sleeps;
}

void pgq_judge_before(void)
{
    count_the_rest(&before);
    count_sleeps(&before);
}

static void look(unsigned long calls, bool may_wait)
{
    moment now;

    count_sleeps(&now);
    count_the_rest(&now);
    /* A page that comes from the disk is waited for, too. */
    if (!may_wait && now.sleeps > before.sleeps && now.faults == before.faults) {
        unsigned long slept = ++pgq_judge_seen[SLEPT];

        if (slept >= MANY && slept * ONE_IN >= calls)
            _exit(SLEEPER);
    }
    pgq_judge_seen[THREADS] += now.threads != before.threads;
    pgq_judge_seen[FILES] += now.file != before.file;
    pgq_judge_seen[CHILDREN] += memcmp(now.children, before.children, sizeof now.children) != 0;
    pgq_judge_seen[HEAP] += pgq_judge_blocks() != 0;
    if (statics_differ()) {
        pgq_judge_seen[STATICS]++;
        copy_statics();
    }
}

void pgq_judge_after(void)
{
    look(++pgq_judge_seen[CALLS], false);
}

/* Where others run, what they do cannot be told from what the call does, and it may wait for them. */
void pgq_judge_after_call(bool may_wait)
{
    unsigned long calls = ++pgq_judge_seen[CALLS];

    if (before.threads == ALONE)
        look(calls, may_wait);
}
