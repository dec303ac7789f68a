/* SPDX-License-Identifier: PostgreSQL */
/* A purge of FullTransactionIds leaves those that are not below full_xmin, in their order; what was not in use stays. */
#include "bounded.h"
#include "snapbuild/full.c"

static void purge_of(size_t head, size_t n)
{
    uint64_t fxip[N + 2], before[N + 2], full_xmin = nondet_u64();
    size_t space = any_upto(N + 1), kept = 0;
    pgq_snapbuild_committed_full committed = {.fxip = fxip, .head = head, .xcnt = n, .xcnt_space = space};
    pgq_status status;

    for (size_t i = 0; i < N + 2; i++)
        before[i] = fxip[i] = nondet_u64();
    for (size_t i = 1; i < N + 2; i++)
        assume(i <= head || i >= head + n || fxip[i - 1] < fxip[i]);
    status = PURGE(&committed, full_xmin);

    claim((status.code == PGQ_SNAPBUILD_CAPACITY) == (head + n > space), "a count above the space is refused");
    if (status.code == PGQ_OK) {
        claim(committed.head + committed.xcnt <= head + n, "those that stay lie where the array was");
        for (size_t i = 0; i < N + 2; i++)
            if (i >= head && i < head + n && ((uint32_t)full_xmin < 3 || before[i] >= full_xmin)) {
                claim(fxip[committed.head + kept] == before[i], "each one that stays is there, in its order");
                kept++;
            }
    } else {
        claim(committed.head == head, "a refusal moves no head");
        kept = n;
    }
    claim(committed.xcnt == kept, "no other one stays");
    for (size_t i = 0; i < N + 2; i++)
        claim((status.code == PGQ_OK && i >= head && i < head + n) || fxip[i] == before[i],
              "nothing before the head or behind the array changes");
}

void proof(void)
{
    for (size_t head = 0; head <= 1; head++)
        for (size_t n = 0; n <= N; n++)
            purge_of(head, n);
}
