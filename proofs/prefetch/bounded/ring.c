/* SPDX-License-Identifier: PostgreSQL */
/* The ring of what is in flight: an entry comes in at its head, and those below an LSN leave at its tail. */
#include "bounded.h"
#include "prefetch/ring.h"

static void ring_with(uint32_t tail, uint32_t count)
{
    pgq_prefetch_entry entries[SIZE];
    pgq_prefetch_ring ring = ring_of(nondet_u32(), SIZE - 1);
    uint64_t lsn = nondet_u64(), upto = nondet_u64();
    bool io = nondet_bool();
    uint32_t leave = 0, inflight = 0, left;

    for (uint32_t i = 0; i < SIZE; i++)
        entries[i] = (pgq_prefetch_entry){nondet_u64(), nondet_bool()};
    ring.tail = tail, ring.head = (tail + count) % SIZE;
    for (uint32_t i = 0; i < count; i++)
        inflight += entries[(tail + i) % SIZE].io;
    ring.inflight = inflight, ring.completed = count - inflight;

    claim(ring_may_look(&ring) == (inflight < ring.max_inflight && count < SIZE - 1),
          "it has room below both limits");
    if (count < SIZE - 1) {
        ring_push(&ring, entries, io, lsn);
        claim(entries[(tail + count) % SIZE].lsn == lsn, "what comes stands behind the others");
        inflight += io, count++;
    }
    while (leave < count && entries[(tail + leave) % SIZE].lsn < upto)
        inflight -= entries[(tail + leave++) % SIZE].io;
    ring_complete(&ring, entries, upto);
    left = count - leave;
    claim(ring.tail == (tail + leave) % SIZE && ring.head == (tail + count) % SIZE,
          "the first ones below the LSN leave");
    claim(ring.inflight == inflight && ring.completed == left - inflight,
          "the counts are of those that stay");
}

void proof(void)
{
    for (uint32_t tail = 0; tail < SIZE; tail++)
        for (uint32_t count = 0; count < SIZE; count++)
            ring_with(tail, count);
}
