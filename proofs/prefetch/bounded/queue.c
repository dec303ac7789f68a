/* SPDX-License-Identifier: PostgreSQL */
/* The queue of decoded records: one comes in behind the others, and the first one leaves. */
#include "bounded.h"
#include "prefetch/prefetcher.c"

static void queue_with(size_t space, size_t head, size_t count)
{
    const pgq_prefetch_record *queue[SIZE], *before[SIZE];
    pgq_prefetch_record records[SIZE], comes = {.lsn = nondet_u64(), .next_lsn = nondet_u64()};
    pgq_prefetch p = {.queue = queue, .queue_space = space, .queue_head = head, .queued = count};
    bool stay = true;

    for (size_t i = 0; i < space; i++)
        before[i] = queue[i] = &records[i];
    if (count < space) {
        enqueue(&p, &comes);
        claim(queue[(head + count) % space] == &comes, "what comes stands behind the others");
        claim(p.decoded_lsn == comes.lsn && p.decoded_up_to == comes.next_lsn, "it was decoded last");
        before[(head + count++) % space] = &comes;
    }
    for (size_t i = 0; i < space; i++)
        stay &= queue[i] == before[i];
    claim(stay && p.queue_head == head && p.queued == count, "the others stay, and one more is counted");
    if (count > 0) {
        stay = dequeue(&p) == before[head];
        claim(stay && p.queue_head == (head + 1) % space && p.queued == count - 1,
              "the first one leaves, and the second becomes the first");
    }
}

void proof(void)
{
    for (size_t space = 1; space <= SIZE; space++)
        for (size_t head = 0; head < space; head++)
            for (size_t count = 0; count <= space; count++)
                queue_with(space, head, count);
}
