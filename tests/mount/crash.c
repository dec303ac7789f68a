/* SPDX-License-Identifier: PostgreSQL */
/*
 * A power loss, loaded before libc into the program of the mount. It counts what is written and synced (pwrite, fdatasync,
 * fsync, and sync_file_range, which makes nothing durable). The call number CRASH_AT is done half, and ends the program: what
 * was written and not synced since is lost or not, in pieces of 4 KiB, as CRASH_SEED has it. With CRASH_FORGETS=fdatasync syncs do nothing: the control of the tests.
 * CRASH_LOG names a file that gets the number of calls at the end of each. CRASH_SLOW: a device that does one read after
 * the other, each in so many microseconds.
 *
 * With CRASH_LEFT=FILE the program is killed there, and nothing is lost: what is not synced stands in FILE, and the next
 * program that is given this FILE may lose it. With CRASH_FAILS=N the call number N does nothing, and fails; with CRASH_BROKEN=N so do all
 * from N on. With CRASH_HOLDS=N the call number N waits until the file CRASH_GATE is there, and the calls behind it wait, too.
 *
 * CRASH_TRACE names a file to which each call for a plain file adds a record, and what it writes (all of it, also if half is done).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PIECE 4096u

typedef struct before {
    struct before *next;
    int fd;
    ino_t ino;
    off_t at;
    ssize_t size;
    uint8_t bytes[PIECE];
} before;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static before *unsynced; /* the newest first */
static long calls;

static long setting(const char *name)
{
    const char *value = getenv(name);

    return value == NULL ? -1 : atol(value);
}

static ssize_t really_write(int fd, const void *bytes, size_t size, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, bytes, size, at);
}

static int really_sync(const char *name, int fd)
{
    int (*real)(int);

    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real(fd);
}

static ino_t file_of(int fd)
{
    struct stat s;

    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? s.st_ino : 0;
}

typedef struct left {
    char path[PATH_MAX];
    before it;
} left;

__attribute__((constructor)) static void read_left(void)
{
    const char *name = getenv("CRASH_LEFT");
    FILE *file = name != NULL ? fopen(name, "r") : NULL;
    static left l;

    for (before **at = &unsynced; file != NULL && fread(&l, sizeof(l), 1, file) == 1; at = &(*at)->next) {
        *at = calloc(1, sizeof(**at));
        **at = l.it;
        (*at)->next = NULL;
        (*at)->fd = open(l.path, O_RDWR | O_CLOEXEC);
    }
    if (file != NULL)
        fclose(file);
}

static void leave(const char *name)
{
    FILE *file = fopen(name, "w");
    static left l;

    for (const before *b = unsynced; b != NULL; b = b->next) {
        char link[64];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", b->fd);
        l.path[readlink(link, l.path, sizeof(l.path) - 1)] = '\0';
        l.it = *b;
        fwrite(&l, sizeof(l), 1, file);
    }
    fclose(file);
    kill(getpid(), SIGKILL);
    pause();
}

/* Each piece is lost with all its versions, or stays as it is. */
static void crash(void)
{
    const char *name = getenv("CRASH_LEFT");

    if (name != NULL && access(name, F_OK) != 0)
        leave(name);
    uint64_t seed = (uint64_t)setting("CRASH_SEED");

    for (before *b = unsynced; b != NULL; b = b->next) {
        uint64_t x = (b->ino * 31 + (uint64_t)b->at / PIECE + seed * 1000003) * 0x9E3779B97F4A7C15u;
        if ((x >> 60) % 2 == 0)
            really_write(b->fd, b->bytes, (size_t)b->size, b->at);
    }
    kill(getpid(), SIGKILL);
    pause();
}

static bool is_the_one(void)
{
    long at = setting("CRASH_AT");
    const char *log = getenv("CRASH_LOG");

    calls++;
    FILE *file = at < 0 && log != NULL ? fopen(log, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%ld\n", calls);
        fclose(file);
    }
    while (calls == setting("CRASH_HOLDS") && access(getenv("CRASH_GATE"), F_OK) != 0)
        usleep(1000);
    return calls == at;
}

/* The one that was counted last. */
static bool is_to_fail(void)
{
    long broken = setting("CRASH_BROKEN");

    return calls == setting("CRASH_FAILS") || (broken >= 0 && calls >= broken);
}

/* As tests/mount/test_operations.py reads it. */
typedef struct record {
    uint64_t ino, at, size;
    char what, came, rest[6];
} record;

static void trace(char what, char came, ino_t ino, const void *bytes, size_t size, off_t at)
{
    const char *name = getenv("CRASH_TRACE");
    FILE *file = name != NULL && ino != 0 ? fopen(name, "a") : NULL;

    record r = {ino, (uint64_t)at, size, what, came, ""};

    if (file == NULL)
        return;
    fwrite(&r, sizeof(r), 1, file);
    fwrite(bytes, size, 1, file);
    fclose(file);
}

/* Half of its pieces, the last one half. */
static size_t half(size_t size)
{
    return size <= PIECE ? size / 2 : size / 2 / PIECE * PIECE;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at)
{
    pthread_mutex_lock(&mutex);
    ino_t ino = file_of(fd);
    bool last = is_the_one(), fails = is_to_fail();
    trace('w', last ? 'h' : fails ? 'f' : 'g', ino, bytes, size, at);
    if (fails)
        size = 0;
    if (last)
        size = half(size);
    for (size_t did = 0; ino != 0 && did < size; did += PIECE) {
        before *b = calloc(1, sizeof(*b));
        *b = (before){.next = unsynced, .fd = dup(fd), .ino = ino, .at = at + (off_t)did};
        b->size = pread64(fd, b->bytes, size - did < PIECE ? size - did : PIECE, b->at);
        unsynced = b;
    }
    ssize_t n = really_write(fd, bytes, size, at);
    if (last)
        crash();
    pthread_mutex_unlock(&mutex);
    errno = EIO;
    return fails ? -1 : n;
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    static int64_t is_free;
    int64_t slow = setting("CRASH_SLOW") * INT64_C(1000), second = 1000000000;
    struct timespec t;

    if (slow > 0) {
        pthread_mutex_lock(&mutex);
        clock_gettime(CLOCK_MONOTONIC, &t);
        int64_t now = t.tv_sec * second + t.tv_nsec;
        int64_t ends = is_free = (is_free > now ? is_free : now) + slow;
        pthread_mutex_unlock(&mutex);
        t = (struct timespec){ends / second, ends % second};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
    return pread64(fd, bytes, size, at);
}

/* Nothing is in the cache of the slow device. */
ssize_t preadv64v2(int fd, const struct iovec *to, int n, off_t at, int flags)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t, int);

    if (setting("CRASH_SLOW") > 0) {
        errno = EAGAIN;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "preadv64v2");
    return real(fd, to, n, at, flags);
}

/* As csrc/ calls it. */
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite64(fd, bytes, size, at);
}

static int sync_file(const char *name, int fd)
{
    const char *forgets = getenv("CRASH_FORGETS");

    pthread_mutex_lock(&mutex);
    bool last = is_the_one(), fails = is_to_fail();
    trace('s', last ? 'h' : fails ? 'f' : 'g', file_of(fd), NULL, 0, 0);
    if (last)
        crash();
    int failed = fails ? -1 : 0;
    if (!fails && (forgets == NULL || strcmp(forgets, name) != 0)) {
        ino_t ino = file_of(fd);
        failed = really_sync(name, fd);
        for (before **at = &unsynced, *b; (b = *at) != NULL;)
            if (b->ino == ino) {
                *at = b->next;
                close(b->fd);
                free(b);
            } else {
                at = &b->next;
            }
    }
    pthread_mutex_unlock(&mutex);
    if (fails)
        errno = EIO;
    return failed;
}

int sync_file_range(int fd, off64_t from, off64_t size, unsigned flags)
{
    int (*real)(int, off64_t, off64_t, unsigned);

    *(void **)&real = dlsym(RTLD_NEXT, "sync_file_range");
    pthread_mutex_lock(&mutex);
    if (is_the_one())
        crash();
    bool fails = is_to_fail();
    pthread_mutex_unlock(&mutex);
    errno = EIO;
    return fails ? -1 : real(fd, from, size, flags);
}

int fdatasync(int fd)
{
    return sync_file("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_file("fsync", fd);
}
