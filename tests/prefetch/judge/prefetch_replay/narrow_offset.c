/* SPDX-License-Identifier: PostgreSQL */
/* A place in a file has 32 bits: wrong beyond 4 GiB. */
#include "pgquern.h"

#include <errno.h>
#include <sys/types.h>

ssize_t pread(int fd, void *buffer, size_t size, off_t offset);
pgq_status pgq_prefetch_replay_sync(pgq_prefetch_job *job);

static int64_t read_narrow(void *arg, int fd, void *buffer, size_t size, uint64_t offset, bool nowait)
{
    const pgq_prefetch_io *io = arg;

    if (io != NULL && io->read != NULL)
        return io->read(io->arg, fd, buffer, size, (uint32_t)offset, nowait);
    ssize_t got = pread(fd, buffer, size, (uint32_t)offset);
    return got < 0 ? -EIO : got;
}

pgq_status candidate(pgq_prefetch_job *job)
{
    if (job == NULL)
        return pgq_prefetch_replay_sync(job);
    const pgq_prefetch_io *was = job->io;
    const pgq_prefetch_io io = {.arg = (void *)was, .read = read_narrow};
    job->io = &io;
    pgq_status status = pgq_prefetch_replay_sync(job);
    job->io = was;
    return status;
}
