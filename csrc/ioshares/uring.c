/* SPDX-License-Identifier: PostgreSQL */
/*
 * I/O by io_uring. One thread, the reaper, hands over what may go and waits for what completes. Nobody else may: the kernel
 * fails reads of a thread that has ended (EFAULT). Whoever submits rings a bell, an eventfd that the ring reads. The ring has
 * room for all that may ever be in flight, so its queues never overflow.
 */
#include "ioshares/engine.h"

#include "common/uring.h"

#if HAVE_LIBURING
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct uring {
    pgq_ioshares_engine head;
    liburing lib;
    struct io_uring ring; /* the reaper's alone */
    pthread_t reaper;
    int bell;       /* rung if some request may be able to go, or the engine stops */
    bool rung;      /* and the reaper has not looked since; under the lock */
    bool listens;   /* the ring reads the bell, into `rings` */
    uint64_t rings; /* how often it was rung: never looked at */
} uring;

/* ---- requests to the kernel: with the lock held ------------------------------------------------------------------ */

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
        void *whose = (void *)(uintptr_t)sqe->user_data;

        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data(sqe, NULL);
        if (whose == &u->rings)
            u->listens = false;
        else if (whose != NULL)
            fail(u, whose, error);
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

/* Puts what is left of a request into the ring. It has no room only if the kernel takes nothing: see give_up. */
static bool put(uring *u, pgq_ioshares_io *io)
{
    struct io_uring_sqe *sqe = u->lib.get_sqe(&u->ring);
    char *buffer = (char *)io->buffer + io->did;

    if (sqe == NULL) {
        hand_over(u);
        sqe = u->lib.get_sqe(&u->ring);
    }
    if (sqe == NULL)
        return false;
    if (io->write)
        io_uring_prep_write(sqe, io->fd, buffer, io->size - io->did, io->offset + io->did);
    else
        io_uring_prep_read(sqe, io->fd, buffer, io->size - io->did, io->offset + io->did);
    io_uring_sqe_set_data(sqe, io);
    return true;
}

static void listen_to_bell(uring *u)
{
    struct io_uring_sqe *sqe = u->listens || u->head.stopping ? NULL : u->lib.get_sqe(&u->ring);

    if (sqe == NULL)
        return;
    io_uring_prep_read(sqe, u->bell, &u->rings, sizeof u->rings, 0);
    io_uring_sqe_set_data(sqe, &u->rings);
    u->listens = true;
}

/* All that may go, goes. What fails at once makes room for more. */
static void take(uring *u)
{
    const pgq_ioshares *s = u->head.scheduler;
    pgq_ioshares_io *io;

    u->rung = false;
    do {
        while ((io = engine_next(&u->head)) != NULL)
            if (!put(u, io))
                fail(u, io, EBUSY);
        listen_to_bell(u);
        hand_over(u);
    } while (s->waiting > 0 && s->in_flight < s->limit);
}

static void dispatch(pgq_ioshares_engine *e)
{
    uring *u = (uring *)e;

    if (!u->rung)
        eventfd_write(u->bell, 1);
    u->rung = true;
}

/* ---- the reaper -------------------------------------------------------------------------------------------------- */

static void ended(uring *u, const struct io_uring_cqe *cqe)
{
    void *whose = io_uring_cqe_get_data(cqe);

    if (whose == &u->rings)
        u->listens = false;
    else if (whose != NULL && engine_is_over(&u->head, whose, cqe->res))
        engine_done(&u->head, whose);
    else if (whose != NULL && !put(u, whose))
        fail(u, whose, EBUSY);
}

/* Without the lock. A ring that has nothing to wait for, because it did not take the bell, leaves the bell itself. */
static void sleep_until_something_ends(uring *u, bool in_flight)
{
    struct io_uring_cqe *cqe;

    if (in_flight || u->listens)
        u->lib.wait_cqes(&u->ring, &cqe, 1, NULL, NULL);
    else
        eventfd_read(u->bell, &u->rings);
}

/* Ends when it is told to and nothing is in flight: then nothing waits, since the limit is at least one. */
static void *reap(void *argument)
{
    uring *u = argument;
    struct io_uring_cqe *cqes[64];

    pthread_mutex_lock(&u->head.lock);
    for (;;) {
        take(u);
        bool in_flight = u->head.scheduler->in_flight > 0;
        if (u->head.stopping && !in_flight && !u->listens)
            break;
        pthread_mutex_unlock(&u->head.lock);
        sleep_until_something_ends(u, in_flight);
        unsigned n = u->lib.peek_batch_cqe(&u->ring, cqes, 64);
        pthread_mutex_lock(&u->head.lock);
        for (unsigned i = 0; i < n; i++)
            ended(u, cqes[i]);
        io_uring_cq_advance(&u->ring, n);
    }
    pthread_mutex_unlock(&u->head.lock);
    return NULL;
}

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

static void stop(pgq_ioshares_engine *e)
{
    uring *u = (uring *)e;

    pthread_mutex_lock(&e->lock);
    dispatch(e);
    pthread_mutex_unlock(&e->lock);
    pthread_join(u->reaper, NULL);
    u->lib.queue_exit(&u->ring);
    close(u->bell);
}

static const engine_way by_uring = {PGQ_IOSHARES_BY_URING, dispatch, stop};

/* A ring for all requests that may be in flight, and for the bell where the kernel has room for one more. */
static pgq_code open_ring(uring *u)
{
    uint32_t most = u->head.scheduler->limits.most;

    if (!pgq_liburing_load(&u->lib))
        return PGQ_IOSHARES_URING;
    u->bell = eventfd(0, EFD_CLOEXEC);
    if (u->bell < 0)
        return PGQ_IOSHARES_URING;
    if (u->lib.queue_init(most < MAX_LIMIT ? most + 1 : most, &u->ring, 0) < 0) {
        close(u->bell);
        return PGQ_IOSHARES_URING;
    }
    return PGQ_OK;
}

pgq_status pgq_ioshares_start_uring(pgq_ioshares *scheduler, const pgq_ioshares_faults *faults,
                                    pgq_ioshares_engine **engine)
{
    uring *u = (uring *)engine_make(sizeof *u, &by_uring, scheduler, faults);

    if (u == NULL)
        return refused(PGQ_MEMORY, 0);
    pgq_code fault = open_ring(u);
    if (fault == PGQ_OK && pthread_create(&u->reaper, NULL, reap, u) != 0) {
        fault = PGQ_IOSHARES_THREADS;
        u->lib.queue_exit(&u->ring);
        close(u->bell);
    }
    if (fault != PGQ_OK) {
        engine_free(&u->head);
        return refused(fault, 0);
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
