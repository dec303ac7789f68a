/* SPDX-License-Identifier: PostgreSQL */
/*
 * The scheduler in front of real files. A thread for each request that may be in flight reads and writes; one mutex guards
 * the scheduler, and nobody holds it during I/O.
 */
#include "ioshares/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct pgq_ioshares_engine {
    pgq_ioshares *scheduler;
    pthread_mutex_t lock;
    pthread_cond_t work; /* a request may be able to go, or the engine stops */
    pthread_cond_t done; /* a request has completed */
    bool stopping;
    uint32_t worker_count;
    pthread_t workers[];
};

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* All bytes of a request. 0, or errno; EIO if the file ends first. */
static int transfer(const pgq_ioshares_io *io)
{
    char *buffer = io->buffer;

    for (size_t did = 0; did < io->size;) {
        off_t at = (off_t)(io->offset + did);
        ssize_t n = io->write ? pwrite(io->fd, buffer + did, io->size - did, at)
                              : pread(io->fd, buffer + did, io->size - did, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        did += (size_t)n;
    }
    return 0;
}

/* Does a request; the lock is held before and after. */
static void perform(pgq_ioshares_engine *e, const pgq_ioshares_request *request)
{
    pgq_ioshares_io *io = (pgq_ioshares_io *)(uintptr_t)request->id;
    int error;

    io->went = now();
    pthread_mutex_unlock(&e->lock);
    error = transfer(io);
    pthread_mutex_lock(&e->lock);
    io->ended = now();
    io->error = error;
    io->done = true;
    pgq_ioshares_complete(e->scheduler, request->cls, io->ended - io->went);
    /* The limit may have risen, so that another worker has something to do. */
    pthread_cond_signal(&e->work);
    pthread_cond_broadcast(&e->done);
}

/* Stops when it is told to and nothing waits. */
static void *work(void *argument)
{
    pgq_ioshares_engine *e = argument;
    pgq_ioshares_request request;

    pthread_mutex_lock(&e->lock);
    for (;;) {
        pgq_status status = pgq_ioshares_next(e->scheduler, &request);

        if (status.code == PGQ_OK)
            perform(e, &request);
        else if (status.code == PGQ_IOSHARES_EMPTY && e->stopping)
            break;
        else
            pthread_cond_wait(&e->work, &e->lock);
    }
    pthread_cond_broadcast(&e->work);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

pgq_status pgq_ioshares_engine_stop(pgq_ioshares_engine *engine)
{
    if (engine == NULL)
        return refused(PGQ_NULL, 0);
    pthread_mutex_lock(&engine->lock);
    engine->stopping = true;
    pthread_cond_broadcast(&engine->work);
    pthread_mutex_unlock(&engine->lock);
    for (uint32_t i = 0; i < engine->worker_count; i++)
        pthread_join(engine->workers[i], NULL);
    pthread_cond_destroy(&engine->done);
    pthread_cond_destroy(&engine->work);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
    return accepted();
}

pgq_status pgq_ioshares_engine_start(pgq_ioshares *scheduler, pgq_ioshares_engine **engine)
{
    if (scheduler == NULL || engine == NULL)
        return refused(PGQ_NULL, 0);
    uint32_t wanted = scheduler->limits.most;
    pgq_ioshares_engine *e = calloc(1, sizeof *e + wanted * sizeof e->workers[0]);
    if (e == NULL)
        return refused(PGQ_MEMORY, 0);
    e->scheduler = scheduler;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->work, NULL);
    pthread_cond_init(&e->done, NULL);
    for (; e->worker_count < wanted; e->worker_count++)
        if (pthread_create(&e->workers[e->worker_count], NULL, work, e) != 0) {
            pgq_ioshares_engine_stop(e);
            return refused(PGQ_IOSHARES_THREADS, 0);
        }
    *engine = e;
    return accepted();
}

pgq_status pgq_ioshares_engine_submit(pgq_ioshares_engine *engine, pgq_ioshares_io *io)
{
    if (engine == NULL || io == NULL || io->buffer == NULL)
        return refused(PGQ_NULL, 0);
    pgq_ioshares_request request = {.id = (uint64_t)(uintptr_t)io, .size = io->size, .cls = io->cls};

    pthread_mutex_lock(&engine->lock);
    io->done = false;
    io->submitted = now();
    pgq_status status = pgq_ioshares_submit(engine->scheduler, &request);
    pthread_cond_signal(&engine->work);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

pgq_status pgq_ioshares_engine_wait(pgq_ioshares_engine *engine, const pgq_ioshares_io *io)
{
    if (engine == NULL || io == NULL)
        return refused(PGQ_NULL, 0);
    pthread_mutex_lock(&engine->lock);
    while (!io->done)
        pthread_cond_wait(&engine->done, &engine->lock);
    pthread_mutex_unlock(&engine->lock);
    return accepted();
}
