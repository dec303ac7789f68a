/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `snapbuild_snapshot`: see tools/judge/inputs.h. */
#include "../tests/snapbuild/judge_xids.h"

#include <stdio.h>

enum { LENT_MOST = 3 };
static unsigned long written, refused_calls;

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    lend_committed(host, &a->committed, 0, judge_show);
    if (a->xip_space <= MOST_XIDS << 16)
        judge_lend(host, &a->xip, a->xip_space * sizeof *a->xip, 4);
    else
        judge_forbid(host, &a->xip);
}

static void fill(inputs *in, arguments *a)
{
    pgq_snapbuild_committed *committed = some_committed(in, below(in, 5), one_in(in, 2));

    a->xip_space = committed->xcnt + below(in, one_in(in, 8) ? committed->xcnt + 100 : 5);
    a->xip = take(in, a->xip_space * sizeof *a->xip);
    memset(a->xip, 0x5a, a->xip_space * sizeof *a->xip);
    if (one_in(in, 8) && committed->xcnt > 0) { /* an earlier answer, in which one differs */
        memcpy(a->xip, committed->xip, committed->xcnt * sizeof *a->xip);
        qsort(a->xip, committed->xcnt, sizeof *a->xip, by_xid);
        a->xip[below(in, committed->xcnt)] ^= 1;
    }
    if (odd(in) && committed->xcnt > 0)
        a->xip_space = below(in, committed->xcnt);
    else if (odd(in))
        a->xip = NULL;
    else if (odd(in))
        spoil(in, &committed);
    a->committed = committed;
}

static void settle(arguments *a, char *const lent[], const size_t size[])
{
    size_t n = a->committed == NULL || a->xip == NULL ? 0 : ((pgq_snapbuild_committed *)lent[0])->xcnt;

    if (a->result.code == PGQ_OK && n < size[2] / 4)
        memset(lent[2] + 4 * n, 0, size[2] - 4 * n);
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    written += a->result.code == PGQ_OK;
}

static void print_tally(void)
{
    printf("tally: written=%lu refused=%lu\n", written, refused_calls);
}
