/* SPDX-License-Identifier: PostgreSQL */
/*
 * I/O by io_uring. One thread, the reaper, hands over what may go and waits for what completes. Nobody else may: the kernel
 * fails reads of a thread that has ended (EFAULT). Whoever submits rings a bell, an eventfd that the ring reads.
 *
 * A request that went is either in the ring, where the kernel has not seen it, or in the kernel, which may write to its
 * buffer. Both are counted. What the kernel has must come back, however often the wait for it fails: the reaper then looks
 * now and then. What the kernel will not take comes out of the ring again, and fails. The ring has room for all that may
 * ever be in flight, so its queues never overflow.
 */
#include "ioshares/engine.h"

#include "common/holds.h"
#include "common/uring.h"

#if HAVE_LIBURING
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 100, /* so often in a row the kernel may refuse to take anything, though it may change its mind */
    LONGEST = 1000000, /* pause, in nanoseconds, before something is tried again */
    SHORTEST = 10000
};

typedef struct uring {
    pgq_ioshares_engine head;
    liburing lib;
    pthread_t reaper;
    int bell;  /* rung if some request may be able to go, or the engine stops */
    bool rung; /* and the reaper has not looked since; under the lock */

    /* The reaper's alone. */
    struct io_uring ring;
    uint32_t unsubmitted; /* requests in the ring */
    uint32_t in_kernel;   /* requests that the kernel has taken, and not completed */
    bool listens;         /* the kernel reads the bell, into `rings` */
    uint64_t rings;       /* how often it was rung: never looked at */
    uint32_t refusals;    /* how often in a row the kernel has taken nothing, up to TRIES */
    uint32_t failures;    /* how often in a row the wait has failed, as far as it matters */
} uring;

/* ---- requests to the kernel: with the lock held ------------------------------------------------------------------ */

/* Whose the entry at a place of the ring is: a request, or the bell. */
static void *owner_at(const uring *u, unsigned at)
{
    return (void *)(uintptr_t)u->ring.sq.sqes[at & *u->ring.sq.kring_mask].user_data;
}

static bool comes_after(unsigned a, unsigned b)
{
    return (int)(a - b) > 0;
}

/* Takes the entries from a place on out of the ring. The kernel, which looks when it is entered, has not seen them. */
static void cut(uring *u, unsigned at)
{
    struct io_uring_sq *sq = &u->ring.sq;

    sq->sqe_tail = at;
    if (comes_after(sq->sqe_head, at))
        sq->sqe_head = at;
    if (comes_after(*sq->ktail, at))
        *sq->ktail = at;
}

/* The requests that are left in the ring fail. */
static void give_up(uring *u, int error)
{
    unsigned first = *u->ring.sq.khead, end = u->ring.sq.sqe_tail;

    cut(u, first);
    for (unsigned at = first; at != end; at++) {
        pgq_ioshares_io *io = owner_at(u, at);

        HOLDS(io != (void *)&u->rings && u->unsubmitted > 0); /* the bell was taken out */
        io->error = error;
        u->unsubmitted--;
        pgq_ioshares_engine_done(&u->head, io);
    }
}

/* Puts what is left of a request into the ring. */
static void put(uring *u, pgq_ioshares_io *io)
{
    struct io_uring_sqe *sqe = u->lib.get_sqe(&u->ring);
    char *buffer = (char *)io->buffer + io->did;

    HOLDS(sqe != NULL && io->did < io->size); /* the ring has room for all that may be in flight */
    if (io->write)
        io_uring_prep_write(sqe, io->fd, buffer, io->size - io->did, io->offset + io->did);
    else
        io_uring_prep_read(sqe, io->fd, buffer, io->size - io->did, io->offset + io->did);
    io_uring_sqe_set_data(sqe, io);
    u->unsubmitted++;
}

/* It is put last. The ring has no room for it only where the kernel has none for one more. */
static void put_bell(uring *u)
{
    struct io_uring_sqe *sqe = u->listens || u->head.stopping ? NULL : u->lib.get_sqe(&u->ring);

    if (sqe == NULL)
        return;
    io_uring_prep_read(sqe, u->bell, &u->rings, sizeof u->rings, 0);
    io_uring_sqe_set_data(sqe, &u->rings);
}

/* Out of the ring again: who submits must find room for each request. */
static void take_bell_out(uring *u)
{
    unsigned end = u->ring.sq.sqe_tail;

    if (io_uring_sq_ready(&u->ring) != 0 && owner_at(u, end - 1) == &u->rings)
        cut(u, end - 1);
}

/* Enters the kernel once. 0, or the errno with which it has taken nothing. What it has taken is counted. */
static int enter(uring *u)
{
    unsigned first = *u->ring.sq.khead;
    int error = u->lib.submit(&u->ring);

    for (unsigned at = first; at != *u->ring.sq.khead; at++)
        if (owner_at(u, at) == &u->rings) {
            u->listens = true;
        } else {
            u->unsubmitted--;
            u->in_kernel++;
        }
    if (first != *u->ring.sq.khead)
        return 0;
    return error < 0 ? -error : EAGAIN;
}

static bool may_change_its_mind(int error)
{
    return error == EAGAIN || error == EINTR || error == EBUSY || error == ENOMEM;
}

/* All that is in the ring goes to the kernel, or fails, or is left there to be tried again after a pause. */
static void hand_over(uring *u)
{
    int error = 0;

    put_bell(u);
    while (error == 0 && io_uring_sq_ready(&u->ring) != 0) {
        error = enter(u);
        u->refusals = error == 0 ? 0 : u->refusals + (u->refusals < TRIES);
    }
    take_bell_out(u);
    if (error != 0 && (u->refusals == TRIES || !may_change_its_mind(error)))
        give_up(u, error);
}

/* All that may go, goes. What fails at once makes room for more. */
static void take(uring *u)
{
    const pgq_ioshares *s = u->head.scheduler;
    pgq_ioshares_io *io;

    u->rung = false;
    do {
        while ((io = pgq_ioshares_engine_next(&u->head)) != NULL)
            put(u, io);
        hand_over(u);
    } while (s->waiting > 0 && s->in_flight < s->limit);
    /* Each that went is in the ring, or in the kernel. */
    HOLDS(u->unsubmitted + u->in_kernel == s->in_flight);
}

static void dispatch(pgq_ioshares_engine *e)
{
    uring *u = (uring *)e;

    HOLDS(IS_LOCKED(&e->lock)); /* `rung` is read and set here */
    if (!u->rung)
        eventfd_write(u->bell, 1);
    u->rung = true;
}

/* ---- the reaper -------------------------------------------------------------------------------------------------- */

static void ended(uring *u, const struct io_uring_cqe *cqe)
{
    void *whose = io_uring_cqe_get_data(cqe);

    if (whose == &u->rings) {
        u->listens = false;
        return;
    }
    HOLDS(u->in_kernel > 0);
    u->in_kernel--;
    if (pgq_ioshares_engine_is_over(whose, cqe->res))
        pgq_ioshares_engine_done(&u->head, whose);
    else
        put(u, whose);
}

/* The longer, the more often it was in vain. */
static void pause_after(uint32_t times)
{
    const struct timespec t = {0, times * SHORTEST < LONGEST ? (long)times * SHORTEST : LONGEST};

    nanosleep(&t, NULL);
}

/* A wait that fails says nothing of what the kernel has: after a pause the reaper looks for itself. */
static void wait_for_completions(uring *u)
{
    struct io_uring_cqe *cqe;
    int error = u->lib.wait_cqes(&u->ring, &cqe, 1, NULL, NULL);

    u->failures = error < 0 ? u->failures + (u->failures < TRIES) : 0;
    if (error < 0)
        pause_after(u->failures);
}

/*
 * Without the lock. Who has nothing in the kernel, not even the bell's read, reads the bell itself. Who has requests there,
 * and cannot hear the bell (or need not, since the engine stops), looks now and then.
 */
static void sleep_until_something_can_be_done(uring *u, bool must_hear)
{
    if (u->unsubmitted > 0 || (u->in_kernel > 0 && must_hear && !u->listens))
        pause_after(u->refusals + 1);
    else if (u->in_kernel > 0 || u->listens)
        wait_for_completions(u);
    else
        eventfd_read(u->bell, &u->rings);
}

/* Ends when it must and nothing is in flight: then nothing waits, since the limit is at least one. */
static void *reap(void *argument)
{
    uring *u = argument;
    struct io_uring_cqe *cqes[64];

    pthread_mutex_lock(&u->head.lock);
    for (;;) {
        take(u);
        if (u->head.stopping && u->unsubmitted + u->in_kernel == 0 && !u->listens)
            break;
        bool must_hear = !u->head.stopping;
        pthread_mutex_unlock(&u->head.lock);
        sleep_until_something_can_be_done(u, must_hear);
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

pgq_status pgq_ioshares_start_uring(pgq_ioshares *scheduler, pgq_ioshares_engine **engine)
{
    uring *u = (uring *)pgq_ioshares_engine_make(sizeof *u, &by_uring, scheduler);

    if (u == NULL)
        return refused(PGQ_MEMORY, 0);
    pgq_code fault = open_ring(u);
    if (fault == PGQ_OK && pthread_create(&u->reaper, NULL, reap, u) != 0) {
        fault = PGQ_IOSHARES_THREADS;
        u->lib.queue_exit(&u->ring);
        close(u->bell);
    }
    if (fault != PGQ_OK) {
        pgq_ioshares_engine_free(&u->head);
        return refused(fault, 0);
    }
    *engine = &u->head;
    return accepted();
}
#else
pgq_status pgq_ioshares_start_uring(pgq_ioshares *scheduler, pgq_ioshares_engine **engine)
{
    (void)scheduler;
    (void)engine;
    return refused(PGQ_IOSHARES_URING, 0);
}
#endif
