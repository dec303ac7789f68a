/* SPDX-License-Identifier: PostgreSQL */
#include "pages.h"

#include "area.h"
#include "io.h"
#include "mount.h"
#include "rangelock/rangelock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct page {
    struct page *next;       /* in the hash table */
    TAILQ_ENTRY(page) all;   /* in the order of their stamps */
    TAILQ_ENTRY(page) of_it; /* those of the file, too */
    TAILQ_ENTRY(page) soon;  /* of a checkpoint: in the order in which it wrote them */
    bool is_due;             /* it is among these */
    relfile *file;
    uint64_t number;
    uint64_t stamp;   /* when it became dirty */
    uint64_t version; /* counts the writes to it */
    uint16_t
        come; /* so many bytes of a write of the page, and the rest is to come; 0: no such one is on its way */
    uint8_t bytes[PAGE];
} page;
TAILQ_HEAD(queue, page);

/*
 * A checkpoint writes its pages file by file, in their order, over a long time, and only at its end comes the fsync. So
 * many of them are written back at once, as with checkpoint_flush_after: else all would stand before a commit's sync.
 */
#define DUE 64u
/* Milliseconds. */
#define PATIENCE 100
/* And so many of a batch are on their way to the device at once. */
#define PUSHED 32u

struct relfile {
    int fd;
    dev_t dev;
    ino_t ino;
    int error; /* of a write-back that nobody waited for: the next fsync tells */
    pgq_rangelock *lock;
    struct queue pages;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all here */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static struct queue dirty = TAILQ_HEAD_INITIALIZER(dirty), due = TAILQ_HEAD_INITIALIZER(due);
static page **buckets;
static uint64_t mask, count, due_count, most, stamp;
static bool stopping;
static int stuck; /* why the last write-back has failed */

static pthread_mutex_t write_back = PTHREAD_MUTEX_INITIALIZER; /* of all here */
static int data_fd;
static area_page slots[AREA_PAGES];
static unsigned batch;
static bool pending; /* the batch is in the area, and perhaps not in place */
static uint8_t *bytes_of_batch;
/* Pages of one file that are to be written back, in their order there: neighbours go in one request. */
static struct plan {
    const relfile *file;
    uint64_t until;    /* what became dirty then at the latest */
    uint64_t *numbers; /* room for `most` */
    size_t n, at;
    bool alone; /* no page of another file goes with them */
    bool all;   /* those too of which a part is to come */
} plan;

static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER; /* of folders */
static struct folder {
    dev_t dev;
    ino_t ino;
    int fd;
} * folders;
static size_t folder_count;

static pthread_t flusher;

/* ---- the tables; the mutex is held ---- */

static page **place_of(const relfile *file, uint64_t number)
{
    uint64_t hash = ((uintptr_t)file / 64 + number) * 0x9E3779B97F4A7C15u;
    page **at = &buckets[(hash >> 32) & mask];

    while (*at != NULL && ((*at)->file != file || (*at)->number != number))
        at = &(*at)->next;
    return at;
}

static void insert(page *p)
{
    page **at = place_of(p->file, p->number);

    p->next = *at;
    *at = p;
    p->stamp = ++stamp;
    TAILQ_INSERT_TAIL(&dirty, p, all);
    TAILQ_INSERT_TAIL(&p->file->pages, p, of_it);
    count++;
}

static bool must_flush(void)
{
    return count > most / 2 || due_count >= DUE;
}

static void set_due(page *p, bool is_due)
{
    if (is_due && !p->is_due)
        TAILQ_INSERT_TAIL(&due, p, soon);
    if (!is_due && p->is_due)
        TAILQ_REMOVE(&due, p, soon);
    due_count += (uint64_t)is_due - p->is_due;
    p->is_due = is_due;
}

static void discard(page **at)
{
    page *p = *at;

    set_due(p, false);
    *at = p->next;
    TAILQ_REMOVE(&dirty, p, all);
    TAILQ_REMOVE(&p->file->pages, p, of_it);
    free(p);
    count--;
    pthread_cond_broadcast(&room);
}

/* ---- write-back; its lock is held ---- */

static int by_place(const void *a, const void *b)
{
    const area_page *x = a, *y = b;

    if (x->file != y->file)
        return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Of the list, while they are of the file and became dirty at `until` at the latest. How many are left out. */
static size_t plan_pages(const struct queue *list, size_t most_of_it)
{
    size_t left_out = 0;

    for (const page *p = TAILQ_FIRST(list); p != NULL && p->file == plan.file && plan.n < most_of_it;
         p = list == &due ? TAILQ_NEXT(p, soon) : TAILQ_NEXT(p, of_it)) {
        if (p->stamp > plan.until && list != &due)
            break;
        if (p->come != 0 && !plan.all)
            left_out++;
        else
            plan.numbers[plan.n++] = p->number;
    }
    return left_out;
}

/*
 * Pages of the file, or without one of the file that has the oldest, that became dirty at `until` at the latest; or those
 * that are due first. false: there are none. The kernel may hand a server's write of a page on in two parts. No batch has
 * one without the other: it waits, but not forever for somebody who writes parts.
 */
static bool make_plan(const relfile *file, uint64_t until, bool is_due)
{
    size_t left_out;

    plan.alone = is_due;
    plan.until = until;
    for (int tries = 0;; tries++) {
        plan.n = plan.at = 0;
        plan.all = tries == PATIENCE;
        pthread_mutex_lock(&mutex);
        const page *p = TAILQ_FIRST(is_due ? &due : file != NULL ? &file->pages : &dirty);
        plan.file = p != NULL ? p->file : NULL;
        left_out = p == NULL ? 0 : is_due ? plan_pages(&due, DUE) : plan_pages(&p->file->pages, most);
        pthread_mutex_unlock(&mutex);
        if (plan.n > 0 || left_out == 0)
            break;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    qsort(plan.numbers, plan.n, sizeof(*plan.numbers), by_number);
    return plan.n > 0;
}

static void take(page *p)
{
    slots[batch++] = (area_page){.file = p->file, .version = p->version, .number = p->number};
    set_due(p, false);
}

/* The next ones of the plan, as far as they still wait since then. */
static void take_planned(void)
{
    for (; plan.at < plan.n && batch < AREA_PAGES; plan.at++) {
        page *p = *place_of(plan.file, plan.numbers[plan.at]);
        if (p != NULL && p->stamp <= plan.until && (p->come == 0 || plan.all))
            take(p);
    }
}

/* If there is room for more: the oldest ones of other files. These ride for free. */
static void take_others(void)
{
    const relfile *last = NULL;
    unsigned files = 1;

    for (page *p = TAILQ_FIRST(&dirty); p != NULL && batch < AREA_PAGES; p = TAILQ_NEXT(p, all)) {
        if (p->file == plan.file || p->come != 0)
            continue;
        bool seen = p->file == last;
        for (unsigned i = 0; i < batch && !seen; i++)
            seen = slots[i].file == p->file;
        if (!seen && files++ == AREA_FILES)
            return;
        last = p->file;
        take(p);
    }
}

/* Makes a batch of what is planned. */
static int collect(void)
{
    struct stat s;

    batch = 0;
    pthread_mutex_lock(&mutex);
    take_planned();
    if (batch > 0 && !plan.alone)
        take_others();
    qsort(slots, batch, sizeof(*slots), by_place);
    for (unsigned i = 0; i < batch; i++)
        memcpy(bytes_of_batch + AREA_HEADER + (size_t)i * PAGE,
               (*place_of(slots[i].file, slots[i].number))->bytes, PAGE);
    pthread_mutex_unlock(&mutex);
    for (unsigned i = 0; i < batch; i++) {
        slots[i].fd = slots[i].file->fd;
        slots[i].dev = slots[i].file->dev;
        slots[i].ino = slots[i].file->ino;
        if (i > 0 && slots[i].file == slots[i - 1].file)
            slots[i].unlinked = slots[i - 1].unlinked;
        else if (fstat(slots[i].fd, &s) != 0)
            return -errno;
        else
            slots[i].unlinked = s.st_nlink == 0;
    }
    return 0;
}

int pages_renamed(int folder)
{
    struct stat s;
    int failed = SYS(fstatat(folder, "", &s, AT_EMPTY_PATH));

    pthread_mutex_lock(&naming);
    bool known = false;
    for (size_t i = 0; i < folder_count; i++)
        known |= folders[i].dev == s.st_dev && folders[i].ino == s.st_ino;
    if (failed == 0 && !known) {
        struct folder *more = realloc(folders, (folder_count + 1) * sizeof(*folders));
        int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        failed = fd < 0 ? -errno : more == NULL ? -ENOMEM : 0;
        if (more != NULL)
            folders = more;
        if (failed == 0)
            folders[folder_count++] = (struct folder){s.st_dev, s.st_ino, fd};
        else if (fd >= 0)
            close(fd);
    }
    pthread_mutex_unlock(&naming);
    return failed;
}

/* One whose sync fails stays: the next batch tries it again. */
static int sync_folders(void)
{
    int failed = 0;

    pthread_mutex_lock(&naming);
    while (failed == 0 && folder_count > 0)
        if ((failed = SYS(fsync(folders[folder_count - 1].fd))) == 0)
            close(folders[--folder_count].fd);
    pthread_mutex_unlock(&naming);
    return failed;
}

/* Writes the batch in place and syncs it; its pages leave. It is pending until that is done. */
static int in_place(void)
{
    int failed = 0;

    for (unsigned i = 0, n, since = 0; i < batch; i += n) {
        for (n = 1; i + n < batch && slots[i + n].file == slots[i].file &&
                    slots[i + n].number == slots[i].number + n;)
            n++;
        failed = io_write(slots[i].fd, bytes_of_batch + AREA_HEADER + (size_t)i * PAGE, (size_t)n * PAGE,
                          slots[i].number * PAGE);
        if (slots[since].file != slots[i].file)
            since = i;
        if (failed == 0 && i + n - since >= PUSHED) {
            failed = io_push(slots[i].fd, slots[since].number * PAGE, slots[i + n - 1].number * PAGE + PAGE);
            since = i + n;
        }
        if (failed != 0)
            return failed;
    }
    for (unsigned i = 0; i < batch; i++)
        if ((i + 1 == batch || slots[i + 1].file != slots[i].file) && (failed = io_sync(slots[i].fd)) != 0)
            return failed;
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < batch; i++) {
        page **at = place_of(slots[i].file, slots[i].number);
        if ((*at)->version == slots[i].version) {
            discard(at);
            continue;
        }
        TAILQ_REMOVE(&dirty, *at, all);
        TAILQ_REMOVE(&slots[i].file->pages, *at, of_it);
        (*at)->stamp = ++stamp;
        TAILQ_INSERT_TAIL(&dirty, *at, all);
        TAILQ_INSERT_TAIL(&slots[i].file->pages, *at, of_it);
    }
    pthread_mutex_unlock(&mutex);
    counts.pages_protected += batch;
    pending = false;
    return 0;
}

/* Ends the batch that waits, or makes one and writes it back. The number of pages; 0: there are none. */
static int step(void)
{
    int failed = pending ? in_place() : 0;

    if (failed == 0 && (failed = collect()) == 0 && batch > 0 && (failed = sync_folders()) == 0 &&
        (failed = area_write(data_fd, slots, batch, bytes_of_batch)) == 0) {
        pending = true;
        failed = in_place();
    }
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; failed != 0 && i < batch; i++)
        slots[i].file->error = failed;
    stuck = failed;
    pthread_cond_broadcast(&room);
    pthread_mutex_unlock(&mutex);
    if (failed != 0) {
        counts.failures++;
        say("pages cannot be written back: %s; they stay in memory, and are tried again", strerror(-failed));
    }
    return failed != 0 ? failed : (int)batch;
}

/* The batch that waits, if there is one, and no other. */
static int end_pending(void)
{
    plan.n = plan.at = 0;
    return pending ? step() : 0;
}

/* Of the file, or of all: what is dirty now. */
static int step_all(const relfile *file)
{
    /* First the batch that waits: those of its pages that were written since are to be written back by this call. */
    int n = end_pending();

    pthread_mutex_lock(&mutex);
    uint64_t until = stamp;
    pthread_mutex_unlock(&mutex);
    while (n == 0 && make_plan(file, until, false))
        while ((n = step()) > 0)
            ;
    return n;
}

/* Keeps half of the memory free, and writes back what is due. */
static void *flush(void *unused)
{
    (void)unused;
    asker_is_mount();
    pthread_mutex_lock(&mutex);
    while (!stopping) {
        if (!must_flush()) {
            pthread_cond_wait(&work, &mutex);
            continue;
        }
        bool is_due = due_count >= DUE;
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&write_back);
        if (is_due || plan.at == plan.n)
            make_plan(NULL, UINT64_MAX, is_due);
        int n = step();
        pthread_mutex_unlock(&write_back);
        if (n < 0)
            nanosleep(&(struct timespec){1, 0}, NULL);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* ---- calls ---- */

int pages_start(int data, uint64_t memory)
{
    data_fd = data;
    most = memory / PAGE;
    for (mask = 1; mask < most; mask *= 2)
        ;
    buckets = calloc(mask--, sizeof(*buckets));
    bytes_of_batch = aligned_alloc(4096, AREA_BATCH_SIZE);
    plan.numbers = malloc((most + DUE) * sizeof(*plan.numbers));
    if (buckets == NULL || bytes_of_batch == NULL || plan.numbers == NULL)
        return -ENOMEM;
    return -pthread_create(&flusher, NULL, flush, NULL);
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
    TAILQ_INIT(&file->pages);
    *made = file;
    return 0;
}

int pages_flush(relfile *file)
{
    struct stat s;

    pthread_mutex_lock(&write_back);
    int failed = end_pending();
    bool unlinked = fstat(file->fd, &s) == 0 && s.st_nlink == 0;
    if (failed == 0 && !unlinked)
        failed = step_all(file);
    pthread_mutex_lock(&mutex);
    for (page *p; failed == 0 && unlinked && (p = TAILQ_FIRST(&file->pages)) != NULL;)
        discard(place_of(file, p->number));
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&write_back);
    return failed;
}

bool pages_close(relfile *file)
{
    pthread_mutex_lock(&mutex);
    bool is_clean = TAILQ_EMPTY(&file->pages);
    pthread_mutex_unlock(&mutex);
    if (!is_clean)
        return false;
    pgq_rangelock_destroy(file->lock);
    close(file->fd);
    free(file);
    return true;
}

static uint64_t size_of(const relfile *file)
{
    struct stat s;

    return fstat(file->fd, &s) == 0 ? (uint64_t)s.st_size : 0;
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
    pthread_mutex_lock(&mutex);
    const page *p = *place_of(file, number);
    if (p != NULL && size > 0)
        memcpy(to, p->bytes + from, size);
    pthread_mutex_unlock(&mutex);
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

/* Only a page that is not here is read below: nobody writes it back, because the range is locked against writes. */
int64_t pages_read(relfile *file, uint8_t *bytes, size_t size, uint64_t at)
{
    pgq_rangelock_hold hold;
    int failed = 0;

    counts.page_reads++;
    if (size == 0)
        return 0;
    lock(file, &hold, at, at + size, false);
    uint64_t length = size_of(file), end = at + size < length ? at + size : length;
    size_t n;
    for (uint64_t here = at; here < end && failed == 0; here += n) {
        uint8_t *to = bytes + (here - at);
        n = piece(here, end);
        if (copy_out(file, here / PAGE, here % PAGE, n, to))
            continue;
        while (here + n < end && !is_here(file, (here + n) / PAGE))
            n += piece(here + n, end);
        failed = io_read(file->fd, to, n, here);
    }
    pgq_rangelock_unlock(file->lock, &hold);
    return failed != 0 ? failed : end > at ? (int64_t)(end - at) : 0;
}

/* Bytes of one page that lies in the file as a whole. fresh: memory for a page; *fresh: NULL once it is used. */
static int write_page(relfile *file, const uint8_t *bytes, size_t size, uint64_t at, page **fresh)
{
    uint64_t number = at / PAGE;

    if (size < PAGE)
        counts.writes_of_part_of_a_page++;
    for (bool is_read = size == PAGE;; is_read = true) {
        pthread_mutex_lock(&mutex);
        page *p = *place_of(file, number);
        if (p == NULL && is_read) {
            p = *fresh;
            *fresh = NULL;
            p->file = file;
            p->number = number;
            p->version = 0;
            p->come = 0;
            p->is_due = false;
            insert(p);
        }
        if (p != NULL) {
            memcpy(p->bytes + at % PAGE, bytes, size);
            p->version++;
            if (at % PAGE == p->come || at % PAGE == 0)
                p->come = (uint16_t)((at % PAGE + size) % PAGE);
            set_due(p, asker_now() == CHECKPOINTER);
            if (must_flush())
                pthread_cond_signal(&work);
        }
        pthread_mutex_unlock(&mutex);
        if (p != NULL)
            return 0;
        /* The rest of the page is below, and stays what it is while the range is locked. */
        int failed = io_read(file->fd, (*fresh)->bytes, PAGE, number * PAGE);
        if (failed != 0)
            return failed;
    }
}

/* The range is locked, in whole pages. */
static int write_locked(relfile *file, const uint8_t *bytes, uint64_t at, uint64_t end)
{
    uint64_t length = size_of(file), whole;
    int failed = 0;

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
    pthread_mutex_lock(&mutex);
    while (count >= most && stuck == 0) {
        pthread_cond_signal(&work);
        pthread_cond_wait(&room, &mutex);
    }
    int failed = count >= most ? stuck : 0;
    pthread_mutex_unlock(&mutex);
    return failed;
}

int pages_write(relfile *file, const uint8_t *bytes, size_t size, uint64_t at)
{
    pgq_rangelock_hold hold;
    int failed = wait_for_room();

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

    pages_hold();
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
    pthread_mutex_lock(&mutex);
    for (page *p = TAILQ_FIRST(&file->pages), *next; failed == 0 && p != NULL; p = next) {
        next = TAILQ_NEXT(p, of_it);
        if ((p->number + 1) * PAGE > size)
            discard(place_of(file, p->number));
    }
    pthread_mutex_unlock(&mutex);
    pgq_rangelock_unlock(file->lock, &hold);
    pages_release();
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
    pthread_mutex_lock(&write_back);
    int failed = step_all(file);
    pthread_mutex_unlock(&write_back);
    pthread_mutex_lock(&mutex);
    if (failed == 0)
        failed = file->error;
    file->error = 0;
    pthread_mutex_unlock(&mutex);
    /* Its size, and what was written to its end, have no page here. */
    counts.syncs += failed == 0;
    return failed == 0 && fsync(file->fd) != 0 ? -errno : failed;
}

void pages_hold(void)
{
    pthread_mutex_lock(&write_back);
}

int pages_forget(dev_t dev, ino_t ino)
{
    if (ino != 0 && !area_holds(dev, ino))
        return 0;
    int failed = end_pending();
    return failed != 0 ? failed : area_empty();
}

void pages_release(void)
{
    pthread_mutex_unlock(&write_back);
}

int pages_stop(void)
{
    pthread_mutex_lock(&mutex);
    stopping = true;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&mutex);
    pthread_join(flusher, NULL);
    pthread_mutex_lock(&write_back);
    int failed = step_all(NULL);
    pthread_mutex_unlock(&write_back);
    return failed;
}

pages_figures pages_now(void)
{
    pthread_mutex_lock(&mutex);
    pages_figures figures = {count, most, stuck != 0};
    pthread_mutex_unlock(&mutex);
    return figures;
}
