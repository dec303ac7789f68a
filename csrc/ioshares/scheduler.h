/* SPDX-License-Identifier: PostgreSQL */
/* The scheduler's state, and the steps that its variants share. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_IOSHARES_SCHEDULER_H
#define PGQUERN_IOSHARES_SCHEDULER_H

#include "common/outcome.h"
#include "ioshares/ioshares.h"

#define MAX_SHARE    10000u
#define MAX_BYTES    (UINT32_C(1) << 30)
#define MAX_FACTOR   (UINT64_C(1) << 30)
#define MAX_CAPACITY (UINT32_C(1) << 20)
#define MAX_LIMIT    (UINT32_C(1) << 15)
#define MAX_WINDOW   (UINT32_C(1) << 16)
#define MAX_LATENCY  (UINT64_C(1) << 40)
#define PROBE_EVERY  64u

/*
 * Between calls the virtual time is below REBASE, and a tag is ahead of it by at most a warp, 2^60, and a request with its
 * operation, 2^61: so no tag and no sum below exceeds 2^63. Proved: tags_fit in proofs/ioshares/Overflow.v.
 */
#define REBASE (UINT64_C(1) << 61)

typedef struct waiting_request {
    uint64_t id, arrival;
    uint32_t size;
    bool write;
} waiting_request;

/* A class. Its requests wait in a ring: `count` of them from `head` on. */
typedef struct flow {
    uint64_t tag;      /* start tag of the first waiting request, or finish tag of the last one that went */
    uint64_t handicap; /* the largest warp of all classes less that of this one, times their factors */
    uint64_t factor;
    waiting_request *ring;
    uint32_t head, count, capacity, in_flight;
    uint64_t dispatched, charged;
    uint32_t warp; /* in bytes */
} flow;

/* The class whose first request goes next. Some wait. */
typedef uint32_t choose_fn(pgq_ioshares *s);

struct pgq_ioshares {
    choose_fn *choose;   /* what the variants differ in */
    uint32_t backlogged; /* bit i: requests of class i wait */
    uint32_t waiting, in_flight, limit;
    uint64_t virtual_time, arrivals;
    uint32_t level;     /* limit, but for probes */
    uint32_t age;       /* windows since the last probe, in which the limit might grow */
    uint32_t completed; /* in this window */
    bool probing;       /* half of the level is the limit, to find the floor */
    bool settling; /* this window is not looked at: in it requests complete that went under another limit */
    bool pressed;  /* at some completion of this window requests waited */
    uint64_t latency; /* the sum of this window */
    uint64_t floor;   /* the lowest mean of a window since the last probe; 0 before the first one has ended */
    pgq_ioshares_limits limits;
    pgq_ioshares_costs costs;
    pgq_ioshares_event *log;
    size_t log_capacity;
    uint64_t logged;
    uint32_t class_count;
    flow flows[PGQ_IOSHARES_MAX_CLASSES];
};

static inline void log_event(pgq_ioshares *s, pgq_ioshares_what what, pgq_ioshares_request request,
                             uint64_t latency)
{
    if (s->log_capacity != 0)
        s->log[s->logged++ % s->log_capacity] = (pgq_ioshares_event){
            .request = request,
            .latency = latency,
            .what = what,
            .waiting = s->waiting,
            .in_flight = s->in_flight,
            .limit = s->limit,
        };
}

/* Classes with waiting requests, lowest first: for (uint32_t left = s->backlogged; left != 0; left = without_lowest(left)). */
static inline uint32_t lowest(uint32_t set)
{
    return (uint32_t)__builtin_ctz(set);
}

static inline uint32_t without_lowest(uint32_t set)
{
    return set & (set - 1);
}

/* The first waiting request of a class that has one. */
static inline const waiting_request *first_of(const flow *f)
{
    return &f->ring[f->head];
}

/* What a request costs, in bytes. */
static inline uint64_t cost_of(const pgq_ioshares *s, const waiting_request *w)
{
    return (uint64_t)w->size + (w->write ? s->costs.write : s->costs.read);
}

/* How far a class is ahead of the virtual time. */
static inline uint64_t lead_of(const pgq_ioshares *s, const flow *f)
{
    return f->tag > s->virtual_time ? f->tag - s->virtual_time : 0;
}

/* pace.c: the limit at first, and after a completion with this latency, of MAX_LATENCY at most. */
void pgq_ioshares_pace_start(pgq_ioshares *s);
void pgq_ioshares_pace(pgq_ioshares *s, uint64_t latency);

/* The checks of every variant's fn, and all that variants share. */
pgq_status pgq_ioshares_make(void *memory, size_t bytes, const pgq_ioshares_config *config, choose_fn *choose,
                             pgq_ioshares **scheduler);

pgq_status pgq_ioshares_fifo(void *memory, size_t bytes, const pgq_ioshares_config *config,
                             pgq_ioshares **scheduler);
pgq_status pgq_ioshares_sfq(void *memory, size_t bytes, const pgq_ioshares_config *config,
                            pgq_ioshares **scheduler);

#endif
