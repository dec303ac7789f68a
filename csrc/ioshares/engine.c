/* SPDX-License-Identifier: PostgreSQL */
/*
 * The scheduler in front of real files: the calls, and what happens to a request. threads.c and uring.c do the I/O, and call
 * what is here; start.c calls these two.
 */
#include "ioshares/engine.h"

#include "common/futex.h"
#include "common/holds.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

pgq_ioshares_engine *pgq_ioshares_engine_make(size_t bytes, const engine_way *way, pgq_ioshares *scheduler)
{
    pgq_ioshares_engine *e = calloc(1, bytes);

    if (e == NULL)
        return NULL;
    e->way = way;
    e->scheduler = scheduler;
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

void pgq_ioshares_engine_free(pgq_ioshares_engine *e)
{
    /* Whoever waits for one would wait for ever. */
    HOLDS(e->scheduler->waiting == 0 && e->scheduler->in_flight == 0);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ---- a request -------------------------------------------------------------------------------------------------- */

pgq_ioshares_io *pgq_ioshares_engine_next(pgq_ioshares_engine *e)
{
    pgq_ioshares_request request;
    pgq_ioshares_io *io;

    HOLDS(IS_LOCKED(&e->lock));
    if (pgq_ioshares_next(e->scheduler, &request).code != PGQ_OK)
        return NULL;
    io = (pgq_ioshares_io *)(uintptr_t)request.id;
    io->went = now();
    return io;
}

bool pgq_ioshares_engine_is_over(pgq_ioshares_io *io, int64_t result)
{
    if (result == -EINTR)
        return false;
    if (result <= 0) {
        io->error = result < 0 ? (int)-result : EIO;
        return true;
    }
    HOLDS(result <= (int64_t)io->size - io->did); /* the kernel gives no more than it was asked for */
    io->did += (uint32_t)result;
    return io->did == io->size;
}

/*
 * From here on the request may be gone: a wake-up is then one for no reason. The exchange releases what was written to it;
 * of who waits only the word itself is read (spec/ioshares/Litmus.tla).
 */
static void tell(pgq_ioshares_io *io)
{
    if (__atomic_exchange_n(&io->done, DONE, __ATOMIC_RELEASE) == AWAITED)
        futex_wake(&io->done);
}

void pgq_ioshares_engine_done(pgq_ioshares_engine *e, pgq_ioshares_io *io)
{
    /* So that nothing is refused here. */
    HOLDS(IS_LOCKED(&e->lock) && e->scheduler->flows[io->cls].in_flight > 0);
    io->ended = now();
    pgq_ioshares_complete(e->scheduler, io->cls, io->ended - io->went);
    tell(io);
}

/* ---- the calls -------------------------------------------------------------------------------------------------- */

pgq_ioshares_way pgq_ioshares_engine_way(const pgq_ioshares_engine *engine)
{
    return engine->way->way;
}

pgq_status pgq_ioshares_engine_submit(pgq_ioshares_engine *engine, pgq_ioshares_io *io)
{
    if (engine == NULL || io == NULL || io->buffer == NULL)
        return refused(PGQ_NULL, 0);
    pgq_ioshares_request request = {
        .id = (uint64_t)(uintptr_t)io, .size = io->size, .cls = io->cls, .write = io->write};
    pgq_status status = refused(PGQ_IOSHARES_OFFSET, (size_t)io->cls + 1);

    pthread_mutex_lock(&engine->lock);
    if (io->offset <= INT64_MAX - (uint64_t)io->size)
        status = pgq_ioshares_submit(engine->scheduler, &request);
    if (status.code == PGQ_OK) {
        io->did = 0;
        io->error = 0;
        io->submitted = now();
        engine->way->dispatch(engine);
    }
    /* Relaxed: who sets DONE has the lock, or takes it before; who waits was given the request by who submits. */
    __atomic_store_n(&io->done, status.code == PGQ_OK ? ON_ITS_WAY : DONE, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

pgq_status pgq_ioshares_engine_cancel(pgq_ioshares_engine *engine, pgq_ioshares_io *io)
{
    if (engine == NULL || io == NULL)
        return refused(PGQ_NULL, 0);
    pthread_mutex_lock(&engine->lock);
    pgq_status status = pgq_ioshares_cancel(engine->scheduler, io->cls, (uint64_t)(uintptr_t)io);
    if (status.code == PGQ_OK) {
        io->error = ECANCELED;
        io->went = 0;
        io->ended = now();
        tell(io);
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

pgq_status pgq_ioshares_engine_set_shares(pgq_ioshares_engine *engine, const uint32_t *shares)
{
    if (engine == NULL)
        return refused(PGQ_NULL, 0);
    pthread_mutex_lock(&engine->lock);
    pgq_status status = pgq_ioshares_set_shares(engine->scheduler, shares);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

pgq_status pgq_ioshares_engine_wait(pgq_ioshares_engine *engine, pgq_ioshares_io *io)
{
    uint32_t seen = ON_ITS_WAY;

    if (engine == NULL || io == NULL)
        return refused(PGQ_NULL, 0);
    /* Relaxed: who finds DONE acquires it below. */
    __atomic_compare_exchange_n(&io->done, &seen, AWAITED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    while (__atomic_load_n(&io->done, __ATOMIC_ACQUIRE) != DONE)
        futex_wait(&io->done, AWAITED, NULL);
    return accepted();
}

pgq_status pgq_ioshares_engine_stop(pgq_ioshares_engine *engine)
{
    if (engine == NULL)
        return refused(PGQ_NULL, 0);
    pthread_mutex_lock(&engine->lock);
    engine->stopping = true;
    pthread_mutex_unlock(&engine->lock);
    engine->way->stop(engine);
    pgq_ioshares_engine_free(engine);
    return accepted();
}
