/* SPDX-License-Identifier: PostgreSQL */
/* A snapshot of FullTransactionIds has their lower halves, raw-sorted, if the array spans less than 2^32. */
#include "bounded.h"
#include "snapbuild/full.c"

static void snapshot_of(size_t head, size_t n)
{
    uint64_t fxip[N + 1];
    uint32_t snapshot[N + 1], was[N + 1];
    size_t space = any_upto(N);
    pgq_snapbuild_committed_full committed = {.fxip = fxip, .head = head, .xcnt = n, .xcnt_space = N + 1};
    pgq_status status;
    bool wide;

    for (size_t i = 0; i <= N; i++) {
        fxip[i] = nondet_u64();
        was[i] = snapshot[i] = nondet_u32();
    }
    for (size_t i = head + 1; i < head + n; i++)
        assume(fxip[i - 1] < fxip[i]);
    status = pgq_snapbuild_snapshot_full(&committed, snapshot, space);

    wide = n > 0 && fxip[head + n - 1] - fxip[head] > UINT32_MAX;
    claim(status.code == (n > space ? PGQ_SNAPBUILD_CAPACITY : wide ? PGQ_SNAPBUILD_UNSORTED : PGQ_OK),
          "it is refused if and only if there is no room, or the array is too wide");
    for (size_t i = 0; i <= N; i++)
        claim((status.code == PGQ_OK && i < n) || snapshot[i] == was[i], "nothing else is written");
    for (size_t i = 0; i < n && status.code == PGQ_OK; i++) {
        bool there = false;

        for (size_t j = 0; j < n; j++)
            there |= snapshot[j] == (uint32_t)fxip[head + i];
        claim(there, "each lower half is there");
        claim(i == 0 || snapshot[i - 1] < snapshot[i], "the snapshot is raw-sorted, without duplicates");
    }
}

void proof(void)
{
    for (size_t head = 0; head <= 1; head++)
        for (size_t n = 0; n <= N; n++)
            snapshot_of(head, n);
}
