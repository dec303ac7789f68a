/* SPDX-License-Identifier: PostgreSQL */
/* Compressing KnownAssignedXids moves the valid XIDs of [tail, head) to the front, in their order. */
#include "bounded.h"
#include "snapbuild/known_assigned.h"

static void compression_of(size_t tail, size_t head)
{
    uint32_t xids[N], before[N];
    bool valid[N], was_valid[N];
    size_t live = 0, n;

    for (size_t i = 0; i < N; i++) {
        before[i] = xids[i] = nondet_u32();
        was_valid[i] = valid[i] = nondet_bool();
    }
    n = COMPRESS(xids, valid, tail, head);

    for (size_t i = 0; i < N; i++)
        if (i >= tail && i < head && was_valid[i]) {
            claim(xids[live] == before[i], "each valid XID is there, in its order");
            claim(valid[live], "it is marked as valid");
            live++;
        }
    claim(n == live, "it says how many there are");
    for (size_t i = 0; i < N; i++)
        claim(i < head || xids[i] == before[i], "what is behind the head does not change");
}

void proof(void)
{
    for (size_t tail = 0; tail <= N; tail++)
        for (size_t head = 0; head <= N; head++)
            compression_of(tail, head);
}
