/* SPDX-License-Identifier: PostgreSQL */
#include "cache.h"

#include "mount.h"
#include "tiercache/tiercache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WINDOW     (UINT64_C(1) << 17) /* pages: a segment of 1 GB, as a server has them */
#define WINDOWS    ((UINT64_C(1) << 23) - 1)
#define NO_WINDOW  UINT64_MAX
#define SSD_BLOCK  4096u
#define SSD_SLOT   (SSD_BLOCK + PAGE)
#define CLEANED_MS 1
#define ENDS       (1 << 20)

static pgq_tiercache *cache;
static cache_below read_below;
static atomic_uint_fast64_t windows;
static int ssd = -1;
static pthread_t cleaner;
static atomic_bool stopping;
static uint32_t kept_free;

/* A page is read below by the thread that asks for it: so it knows the file. */
static _Thread_local relfile *reading;

/* Control file and trailers of the store, which nobody reads after this mount. */
static uint8_t control[512], trailers[PGQ_TIERCACHE_TRAILERS * PAGE];

/* ---- the files of the cache ---- */

static uint8_t *in_memory(int file, uint64_t size, uint64_t at)
{
    bool is_control = file == PGQ_TIERCACHE_FILE_CONTROL;
    uint64_t start = is_control ? 0 : WINDOWS * WINDOW * PAGE;
    uint64_t room = is_control ? sizeof(control) : sizeof(trailers);

    return at >= start && size <= room && at - start <= room - size
               ? (is_control ? control : trailers) + (at - start)
               : NULL;
}

static int64_t file_read(void *unused, int file, void *bytes, uint64_t size, uint64_t at)
{
    (void)unused;
    if (file == PGQ_TIERCACHE_FILE_SSD)
        return pread(ssd, bytes, size, (off_t)at);
    const uint8_t *from = in_memory(file, size, at);
    if (from != NULL)
        memcpy(bytes, from, size);
    else if (read_below(reading, bytes, size, at % (WINDOW * PAGE)) != 0)
        return -1;
    return (int64_t)size;
}

/* No page of the store is written here: none is dirty. */
static int64_t file_write(void *unused, int file, const void *bytes, uint64_t size, uint64_t at)
{
    (void)unused;
    if (file == PGQ_TIERCACHE_FILE_SSD)
        return pwrite(ssd, bytes, size, (off_t)at);
    uint8_t *to = in_memory(file, size, at);
    if (to == NULL)
        return -1;
    memcpy(to, bytes, size);
    return (int64_t)size;
}

/* Nothing here outlives the program. */
static int file_sync(void *unused, int file)
{
    (void)unused;
    (void)file;
    return 0;
}

/* ---- start and end ---- */

static bool has_zeros(int fd, off_t from, size_t size)
{
    static const char zeros[4096];
    char bytes[sizeof(zeros)];

    for (size_t at = 0; at < size; at += sizeof(bytes))
        if (pread(fd, bytes, sizeof(bytes), from + (off_t)at) != (ssize_t)sizeof(bytes) ||
            memcmp(bytes, zeros, sizeof(bytes)) != 0)
            return false;
    return true;
}

/*
 * It had such a cache before, or has nothing yet: a file without a byte, a device that begins and ends with zeros. A file system begins
 * with zeros, too, but it has its own mark within a MiB of one end.
 */
static bool may_be_used(int fd, const struct stat *s)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    char start[8] = {0}; /* as csrc/tiercache/mount.c writes them */

    if (pread(fd, start, sizeof(start), 0) == (ssize_t)sizeof(start) && memcmp(start, "GPQGSSD2", 8) == 0)
        return true;
    return S_ISREG(s->st_mode) ? end == 0
                               : end >= ENDS && has_zeros(fd, 0, ENDS) && has_zeros(fd, end - ENDS, ENDS);
}

/* A device that is mounted, or otherwise in use, is refused by the kernel. */
static int open_ssd(const char *path, uint64_t size)
{
    struct stat s;
    bool is_device = stat(path, &s) == 0 && S_ISBLK(s.st_mode);
    int fd = open(path, O_RDWR | O_CLOEXEC | (is_device ? O_EXCL : O_CREAT), 0600);

    if (fd < 0 || fstat(fd, &s) != 0) {
        int failed = -errno;
        say("%s: %s: give a file, or a device, on a fast disk", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return failed;
    }
    const char *wrong = !S_ISREG(s.st_mode) && !S_ISBLK(s.st_mode) ? "it is neither a file nor a device"
                        : flock(fd, LOCK_EX | LOCK_NB) != 0        ? "another mount uses it"
                        : !may_be_used(fd, &s)
                            ? "it has other contents, which would be lost: give a new file, or a "
                              "device whose first and last MiB are zeros"
                            : NULL;
    int failed = wrong == NULL && S_ISREG(s.st_mode) ? -posix_fallocate(fd, 0, (off_t)size) : 0;
    if (wrong != NULL || failed != 0) {
        say("%s: %s", path, wrong != NULL ? wrong : strerror(-failed));
        close(fd);
        return failed != 0 ? failed : -EINVAL;
    }
    /* The kernel's cache of it would take the place of other pages. */
    (void)fcntl(fd, F_SETFL, O_DIRECT);
    ssd = fd;
    return 0;
}

/* So that a read seldom waits for a write to the SSD. */
static void *clean(void *unused)
{
    (void)unused;
    while (!stopping) {
        uint32_t left = 0;
        if (pgq_tiercache_clean(cache, kept_free, 64, &left).code != PGQ_OK || left == 0)
            nanosleep(&(struct timespec){0, CLEANED_MS * 1000000}, NULL);
    }
    return NULL;
}

int cache_open(cache_below below, uint64_t memory, const char *path, uint64_t ssd_size)
{
    const pgq_tiercache_files files = {NULL, file_read, file_write, file_sync, NULL};
    pgq_tiercache_options with = {
        .pages = WINDOWS * WINDOW,
        .frames = (uint32_t)(memory / PAGE),
        .slots = path != NULL ? (uint32_t)((ssd_size - SSD_BLOCK) / SSD_SLOT) : 0,
        .batch = 1,
        .ssd_block = SSD_BLOCK,
        .write_through = true,
    };
    int failed = path != NULL ? open_ssd(path, ssd_size) : 0;

    if (failed != 0)
        return failed;
    read_below = below;
    pgq_status status = pgq_tiercache_open(&files, &with, &cache);
    if (status.code != PGQ_OK) {
        say("a cache of pages: %s", pgq_strerror(status.code));
        return -ENOMEM;
    }
    kept_free = with.frames / 32;
    if (path != NULL && !cache_now().ssd_in_use)
        say("%s cannot be used, and the cache is in memory alone", path);
    return 0;
}

int cache_start(void)
{
    return ssd >= 0 ? -pthread_create(&cleaner, NULL, clean, NULL) : 0;
}

void cache_close(void)
{
    stopping = true;
    if (ssd >= 0)
        pthread_join(cleaner, NULL);
    pgq_tiercache_close(cache);
    cache = NULL;
}

/* ---- pages ---- */

uint64_t cache_new_window(void)
{
    uint64_t next = windows++;

    return next < WINDOWS ? next : NO_WINDOW;
}

bool cache_takes(uint64_t window, uint64_t number)
{
    return cache != NULL && window != NO_WINDOW && number < WINDOW;
}

int cache_read(relfile *file, uint64_t window, uint64_t number, uint8_t *page)
{
    reading = file;
    if (pgq_tiercache_read(cache, window * WINDOW + number, page).code == PGQ_OK)
        return 0;
    /* It may have read ahead, to where the file has been cut, or the disk is bad. */
    return read_below(file, page, PAGE, number * PAGE);
}

void cache_write(uint64_t window, uint64_t number, const uint8_t *page)
{
    if (pgq_tiercache_write(cache, window * WINDOW + number, page).code != PGQ_OK)
        abort(); /* no other answer is possible: there is such a page, and it is written through */
}

cache_figures cache_now(void)
{
    pgq_tiercache_counts c = pgq_tiercache_count(cache);

    return (cache_figures){cache != NULL, c.ssd_in_use, c.memory_hits, c.ssd_hits, c.store_reads};
}
