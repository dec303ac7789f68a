/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `snapbuild_known_assigned`: see tools/judge/inputs.h. */
#include "../tests/snapbuild/judge_xids.h"

#include <stdio.h>

enum { LENT_MOST = 2 };
static unsigned long moved, emptied;

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    judge_lend(host, &a->valid, a->head * sizeof *a->valid, 1);
    judge_lend(host, &a->xids, a->head * sizeof *a->xids, 4);
}

static void fill(inputs *in, arguments *a)
{
    size_t n = length(in, MOST_XIDS);

    a->tail = one_in(in, 2) ? 0 : below(in, 100);
    a->head = a->tail + n;
    a->xids = take(in, a->head * sizeof *a->xids);
    a->valid = take(in, a->head * sizeof *a->valid);
    pivot = (uint32_t)edge(in, 32);
    unsigned live = (unsigned)below(in, 101);
    for (size_t i = 0; i < a->head; i++) {
        a->xids[i] = pivot = normal(pivot + 1 + (uint32_t)(one_in(in, 64) ? below(in, 1000) : 0));
        a->valid[i] = i >= a->tail ? kept(in, live) : one_in(in, 2);
    }
}

static void settle(arguments *a, char *const lent[], const size_t size[])
{
    if (a->result > a->head)
        return;
    memset(lent[0] + a->result, 0, size[0] - a->result);
    forget_beyond(lent, size, 4, a->result);
}

static void tally(const arguments *a)
{
    emptied += a->result == 0;
    moved += a->result != 0;
}

static void print_tally(void)
{
    printf("tally: moved=%lu emptied=%lu\n", moved, emptied);
}
