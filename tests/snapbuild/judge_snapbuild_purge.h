/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `snapbuild_purge`, and, with JUDGE_SORTED, of `snapbuild_purge_sorted`: see tools/judge/inputs.h. */
#ifndef JUDGE_SORTED
#define JUDGE_SORTED false
#define ANY_BYTES    1 /* the XIDs */
#endif
#include "../tests/snapbuild/judge_xids.h"

#include <stdio.h>

enum { LENT_MOST = 2 };
static unsigned long purged, refused_calls;

static void stage(judge_host *host, void *there)
{
    lend_committed(host, &((arguments *)there)->committed, 0, judge_lend);
}

static void fill(inputs *in, arguments *a)
{
    a->committed = some_committed(in, one_in(in, 4) ? below(in, 300) : 0, JUDGE_SORTED);
    a->xmin = in->n < 0 && one_in(in, 16) ? (uint32_t)edge(in, 32) : pivot;
    if (odd(in))
        spoil(in, &a->committed);
}

static void settle(arguments *a, char *const lent[], const size_t size[])
{
    if (a->committed != NULL && a->result.code == PGQ_OK)
        forget_beyond(lent, size, 4, ((pgq_snapbuild_committed *)lent[0])->xcnt);
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    purged += a->result.code == PGQ_OK && a->xmin >= 3;
}

static void print_tally(void)
{
    printf("tally: purged=%lu refused=%lu\n", purged, refused_calls);
}
