/* SPDX-License-Identifier: PostgreSQL */
/*
 * True asynchronous reads: what look-ahead finds is read straight into a buffer, several reads at a time, and the kernel
 * completes them in any order. `uring` reads through the kernel's cache, `uring_direct` past it.
 */
#include "prefetch/engine.h"

#include "common/uring.h"

#if HAVE_LIBURING
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct ring {
    liburing lib;
    struct io_uring ring;
    bool direct, is_open;
    int *fds; /* the job's files, opened again with O_DIRECT; -1: not yet */
    uint32_t unsubmitted, inflight;
} ring;

/* ---- set-up ---- */

/* Opens each file once more, by its name among the files of this process. */
static pgq_status open_direct(engine *e, ring *r)
{
    uint32_t count = e->job->file_count;

    r->fds = malloc(((size_t)count + 1) * sizeof *r->fds);
    if (r->fds == NULL)
        return refused(PGQ_MEMORY, 0);
    for (uint32_t i = 0; i < count; i++)
        r->fds[i] = -1;
    for (uint32_t i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof name, "/proc/self/fd/%d", e->job->fds[i]);
        r->fds[i] = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
        if (r->fds[i] < 0) {
            e->job->error_number = errno;
            return refused(PGQ_PREFETCH_DIRECT, 0);
        }
    }
    return accepted();
}

static pgq_status begin(engine *e)
{
    ring *r = e->own;
    int failed;

    if (!pgq_liburing_load(&r->lib))
        return refused(PGQ_PREFETCH_URING, 0);
    failed = r->lib.queue_init(e->job->concurrency == 0 ? 1 : e->job->concurrency, &r->ring, 0);
    if (failed < 0) {
        e->job->error_number = -failed;
        return refused(PGQ_PREFETCH_URING, 0);
    }
    r->is_open = true;
    return r->direct ? open_direct(e, r) : accepted();
}

/* ---- reads ---- */

/* The ring has an entry free for each read that may be in flight, and of the buffers one more than these is there. */
static void start(engine *e, uint32_t access)
{
    ring *r = e->own;
    const pgq_prefetch_access *block = &e->job->accesses[access];
    struct io_uring_sqe *sqe = r->lib.get_sqe(&r->ring);
    uint32_t frame;

    if (sqe == NULL)
        return; /* Replay will pread it. */
    frame = pool_take(&e->pool, *block);
    e->pool.frames[frame].pinned = e->pool.frames[frame].pending = true;
    e->pool.frames[frame].owner = access;
    io_uring_prep_read(sqe, r->direct ? r->fds[block->file] : engine_fd(e, access),
                       pool_page(&e->pool, frame), POOL_PAGE, engine_offset(e, access));
    io_uring_sqe_set_data64(sqe, frame);
    r->unsubmitted++;
    engine_log(e, PGQ_PREFETCH_STEP_SUBMIT, access);
}

/* Takes note of the reads that have ended. Returns how many. */
static unsigned reap(engine *e)
{
    ring *r = e->own;
    struct io_uring_cqe *cqes[64];
    unsigned n = r->lib.peek_batch_cqe(&r->ring, cqes, 64);

    for (unsigned i = 0; i < n; i++) {
        pool_frame *frame = &e->pool.frames[io_uring_cqe_get_data64(cqes[i])];

        frame->result = e->io.completed(e->io.arg, frame->owner, cqes[i]->res);
        frame->pending = false;
        engine_log(e, PGQ_PREFETCH_STEP_COMPLETE, frame->owner);
    }
    io_uring_cq_advance(&r->ring, n);
    r->inflight -= n;
    return n;
}

static bool is_passing(int error)
{
    return error == -EINTR || error == -EAGAIN || error == -EBUSY;
}

static pgq_code submit(engine *e)
{
    ring *r = e->own;

    while (r->unsubmitted != 0) {
        int taken = r->lib.submit(&r->ring);

        if (taken < 0 && !is_passing(taken))
            return engine_failed(e, taken);
        if (taken > 0) {
            r->unsubmitted -= (uint32_t)taken;
            r->inflight += (uint32_t)taken;
        } else
            reap(e);
    }
    return PGQ_OK;
}

/* Waits for a read to end. At least one is in flight. */
static pgq_code wait_for_one(engine *e)
{
    ring *r = e->own;

    while (reap(e) == 0) {
        int waited = r->lib.submit_and_wait(&r->ring, 1);

        if (waited < 0 && !is_passing(waited))
            return engine_failed(e, waited);
    }
    return PGQ_OK;
}

/* A read that ended early, or that was interrupted, is finished by pread. */
static pgq_code finish(engine *e, uint32_t access, uint32_t frame)
{
    int32_t result = e->pool.frames[frame].result;
    pgq_code code;

    if (result < 0 && !is_passing(result))
        return engine_failed(e, result);
    code = engine_read_rest(e, access, frame, result > 0 ? (size_t)result : 0);
    if (code == PGQ_OK)
        e->pool.frames[frame].result = POOL_PAGE;
    return code;
}

static pgq_code await(engine *e, uint32_t access, uint32_t frame)
{
    pool_frame *f = &e->pool.frames[frame];

    while (f->pending) {
        pgq_code code = wait_for_one(e);

        if (code != PGQ_OK)
            return code;
    }
    if (f->owner == access)
        f->pinned = false;
    return f->result == POOL_PAGE ? PGQ_OK : finish(e, access, frame);
}

/* The kernel must not write to the buffers once they are freed. */
static void end(engine *e)
{
    ring *r = e->own;

    while (r->inflight != 0)
        if (reap(e) == 0)
            r->lib.submit_and_wait(&r->ring, 1);
    if (r->is_open)
        r->lib.queue_exit(&r->ring);
    for (uint32_t i = 0; r->fds != NULL && i < e->job->file_count; i++)
        if (r->fds[i] >= 0)
            close(r->fds[i]);
    free(r->fds);
}

static const way asynchronous = {.looks_ahead = true,
                                 .begin = begin,
                                 .end = end,
                                 .start = start,
                                 .started = submit,
                                 .read = engine_read,
                                 .await = await};

static pgq_status run(pgq_prefetch_job *job, bool direct)
{
    ring r = {.direct = direct};
    engine e = {.way = &asynchronous, .own = &r};

    return engine_run(&e, job);
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
    return engine_run(&e, job);
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
