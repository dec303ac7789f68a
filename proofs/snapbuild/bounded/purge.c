/* SPDX-License-Identifier: PostgreSQL */
/* A purge leaves the XIDs that do not precede xmin, in their order; and nothing behind the array changes. */
#include "bounded.h"
#include SOURCE

static void purge_of(size_t n)
{
    uint32_t xip[N + 1], before[N + 1], xmin = nondet_u32();
    size_t kept = 0;
    pgq_snapbuild_committed committed = {.xip = xip, .xcnt = n, .xcnt_space = n, .sorted = SORTED};
    pgq_status status;

    for (size_t i = 0; i <= N; i++)
        before[i] = xip[i] = nondet_u32();
    if (SORTED)
        for (size_t i = 1; i < N; i++)
            assume(i >= n || xip[i - 1] < xip[i]);
    status = PURGE(&committed, xmin);

    if (status.code == PGQ_MEMORY)
        kept = n; /* only who asks for memory may be refused it; then nothing goes */
    else
        claim(status.code == PGQ_OK, "the call is accepted");
    for (size_t i = 0; i < N; i++)
        if (status.code == PGQ_OK && i < n && (xmin < 3 || !normal_precedes(before[i], xmin)))
            claim(xip[kept++] == before[i], "each XID that stays is there, in its order");
    claim(committed.xcnt == kept, "no other XID stays");
    for (size_t i = 0; i <= N; i++)
        claim(i < n || xip[i] == before[i], "nothing behind the array changes");
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        purge_of(n);
}
