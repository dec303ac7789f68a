/* SPDX-License-Identifier: PostgreSQL */
/*
 * tear: LD_PRELOAD library that lets a server crash in the middle of one write. Never for a server with data of value.
 *
 *   LD_PRELOAD=/path/to/tear.so, PGQUERN_TEAR="FILE BLOCK KEEP ARM"
 *
 * FILE is the end of a relation file's path, BLOCK a block number, KEEP a mask of the block's sectors of 4096 bytes that
 * reach the file, ARM a path. Once a file of that path exists, the next write of the block writes only these sectors, says so
 * on stderr, and kills the postmaster and its own process at once. Before that, and for all else, writes are untouched.
 * Servers write blocks by pwrite or pwritev.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCK_BYTES = 8192, SECTOR_BYTES = 4096 };

#define EXPORT __attribute__((visibility("default")))
EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at);
EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at);
EXPORT ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at);
EXPORT ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off_t at);

typedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t);
typedef ssize_t (*pwritev_fn)(int, const struct iovec *, int, off_t);

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort();
    return found;
}

static pwrite_fn real_pwrite(void)
{
    void *found = next("pwrite");
    pwrite_fn fn;

    memcpy(&fn, &found, sizeof fn);
    return fn;
}

static pwritev_fn real_pwritev(void)
{
    void *found = next("pwritev");
    pwritev_fn fn;

    memcpy(&fn, &found, sizeof fn);
    return fn;
}

/* Whether the descriptor is that of the file whose path ends so. */
static bool is_file(int fd, const char *end)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    return (size_t)n >= strlen(end) && strcmp(path + (size_t)n - strlen(end), end) == 0;
}

/* If this write is the one to tear: writes the sectors to be kept, and ends the server. */
static void maybe_tear(int fd, const struct iovec *pieces, int count, off_t at)
{
    const char *spec = getenv("PGQUERN_TEAR");
    char file[256], arm[512], block[BLOCK_BYTES];
    unsigned number, keep;
    off_t from = at;

    if (spec == NULL || sscanf(spec, "%255s %u %u %511s", file, &number, &keep, arm) != 4 ||
        access(arm, F_OK) != 0 || !is_file(fd, file))
        return;
    for (int i = 0; i < count; from += (off_t)pieces[i++].iov_len) {
        off_t wanted = (off_t)number * BLOCK_BYTES;

        if (wanted < from || wanted + BLOCK_BYTES > from + (off_t)pieces[i].iov_len)
            continue;
        memcpy(block, (const char *)pieces[i].iov_base + (wanted - from), sizeof block);
        for (unsigned s = 0; s < BLOCK_BYTES / SECTOR_BYTES; s++)
            if (keep >> s & 1)
                real_pwrite()(fd, block + s * SECTOR_BYTES, SECTOR_BYTES, wanted + s * SECTOR_BYTES);
        fprintf(stderr, "pgquern: TEST SERVER: block %u of %s torn, sectors %u kept\n", number, file, keep);
        kill(getppid(), SIGKILL);
        kill(getpid(), SIGKILL);
    }
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    struct iovec piece = {(void *)(uintptr_t)bytes, size};

    maybe_tear(fd, &piece, 1, at);
    return real_pwrite()(fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite(fd, bytes, size, at);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    maybe_tear(fd, pieces, count, at);
    return real_pwritev()(fd, pieces, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off_t at)
{
    return pwritev(fd, pieces, count, at);
}
