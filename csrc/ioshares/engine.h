/* SPDX-License-Identifier: PostgreSQL */
/* What the engine's two ways to read and write share. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_IOSHARES_ENGINE_H
#define PGQUERN_IOSHARES_ENGINE_H

#include "ioshares/scheduler.h"

#include <pthread.h>

/* Values of pgq_ioshares_io.done. */
enum { ON_ITS_WAY = 0, DONE = 1, AWAITED = 2 };

/* dispatch: with the lock held, some request may be able to go. stop: the lock is free, and stopping is set. */
typedef struct engine_way {
    pgq_ioshares_way way;
    void (*dispatch)(pgq_ioshares_engine *e);
    void (*stop)(pgq_ioshares_engine *e);
} engine_way;

/* The head of both. One mutex guards the scheduler, and nobody holds it during I/O. */
struct pgq_ioshares_engine {
    const engine_way *way;
    pgq_ioshares *scheduler;
    pthread_mutex_t lock;
    bool stopping;
};

/* An engine of so many bytes, all zeroes but for its head; NULL without memory. And its end. */
pgq_ioshares_engine *pgq_ioshares_engine_make(size_t bytes, const engine_way *way, pgq_ioshares *scheduler);
void pgq_ioshares_engine_free(pgq_ioshares_engine *e);

/* Takes the request that goes now; NULL if none may. With the lock held. */
pgq_ioshares_io *pgq_ioshares_engine_next(pgq_ioshares_engine *e);

/* The kernel has said this of a part of a request. Returns whether all of it is over; otherwise the rest must be done. */
bool pgq_ioshares_engine_is_over(pgq_ioshares_io *io, int64_t result);

/* A request that went is over. From then on it belongs to its owner. With the lock held. */
void pgq_ioshares_engine_done(pgq_ioshares_engine *e, pgq_ioshares_io *io);

pgq_status pgq_ioshares_start_threads(pgq_ioshares *scheduler, pgq_ioshares_engine **engine);
pgq_status pgq_ioshares_start_uring(pgq_ioshares *scheduler, pgq_ioshares_engine **engine);

#endif
