/* SPDX-License-Identifier: PostgreSQL */
/*
 * True asynchronous reads: what look-ahead finds is read straight into a buffer, several reads at a time, and the kernel
 * completes them in any order. `uring` reads through the kernel's cache. `uring_direct` reads past it what is not in it; what
 * is, and blocks that follow each other, it leaves to pread.
 *
 * Several reads are submitted at once: each call wakes the device, which costs more than the read itself. If replay then has
 * to wait, one call does both. And blocks that follow each other are one read, while their buffers follow each other too:
 * buffers are taken in turn, so they do but at the end of the pool.
 * Upstream: src/backend/storage/buffer/bufmgr.c, StartReadBuffers.
 *
 * What was tried, of random blocks read past the cache with 16 and 64 in flight on a Zen 4 with Linux 6.18. Time of the CPU
 * for a read: buffers that are registered, 14 and 20 in a hundred less; files that are registered, nothing, and so they are
 * not; IORING_SETUP_COOP_TASKRUN, the same as IORING_SETUP_DEFER_TASKRUN. System calls for a read, with 4, 16 and 64 in
 * flight: submitting and waiting in one call and seldom probes (COLD_PROBES), 1.14, 0.70 and 0.28 in the place of 2.25, 1.61
 * and 1.16; `advise` makes 2.
 */
#include "prefetch/engine.h"

#include "common/holds.h"
#include "common/uring.h"

#if HAVE_LIBURING
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A block's read is in the ring from the moment that it is put there until it ends: first unsubmitted, then in flight, when
 * the kernel may write to its buffer. io_uring itself knows which entries the kernel has taken (io_uring_sq_ready).
 */
typedef struct ring {
    liburing lib;
    struct io_uring ring;
    bool direct, is_open;
    int *fds;             /* the job's files, opened again with O_DIRECT; -1: not yet */
    uint32_t reads;       /* blocks in the ring, */
    uint32_t unsubmitted; /* and those of them that the kernel does not have yet */
    uint32_t batch;       /* so many are submitted at once, if replay does not need one earlier, */
    uint32_t rounds;      /* or none has been held back for so many rounds of look-ahead */
    bool due;             /* they are to be submitted, in one call with the wait that follows */
    uint32_t started;     /* blocks, until it was asked whether the buffers can be registered */
} ring;

enum {
    PATIENCE = 100,     /* so often in a row the kernel may put off a submission */
    BATCHES = 8,        /* as many fit in what may be in flight */
    REGISTER_AFTER = 64 /* reads: the start of a sequence, or of two, does not pay for it */
};

/*
 * What an entry of io_uring's says of itself: its first frame, and the number of its frames above bit 32. NO_READ: it was given
 * up, and its completion means nothing.
 */
static const uint64_t ONE_MORE = (uint64_t)1 << 32, NO_READ = UINT64_MAX;

/* ---- set-up ---- */

/* Opens each file once more, by its name among the files of this process. */
static pgq_status open_direct(engine *e, ring *r)
{
    uint32_t count = engine_fd_count(e);

    r->fds = malloc(((size_t)count + 1) * sizeof *r->fds);
    if (r->fds == NULL)
        return refused(PGQ_MEMORY, 0);
    for (uint32_t i = 0; i < count; i++)
        r->fds[i] = -1;
    for (uint32_t i = 0; i < count; i++) {
        char name[32];

        if (e->segment_blocks != 0 && e->job->fds[i] == -1)
            continue;
        snprintf(name, sizeof name, "/proc/self/fd/%d", e->job->fds[i]);
        r->fds[i] = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
        if (r->fds[i] < 0) {
            e->job->error_number = errno;
            return refused(PGQ_PREFETCH_DIRECT, 0);
        }
    }
    return accepted();
}

/*
 * Nobody else uses the ring, and the kernel need interrupt no one for a completion: replay looks for them when it waits, and
 * a flag tells liburing that there are some, also after a wait that failed. A kernel before 6.1 knows nothing of this.
 */
static int make_ring(ring *r, uint32_t entries)
{
    int failed = -EINVAL;

#ifdef IORING_SETUP_DEFER_TASKRUN
    failed = r->lib.queue_init(entries, &r->ring,
                               IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                                   IORING_SETUP_TASKRUN_FLAG);
#endif
    if (failed == -EINVAL)
        failed = r->lib.queue_init(entries, &r->ring, 0);
    r->batch = entries < BATCHES ? 1 : entries / BATCHES;
    return failed;
}

static pgq_status begin(engine *e)
{
    ring *r = e->own;
    int failed;

    if (!pgq_liburing_load(&r->lib))
        return refused(PGQ_PREFETCH_URING, 0);
    failed = make_ring(r, e->job->concurrency == 0 ? 1 : e->job->concurrency);
    if (failed < 0) {
        e->job->error_number = -failed;
        return refused(PGQ_PREFETCH_URING, 0);
    }
    r->is_open = true;
    return r->direct ? open_direct(e, r) : accepted();
}

/* ---- reads ---- */

/*
 * Buffers that are registered once need not be looked up for each read. That pays for reads that the device does itself, if
 * they are many, and each buffer is used again. Where the kernel refuses, as it may more memory than RLIMIT_MEMLOCK or
 * 1 GiB, nothing is lost.
 */
static void register_buffers(engine *e, uint32_t access)
{
    ring *r = e->own;
    struct iovec pages = {e->pool.pages, (size_t)e->pool.count * POOL_PAGE};

    if (r->started > REGISTER_AFTER || r->started++ < REGISTER_AFTER)
        return;
    if (r->direct && e->job->access_count - access >= e->pool.count)
        e->job->registered = r->lib.register_buffers(&r->ring, &pages, 1) == 0;
}

/* The entry that was made last, if the kernel does not have it yet, and this page can be read with it; or NULL. */
static struct io_uring_sqe *entry_to_join(ring *r, int fd, const void *page, uint64_t offset)
{
    struct io_uring_sqe *last = &r->ring.sq.sqes[(r->ring.sq.sqe_tail - 1) & *r->ring.sq.kring_mask];

    if (r->unsubmitted == 0 || last->fd != fd || last->off + last->len != offset ||
        last->addr + last->len != (uintptr_t)page || last->len == PGQ_PREFETCH_COMBINE * POOL_PAGE)
        return NULL;
    return last;
}

/* The ring has an entry free for each read that may be in flight, and of the buffers one more than these is there. */
static void start(engine *e, uint32_t access)
{
    ring *r = e->own;
    const pgq_prefetch_access *block = &e->job->accesses[access];
    uint32_t frame = pgq_prefetch_pool_next(&e->pool);
    void *page = pool_page(&e->pool, frame);
    int fd = r->direct ? r->fds[engine_segment(e, access)] : engine_fd(e, access);

    register_buffers(e, access);

    struct io_uring_sqe *sqe = entry_to_join(r, fd, page, engine_offset(e, access));

    if (sqe != NULL) {
        sqe->len += POOL_PAGE;
        sqe->user_data += ONE_MORE;
        e->job->combined++;
    } else {
        sqe = r->lib.get_sqe(&r->ring);
        if (sqe == NULL)
            return; /* Replay will pread it. */
        if (e->job->registered)
            io_uring_prep_read_fixed(sqe, fd, page, POOL_PAGE, engine_offset(e, access), 0);
        else
            io_uring_prep_read(sqe, fd, page, POOL_PAGE, engine_offset(e, access));
        io_uring_sqe_set_data64(sqe, ONE_MORE | frame);
    }
    HOLDS(pgq_prefetch_pool_next(&e->pool) == frame); /* the one that the entry names */
    pgq_prefetch_pool_take(&e->pool, *block);
    e->pool.frames[frame].pinned = e->pool.frames[frame].pending = true;
    e->pool.frames[frame].owner = access;
    r->reads++;
    r->unsubmitted++;
    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_SUBMIT, access);
}

static void start_if_it_pays(engine *e, uint32_t access)
{
    if (pgq_prefetch_engine_pays(e, access))
        start(e, access);
}

/* An entry's read has come to `result`. Each of its frames gets its part; of a read of several that failed, nothing. */
static void ended(engine *e, uint64_t entry, int32_t result, bool completed)
{
    uint32_t count = (uint32_t)(entry / ONE_MORE);
    pool_frame *frame = &e->pool.frames[(uint32_t)entry];

    HOLDS(count > 0 && ((ring *)e->own)->reads >= count);
    if (result < 0 && count > 1)
        result = 0; /* Of which block it is true, pread will say. */
    for (const pool_frame *last = frame + count; frame != last; frame++) {
        HOLDS(frame->pending); /* else it may have been taken for another block */
        frame->result = result < POOL_PAGE ? result : POOL_PAGE;
        result -= frame->result;
        if (completed)
            frame->result = e->io.completed(e->io.arg, frame->owner, frame->result);
        frame->pending = false;
        pgq_prefetch_engine_log(e, completed ? PGQ_PREFETCH_STEP_COMPLETE : PGQ_PREFETCH_STEP_GIVE_UP,
                                frame->owner);
    }
    ((ring *)e->own)->reads -= count;
}

/* Takes note of the reads that have ended. Returns how many. */
static unsigned reap(engine *e)
{
    ring *r = e->own;
    struct io_uring_cqe *cqes[64];
    unsigned n = r->lib.peek_batch_cqe(&r->ring, cqes, 64), found = 0;

    for (unsigned i = 0; i < n; i++) {
        uint64_t entry = io_uring_cqe_get_data64(cqes[i]);

        if (entry == NO_READ)
            continue;
        ended(e, entry, cqes[i]->res, true);
        found++;
    }
    io_uring_cq_advance(&r->ring, n);
    return found;
}

static bool is_passing(int error)
{
    return error == -EINTR || error == -EAGAIN || error == -EBUSY;
}

/*
 * The kernel does not take what is unsubmitted. Replay will pread these blocks; the entries stay in the ring, and do nothing
 * if the kernel takes them later.
 */
static void give_up(engine *e)
{
    ring *r = e->own;
    unsigned end = r->ring.sq.sqe_tail;

    for (unsigned at = end - io_uring_sq_ready(&r->ring); at != end; at++) {
        struct io_uring_sqe *sqe = &r->ring.sq.sqes[at & *r->ring.sq.kring_mask];
        uint64_t entry = sqe->user_data;

        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, NO_READ);
        if (entry != NO_READ)
            ended(e, entry, 0, false);
    }
}

/* Gives the kernel what is unsubmitted, or gives it up. and_wait: the call also waits until a read has ended. */
static void submit(engine *e, bool and_wait)
{
    ring *r = e->own;

    for (unsigned put_off = 0; io_uring_sq_ready(&r->ring) != 0;) {
        int taken = e->io.submit(e->io.arg);

        if (taken == 0) {
            bool waits = and_wait && e->io.wait(e->io.arg) == 0;

            e->job->calls++;
            taken = waits ? r->lib.submit_and_wait(&r->ring, 1) : r->lib.submit(&r->ring);
        }
        if (taken > 0)
            put_off = 0;
        else if ((taken < 0 && !is_passing(taken)) || ++put_off == PATIENCE) {
            give_up(e);
            break;
        }
        if (taken <= 0)
            reap(e); /* A full queue of completions is a reason to put it off. */
    }
    r->unsubmitted = r->rounds = 0;
    r->due = false;
}

/* Whether replay's next block is in the ring: it will wait for it. */
static bool waits_next(const engine *e)
{
    const pgq_prefetch_job *job = e->job;
    int64_t frame = job->used < job->access_count ? pgq_prefetch_pool_find(&e->pool, job->accesses[job->used])
                                                  : POOL_NONE;

    return frame != POOL_NONE && e->pool.frames[frame].pending;
}

static void started(engine *e)
{
    ring *r = e->own;

    r->rounds += r->unsubmitted != 0;
    /* What was given up is still there, and would fill the ring. */
    if (r->unsubmitted < r->batch && r->rounds < r->batch && io_uring_sq_ready(&r->ring) < r->batch)
        return;
    if (waits_next(e))
        r->due = true;
    else
        submit(e, false);
}

/*
 * Waits until a read ends; at least one is in flight. A wait that fails changes nothing about that: then it sleeps for a
 * moment and looks again. Nothing is submitted.
 */
static void wait_for_one(engine *e)
{
    static const struct timespec moment = {.tv_nsec = 100000};
    ring *r = e->own;
    struct io_uring_cqe *cqe;

    HOLDS(r->reads > 0); /* else it would wait for ever */
    do {
        int waited = e->io.wait(e->io.arg);

        if (waited == 0) {
            e->job->calls++;
            waited = r->lib.wait_cqes(&r->ring, &cqe, 1, NULL, NULL);
        }
        if (waited < 0)
            nanosleep(&moment, NULL);
    } while (reap(e) == 0);
}

/* A read that ended early, that was interrupted or given up, is finished by pread. */
static pgq_code finish(engine *e, uint32_t access, uint32_t frame)
{
    int32_t result = e->pool.frames[frame].result;
    pgq_code code;

    if (result < 0 && !is_passing(result))
        return pgq_prefetch_engine_failed(e, result);
    code = result > 0 ? pgq_prefetch_engine_read_rest(e, access, frame, (size_t)result)
                      : pgq_prefetch_engine_read(e, access, frame);
    if (code == PGQ_OK)
        e->pool.frames[frame].result = POOL_PAGE;
    return code;
}

static pgq_code await(engine *e, uint32_t access, uint32_t frame)
{
    pool_frame *f = &e->pool.frames[frame];
    const ring *r = e->own;

    /* If any of the reads is submitted, the one that replay needs is, which is the oldest. */
    while (f->pending)
        if (r->reads > r->unsubmitted && !r->due)
            wait_for_one(e);
        else {
            submit(e, true);
            reap(e);
        }
    if (f->owner == access)
        f->pinned = false;
    return f->result == POOL_PAGE ? PGQ_OK : finish(e, access, frame);
}

/* The kernel must not write to the buffers once they are freed. */
static void end(engine *e)
{
    ring *r = e->own;

    if (r->is_open) {
        give_up(e);
        while (r->reads != 0)
            wait_for_one(e);
        r->lib.queue_exit(&r->ring);
    }
    for (uint32_t i = 0; r->fds != NULL && i < engine_fd_count(e); i++)
        if (r->fds[i] >= 0)
            close(r->fds[i]);
    free(r->fds);
}

static const way through_the_cache = {.looks_ahead = true,
                                      .begin = begin,
                                      .end = end,
                                      .start = start,
                                      .started = started,
                                      .read = pgq_prefetch_engine_read,
                                      .await = await};

static const way past_the_cache = {.looks_ahead = true,
                                   .probe_every = 1,
                                   .begin = begin,
                                   .end = end,
                                   .start = start_if_it_pays,
                                   .started = started,
                                   .read = pgq_prefetch_engine_read_and_watch,
                                   .await = await};

static pgq_status run(pgq_prefetch_job *job, bool direct)
{
    ring r = {.direct = direct};
    engine e = {.way = direct ? &past_the_cache : &through_the_cache, .own = &r};

    return pgq_prefetch_engine_run(&e, job);
}
#else
static pgq_status no_uring(engine *e)
{
    (void)e;
    return refused(PGQ_PREFETCH_URING, 0);
}

static const way impossible = {.looks_ahead = true, .begin = no_uring};

static pgq_status run(pgq_prefetch_job *job, bool direct)
{
    engine e = {.way = &impossible};

    (void)direct;
    return pgq_prefetch_engine_run(&e, job);
}
#endif

pgq_status pgq_prefetch_replay_uring(pgq_prefetch_job *job)
{
    return run(job, false);
}

pgq_status pgq_prefetch_replay_uring_direct(pgq_prefetch_job *job)
{
    return run(job, true);
}
