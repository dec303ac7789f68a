/* SPDX-License-Identifier: PostgreSQL */
/*
 * Native calls of a kernel, and of others with the same inputs, each in a host of its own.
 *
 * driver check SEED CALLS THEIRS OURS: all that comes out is compared. driver time SEED ROUNDS LOW HIGH PERCENT HOST...: the time
 * of each host's call in each round, of sizes from LOW to HIGH, and then the same comparison, with the last one. Rounds are
 * interleaved, each with hosts of its own.
 */
#include "call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BATCH = 2048, TIMED = 16384, HOSTS = 24, WRONG = 1, FRESH = 8, ALL_BYTES = 3 << 20 };

/* Of inputs: their sizes lie between, and so many of a hundred elements are kept; below 0: any. */
typedef struct wanted {
    int low, high, percent;
} wanted;

static const wanted anything = {-1, -1, -1};
static judge_host hosts[HOSTS];
static size_t first_lent[TIMED + 1];
static char *pad;

static void *seen(judge_host *host, size_t at)
{
    return host->memory + at;
}

static arguments *call_of(judge_host *host, size_t call)
{
    return seen(host, JUDGE_ARGUMENTS + call * sizeof(arguments));
}

static _Noreturn void wrong(const char *what)
{
    printf("judge: %s\n", what);
    exit(WRONG);
}

static void print_bytes(const char *name, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    printf("%s (%zu bytes) =", name, size);
    for (size_t i = 0; i < size && i < 160; i++)
        printf("%s%02x", i % 4 == 0 ? " " : "", at[i]);
    printf("%s\n", size > 160 ? " ..." : "");
}

static void make(uint64_t random, wanted of, arguments *a)
{
    inputs in = {random, pad, of.low, of.percent};

    if (of.low < of.high)
        in.n += (int)below(&in, (uint64_t)(of.high - of.low) + 1);
    memset(a, 0, sizeof *a);
    fill(&in, a);
}

/* The inputs of a call, made once more. */
static void print_inputs(uint64_t random, wanted of)
{
    arguments a;

    make(random, of, &a);
    judge_clear(&hosts[0]);
    memcpy(call_of(&hosts[0], 0), &a, sizeof a);
    stage(&hosts[0], call_of(&hosts[0], 0));
    print_bytes("arguments", &a, sizeof a);
    for (size_t i = 0; i < hosts[0].lent_count; i++)
        print_bytes("given", hosts[0].lent[i].ours, hosts[0].lent[i].size);
}

static bool pointers_stay(judge_host *host)
{
    for (size_t i = 0; i < host->lent_count; i++)
        if (*(uintptr_t *)seen(host, host->lent[i].field) != host->lent[i].theirs)
            return false;
    return true;
}

/* What came out of a call, with what is open made the same. */
static void settled(judge_host *host, size_t call)
{
    char *lent[LENT_MOST];
    size_t size[LENT_MOST];
    size_t count = first_lent[call + 1] - first_lent[call];

    for (size_t i = 0; i < LENT_MOST; i++) { /* what was not lent has no bytes, whatever a call says of it */
        lent[i] = i < count ? seen(host, host->lent[first_lent[call] + i].at) : pad;
        size[i] = i < count ? host->lent[first_lent[call] + i].size : 0;
    }
    settle(call_of(host, call), lent, size);
}

static bool same(judge_host *a, judge_host *b, size_t call)
{
    if (memcmp(call_of(a, call), call_of(b, call), sizeof(arguments)) != 0)
        return false;
    for (size_t i = first_lent[call]; i < first_lent[call + 1]; i++)
        if (memcmp(seen(a, a->lent[i].at), seen(b, b->lent[i].at), a->lent[i].size) != 0)
            return false;
    return true;
}

static void compare(judge_host *theirs, judge_host *ours, size_t calls, const uint64_t randoms[], wanted of)
{
    if (!pointers_stay(ours))
        abort();
    if (!pointers_stay(theirs))
        wrong("it changes a pointer that it was given");
    if (theirs->digest != ours->digest)
        wrong("what it has asked to be done with what it was given, one of so many calls: not what ours has");
    for (size_t i = 0; i < calls; i++) {
        if (memcmp(call_of(theirs, i), call_of(ours, i), offsetof(arguments, result)) != 0)
            wrong("it changes the arguments of a call");
        settled(theirs, i);
        settled(ours, i);
        if (!same(theirs, ours, i)) {
            printf("judge: it differs from ours, or writes what it may not, on this input\n");
            print_bytes("its arguments, then its result", call_of(theirs, i), sizeof(arguments));
            print_bytes("ours", call_of(ours, i), sizeof(arguments));
            for (size_t k = first_lent[i]; k < first_lent[i + 1]; k++) {
                print_bytes("after it", seen(theirs, theirs->lent[k].at), theirs->lent[k].size);
                print_bytes("after ours", seen(ours, ours->lent[k].at), ours->lent[k].size);
            }
            print_inputs(randoms[i], of);
            exit(WRONG);
        }
    }
}

/* Stages up to `most` calls for all hosts; how many. */
static size_t stage_all(size_t count, size_t most, uint64_t *random, uint64_t randoms[], wanted of)
{
    size_t calls = 0;
    uint64_t where = judge_random(random) | 1;

    for (size_t h = 0; h < count; h++) {
        judge_clear(&hosts[h]);
        hosts[h].random = where;
        hosts[h].digest = 0;
    }
    first_lent[0] = 0;
    while (calls < most && (calls + 2) * sizeof(arguments) < JUDGE_HEAD - JUDGE_ARGUMENTS &&
           first_lent[calls] + LENT_MOST < JUDGE_LENT) {
        randoms[calls] = judge_random(random) | 1;
        arguments a;

        make(randoms[calls], of, &a);
        for (size_t h = 0; h < count; h++) {
            memcpy(call_of(&hosts[h], calls), &a, sizeof a);
            stage(&hosts[h], call_of(&hosts[h], calls));
        }
        first_lent[++calls] = hosts[0].lent_count;
        size_t bytes = 0;
        for (unsigned i = 0; i < JUDGE_AREAS; i++)
            bytes += judge_area_size(i) - (hosts[0].high[i] - hosts[0].low[i]);
        if (bytes > ALL_BYTES)
            break;
    }
    return calls;
}

static void run_both(size_t calls, const uint64_t randoms[])
{
    const char *why;
    uint64_t ns;

    if (!judge_run(&hosts[1], calls, &ns)) {
        fprintf(stderr, "ours: %s\n", hosts[1].why);
        exit(JUDGE_BROKEN);
    }
    if (!judge_run(&hosts[0], calls, &ns))
        wrong(hosts[0].why);
    compare(&hosts[0], &hosts[1], calls, randoms, anything);
    if ((why = judge_look(&hosts[0], calls * sizeof(arguments))) != NULL)
        wrong(why);
}

#ifdef ANY_BYTES
/* The calls of a batch once more, with the answers where they stand, and one byte of half of the inputs changed: who
 * looks at what stands in the output, and takes it for the answer, is wrong now. */
static void change_inputs(size_t calls, uint64_t *random)
{
    for (size_t i = 0; i < calls; i++) {
        const judge_lent *lent = &hosts[0].lent[first_lent[i] + ANY_BYTES];
        uint64_t any = judge_random(random);

        for (unsigned h = 0; h < 2; h++)
            memset(&call_of(&hosts[h], i)->result, 0, sizeof call_of(&hosts[h], i)->result);
        if (first_lent[i] + ANY_BYTES >= first_lent[i + 1] || lent->size == 0 || any % 2 == 0)
            continue;
        for (unsigned h = 0; h < 2; h++)
            hosts[h].memory[lent->at + (any >> 16) % lent->size] ^= (char)(1 + (any >> 8) % 255);
    }
}
#endif

static int check(uint64_t random, uint64_t wanted, char *programs[])
{
    static uint64_t randoms[BATCH];
    uint64_t done = 0;

    for (unsigned batch = 0; done < wanted; batch++) {
        /* The last hosts live long: a kernel may have kept count in memory that nobody cleared. */
        bool anew = batch % FRESH == 0 && (done < wanted / 4 || hosts[0].large);
        /* Each second batch: each thing that is lent ends, or begins, at a guarded page. */
        if (anew)
            judge_move();
        for (unsigned h = 0; h < 2 && anew; h++) {
            if (hosts[h].pid != 0)
                judge_end(&hosts[h]);
            judge_start(&hosts[h], programs[h]);
        }
        hosts[0].packed = hosts[1].packed = batch % 2 == 1;
        hosts[0].seams = hosts[1].seams = batch % 2 == 0;
        judge_wipe(&hosts[0]);
        judge_wipe(&hosts[1]);
        size_t most = batch % 2 == 1 ? BATCH : (JUDGE_AREAS - 1) / LENT_MOST + 1;
        size_t calls = stage_all(2, most > BATCH ? BATCH : most, &random, randoms, anything);
        run_both(calls, randoms);
        for (size_t i = 0; i < calls; i++)
            tally(call_of(&hosts[1], i));
        done += calls;
#ifdef ANY_BYTES
        if (batch % 4 == 1) {
            change_inputs(calls, &random);
            run_both(calls, randoms);
            done += calls;
        }
#endif
    }
    printf("inputs %" PRIu64 "\n", done);
    print_tally();
    return 0;
}

static int time_all(uint64_t random, unsigned rounds, wanted of, size_t count, char *programs[])
{
    static uint64_t randoms[TIMED];

    for (unsigned round = 0; round < rounds; round++) {
        double took[HOSTS];
        uint64_t empty[HOSTS], ns;

        judge_move();
        for (size_t h = 0; h < count; h++) {
            if (round > 0)
                judge_end(&hosts[h]);
            judge_start(&hosts[h], programs[h]);
            hosts[h].packed = true;
        }
        size_t calls = stage_all(count, TIMED, &random, randoms, of);
        size_t start = judge_random(&random) % count;
        for (size_t k = 0; k < count; k++) {
            size_t h = (start + k) % count;

            empty[h] = UINT64_MAX;
            for (int i = 0; i < 7; i++) {
                if (!judge_run(&hosts[h], 0, &ns))
                    wrong(hosts[h].why);
                empty[h] = i > 0 && ns < empty[h] ? ns : empty[h];
            }
            if (!judge_run(&hosts[h], calls, &ns))
                wrong(hosts[h].why);
            took[h] = ((double)ns - (double)(ns > empty[h] ? empty[h] : 0)) / (double)calls;
        }
        for (size_t h = 0; h + 1 < count; h++) {
            compare(&hosts[h], &hosts[count - 1], calls, randoms, of);
        }
        printf("round %u %zu", round, calls);
        for (size_t h = 0; h < count; h++)
            printf(" %.3f", took[h]);
        printf("\n");
    }
    return 0;
}

int main(int argc, char *argv[])
{
    pad = mmap(NULL, (size_t)8 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
               0);
    if (pad == MAP_FAILED || argc < 6)
        return JUDGE_BROKEN;
#ifdef SERVES
    for (unsigned h = 0; h < HOSTS; h++)
        hosts[h].serve = SERVES;
#endif
    uint64_t random = strtoull(argv[2], NULL, 10) * 2 + 1;
    if (strcmp(argv[1], "check") == 0)
        return check(random, strtoull(argv[3], NULL, 10), argv + 4);
    if (argc < 8 || argc - 7 > HOSTS)
        return JUDGE_BROKEN;
    const wanted of = {atoi(argv[4]), atoi(argv[5]), atoi(argv[6])};
    return time_all(random, (unsigned)atoi(argv[3]), of, (size_t)(argc - 7), argv + 7);
}
