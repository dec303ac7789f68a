/* SPDX-License-Identifier: PostgreSQL */
/* I/O by threads: one for each request that may be in flight, which reads or writes and waits. */
#include "ioshares/engine.h"

#include <errno.h>
#include <unistd.h>

typedef struct threads {
    pgq_ioshares_engine head;
    pthread_cond_t work; /* a request may be able to go, or the engine stops */
    uint32_t worker_count;
    pthread_t workers[];
} threads;

/* Reads or writes what is left of a request. Bytes, or -errno. */
static int64_t transfer(const pgq_ioshares_io *io)
{
    char *buffer = (char *)io->buffer + io->did;
    off_t at = (off_t)(io->offset + io->did);
    size_t left = io->size - io->did;
    ssize_t n = io->write ? pwrite(io->fd, buffer, left, at) : pread(io->fd, buffer, left, at);

    return n < 0 ? -errno : n;
}

/* Does a request; the lock is held before and after. */
static void perform(threads *t, pgq_ioshares_io *io)
{
    const pgq_ioshares *s = t->head.scheduler;

    /* The limit may have risen, also by many, so that other workers have something to do: each wakes the next one. */
    if (s->waiting > 0 && s->in_flight < s->limit)
        pthread_cond_signal(&t->work);
    pthread_mutex_unlock(&t->head.lock);
    while (!pgq_ioshares_engine_is_over(io, transfer(io)))
        ;
    pthread_mutex_lock(&t->head.lock);
    pgq_ioshares_engine_done(&t->head, io);
}

/* Ends when it must and nothing waits. */
static void *work(void *argument)
{
    threads *t = argument;
    pgq_ioshares_io *io;

    pthread_mutex_lock(&t->head.lock);
    for (;;) {
        if ((io = pgq_ioshares_engine_next(&t->head)) != NULL)
            perform(t, io);
        else if (t->head.stopping && t->head.scheduler->waiting == 0)
            break;
        else
            pthread_cond_wait(&t->work, &t->head.lock);
    }
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->head.lock);
    return NULL;
}

static void dispatch(pgq_ioshares_engine *e)
{
    pthread_cond_signal(&((threads *)e)->work);
}

static void stop(pgq_ioshares_engine *e)
{
    threads *t = (threads *)e;

    pthread_mutex_lock(&e->lock);
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&e->lock);
    for (uint32_t i = 0; i < t->worker_count; i++)
        pthread_join(t->workers[i], NULL);
    pthread_cond_destroy(&t->work);
}

static const engine_way by_threads = {PGQ_IOSHARES_BY_THREADS, dispatch, stop};

pgq_status pgq_ioshares_start_threads(pgq_ioshares *scheduler, pgq_ioshares_engine **engine)
{
    uint32_t wanted = scheduler->limits.most;
    threads *t = (threads *)pgq_ioshares_engine_make(sizeof *t + wanted * sizeof t->workers[0], &by_threads,
                                                     scheduler);

    if (t == NULL)
        return refused(PGQ_MEMORY, 0);
    pthread_cond_init(&t->work, NULL);
    for (; t->worker_count < wanted; t->worker_count++)
        if (pthread_create(&t->workers[t->worker_count], NULL, work, t) != 0) {
            pgq_ioshares_engine_stop(&t->head);
            return refused(PGQ_IOSHARES_THREADS, 0);
        }
    *engine = &t->head;
    return accepted();
}
