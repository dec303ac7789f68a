/* SPDX-License-Identifier: PostgreSQL */
/*
 * By the engine's threads, not by a ring: what is written is written by pwrite, so that the tests can lose it. A thread asks
 * for one piece after the other: so a class has no more requests than threads work for it, and its queue is never full.
 */
#include "io.h"

#include "figures.h"
#include "ioshares/ioshares.h"
#include "mount.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE    (128u << 10) /* bytes: a large request does not keep others waiting */
#define CAPACITY 256u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the shares */
static uint32_t shares[ASKERS] = {
#define X(asker, name, share) share,
    ASKERS_OF(X)
#undef X
};
static pgq_ioshares_engine *engine;
static void *memory;
static atomic_uint queue[ASKERS];

/* Some of the latency is the kernel's cache, which takes writes: the limit must not fall to where it would starve a device. */
static pgq_status make(const uint32_t *with, pgq_ioshares **scheduler)
{
    pgq_ioshares_class classes[ASKERS];
    pgq_ioshares_config config = {classes, ASKERS, {8, 16, 32, 64, 0}, NULL, 0, {PAGE, PAGE}};
    size_t size = 0;

    for (int a = 0; a < ASKERS; a++)
        classes[a] = (pgq_ioshares_class){with[a], 0, CAPACITY};
    pgq_status status = pgq_ioshares_bytes(&config, &size);
    if (status.code != PGQ_OK || scheduler == NULL)
        return status;
    if ((memory = malloc(size)) == NULL)
        return (pgq_status){PGQ_MEMORY, 0};
    return pgq_ioshares_init(memory, size, &config, scheduler);
}

int io_start(void)
{
    pgq_ioshares *scheduler;

    if (make(shares, &scheduler).code != PGQ_OK ||
        pgq_ioshares_engine_start(scheduler, PGQ_IOSHARES_BY_THREADS, &engine).code != PGQ_OK)
        return -ENOMEM;
    return 0;
}

void io_stop(void)
{
    pgq_ioshares_engine_stop(engine);
    free(memory);
}

static int transfer(pgq_ioshares_io io, size_t size)
{
    asker asker = asker_now();
    uint64_t since = figures_clock();
    int failed = 0;

    io.cls = asker;
    for (size_t left = size; left > 0 && failed == 0; left -= io.size) {
        io.size = left < PIECE ? (uint32_t)left : PIECE;
        queue[asker]++;
        if (pgq_ioshares_engine_submit(engine, &io).code != PGQ_OK)
            abort(); /* no other answer is possible: the request is sound, and its class has room */
        pgq_ioshares_engine_wait(engine, &io);
        queue[asker]--;
        failed = -io.error;
        figures_add(FIGURE_DISK, io.did, since);
        io.buffer = (uint8_t *)io.buffer + io.size;
        io.offset += io.size;
        since = figures_clock();
    }
    return failed;
}

/* What the kernel has in its cache needs no device, and nobody waits for it. */
int io_read(int fd, uint8_t *bytes, size_t size, uint64_t at)
{
    struct iovec all = {bytes, size};
    ssize_t n = preadv2(fd, &all, 1, (off_t)at, RWF_NOWAIT);
    size_t had = n > 0 ? (size_t)n : 0;

    return transfer((pgq_ioshares_io){.buffer = bytes + had, .offset = at + had, .fd = fd}, size - had);
}

int io_write(int fd, const uint8_t *bytes, size_t size, uint64_t at)
{
    return transfer(
        (pgq_ioshares_io){.buffer = (uint8_t *)(uintptr_t)bytes, .offset = at, .fd = fd, .write = true},
        size);
}

int io_push(int fd, uint64_t from, uint64_t to, bool wait)
{
    unsigned how =
        SYNC_FILE_RANGE_WRITE | (wait ? SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER : 0);
    int failed = SYS(sync_file_range(fd, (off_t)from, (off_t)(to - from), how));

    return failed == -ENOSYS ? 0 : failed;
}

int io_sync(int fd)
{
    counts.syncs++;
    return SYS(fdatasync(fd));
}

/* One "name=share" of the text, which ends at a comma or with it; NULL: it is none. */
static const char *one_share(const char *text, uint32_t *to)
{
    size_t name = strcspn(text, "=");
    char *end;

    for (int a = 0; a < ASKERS && text[name] == '='; a++)
        if (strlen(asker_names[a]) == name && memcmp(text, asker_names[a], name) == 0) {
            const char *digits = text + name + 1;
            unsigned long share = strtoul(digits, &end, 10);
            if (end == digits || end != digits + strspn(digits, "0123456789") || share > UINT32_MAX)
                return NULL;
            to[a] = (uint32_t)share;
            return *end == '\0' ? end : *end == ',' && end[1] != '\0' ? end + 1 : NULL;
        }
    return NULL;
}

int io_shares(const char *text)
{
    uint32_t fresh[ASKERS];
    const char *at = text;

    pthread_mutex_lock(&mutex);
    memcpy(fresh, shares, sizeof(fresh));
    while (at != NULL && *at != '\0')
        at = one_share(at, fresh);
    pgq_status status = {PGQ_IOSHARES_SHARE, 0};
    if (at != NULL)
        status = engine != NULL ? pgq_ioshares_engine_set_shares(engine, fresh) : make(fresh, NULL);
    if (status.code == PGQ_OK)
        memcpy(shares, fresh, sizeof(fresh));
    pthread_mutex_unlock(&mutex);
    if (status.code == PGQ_OK)
        return 0;
    if (at == NULL)
        say("shares %s: write backend=500,checkpointer=200,autovacuum=200,writeback=100, or some of these",
            text);
    else
        say("shares %s: %s", text, pgq_strerror(status.code));
    return -EINVAL;
}

void io_look(uint32_t to[ASKERS])
{
    pthread_mutex_lock(&mutex);
    memcpy(to, shares, sizeof(shares));
    pthread_mutex_unlock(&mutex);
}

unsigned io_queue(asker asker)
{
    return queue[asker];
}
