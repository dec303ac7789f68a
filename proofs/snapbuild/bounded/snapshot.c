/* SPDX-License-Identifier: PostgreSQL */
/* A snapshot has the XIDs of the array, raw-sorted, each as often as the array has it; the array stays as it was. */
#include "bounded.h"
#include "snapbuild/snapshot.h"

static size_t times(const uint32_t *xip, size_t n, uint32_t xid)
{
    size_t times = 0;

    for (size_t i = 0; i < n; i++)
        times += xip[i] == xid;
    return times;
}

static void snapshot_of(size_t n)
{
    uint32_t xip[N + 1], before[N + 1], snapshot[N + 1], was[N + 1];
    size_t space = any_upto(N);
    pgq_snapbuild_committed committed = {.xip = xip, .xcnt = n, .xcnt_space = N, .sorted = nondet_bool()};
    pgq_status status;

    for (size_t i = 0; i <= N; i++) {
        before[i] = xip[i] = nondet_u32();
        was[i] = snapshot[i] = nondet_u32();
    }
    for (size_t i = 1; i < n; i++)
        assume(!committed.sorted || xip[i - 1] < xip[i]);
    status = SNAPSHOT(&committed, snapshot, space);

    claim(status.code == (n <= space ? PGQ_OK : PGQ_SNAPBUILD_CAPACITY), "it is refused if and only if there is no room");
    for (size_t i = 0; i <= N; i++) {
        claim(xip[i] == before[i], "the array stays as it was");
        claim((status.code == PGQ_OK && i < n) || snapshot[i] == was[i], "nothing else is written");
        if (status.code == PGQ_OK && i < n) {
            claim(i == 0 || snapshot[i - 1] <= snapshot[i], "the snapshot is raw-sorted");
            claim(times(snapshot, n, xip[i]) == times(xip, n, xip[i]), "each XID is there, as often as in the array");
        }
    }
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        snapshot_of(n);
}
