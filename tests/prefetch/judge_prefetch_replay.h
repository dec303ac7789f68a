/* SPDX-License-Identifier: PostgreSQL */
/*
 * `prefetch_replay` in a process of its own, which has no file: what a candidate reads, advises, and gives to replay, it asks its
 * keeper for, by the calls of the job or by pread, preadv2, posix_fadvise and fstat. io_uring is not there. The tests' files are real;
 * those of native inputs are simulated: short reads, errors and ends come by chance, the same for all who read there.
 */
#include "../tools/judge/inputs.h"

#include "prefetch/prefetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ = 1, ADVISE, CACHED, USE, FILE_READ, FILE_ADVISE, FILE_SIZE, FILE_CACHED, CACHESTAT = 451 };

#ifdef JUDGE_HOST
#include <stdarg.h>

static pgq_prefetch_job *job_now;

/* Of bytes that its keeper cannot reach, such as those on a stack, it gets a copy. */
static int64_t ask(judge_question question, void *bytes)
{
    const bool stays = bytes == NULL || judge_is_shared(bytes);
    char *copy = stays ? bytes : malloc(question.size);

    if (!stays && copy == NULL)
        return -ENOMEM;
    if (!stays)
        memcpy(copy, bytes, question.size);
    question.at = (uint64_t)copy;
    int64_t answer = judge_ask(question);
    if (!stays) {
        memcpy(bytes, copy, question.size);
        free(copy);
    }
    return answer;
}

static int64_t of_errno(int64_t answer)
{
    if (answer < 0)
        errno = (int)-answer;
    return answer < 0 ? -1 : answer;
}

static int64_t io_read(void *arg, int fd, void *buffer, size_t size, uint64_t offset, bool nowait)
{
    (void)arg;
    return ask((judge_question){READ, fd, nowait, 0, size, offset, 0}, buffer);
}

static int io_advise(void *arg, int fd, uint64_t offset, size_t size)
{
    (void)arg;
    return (int)ask((judge_question){ADVISE, fd, 0, 0, size, offset, 0}, NULL);
}

static int io_cached(void *arg, int fd, uint64_t offset, size_t size)
{
    (void)arg;
    return (int)ask((judge_question){CACHED, fd, 0, 0, size, offset, 0}, NULL);
}

static void use(void *arg, uint32_t access, void *page)
{
    (void)arg;
    ask((judge_question){USE, 0, 0, 0, 8192, access, 0}, page);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap_preadv2(int fd, const struct iovec *parts, int n, off_t offset, int flags);
int __wrap_posix_fadvise(int fd, off_t offset, off_t size, int advice);
int __wrap_fstat(int fd, struct stat *found);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset)
{
    return of_errno(ask((judge_question){FILE_READ, fd, 0, 0, size, (uint64_t)offset, 0}, buffer));
}

ssize_t __wrap_preadv2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
    ssize_t all = 0;

    for (int i = 0; i < n; i++) {
        ssize_t got = of_errno(
            ask((judge_question){FILE_READ, fd, flags != 0, 0, parts[i].iov_len, (uint64_t)(offset + all), 0},
                parts[i].iov_base));
        if (got < 0)
            return all > 0 ? all : got;
        all += got;
        if ((size_t)got < parts[i].iov_len)
            break;
    }
    return all;
}

int __wrap_posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
    return (int)-ask(
        (judge_question){FILE_ADVISE, fd, (uint32_t)advice, 0, (uint64_t)size, (uint64_t)offset, 0}, NULL);
}

int __wrap_fstat(int fd, struct stat *found)
{
    int64_t size = of_errno(ask((judge_question){FILE_SIZE, fd, 0, 0, 0, 0, 0}, NULL));

    memset(found, 0, sizeof *found);
    found->st_mode = S_IFREG | 0600;
    found->st_size = size;
    return size < 0 ? -1 : 0;
}

/* Ours ask so for cachestat, and for a ring. */
long __wrap_syscall(long number, ...)
{
    va_list rest;
    long a[4];

    va_start(rest, number);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_io_uring_setup)
        return of_errno(-ENOSYS);
    if (number != CACHESTAT)
        return __real_syscall(number, a[0], a[1], a[2], a[3]);
    const uint64_t *range = (const uint64_t *)a[1];
    int64_t answer =
        of_errno(ask((judge_question){FILE_CACHED, (int)a[0], 0, 0, range[1], range[0], 0}, NULL));
    if (answer >= 0)
        *(uint64_t *)a[2] = (uint64_t)answer; // NOLINT
    return answer < 0 ? -1 : 0;
}

/* The candidate's call: the job's own calls are the keeper's. */
static pgq_status asking(pgq_prefetch_job *job)
{
    if (job == NULL)
        return candidate(job);
    const pgq_prefetch_job was = *job;
    pgq_prefetch_io io = {0};

    if (was.io != NULL) {
        io.read = was.io->read == NULL ? NULL : io_read;
        io.advise = was.io->advise == NULL ? NULL : io_advise;
        io.cached = was.io->cached == NULL ? NULL : io_cached;
        job->io = &io;
    }
    job->use = was.use == NULL ? NULL : use;
    pgq_status status = candidate(job);
    job->io = was.io;
    job->use = was.use;
    return status;
}
#else

#include "../tools/judge/watch.h"

#define SERVES simulate
enum { LENT_MOST = 6, TOO_MANY = 1 << 22, FILES = 5, FULL = 32 };

static pgq_prefetch_job now; /* of the call that is staged, as the caller has it */
static int64_t ahead;        /* blocks that it has advised, less those that it has replayed */
static unsigned long replayed, refused_calls;

static size_t fd_count(const pgq_prefetch_job *job)
{
    uint64_t all = job->segments == NULL ? job->file_count : 0;

    for (uint32_t i = 0; job->segments != NULL && i < job->file_count && all < TOO_MANY; i++)
        all += job->segments[i];
    return all < TOO_MANY ? all : TOO_MANY;
}

/* What says that it is larger than any memory is refused before it is looked at. */
static void show(judge_host *host, void *field, size_t n, size_t size)
{
    if (n < TOO_MANY)
        judge_show(host, field, n * size, 8);
    else
        judge_forbid(host, field);
}

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    now = a->job == NULL ? (pgq_prefetch_job){0} : *a->job;
    ahead = 0;
    pgq_prefetch_job *job = judge_lend(host, &a->job, sizeof *job, 8);
    if (job == NULL)
        return;
    size_t files = fd_count(&now);
    show(host, &job->fds, files, sizeof *job->fds);
    show(host, &job->segments, job->file_count, sizeof *job->segments);
    show(host, &job->accesses, job->access_count, sizeof *job->accesses);
    show(host, &job->record_blocks, job->record_count, sizeof *job->record_blocks);
    judge_lend(host, &job->steps, job->step_space * sizeof *job->steps, 8);
    show(host, &job->io, 1, sizeof *job->io);
}

/* The tests' own calls, and files of the job. */
static int64_t answer(const judge_question *q, void *bytes)
{
    const pgq_prefetch_io *io = now.io;
    bool is_there = false;

    for (size_t i = 0; now.fds != NULL && i < fd_count(&now); i++)
        is_there |= now.fds[i] == q->fd;
    if (q->what >= FILE_READ && !is_there)
        return -EBADF;
    struct stat found;
    struct iovec part = {bytes, q->size};
    uint64_t range[] = {q->offset, q->size}, pages[5] = {0};
    int64_t got;
    switch (q->what) {
    case READ:
        return io->read(io->arg, q->fd, bytes, q->size, q->offset, q->flag);
    case ADVISE:
        return io->advise(io->arg, q->fd, q->offset, q->size);
    case CACHED:
        return io->cached(io->arg, q->fd, q->offset, q->size);
    case USE:
        now.use(now.arg, (uint32_t)q->offset, bytes);
        return 0;
    case FILE_READ:
        got = preadv2(q->fd, &part, 1, (off_t)q->offset, q->flag ? RWF_NOWAIT : 0);
        return got < 0 ? -errno : got;
    case FILE_ADVISE:
        return -posix_fadvise(q->fd, (off_t)q->offset, (off_t)q->size, (int)q->flag);
    case FILE_SIZE:
        return fstat(q->fd, &found) != 0 ? -errno : found.st_size;
    case FILE_CACHED:
        return syscall(CACHESTAT, q->fd, range, pages, 0) != 0 ? -errno : (int64_t)pages[0];
    default:
        return -ENOSYS;
    }
}

/* How it looks ahead is its own, but for these. */
static void look_ahead(const judge_question *q)
{
    const pgq_prefetch_io none = {0}, *io = now.io == NULL ? &none : now.io;

    if ((q->what == FILE_READ && io->read != NULL) || (q->what == FILE_ADVISE && io->advise != NULL) ||
        (q->what == FILE_CACHED && io->cached != NULL))
        pgq_judge_breaks("it asks the system where its caller stands between");
    if (q->what == ADVISE || (q->what == FILE_ADVISE && q->flag == POSIX_FADV_WILLNEED))
        ahead += (int64_t)(q->size / 8192);
    ahead -= q->what == USE;
    if (now.use != NULL && ahead > (int64_t)now.concurrency)
        pgq_judge_breaks("it has advised more blocks than `concurrency` that are not replayed yet");
}

static void serve(judge_host *host, judge_question *q)
{
    look_ahead(q);
    void *bytes = judge_reach(host, q->at, q->size);
    bool needs = q->what == READ || q->what == USE || q->what == FILE_READ;

    q->answer = needs && bytes == NULL ? -EFAULT : answer(q, bytes);
}

/* ---- native inputs ----------------------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

/* More blocks than 32 bits number. */
static bool is_vast(int fd)
{
    return fd % 32 == 22;
}

/* Few have a handful of blocks, an eighth those of a full segment; some end with a part of one. */
static int64_t size_of(int fd)
{
    uint64_t any = mixed((uint64_t)fd);
    uint64_t blocks = fd % 8 == 0 ? any % 8 : fd % 8 == 1 ? FULL : 16 + any % 16;

    if (is_vast(fd))
        return INT64_C(1) << 46;
    return fd % 97 == 0 ? -EBADF : (int64_t)(blocks * 8192 + (fd % 8 > 1 && any % 5 == 0 ? 2000 : 0));
}

static void simulate(judge_host *host, judge_question *q)
{
    unsigned char *bytes = (unsigned char *)judge_reach(host, q->at, q->size);
    const int64_t size = size_of(q->fd);
    const uint64_t fate = mixed(mixed((uint64_t)q->fd) + q->offset);
    uint64_t left = size < 0 || q->offset >= (uint64_t)size ? 0 : (uint64_t)size - q->offset;

    q->answer = q->what == FILE_SIZE ? size : q->what == FILE_ADVISE ? 0 : -ENOSYS;
    if (q->what == USE && bytes != NULL) { /* who replays what, in what order, with what bytes */
        host->digest = mixed(host->digest + q->offset);
        for (size_t i = 0; i < q->size; i += 8)
            host->digest = mixed(host->digest + *(uint64_t *)(bytes + i));
    }
    if (q->what != FILE_READ || q->flag)
        return;
    left = left < q->size ? left : q->size;
    left = q->offset % 8192 == 0 && fate % 16 == 0 && left > 1 ? left / 2 : left;
    q->answer = size < 0 ? -EBADF : bytes == NULL ? -EFAULT : fate % 499 == 0 ? -EIO : (int64_t)left;
    for (int64_t i = 0; i < q->answer; i++)
        bytes[i] = (unsigned char)(mixed((q->offset + (uint64_t)i) / 8 + (uint64_t)q->fd * 1000003) >>
                                   (q->offset + (uint64_t)i) % 8);
}

static void fill(inputs *in, arguments *a)
{
    static const uint32_t concurrencies[] = {0, 1, 2, 8, 10, 64, 1000, 1001};
    pgq_prefetch_job *job = take(in, sizeof *job);
    const size_t most = one_in(in, 16) ? 200 : 24, n = below(in, most);

    memset(job, 0, sizeof *job);
    a->job = odd(in) ? NULL : job;
    job->file_count = (uint32_t)below(in, FILES + 1);
    if (one_in(in, 4)) {
        uint32_t *segments = take(in, FILES * sizeof *segments);
        for (uint32_t i = 0; i < job->file_count; i++)
            segments[i] = (uint32_t)below(in, 4);
        job->segments = segments;
        job->segment_blocks = one_in(in, 8) ? 1 + (uint32_t)below(in, 2 * FULL) : FULL;
    }
    size_t files = fd_count(job);
    int *fds = take(in, (files + 1) * sizeof *fds);
    for (size_t i = 0; i < files; i++)
        fds[i] = job->segments != NULL && one_in(in, 16)   ? -1
                 : job->segments != NULL && !one_in(in, 4) ? 105 + 8 * (int)below(in, 100)
                                                           : 100 + (int)below(in, 85);
    job->fds = odd(in) ? NULL : fds;
    pgq_prefetch_access *accesses = take(in, (n + 1) * sizeof *accesses);
    for (size_t i = 0; i < n; i++) {
        uint32_t last = i == 0 ? 0 : accesses[i - 1].block;
        accesses[i].file = i > 0 && one_in(in, 2) ? accesses[i - 1].file
                           : one_in(in, 800)      ? (uint32_t)edge(in, 32)
                                             : (uint32_t)below(in, job->file_count + (job->file_count == 0));
        const bool vast =
            job->segments == NULL && accesses[i].file < job->file_count && is_vast(fds[accesses[i].file]);
        accesses[i].block = vast              ? (uint32_t)edge(in, 32)
                            : one_in(in, 3)   ? last + 1
                            : one_in(in, 4)   ? last
                            : one_in(in, 100) ? (uint32_t)edge(in, 32)
                                              : (uint32_t)below(in, 20);
    }
    job->accesses = accesses;
    job->access_count = n;
    if (one_in(in, 3)) {
        uint32_t *blocks = take(in, (n + 8) * sizeof *blocks);
        for (size_t left = n; (left > 0 || one_in(in, 2)) && job->record_count < n + 8;) {
            uint32_t of = (uint32_t)below(in, one_in(in, 400) ? 40 : (left < 4 ? left : 4) + 1);
            blocks[job->record_count++] = of;
            left -= of < left ? of : left;
        }
        job->record_blocks = blocks;
    }
    job->concurrency = concurrencies[below(in, 8)];
    job->buffers = job->concurrency + (one_in(in, 40) ? 0 : 1 + (uint32_t)below(in, 5));
    job->buffers += one_in(in, 100) ? 1 << 21 : 0;               /* more than there is memory for */
    job->use = (void (*)(void *, uint32_t, void *))(uintptr_t)1; /* there is one */
}

/* How it looks ahead is its own; what it replays, and how it refuses, is not. */
static void settle(arguments *a, char *const lent[], const size_t size[])
{
    pgq_prefetch_job *job = (pgq_prefetch_job *)lent[0];

    if (a->job == NULL || size[0] == 0)
        return;
    job->step_count = job->rested = job->combined = job->calls = 0;
    job->registered = false;
    memset(job->counters, 0, sizeof job->counters);
    if (a->result.code != PGQ_PREFETCH_IO && a->result.code != PGQ_PREFETCH_FILE)
        job->error_number = 0;
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    replayed += a->result.code == PGQ_OK;
}

static void print_tally(void)
{
    printf("tally: replayed=%lu refused=%lu\n", replayed, refused_calls);
}
#endif
