/* SPDX-License-Identifier: PostgreSQL */
/*
 * I/O by io_uring. Whoever submits hands what may go to the kernel; one thread waits for what completes, and hands over
 * what may go then. The ring has room for all that may ever be in flight, so its queues never overflow.
 */
#include "ioshares/engine.h"

#include "common/uring.h"

#if HAVE_LIBURING
#include <errno.h>

typedef struct uring {
    pgq_ioshares_engine head;
    liburing lib;
    struct io_uring ring; /* its submissions: with the lock held; its completions: the reaper alone */
    pthread_cond_t work;  /* something is in flight, or the engine stops */
    pthread_t reaper;
} uring;

/* ---- requests to the kernel: with the lock held ------------------------------------------------------------------ */

/* Puts what is left of a request into the ring. A ring without room has entries that the kernel refused: see give_up. */
static bool put(uring *u, pgq_ioshares_io *io)
{
    struct io_uring_sqe *sqe = u->lib.get_sqe(&u->ring);
    char *buffer = (char *)io->buffer + io->did;

    if (sqe == NULL)
        return false;
    if (io->write)
        io_uring_prep_write(sqe, io->fd, buffer, io->size - io->did, io->offset + io->did);
    else
        io_uring_prep_read(sqe, io->fd, buffer, io->size - io->did, io->offset + io->did);
    io_uring_sqe_set_data(sqe, io);
    return true;
}

static void fail(uring *u, pgq_ioshares_io *io, int error)
{
    io->error = error;
    engine_done(&u->head, io);
}

/* The kernel takes nothing more: what is left in the ring fails, and does nothing if the kernel takes it later. */
static void give_up(uring *u, int error)
{
    unsigned end = u->ring.sq.sqe_tail;

    for (unsigned at = end - io_uring_sq_ready(&u->ring); at != end; at++) {
        struct io_uring_sqe *sqe = &u->ring.sq.sqes[at & *u->ring.sq.kring_mask];
        pgq_ioshares_io *io = (pgq_ioshares_io *)(uintptr_t)sqe->user_data;

        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data(sqe, NULL);
        if (io != NULL)
            fail(u, io, error);
    }
}

static int enter(uring *u)
{
    int error = u->head.faults.enter == NULL ? 0 : u->head.faults.enter(u->head.faults.arg);

    return error < 0 ? error : u->lib.submit(&u->ring);
}

static void hand_over(uring *u)
{
    while (io_uring_sq_ready(&u->ring) != 0) {
        int taken = enter(u);

        if (taken < 0 && taken != -EINTR && taken != -EAGAIN && taken != -EBUSY) {
            give_up(u, -taken);
            return;
        }
    }
}

/* All that may go, goes. What fails at once makes room for more. */
static void dispatch(pgq_ioshares_engine *e)
{
    uring *u = (uring *)e;
    pgq_ioshares_io *io;

    do {
        while ((io = engine_next(e)) != NULL)
            if (!put(u, io))
                fail(u, io, EBUSY);
        hand_over(u);
    } while (e->scheduler->waiting > 0 && e->scheduler->in_flight < e->scheduler->limit);
    pthread_cond_signal(&u->work);
}

/* ---- the reaper -------------------------------------------------------------------------------------------------- */

static void ended(uring *u, const struct io_uring_cqe *cqe)
{
    pgq_ioshares_io *io = io_uring_cqe_get_data(cqe);

    if (io == NULL)
        return; /* an entry that was given up */
    if (engine_is_over(&u->head, io, cqe->res))
        engine_done(&u->head, io);
    else if (!put(u, io))
        fail(u, io, EBUSY);
}

/* Ends when it is told to and nothing is in flight: then nothing waits, since the limit is at least one. */
static void *reap(void *argument)
{
    uring *u = argument;
    struct io_uring_cqe *cqes[64];

    pthread_mutex_lock(&u->head.lock);
    for (;;) {
        while (u->head.scheduler->in_flight == 0 && !u->head.stopping)
            pthread_cond_wait(&u->work, &u->head.lock);
        if (u->head.scheduler->in_flight == 0)
            break;
        pthread_mutex_unlock(&u->head.lock);
        u->lib.wait_cqes(&u->ring, cqes, 1, NULL, NULL);
        unsigned n = u->lib.peek_batch_cqe(&u->ring, cqes, 64);
        pthread_mutex_lock(&u->head.lock);
        for (unsigned i = 0; i < n; i++)
            ended(u, cqes[i]);
        io_uring_cq_advance(&u->ring, n);
        dispatch(&u->head);
    }
    pthread_mutex_unlock(&u->head.lock);
    return NULL;
}

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

static void stop(pgq_ioshares_engine *e)
{
    uring *u = (uring *)e;

    pthread_mutex_lock(&e->lock);
    pthread_cond_signal(&u->work);
    pthread_mutex_unlock(&e->lock);
    pthread_join(u->reaper, NULL);
    u->lib.queue_exit(&u->ring);
    pthread_cond_destroy(&u->work);
}

static const engine_way by_uring = {PGQ_IOSHARES_BY_URING, dispatch, stop};

pgq_status pgq_ioshares_start_uring(pgq_ioshares *scheduler, const pgq_ioshares_faults *faults,
                                    pgq_ioshares_engine **engine)
{
    uring *u = (uring *)engine_make(sizeof *u, &by_uring, scheduler, faults);

    if (u == NULL)
        return refused(PGQ_MEMORY, 0);
    if (!pgq_liburing_load(&u->lib) || u->lib.queue_init(scheduler->limits.most, &u->ring, 0) < 0) {
        engine_free(&u->head);
        return refused(PGQ_IOSHARES_URING, 0);
    }
    pthread_cond_init(&u->work, NULL);
    if (pthread_create(&u->reaper, NULL, reap, u) != 0) {
        u->lib.queue_exit(&u->ring);
        pthread_cond_destroy(&u->work);
        engine_free(&u->head);
        return refused(PGQ_IOSHARES_THREADS, 0);
    }
    *engine = &u->head;
    return accepted();
}
#else
pgq_status pgq_ioshares_start_uring(pgq_ioshares *scheduler, const pgq_ioshares_faults *faults,
                                    pgq_ioshares_engine **engine)
{
    (void)scheduler;
    (void)faults;
    (void)engine;
    return refused(PGQ_IOSHARES_URING, 0);
}
#endif
