/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `snapbuild_purge_full`: see tools/judge/inputs.h. */
#include "../tests/snapbuild/judge_xids.h"

#include <stdio.h>

enum { LENT_MOST = 2 };
static unsigned long purged, refused_calls;

static void stage(judge_host *host, void *there)
{
    pgq_snapbuild_committed_full *c = judge_lend(host, &((arguments *)there)->committed, sizeof *c, 8);

    if (c == NULL)
        return;
    if (c->xcnt_space <= 1u << 27 && c->head <= c->xcnt_space && c->xcnt <= c->xcnt_space - c->head)
        judge_lend(host, &c->fxip, (c->head + c->xcnt) * sizeof *c->fxip, 8);
    else
        judge_forbid(host, &c->fxip);
}

static void fill(inputs *in, arguments *a)
{
    size_t n = length(in, MOST_XIDS), head = one_in(in, 2) ? 0 : below(in, 40), behind = below(in, 9);
    pgq_snapbuild_committed_full *c = take(in, sizeof *c);
    uint64_t *fxip = take(in, (head + n + behind) * sizeof *fxip), x = 3 + edge(in, 60),
             gap = 1 + edge(in, 33);

    if (one_in(in, 16)) /* in the middle it is half of all, where a sign changes */
        x = (UINT64_C(1) << 63) - below(in, n * gap + 1);
    memset(fxip, 0, (head + n + behind) * sizeof *fxip);
    a->full_xmin = in->n < 0 && one_in(in, 16) ? edge(in, 64) : 0;
    size_t at = in->percent >= 0 ? n - n * (size_t)in->percent / 100 : below(in, n + 1);
    for (size_t i = 0; i < n; i++) {
        x = (uint32_t)x < 3 ? x + 3 : x;
        fxip[head + i] = x;
        if (i == at && a->full_xmin == 0)
            a->full_xmin = x + below(in, 3) - 1;
        x += 1 + below(in, gap);
    }
    *c = (pgq_snapbuild_committed_full){fxip, head, n, head + n + behind};
    a->committed = c;
    if (odd(in)) {
        c->xcnt += one_in(in, 2) ? behind + 1 + edge(in, 62) : 0;
        a->committed = one_in(in, 3) ? NULL : c;
    }
}

/* The head may move, or the array. */
static void settle(arguments *a, char *const lent[], const size_t size[])
{
    pgq_snapbuild_committed_full *c = (pgq_snapbuild_committed_full *)lent[0];

    if (a->committed == NULL || a->result.code != PGQ_OK || c->xcnt > size[1] / 8 ||
        c->head > size[1] / 8 - c->xcnt)
        return;
    memmove(lent[1], lent[1] + 8 * c->head, 8 * c->xcnt);
    c->head = 0;
    forget_beyond(lent, size, 8, c->xcnt);
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    purged += a->result.code == PGQ_OK;
}

static void print_tally(void)
{
    printf("tally: purged=%lu refused=%lu\n", purged, refused_calls);
}
