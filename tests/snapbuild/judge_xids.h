/* SPDX-License-Identifier: PostgreSQL */
/* Arrays of XIDs for the kinds of this stem: see tools/judge/inputs.h. */
#include "../tools/judge/inputs.h"
#include "snapbuild/snapbuild.h"

#include <stdlib.h>

enum { MOST_XIDS = 6000 };

/* XIDs are drawn around it: so many of a hundred do not precede it. */
static uint32_t pivot;

__attribute__((unused)) static int by_xid(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

__attribute__((unused)) static size_t sort_unique(uint32_t xids[], size_t n)
{
    size_t kept_ones = 0;

    qsort(xids, n, sizeof *xids, by_xid);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || xids[i] != xids[i - 1])
            xids[kept_ones++] = xids[i];
    return kept_ones;
}

/* At a distance that is small, or near half the ring, or any. */
static uint32_t some_xid(inputs *in)
{
    uint32_t away = (uint32_t)(one_in(in, 8) ? edge(in, 31) : below(in, 1 << 16)) & INT32_MAX;

    return normal(kept(in, 50) ? pivot + away : pivot - 1 - away);
}

/* n XIDs; the sorted ones rise from somewhere below the pivot, and end before the ring does. */
__attribute__((unused)) static size_t some_xids(inputs *in, uint32_t xids[], size_t n, bool sorted)
{
    if (!sorted) {
        for (size_t i = 0; i < n; i++)
            xids[i] = some_xid(in);
        return n;
    }
    uint64_t gap = one_in(in, 4) ? (UINT64_C(1) << 32) / (n + 1) : 1 + below(in, 200);
    uint64_t share = n * (in->percent >= 0 ? (uint64_t)in->percent : below(in, 101)) / 100;
    uint64_t x = gap * (n - share) / 2 > pivot ? 3 : pivot - gap * (n - share) / 2;
    size_t made = 0;

    for (x = x < 3 ? 3 : x; made < n && x <= UINT32_MAX; x += 1 + below(in, gap))
        xids[made++] = (uint32_t)x;
    return made;
}

__attribute__((unused)) static pgq_snapbuild_committed *some_committed(inputs *in, size_t space, bool sorted)
{
    size_t n = length(in, MOST_XIDS);
    pgq_snapbuild_committed *c = take(in, sizeof *c);
    uint32_t *xip = take(in, (n + space) * sizeof *xip);

    pivot = normal((uint32_t)edge(in, 32));
    memset(c, 0, sizeof *c);
    n = some_xids(in, xip, n, sorted);
    memset(xip + n, 0, space * sizeof *xip);
    *c = (pgq_snapbuild_committed){xip, n, n + space, sorted};
    return c;
}

/* What is refused, at a glance. */
__attribute__((unused)) static void spoil(inputs *in, pgq_snapbuild_committed **committed)
{
    pgq_snapbuild_committed *c = *committed;

    switch (below(in, 4)) {
    case 0:
        *committed = NULL;
        break;
    case 1:
        c->xip = c->xcnt_space > 0 ? NULL : c->xip;
        break;
    case 2:
        c->xcnt = c->xcnt_space + 1 + edge(in, 63);
        break;
    default:
        c->sorted = !c->sorted && c->xcnt <= 1;
        break;
    }
}

/* What counts, and space for so many more: judge_lend; or judge_show. */
__attribute__((unused)) static void lend_committed(judge_host *host, void *field, size_t more,
                                                   void *(*lend)(judge_host *, void *, size_t, size_t))
{
    pgq_snapbuild_committed *c = lend(host, field, sizeof *c, 8);

    if (c == NULL)
        return;
    size_t space = c->xcnt_space - c->xcnt;
    if (c->xcnt <= c->xcnt_space && c->xcnt_space <= 1u << 28)
        lend(host, &c->xip, (c->xcnt + (more < space ? more : space)) * sizeof *c->xip, 4);
    else
        judge_forbid(host, &c->xip);
}

/* What stands in an array beyond the first n elements is undefined. */
__attribute__((unused)) static void forget_beyond(char *const lent[], const size_t size[], size_t element,
                                                  size_t n)
{
    if (n <= size[1] / element)
        memset(lent[1] + n * element, 0, size[1] - n * element);
}
