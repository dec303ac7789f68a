/* SPDX-License-Identifier: PostgreSQL */
/*
 * Cold storage in front of a server's files, to be loaded before its libc (LD_PRELOAD).
 *
 * Each read of a relation's block takes COLD_MICROSECONDS. posix_fadvise(WILLNEED) begins the read, so a read of this
 * block waits only for the rest of that time; then the block is cold again, as where memory is small beside the data.
 * Any number of reads go on at once. All other files are as fast as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 8192, PLACES = 1 << 16 };

/* Reads that have begun: the newest ones; one that is overwritten begins anew when it is asked for. */
static struct begun {
    uint64_t inode, block, ready;
} begun[PLACES];

static uint64_t now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static uint64_t latency(void)
{
    static uint64_t nanoseconds;

    if (nanoseconds == 0) {
        const char *said = getenv("COLD_MICROSECONDS");

        nanoseconds = said ? strtoull(said, NULL, 10) * 1000 + 1 : 1;
    }
    return nanoseconds;
}

/* The file's inode; 0 if it is none of a relation. */
static uint64_t relation(int fd)
{
    char link[32], path[4096];
    struct stat about;
    ssize_t size;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    if (size <= 0)
        return 0;
    path[size] = '\0';
    return strstr(path, "/base/") && fstat(fd, &about) == 0 ? about.st_ino : 0;
}

static struct begun *place(uint64_t inode, uint64_t block)
{
    return &begun[(inode * 0x9E3779B97F4A7C15 + block * 0xC2B2AE3D27D4EB4F) >> 48];
}

static void begin(int fd, off_t offset, off_t size)
{
    uint64_t inode = relation(fd);

    for (off_t at = offset; inode && at < offset + size; at += BLOCK) {
        uint64_t block = (uint64_t)at / BLOCK;
        struct begun *p = place(inode, block);

        if (p->inode != inode || p->block != block || p->ready == 0)
            *p = (struct begun){inode, block, now() + latency()};
    }
}

/* All blocks of one read are asked for at once. */
static void end(int fd, off_t offset, size_t size)
{
    uint64_t inode = relation(fd), last = 0;

    for (off_t at = offset; inode && at < offset + (off_t)size; at += BLOCK) {
        uint64_t block = (uint64_t)at / BLOCK, ready = now() + latency();
        struct begun *p = place(inode, block);

        if (p->inode == inode && p->block == block && p->ready != 0) {
            ready = p->ready;
            p->ready = 0;
        }
        if (ready > last)
            last = ready;
    }
    if (last > now()) {
        struct timespec until = {(time_t)(last / 1000000000), (long)(last % 1000000000)};

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    end(fd, offset, size);
    return syscall(SYS_pread64, fd, to, size, offset);
}

ssize_t pread64(int fd, void *to, size_t size, off_t offset)
{
    return pread(fd, to, size, offset);
}

ssize_t preadv(int fd, const struct iovec *to, int count, off_t offset)
{
    size_t size = 0;

    for (int i = 0; i < count; i++)
        size += to[i].iov_len;
    end(fd, offset, size);
    return syscall(SYS_preadv, fd, to, count, offset, 0);
}

ssize_t preadv64(int fd, const struct iovec *to, int count, off_t offset)
{
    return preadv(fd, to, count, offset);
}

int posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
    if (advice == POSIX_FADV_WILLNEED)
        begin(fd, offset, size);
    return syscall(SYS_fadvise64, fd, offset, size, advice) == 0 ? 0 : errno;
}

int posix_fadvise64(int fd, off_t offset, off_t size, int advice)
{
    return posix_fadvise(fd, offset, size, advice);
}
