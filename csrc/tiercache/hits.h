/* SPDX-License-Identifier: PostgreSQL */
/*
 * Hits that the policy does not know yet. A hit takes no lock: it notes its page in a stripe of its thread's. Who has `map` tells
 * the policy what is noted, before he looks at it (pgq_tiercache_tell_hits). So the policy misses no hit, and for one thread it is as
 * if it had known each at once. Ding, Jiang, Zhang: "BP-Wrapper: a system framework making any replacement algorithms (almost) lock
 * contention free", ICDE 2009, does so with a queue a thread.
 */
#ifndef PGQUERN_TIERCACHE_HITS_H
#define PGQUERN_TIERCACHE_HITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPES = 16, NOTED = 64 };

/* The page was in the frame. */
typedef struct hit {
    uint64_t page;
    uint32_t frame;
} hit;

/* A ring, with one thread at a time at each end. Aligned so that two stripes have no common line of the CPU's cache. */
typedef struct stripe {
    _Alignas(64) uint32_t busy; /* a thread notes; atomic */
    uint32_t noted, told;       /* hits, since the cache was opened; atomic. told is changed under `map` */
    hit of[NOTED];
} stripe;

/* STRIPES of them; NULL: no memory. */
static inline stripe *hits_make(void)
{
    stripe *stripes = aligned_alloc(_Alignof(stripe), STRIPES * sizeof *stripes);

    if (stripes != NULL)
        memset(stripes, 0, STRIPES * sizeof *stripes);
    return stripes;
}

/* A small number of the running thread's. */
#ifndef THREAD_NUMBER
static inline unsigned thread_number(void)
{
    static unsigned given;
    static _Thread_local unsigned mine;

    if (mine == 0)
        mine = __atomic_add_fetch(&given, 1, __ATOMIC_RELAXED);
    return mine;
}
#define THREAD_NUMBER thread_number
#endif

/* false: there is no room, or another thread is there. */
static inline bool hits_note(stripe stripes[], hit h)
{
    stripe *s = &stripes[THREAD_NUMBER() % STRIPES];

    if (__atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE))
        return false;
    uint32_t noted = __atomic_load_n(&s->noted, __ATOMIC_RELAXED);
    bool room = noted - __atomic_load_n(&s->told, __ATOMIC_ACQUIRE) < NOTED;
    if (room) {
        s->of[noted % NOTED] = h;
        __atomic_store_n(&s->noted, noted + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
    return room;
}

#endif
