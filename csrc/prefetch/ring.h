/* SPDX-License-Identifier: PostgreSQL */
/* LsnReadQueue: lrq_alloc, lrq_prefetch and lrq_complete_lsn of xlogprefetcher.c, apart from the callback. */
#ifndef PGQUERN_PREFETCH_RING_H
#define PGQUERN_PREFETCH_RING_H

#include "common/holds.h"
#include "prefetch/prefetch.h"

/* max_distance entries may be in use; one more slot stays empty, so that a full ring differs from an empty one. */
static inline pgq_prefetch_ring ring_of(uint32_t max_inflight, uint32_t max_distance)
{
    return (pgq_prefetch_ring){.size = max_distance + 1, .max_inflight = max_inflight};
}

static inline bool ring_may_look(const pgq_prefetch_ring *ring)
{
    return ring->inflight < ring->max_inflight && ring->inflight + ring->completed < ring->size - 1;
}

static inline uint32_t ring_following(const pgq_prefetch_ring *ring, uint32_t slot)
{
    return slot + 1 == ring->size ? 0 : slot + 1;
}

/* Entries from the tail to the head. */
static inline uint32_t ring_used(const pgq_prefetch_ring *ring)
{
    return ring->head >= ring->tail ? ring->head - ring->tail : ring->head + ring->size - ring->tail;
}

static inline void ring_push(pgq_prefetch_ring *ring, pgq_prefetch_entry *entries, bool io, uint64_t lsn)
{
    HOLDS(ring_following(ring, ring->head) != ring->tail); /* full, it would look empty */
    entries[ring->head] = (pgq_prefetch_entry){lsn, io};
    ring->head = ring_following(ring, ring->head);
    ring->inflight += io;
    ring->completed += !io;
}

/* Entries of records that start below replayed_up_to leave: their I/O is over, as far as anyone can tell. */
static inline void ring_complete(pgq_prefetch_ring *ring, const pgq_prefetch_entry *entries,
                                 uint64_t replayed_up_to)
{
    while (ring->tail != ring->head && entries[ring->tail].lsn < replayed_up_to) {
        bool io = entries[ring->tail].io;

        HOLDS(io ? ring->inflight > 0 : ring->completed > 0);
        ring->inflight -= io;
        ring->completed -= !io;
        ring->tail = ring_following(ring, ring->tail);
    }
}

#endif
