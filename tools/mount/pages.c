/* SPDX-License-Identifier: PostgreSQL */
#include "pages.h"

#include "area.h"
#include "asker.h"
#include "cache.h"
#include "dirty.h"
#include "io.h"
#include "write_back.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pages_start(int data, uint64_t memory)
{
    int failed = dirty_start(memory);

    return failed != 0 ? failed : write_back_start(data);
}

int pages_open(int fd, relfile **made)
{
    relfile *file = calloc(1, sizeof(*file));
    struct stat s;

    if (file == NULL || fstat(fd, &s) != 0 || pgq_rangelock_create(-1, &file->lock).code != PGQ_OK) {
        free(file);
        return -ENOMEM;
    }
    file->fd = fd;
    file->dev = s.st_dev;
    file->ino = s.st_ino;
    file->window = cache_new_window();
    TAILQ_INIT(&file->pages);
    *made = file;
    return 0;
}

int pages_flush(relfile *file)
{
    struct stat s;

    write_back_lock();
    int failed = write_back_end_pending();
    bool unlinked = fstat(file->fd, &s) == 0 && s.st_nlink == 0;
    if (failed == 0 && !unlinked)
        failed = write_back_all(file);
    pthread_mutex_lock(&dirty.mutex);
    for (page *p; failed == 0 && unlinked && (p = TAILQ_FIRST(&file->pages)) != NULL;)
        dirty_discard(dirty_place(file, p->number));
    pthread_mutex_unlock(&dirty.mutex);
    write_back_unlock();
    return failed;
}

bool pages_close(relfile *file)
{
    pthread_mutex_lock(&dirty.mutex);
    bool is_clean = TAILQ_EMPTY(&file->pages);
    pthread_mutex_unlock(&dirty.mutex);
    if (!is_clean)
        return false;
    pgq_rangelock_destroy(file->lock);
    close(file->fd);
    free(file);
    return true;
}

/* -errno: it is not known. */
static int64_t size_of(const relfile *file)
{
    struct stat s;

    return fstat(file->fd, &s) == 0 ? s.st_size : -errno;
}

static void lock(relfile *file, pgq_rangelock_hold *hold, uint64_t from, uint64_t to, bool exclusive)
{
    memset(hold, 0, sizeof(*hold));
    if (pgq_rangelock_lock(file->lock, hold, from, to - from,
                           exclusive ? PGQ_RANGELOCK_EXCLUSIVE : PGQ_RANGELOCK_SHARED)
            .code != PGQ_OK)
        abort(); /* no other answer is possible: the range is not empty, and nobody cancels */
}

/* Copies what of a page is here. false: it is not. */
static bool copy_out(const relfile *file, uint64_t number, size_t from, size_t size, uint8_t *to)
{
    pthread_mutex_lock(&dirty.mutex);
    const page *p = *dirty_place(file, number);
    if (p != NULL && size > 0)
        memcpy(to, p->bytes + from, size);
    pthread_mutex_unlock(&dirty.mutex);
    return p != NULL;
}

static bool is_here(const relfile *file, uint64_t number)
{
    return copy_out(file, number, 0, 0, NULL);
}

/* The part of [at, end) that lies in the page of `at`. */
static size_t piece(uint64_t at, uint64_t end)
{
    uint64_t of_page = PAGE - at % PAGE;

    return end - at < of_page ? (size_t)(end - at) : (size_t)of_page;
}

/* Reads what is not here, and lies together, from the disk. Nobody writes it back, because the range is locked against writes. */
static int read_absent(relfile *file, uint8_t *bytes, uint64_t at, uint64_t end, size_t *n)
{
    *n = piece(at, end);
    if (copy_out(file, at / PAGE, at % PAGE, *n, bytes))
        return 0;
    while (at + *n < end && !is_here(file, (at + *n) / PAGE))
        *n += piece(at + *n, end);
    return io_read(file->fd, bytes, *n, at);
}

/*
 * For the cache, which reads ahead of what is locked, too. What is written there meanwhile, it is told after that stands here: so
 * it drops what it has read.
 */
int pages_below(relfile *file, uint8_t *bytes, size_t size, uint64_t at)
{
    int64_t length = size_of(file);
    uint64_t end = length > 0 && at + size < (uint64_t)length ? at + size : (uint64_t)length;
    int failed = length < 0 ? (int)length : 0;
    size_t n;

    if (failed == 0 && end < at + size)
        memset(bytes + (end > at ? end - at : 0), 0, at + size - (end > at ? end : at));
    for (uint64_t here = at; here < end && failed == 0; here += n)
        failed = read_absent(file, bytes + (here - at), here, end, &n);
    return failed;
}

/* A part of a page that is whole in the file, by the cache. */
static int read_cached(relfile *file, uint64_t window, uint8_t *bytes, size_t size, uint64_t at)
{
    uint8_t page[PAGE];

    if (copy_out(file, at / PAGE, at % PAGE, size, bytes))
        return 0;
    if (size == PAGE)
        return cache_read(file, window, at / PAGE, bytes);
    int failed = cache_read(file, window, at / PAGE, page);
    if (failed == 0)
        memcpy(bytes, page + at % PAGE, size);
    return failed;
}

int64_t pages_read(relfile *file, uint8_t *bytes, size_t size, uint64_t at)
{
    pgq_rangelock_hold hold;
    int failed = 0;

    counts.page_reads++;
    if (size == 0)
        return 0;
    lock(file, &hold, at, at + size, false);
    int64_t length = size_of(file);
    uint64_t end = length > 0 && at + size < (uint64_t)length ? at + size : (uint64_t)length;
    size_t n;
    failed = length < 0 ? (int)length : 0;
    for (uint64_t here = at; here < end && failed == 0; here += n) {
        uint8_t *to = bytes + (here - at);
        n = piece(here, end);
        uint64_t window = file->window; /* another one may be the file's at any time */
        if (here / PAGE < (uint64_t)length / PAGE && cache_takes(window, here / PAGE))
            failed = read_cached(file, window, to, n, here);
        else
            failed = read_absent(file, to, here, end, &n);
    }
    pgq_rangelock_unlock(file->lock, &hold);
    return failed != 0 ? failed : end > at ? (int64_t)(end - at) : 0;
}

/* Bytes of one page that lies in the file as a whole. fresh: memory for a page; *fresh: NULL once it is used. */
static int write_page(relfile *file, const uint8_t *bytes, size_t size, uint64_t at, page **fresh)
{
    uint64_t number = at / PAGE;
    uint8_t now[PAGE];

    if (size < PAGE)
        counts.writes_of_part_of_a_page++;
    for (bool is_read = size == PAGE;; is_read = true) {
        pthread_mutex_lock(&dirty.mutex);
        page *p = *dirty_place(file, number);
        if (p == NULL && is_read) {
            p = *fresh;
            *fresh = NULL;
            p->file = file;
            p->number = number;
            p->version = 0;
            p->is_due = false;
            dirty_insert(p);
        }
        if (p != NULL) {
            memcpy(p->bytes + at % PAGE, bytes, size);
            if (size < PAGE)
                memcpy(now, p->bytes, PAGE);
            p->version++;
            dirty_set_due(p, asker_now() == CHECKPOINTER);
            if (dirty_must_flush())
                pthread_cond_signal(&dirty.work);
        }
        pthread_mutex_unlock(&dirty.mutex);
        if (p != NULL) {
            uint64_t window = file->window;
            if (cache_takes(window, number))
                cache_write(window, number, size < PAGE ? now : bytes);
            return 0;
        }
        /* The rest of the page is below, and stays what it is while the range is locked. */
        int failed = io_read(file->fd, (*fresh)->bytes, PAGE, number * PAGE);
        if (failed != 0)
            return failed;
    }
}

/* The range is locked, in whole pages. */
static int write_locked(relfile *file, const uint8_t *bytes, uint64_t at, uint64_t end)
{
    int64_t size = size_of(file);
    uint64_t length = (uint64_t)size, whole;
    int failed = 0;

    if (size < 0)
        return (int)size;
    /* The disk gives the space now: a write-back finds it. */
    if (end > length) {
        uint64_t from = at > length ? at : length;
        if ((failed = -posix_fallocate(file->fd, (off_t)from, (off_t)(end - from))) != 0)
            return failed;
        length = end;
    }
    whole = length / PAGE * PAGE;
    for (uint64_t here = at; here < end && failed == 0; here += piece(here, end)) {
        const uint8_t *from = bytes + (here - at);
        size_t n = piece(here, end);
        if (here >= whole) { /* a file's end that is no page */
            counts.pages_unprotected++;
            failed = io_write(file->fd, from, n, here);
            file->window = cache_new_window();
            continue;
        }
        page *fresh = malloc(sizeof(*fresh));
        failed = fresh == NULL ? -ENOMEM : write_page(file, from, n, here, &fresh);
        free(fresh);
    }
    return failed;
}

/* Before any range is locked: a write-back could otherwise wait for whoever waits for it. */
static int wait_for_room(void)
{
    pthread_mutex_lock(&dirty.mutex);
    while (dirty.count >= dirty.most && dirty.stuck == 0) {
        pthread_cond_signal(&dirty.work);
        pthread_cond_wait(&dirty.room, &dirty.mutex);
    }
    int failed = dirty.count >= dirty.most ? dirty.stuck : 0;
    pthread_mutex_unlock(&dirty.mutex);
    return failed;
}

int pages_write(relfile *file, const uint8_t *bytes, size_t size, uint64_t at)
{
    pgq_rangelock_hold hold;
    int failed = at > INT64_MAX - PAGE - size ? -EFBIG : wait_for_room();

    counts.page_writes++;
    if (failed != 0 || size == 0)
        return failed;
    lock(file, &hold, at / PAGE * PAGE, (at + size + PAGE - 1) / PAGE * PAGE, true);
    failed = write_locked(file, bytes, at, at + size);
    pgq_rangelock_unlock(file->lock, &hold);
    return failed;
}

int pages_truncate(relfile *file, uint64_t size)
{
    pgq_rangelock_hold hold;

    write_back_lock();
    int failed = pages_forget(file->dev, file->ino);
    lock(file, &hold, size / PAGE * PAGE, INT64_MAX, true);
    /* The page that is cut: what is left of it is no page, and goes in place. */
    uint8_t cut[PAGE];
    if (failed == 0 && size % PAGE != 0 && copy_out(file, size / PAGE, 0, PAGE, cut)) {
        counts.pages_unprotected++;
        failed = io_write(file->fd, cut, PAGE, size / PAGE * PAGE);
    }
    if (failed == 0 && ftruncate(file->fd, (off_t)size) != 0)
        failed = -errno;
    file->window = cache_new_window();
    pthread_mutex_lock(&dirty.mutex);
    for (page *p = TAILQ_FIRST(&file->pages), *next; failed == 0 && p != NULL; p = next) {
        next = TAILQ_NEXT(p, of_it);
        if ((p->number + 1) * PAGE > size)
            dirty_discard(dirty_place(file, p->number));
    }
    pthread_mutex_unlock(&dirty.mutex);
    pgq_rangelock_unlock(file->lock, &hold);
    write_back_unlock();
    return failed;
}

int pages_allocate(relfile *file, int mode, uint64_t at, uint64_t size)
{
    if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0)
        return -EOPNOTSUPP;
    return fallocate(file->fd, mode, (off_t)at, (off_t)size) != 0 ? -errno : 0;
}

int pages_fsync(relfile *file)
{
    counts.page_fsyncs++;
    write_back_lock();
    int failed = write_back_all(file);
    write_back_unlock();
    pthread_mutex_lock(&dirty.mutex);
    if (failed == 0)
        failed = file->error;
    file->error = 0;
    pthread_mutex_unlock(&dirty.mutex);
    /* Its size, and what was written to its end, have no page here. */
    counts.syncs += failed == 0;
    return failed == 0 && fsync(file->fd) != 0 ? -errno : failed;
}

int pages_forget(dev_t dev, ino_t ino)
{
    if (ino != 0 && !area_holds(dev, ino))
        return 0;
    int failed = write_back_end_pending();
    return failed != 0 ? failed : area_empty();
}

pages_figures pages_now(void)
{
    pthread_mutex_lock(&dirty.mutex);
    pages_figures figures = {dirty.count, dirty.most, dirty.stuck != 0};
    pthread_mutex_unlock(&dirty.mutex);
    return figures;
}
