/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `snapbuild_insert`: see tools/judge/inputs.h. */
#include "../tests/snapbuild/judge_xids.h"

#include <stdio.h>

enum { LENT_MOST = 3 };
static unsigned long inserted, refused_calls;

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    lend_committed(host, &a->committed, a->m, judge_lend);
    if (a->m <= MOST_XIDS << 16)
        judge_lend(host, &a->batch, a->m * sizeof *a->batch, 4);
    else
        judge_forbid(host, &a->batch);
}

static void fill(inputs *in, arguments *a)
{
    a->m = in->percent >= 0 ? (size_t)in->percent : in->n >= 0 ? below(in, 24) : length(in, 700);
    a->committed = some_committed(in, a->m + below(in, 5), in->n >= 0 || one_in(in, 2));
    a->batch = take(in, a->m * sizeof *a->batch);
    for (size_t i = 0; i < a->m; i++)
        a->batch[i] = a->committed->xcnt > 0 && one_in(in, 6)
                          ? a->committed->xip[below(in, a->committed->xcnt)]
                          : some_xid(in);
    a->consistent = one_in(in, 2);
    if (odd(in) && a->m > 0 && one_in(in, 2))
        a->batch[below(in, a->m)] = (uint32_t)below(in, 3);
    else if (odd(in))
        spoil(in, &a->committed);
    else if (odd(in))
        a->batch = NULL;
}

/* A set; and what it says of its order must be true. */
static void settle(arguments *a, char *const lent[], const size_t size[])
{
    pgq_snapbuild_committed *c = (pgq_snapbuild_committed *)lent[0];
    uint32_t *xip = (uint32_t *)lent[1];

    if (a->committed == NULL || a->result.code != PGQ_OK || c->xcnt > size[1] / 4)
        return;
    bool lies = false;
    for (size_t i = 1; i < c->xcnt; i++)
        lies |= c->sorted && xip[i] <= xip[i - 1];
    c->xcnt = sort_unique(xip, c->xcnt) + (lies ? (size_t)1 << 40 : 0);
    c->sorted = false;
    forget_beyond(lent, size, 4, c->xcnt);
    if (a->batch != NULL)
        memset(lent[2], 0, size[2]);
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    inserted += a->result.code == PGQ_OK;
}

static void print_tally(void)
{
    printf("tally: inserted=%lu refused=%lu\n", inserted, refused_calls);
}
