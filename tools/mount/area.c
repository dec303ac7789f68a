/* SPDX-License-Identifier: PostgreSQL */
#include "area.h"

#include "common/crc.h"
#include "io.h"
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC     0x3161657261717067u /* "gpqarea1" */
#define ALIGNMENT 4096u
/* Bytes on their way to the device at once: a sync of the log stands behind them. */
#define PUSHED (1u << 20)

typedef struct header {
    uint64_t magic, sequence;
    uint32_t size; /* of header, entries and paths, filled up to ALIGNMENT; the pages follow */
    uint32_t pages, files;
    uint32_t crc; /* of these size bytes, with 0 here */
} header;

typedef struct entry {
    uint64_t number;
    uint32_t file, crc;
} entry;

static struct {
    int fd;
    bool armed;
    bool unsure; /* a batch could not be written: parts of it and of the one before may be there */
    uint64_t sequence;
    unsigned files;
    struct {
        dev_t dev;
        ino_t ino;
    } file[AREA_FILES];
} area = {.fd = -1};

static crc_table table;

static void make_table(void)
{
    pgq_crc_make(&table, CRC32C);
}

static uint32_t crc_of(const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_table);
    return pgq_crc(&table, bytes, size);
}

/* ---- the batch that a crash has left ---- */

/* Whether a header is whole, and its pages are where it says; they follow it in bytes. */
static bool is_whole(uint8_t *bytes, size_t size)
{
    header h;

    memcpy(&h, bytes, sizeof(h));
    if (h.magic != MAGIC || h.size > AREA_HEADER || h.size % ALIGNMENT != 0 || h.pages > AREA_PAGES ||
        h.files > AREA_FILES || h.size < sizeof(h) + h.pages * sizeof(entry) ||
        size < h.size + (size_t)h.pages * PAGE)
        return false;
    ((header *)bytes)->crc = 0;
    uint32_t crc = crc_of(bytes, h.size);
    ((header *)bytes)->crc = h.crc;
    if (crc != h.crc)
        return false;
    const entry *entries = (const entry *)(bytes + sizeof(h));
    const uint8_t *path = (const uint8_t *)(entries + h.pages), *end = bytes + h.size;
    for (uint32_t i = 0; i < h.files; i++, path++)
        if ((path = memchr(path, 0, (size_t)(end - path))) == NULL)
            return false;
    for (uint32_t i = 0; i < h.pages; i++)
        if (entries[i].file >= h.files || crc_of(bytes + h.size + (size_t)i * PAGE, PAGE) != entries[i].crc)
            return false;
    return true;
}

/* Reads the area. *bytes: NULL if there is no whole batch; else to be freed. */
static int read_batch(int data, uint8_t **bytes)
{
    int fd = openat(data, AREA_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t size = 0;

    *bytes = NULL;
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    uint8_t *all = calloc(1, AREA_BATCH_SIZE);
    ssize_t n = all == NULL ? -1 : 1;
    while (n > 0 && size < AREA_BATCH_SIZE) {
        n = pread(fd, all + size, AREA_BATCH_SIZE - size, (off_t)size);
        size += n > 0 ? (size_t)n : 0;
    }
    int failed = n < 0 ? -errno : 0;
    close(fd);
    if (failed == 0 && size >= sizeof(header) && is_whole(all, size))
        *bytes = all;
    else
        free(all);
    return failed;
}

/* Whether a file that is not there was made shortly before the crash, and its making was not durable: not if the volume of
 * its tablespace is not there. */
static bool is_lost(const char *path)
{
    char folder[AREA_PATH];

    if (errno != ENOENT || path[0] != '/')
        return errno == ENOENT;
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    return access(folder, F_OK) == 0;
}

/* The file of this path; -1: it is not there, and may be lost. */
static int open_file(int data, const char *path, int *fd)
{
    struct stat s, owner;

    *fd = path[0] == '\0' ? -1 : openat(data, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (*fd < 0)
        return path[0] == '\0' || is_lost(path) ? 0 : -errno;
    /* Root must not write where the owner of the data, who may have written the area, could not. */
    int failed = SYS(fstat(*fd, &s));
    return failed == 0 && (failed = SYS(fstat(data, &owner))) == 0 && s.st_uid != owner.st_uid ? -EPERM
                                                                                               : failed;
}

static int repair(int fd, uint32_t file, const uint8_t *bytes, uint64_t *repaired)
{
    const header *h = (const header *)bytes;
    const entry *entries = (const entry *)(h + 1);
    int failed = 0;

    for (uint32_t i = 0; i < h->pages && failed == 0; i++)
        if (entries[i].file == file) {
            failed = write_all(fd, bytes + h->size + (size_t)i * PAGE, PAGE, entries[i].number * PAGE);
            ++*repaired;
        }
    return failed;
}

/* What was read need not be durable: a kill came before its sync, or that has failed. It must be before a page is torn. */
static int write_again(int data, const uint8_t *bytes)
{
    const header *h = (const header *)bytes;
    int fd = openat(data, AREA_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    int failed = write_all(fd, bytes, h->size + (size_t)h->pages * PAGE, 0);
    if (failed == 0)
        failed = SYS(fdatasync(fd));
    close(fd);
    return failed;
}

int area_recover(int data, bool may, uint64_t *repaired)
{
    uint8_t *bytes;
    int failed = read_batch(data, &bytes);

    *repaired = 0;
    if (failed != 0 || bytes == NULL)
        return failed;
    if (!may) {
        free(bytes);
        return -EEXIST;
    }
    if ((failed = write_again(data, bytes)) != 0)
        say("cannot write " AREA_NAME ": %s", strerror(-failed));
    const header *h = (const header *)bytes;
    const char *path = (const char *)((const entry *)(h + 1) + h->pages);
    int fds[AREA_FILES];
    uint32_t opened = 0;
    for (; opened < h->files && failed == 0; opened++, path += strlen(path) + 1) {
        failed = open_file(data, path, &fds[opened]);
        if (failed == 0 && fds[opened] >= 0)
            failed = repair(fds[opened], opened, bytes, repaired);
        if (failed != 0)
            say("cannot repair %s: %s", path, strerror(-failed));
    }
    /* All are written before the first one is synced, as in place: the proof has that order. */
    for (uint32_t file = 0; file < opened; file++) {
        if (failed == 0 && fds[file] >= 0 && (failed = SYS(fsync(fds[file]))) != 0)
            say("cannot sync what was repaired: %s", strerror(-failed));
        if (fds[file] >= 0)
            close(fds[file]);
    }
    free(bytes);
    return failed;
}

/* ---- the area of this mount ---- */

int area_open(int data)
{
    static const uint8_t zeroes[1 << 16];
    struct stat s;
    int failed = 0;

    area.fd = openat(data, AREA_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (area.fd < 0 || fstat(area.fd, &s) != 0)
        return -errno;
    area.armed = true; /* perhaps: a batch that was recovered from is still there */
    /* All is written once: later a sync writes no more than the pages, and the disk is never found full. */
    for (uint64_t at = 0; (uint64_t)s.st_size < AREA_BATCH_SIZE && at < AREA_BATCH_SIZE && failed == 0;
         at += sizeof(zeroes))
        failed = write_all(area.fd, zeroes, sizeof(zeroes), at);
    if (failed == 0 && (fsync(area.fd) != 0 || fsync(data) != 0))
        failed = -errno;
    return failed != 0 ? failed : area_empty();
}

/* The path of an open file, from the data directory if it lies there. */
static int path_of(int data, int fd, char path[AREA_PATH])
{
    char link[64], top[AREA_PATH];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", data);
    ssize_t above = readlink(link, top, sizeof(top) - 1);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, AREA_PATH - 1);
    if (above < 0 || n < 0)
        return -errno;
    if (n >= AREA_PATH - 1 || above >= AREA_PATH - 1)
        return -ENAMETOOLONG;
    path[n] = '\0';
    if (n > above + 1 && memcmp(path, top, (size_t)above) == 0 && path[above] == '/')
        memmove(path, path + above + 1, (size_t)(n - above));
    return 0;
}

int area_write(int data, const area_page *pages, unsigned n, uint8_t *bytes)
{
    static uint8_t head[AREA_HEADER];
    header *h = (header *)head;
    entry *entries = (entry *)(h + 1);
    char *paths = (char *)(entries + n), *path = paths;
    int failed;

    memset(head, 0, sizeof(head));
    area.unsure = true;
    area.files = 0;
    /* A file that nobody finds after a crash has an empty path: its pages stand in the batch as others do. */
    for (unsigned i = 0; i < n; i++) {
        if (i == 0 || pages[i].fd != pages[i - 1].fd) {
            if (!pages[i].unlinked && (failed = path_of(data, pages[i].fd, path)) != 0)
                return failed;
            area.file[area.files].dev = pages[i].dev;
            area.file[area.files++].ino = pages[i].ino;
            path += strlen(path) + 1;
        }
        entries[i] =
            (entry){pages[i].number, area.files - 1, crc_of(bytes + AREA_HEADER + (size_t)i * PAGE, PAGE)};
    }
    size_t size = ((size_t)((uint8_t *)path - head) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *h = (header){MAGIC, ++area.sequence, (uint32_t)size, n, area.files, 0};
    h->crc = crc_of(head, size);
    uint8_t *from = bytes + AREA_HEADER - size;
    memcpy(from, head, size);
    area.armed = true;
    size_t whole = size + (size_t)n * PAGE;
    for (size_t at = 0, end; at < whole; at = end) {
        end = whole - at < PUSHED ? whole : at + PUSHED;
        if ((failed = io_write(area.fd, from + at, end - at, at)) != 0 ||
            (end < whole && (failed = io_push(area.fd, at, end, true)) != 0))
            return failed;
    }
    if ((failed = io_sync(area.fd)) != 0)
        return failed;
    area.unsure = false;
    counts.area_writes++;
    counts.area_bytes += whole;
    return 0;
}

bool area_holds(dev_t dev, ino_t ino)
{
    bool found = area.armed && area.unsure;

    for (unsigned i = 0; area.armed && i < area.files; i++)
        found |= area.file[i].dev == dev && area.file[i].ino == ino;
    return found;
}

int area_empty(void)
{
    static const uint8_t zeroes[ALIGNMENT];

    if (area.fd < 0 || !area.armed)
        return 0;
    int failed = write_all(area.fd, zeroes, sizeof(zeroes), 0);
    if (failed == 0)
        failed = io_sync(area.fd);
    area.armed = failed != 0;
    return failed;
}

int area_remove(int data)
{
    int failed = area_empty();

    if (failed == 0 && unlinkat(data, AREA_NAME, 0) != 0 && errno != ENOENT)
        failed = -errno;
    return failed;
}
