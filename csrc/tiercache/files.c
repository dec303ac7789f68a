/* SPDX-License-Identifier: PostgreSQL */
#include "tiercache/internal.h"

#include <errno.h>
#include <unistd.h>

static int64_t descriptor_read(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    ssize_t n;

    do
        n = pread(((int *)context)[file], bytes, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n;
}

static int64_t descriptor_write(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    ssize_t n;

    do
        n = pwrite(((int *)context)[file], bytes, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n;
}

/* fdatasync: the sizes of the files do not matter, since what lies behind the end reads as zeros. */
static int descriptor_sync(void *context, int file)
{
    return fdatasync(((int *)context)[file]);
}

pgq_tiercache_files pgq_tiercache_descriptors(int fds[3])
{
    return (pgq_tiercache_files){fds, descriptor_read, descriptor_write, descriptor_sync, NULL};
}

bool pgq_tiercache_read_all(pgq_tiercache *c, int file, void *bytes, size_t size, uint64_t offset)
{
    uint8_t *at = bytes;

    while (size > 0) {
        int64_t n = c->files.read(c->files.context, file, at, size, offset);

        if (n < 0 || (uint64_t)n > size)
            return false;
        if (n == 0) {
            memset(at, 0, size);
            return true;
        }
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool pgq_tiercache_write_all(pgq_tiercache *c, int file, const void *bytes, size_t size, uint64_t offset)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        int64_t n = c->files.write(c->files.context, file, at, size, offset);

        if (n <= 0 || (uint64_t)n > size)
            return false;
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool pgq_tiercache_sync_file(pgq_tiercache *c, int file)
{
    return c->files.sync(c->files.context, file) == 0;
}
