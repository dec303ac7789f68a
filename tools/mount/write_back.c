/* SPDX-License-Identifier: PostgreSQL */
#include "write_back.h"

#include "area.h"
#include "dirty.h"
#include "folders.h"
#include "io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of so many pages and more in place a batch waits until the device has them: fewer than twice as many are on their way. */
#define PUSHED 32u

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* of all here but `stopping`, which is the dirty pages' */
static atomic_uint waiting;    /* for the lock */
static pthread_t flusher;
static bool stopping;
static int data_fd;

static area_page slots[AREA_PAGES];
static unsigned batch;
static bool pending; /* the batch is in the area, and perhaps not in place */
static uint8_t *bytes_of_batch;
/* Pages of one file that are to be written back, in their order there: neighbours go in one request. */
static struct plan {
    const relfile *file;
    uint64_t until;    /* what became dirty then at the latest */
    uint64_t *numbers; /* room for all that may be dirty */
    size_t n, at;
} plan;

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

/*
 * Pages of the file, or without one of the file that has the oldest, that became dirty at `until` at the latest. false:
 * there are none.
 */
static bool make_plan(const relfile *file, uint64_t until)
{
    plan.n = plan.at = 0;
    plan.until = until;
    pthread_mutex_lock(&dirty.mutex);
    const page *p = TAILQ_FIRST(file != NULL ? &file->pages : &dirty.all);
    plan.file = p != NULL ? p->file : NULL;
    for (p = p != NULL ? TAILQ_FIRST(&p->file->pages) : NULL;
         p != NULL && p->stamp <= until && plan.n < dirty.most; p = TAILQ_NEXT(p, of_it))
        plan.numbers[plan.n++] = p->number;
    pthread_mutex_unlock(&dirty.mutex);
    qsort(plan.numbers, plan.n, sizeof(*plan.numbers), by_number);
    return plan.n > 0;
}

static void take(page *p)
{
    slots[batch++] = (area_page){.file = p->file, .version = p->version, .number = p->number};
    dirty_set_due(p, false);
}

/* The next ones of the plan, as far as they still wait since then. */
static void take_planned(void)
{
    for (; plan.at < plan.n && batch < AREA_PAGES; plan.at++) {
        page *p = *dirty_place(plan.file, plan.numbers[plan.at]);
        if (p != NULL && p->stamp <= plan.until)
            take(p);
    }
}

/* Pages of other files, the first ones of the list, until the batch has so many. */
static void take_others(const struct queue *list, unsigned pages)
{
    const relfile *last = NULL;
    unsigned files = plan.file != NULL;

    for (page *p = TAILQ_FIRST(list), *next; p != NULL && batch < pages; p = next) {
        next = list == &dirty.due ? TAILQ_NEXT(p, soon) : TAILQ_NEXT(p, all);
        if (p->file == plan.file)
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

/* Makes a batch: of what is due, or of what is planned; then, if there is room, the oldest others ride for free. */
static int collect(bool is_due)
{
    struct stat s;

    batch = 0;
    pthread_mutex_lock(&dirty.mutex);
    if (is_due) {
        plan.n = plan.at = 0;
        plan.file = NULL;
        take_others(&dirty.due, DUE);
    } else {
        take_planned();
        if (batch > 0)
            take_others(&dirty.all, AREA_PAGES);
    }
    qsort(slots, batch, sizeof(*slots), by_place);
    for (unsigned i = 0; i < batch; i++)
        memcpy(bytes_of_batch + AREA_HEADER + (size_t)i * PAGE,
               (*dirty_place(slots[i].file, slots[i].number))->bytes, PAGE);
    pthread_mutex_unlock(&dirty.mutex);
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

/* Has these of the batch go to the device, and waits until it has them. */
static int push(unsigned from, unsigned to)
{
    int failed = 0;

    for (int wait = 0; wait < 2; wait++)
        for (unsigned i = from, end; i < to && failed == 0; i = end) {
            for (end = i + 1; end < to && slots[end].file == slots[i].file;)
                end++;
            failed = io_push(slots[i].fd, slots[i].number * PAGE, (slots[end - 1].number + 1) * PAGE, wait);
        }
    return failed;
}

/* Writes the batch in place and syncs it; its pages leave. It is pending until that is done. */
static int in_place(void)
{
    int failed = 0;

    for (unsigned i = 0, n, since = 0; i < batch && failed == 0; i += n) {
        for (n = 1; n < PUSHED && i + n < batch && slots[i + n].file == slots[i].file &&
                    slots[i + n].number == slots[i].number + n;)
            n++;
        failed = io_write(slots[i].fd, bytes_of_batch + AREA_HEADER + (size_t)i * PAGE, (size_t)n * PAGE,
                          slots[i].number * PAGE);
        if (failed == 0 && i + n - since >= PUSHED) {
            failed = push(since, i + n);
            since = i + n;
        }
    }
    if (failed != 0)
        return failed;
    for (unsigned i = 0; i < batch; i++)
        if ((i + 1 == batch || slots[i + 1].file != slots[i].file) && (failed = io_sync(slots[i].fd)) != 0)
            return failed;
    pthread_mutex_lock(&dirty.mutex);
    for (unsigned i = 0; i < batch; i++) {
        page **at = dirty_place(slots[i].file, slots[i].number);
        if ((*at)->version == slots[i].version) {
            dirty_discard(at);
            continue;
        }
        dirty_renew(*at);
    }
    pthread_mutex_unlock(&dirty.mutex);
    counts.pages_protected += batch;
    pending = false;
    return 0;
}

/* Ends the batch that waits, or makes one and writes it back. The number of pages; 0: there are none. */
static int step(bool is_due)
{
    int failed = pending ? in_place() : 0;

    if (failed == 0 && (failed = collect(is_due)) == 0 && batch > 0 && (failed = folders_sync()) == 0 &&
        (failed = area_write(data_fd, slots, batch, bytes_of_batch)) == 0) {
        pending = true;
        failed = in_place();
    }
    pthread_mutex_lock(&dirty.mutex);
    for (unsigned i = 0; failed != 0 && i < batch; i++)
        slots[i].file->error = failed;
    dirty.stuck = failed;
    pthread_cond_broadcast(&dirty.room);
    pthread_mutex_unlock(&dirty.mutex);
    if (failed != 0) {
        counts.failures++;
        say("pages cannot be written back: %s; they stay in memory, and are tried again", strerror(-failed));
    }
    return failed != 0 ? failed : (int)batch;
}

int write_back_end_pending(void)
{
    plan.n = plan.at = 0;
    return pending ? step(false) : 0;
}

int write_back_all(const relfile *file)
{
    /* First the batch that waits: those of its pages that were written since are to be written back by this call. */
    int n = write_back_end_pending();

    pthread_mutex_lock(&dirty.mutex);
    uint64_t until = dirty.stamp;
    pthread_mutex_unlock(&dirty.mutex);
    while (n == 0 && make_plan(file, until))
        while ((n = step(false)) > 0)
            ;
    return n;
}

static void *flush(void *unused)
{
    (void)unused;
    asker_is_mount();
    pthread_mutex_lock(&dirty.mutex);
    while (!stopping) {
        if (!dirty_must_flush()) {
            pthread_cond_wait(&dirty.work, &dirty.mutex);
            continue;
        }
        bool is_due = dirty.due_count >= DUE;
        pthread_mutex_unlock(&dirty.mutex);
        /* Whoever waits for the lock comes first: it would be taken again before they wake up. */
        while (waiting > 0)
            nanosleep(&(struct timespec){0, 100000}, NULL);
        pthread_mutex_lock(&lock);
        if (!is_due && plan.at == plan.n)
            make_plan(NULL, UINT64_MAX);
        int n = step(is_due);
        pthread_mutex_unlock(&lock);
        if (n < 0)
            nanosleep(&(struct timespec){1, 0}, NULL);
        pthread_mutex_lock(&dirty.mutex);
    }
    pthread_mutex_unlock(&dirty.mutex);
    return NULL;
}

int write_back_start(int data)
{
    data_fd = data;
    bytes_of_batch = aligned_alloc(4096, AREA_BATCH_SIZE);
    plan.numbers = malloc((dirty.most + DUE) * sizeof(*plan.numbers));
    if (bytes_of_batch == NULL || plan.numbers == NULL)
        return -ENOMEM;
    return -pthread_create(&flusher, NULL, flush, NULL);
}

int write_back_stop(void)
{
    pthread_mutex_lock(&dirty.mutex);
    stopping = true;
    pthread_cond_signal(&dirty.work);
    pthread_mutex_unlock(&dirty.mutex);
    pthread_join(flusher, NULL);
    pthread_mutex_lock(&lock);
    int failed = write_back_all(NULL);
    pthread_mutex_unlock(&lock);
    return failed;
}

void write_back_lock(void)
{
    waiting++;
    pthread_mutex_lock(&lock);
    waiting--;
}

void write_back_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
