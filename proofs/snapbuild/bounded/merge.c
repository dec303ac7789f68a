/* SPDX-License-Identifier: PostgreSQL */
/* Merging a sorted batch into a sorted array gives their union: each XID of either once, in order. */
#include "bounded.h"
#include "snapbuild/merge.h"

static bool has(const uint32_t *a, size_t n, uint32_t x)
{
    bool found = false;

    for (size_t i = 0; i < n; i++)
        found = found || a[i] == x;
    return found;
}

static void merge_of(size_t n, size_t m)
{
    uint32_t a[N + M + 1], before[N], batch[M], batch_before[M], x = nondet_u32(), was = nondet_u32();
    size_t left;

    a[n + m] = was;
    for (size_t i = 0; i < n; i++) {
        before[i] = a[i] = nondet_u32();
        assume(i == 0 || a[i - 1] < a[i]);
    }
    for (size_t i = 0; i < m; i++) {
        batch_before[i] = batch[i] = nondet_u32();
        assume(i == 0 || batch[i - 1] < batch[i]);
    }
    left = merge_batch32(a, n, batch, m);

    claim(left <= n + m, "there are no more than both have");
    for (size_t i = 1; i < n + m; i++)
        claim(i >= left || a[i - 1] < a[i], "they rise, so none is there twice");
    claim(has(a, left, x) == (has(before, n, x) || has(batch_before, m, x)), "an XID is there if and only if it was in either");
    claim(a[n + m] == was, "nothing behind the array's space changes");
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        for (size_t m = 0; m <= M; m++)
            merge_of(n, m);
}
