/* SPDX-License-Identifier: PostgreSQL */
/*
 * Counts the instructions that a compaction kernel executes on a few pages of a given shape: the same on every run, however
 * busy the machine is.
 *
 *     step VARIANT N LEN_MIN LEN_MAX LIVE presorted|random [--plain]
 *
 * The program forks; the parent single-steps the child through each call and prints the sum over PAGES pages, and how many
 * of them were in this program and not in libc (memcpy, memmove). With --plain it just runs the calls, for another tool to
 * count: every call goes through counted_call. AVX-512 needs the stepping, since valgrind does not know it.
 */
#include "pgquern.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLCKSZ = 8192, HEADER = 24, PAGES = 4, MAX_LINES = 291 };

typedef struct shape {
    int n, len_min, len_max, live;
    bool random;
} shape;

static uint64_t state = 88172645463325252u;

static uint32_t next_random(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static void shuffle(int *a, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)next_random((uint32_t)i + 1), t = a[i];

        a[i] = a[j];
        a[j] = t;
    }
}

static void put16(uint8_t *page, int at, int value)
{
    uint16_t v = (uint16_t)value;

    memcpy(page + at, &v, sizeof v);
}

static void put_line(uint8_t *page, int i, int off, uint32_t flags, int len)
{
    uint32_t word = (uint32_t)off | flags << 15 | (uint32_t)len << 17;

    memcpy(page + HEADER + 4 * i, &word, sizeof word);
}

/* A page on which some tuples have died: half of their line pointers unused, a quarter dead, a quarter redirected. */
static void make_page(uint8_t *page, const shape *s)
{
    static const uint32_t dead_flags[] = {0, 3, 0, 2};
    int place[MAX_LINES], dead[MAX_LINES], len[MAX_LINES], total, upper = BLCKSZ;

    for (int i = 0; i < BLCKSZ; i++)
        page[i] = (uint8_t)next_random(256);
    memset(page, 0, HEADER);
    for (int i = 0; i < s->n; i++)
        place[i] = dead[i] = i;
    if (s->random)
        shuffle(place, s->n);
    shuffle(dead, s->n);
    do {
        total = 0;
        for (int i = 0; i < s->n; i++) {
            len[i] = s->len_min + (int)next_random((uint32_t)(s->len_max - s->len_min + 1));
            total += (len[i] + 7) / 8 * 8;
        }
    } while (total > BLCKSZ - HEADER - 4 * s->n);
    for (int k = 0; k < s->n; k++) {
        upper -= (len[place[k]] + 7) / 8 * 8;
        put_line(page, place[k], upper, 1, len[place[k]]);
    }
    for (int k = 0; k < s->n * (100 - s->live) / 100; k++)
        put_line(page, dead[k], dead_flags[k % 4] == 2 ? 1 : 0, dead_flags[k % 4], 0);
    put16(page, 12, HEADER + 4 * s->n);
    put16(page, 14, upper);
    put16(page, 16, BLCKSZ);
    put16(page, 18, BLCKSZ | 4);
}

/* What is counted: from here to its return. */
static __attribute__((noinline)) pgq_code counted_call(pgq_compaction_fn fn, uint8_t *page)
{
    pgq_code code = fn(page, true).code;

    __asm__ volatile("" ::: "memory");
    return code;
}

static int run_calls(pgq_compaction_fn fn, const shape *s, bool stepped)
{
    uint8_t *page = aligned_alloc(4096, BLCKSZ);

    if (page == NULL)
        return 1;
    /* The first call resolves libc's functions (lazy binding); it is not counted. */
    for (int i = -1; i < PAGES; i++) {
        pgq_code code;

        make_page(page, s);
        if (i < 0) {
            code = fn(page, true).code;
        } else {
            if (stepped)
                raise(SIGUSR1);
            code = counted_call(fn, page);
        }
        if (code != PGQ_OK)
            return 1;
    }
    free(page);
    return 0;
}

extern char __executable_start, etext; /* the linker's */

static unsigned long peek_register(pid_t child, size_t offset)
{
    return (unsigned long)ptrace(PTRACE_PEEKUSER, child, offset, 0);
}

/* Steps the stopped child on to counted_call, and through it to its return. False if the child is gone. */
static bool step_call(pid_t child, unsigned long *all, unsigned long *ours)
{
    unsigned long back = 0;
    int status;

    for (;;) {
        unsigned long ip = peek_register(child, offsetof(struct user_regs_struct, rip));

        if (back == 0 && ip == (unsigned long)counted_call) {
            unsigned long stack = peek_register(child, offsetof(struct user_regs_struct, rsp));

            back = (unsigned long)ptrace(PTRACE_PEEKDATA, child, stack, 0);
        }
        if (ip == back)
            return true;
        *all += back != 0;
        *ours += back != 0 && ip >= (unsigned long)&__executable_start && ip < (unsigned long)&etext;
        if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) != 0 || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return false;
    }
}

static int step_child(pid_t child)
{
    unsigned long all = 0, ours = 0;
    int status;

    for (;;) {
        if (waitpid(child, &status, 0) != child)
            return 1;
        if (WIFEXITED(status))
            break;
        if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1 && !step_call(child, &all, &ours))
            return 1;
        if (WIFSIGNALED(status) || ptrace(PTRACE_CONT, child, 0, 0) != 0)
            return 1;
    }
    printf("%lu %lu\n", all, ours);
    return WEXITSTATUS(status);
}

static pgq_compaction_fn find(const char *name)
{
    for (size_t i = 0; i < pgq_compaction_variant_count; i++)
        if (strcmp(pgq_compaction_variants[i].name, name) == 0 && pgq_compaction_variants[i].supported())
            return pgq_compaction_variants[i].fn;
    return NULL;
}

int main(int argc, char **argv)
{
    shape s;
    pgq_compaction_fn fn;
    pid_t child;

    if (argc < 7) {
        fprintf(stderr, "usage: step VARIANT N LEN_MIN LEN_MAX LIVE presorted|random [--plain]\n");
        return 2;
    }
    fn = find(argv[1]);
    s = (shape){atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), strcmp(argv[6], "random") == 0};
    if (fn == NULL || s.n < 1 || s.n > MAX_LINES || s.len_min < 1 || s.len_max < s.len_min) {
        fprintf(stderr, "step: this CPU has no variant %s, or the shape is out of range\n", argv[1]);
        return 2;
    }
    if (argc > 7)
        return run_calls(fn, &s, false);
    child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
            _exit(3);
        _exit(run_calls(fn, &s, true));
    }
    return child < 0 ? 3 : step_child(child);
}
