/* SPDX-License-Identifier: PostgreSQL */
/* Appending a commit's XIDs: they stand behind the others, in their order; a refusal changes nothing. */
#include "bounded.h"
#include "snapbuild/insert.h"

static void insert_of(size_t n, size_t m)
{
    uint32_t xip[N + M + 1], before[N + M + 1], batch[M];
    size_t space = any_upto(N + M), permanent = 0;
    bool sorted = nondet_bool();
    pgq_snapbuild_committed committed = {.xip = xip, .xcnt = n, .xcnt_space = space, .sorted = sorted};
    pgq_status status;

    for (size_t i = 0; i <= N + M; i++)
        before[i] = xip[i] = nondet_u32();
    for (size_t i = 0; i < M; i++)
        batch[i] = nondet_u32();
    for (size_t i = M; i-- > 0;)
        if (i < m && batch[i] < 3)
            permanent = i + 1;
    status = INSERT(&committed, batch, m, false);

    if (n > space) {
        claim(status.code == PGQ_SNAPBUILD_CAPACITY, "a count above the space is refused");
    } else if (permanent > 0) {
        claim(status.code == PGQ_SNAPBUILD_XID_PERMANENT, "a permanent XID is refused");
        claim(status.index == permanent, "the refusal names the first one");
    } else {
        claim((status.code == PGQ_OK) == (n + m <= space), "otherwise it is accepted if and only if there is room");
    }
    claim(committed.xcnt == (status.code == PGQ_OK ? n + m : n), "the count grows by those that came");
    claim(status.code != PGQ_OK || m == 0 || !committed.sorted, "what was appended to is not taken for sorted");
    for (size_t i = 0; i <= N + M; i++) {
        bool is_new = status.code == PGQ_OK && i >= n && i < n + m;

        claim(!is_new || xip[i] == batch[i - n], "each XID of the commit is there, in its order");
        claim(is_new || xip[i] == before[i], "nothing else changes");
    }
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        for (size_t m = 0; m <= M; m++)
            insert_of(n, m);
}
