/* SPDX-License-Identifier: PostgreSQL */
/*
 * The kernel's range locks: open file description locks, fcntl(2). A description never conflicts with itself, so each
 * request takes one of its own. They are kept for later requests: to open one costs more than to lock.
 */
#include "common/holds.h"
#include "rangelock/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { AGAIN_AFTER = 100000 }; /* nanoseconds between two tries with a time limit: fcntl has no such call */

typedef struct ofd {
    pgq_rangelock head;
    int fd;
    pthread_mutex_t mutex; /* over the rest */
    int *spare;            /* descriptions that nobody uses; there is room for all that are open */
    size_t spares, open;
} ofd;

static ofd *of(pgq_rangelock *lock)
{
    return (ofd *)lock;
}

/* Another description of the file; -1 if the kernel refuses. With the mutex held. */
static int open_another(ofd *me)
{
    char path[32];
    int *spare = realloc(me->spare, (me->open + 1) * sizeof *spare), fd;

    if (spare == NULL)
        return -1;
    me->spare = spare;
    snprintf(path, sizeof path, "/proc/self/fd/%d", me->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    me->open += fd >= 0;
    return fd;
}

static int take(ofd *me)
{
    int fd;

    pthread_mutex_lock(&me->mutex);
    fd = me->spares > 0 ? me->spare[--me->spares] : open_another(me);
    pthread_mutex_unlock(&me->mutex);
    return fd;
}

static void put_back(ofd *me, int fd)
{
    pthread_mutex_lock(&me->mutex);
    HOLDS(me->spares < me->open); /* each description that is open has its place */
    me->spare[me->spares++] = fd;
    pthread_mutex_unlock(&me->mutex);
}

static int set(const pgq_rangelock_hold *hold, int command, short type)
{
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)hold->lo,
                          .l_len = (off_t)(hold->hi - hold->lo)};

    while (fcntl(hold->fd, command, &range) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static bool before(const struct timespec *deadline)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec < deadline->tv_nsec);
}

static pgq_code set_within(const pgq_rangelock_hold *hold, short type, uint64_t nanoseconds)
{
    const struct timespec pause = {0, AGAIN_AFTER};
    struct timespec deadline = time_after(nanoseconds);
    int error;

    while ((error = set(hold, F_OFD_SETLK, type)) == EAGAIN && nanoseconds != 0 && before(&deadline))
        nanosleep(&pause, NULL);
    if (error == EAGAIN)
        return nanoseconds == 0 ? PGQ_RANGELOCK_BUSY : PGQ_RANGELOCK_TIMEOUT;
    return error == 0 ? PGQ_OK : PGQ_RANGELOCK_FILE;
}

static pgq_status acquire(pgq_rangelock *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds)
{
    short type = hold->exclusive ? F_WRLCK : F_RDLCK;
    pgq_code code;

    hold->fd = take(of(lock));
    if (hold->fd < 0)
        return refused(PGQ_RANGELOCK_FILE, 0);
    if (nanoseconds == FOR_EVER)
        code = set(hold, F_OFD_SETLKW, type) == 0 ? PGQ_OK : PGQ_RANGELOCK_FILE;
    else
        code = set_within(hold, type, nanoseconds);
    if (code != PGQ_OK) {
        put_back(of(lock), hold->fd);
        return refused(code, 0);
    }
    set_lock(hold, lock);
    set_state(hold, HELD);
    return accepted();
}

static pgq_status release(pgq_rangelock *lock, pgq_rangelock_hold *hold)
{
    uint32_t from = HELD;

    if (!change_state(hold, &from, WAITS))
        return refused(PGQ_RANGELOCK_NOT_HELD, 0);
    set(hold, F_OFD_SETLK, F_UNLCK);
    put_back(of(lock), hold->fd);
    set_state(hold, IDLE);
    return accepted();
}

static pgq_status destroy(pgq_rangelock *lock)
{
    ofd *me = of(lock);
    bool idle;

    pthread_mutex_lock(&me->mutex);
    idle = me->spares == me->open;
    pthread_mutex_unlock(&me->mutex);
    if (!idle)
        return refused(PGQ_RANGELOCK_IN_USE, 0);
    for (size_t i = 0; i < me->spares; i++)
        close(me->spare[i]);
    free(me->spare);
    pthread_mutex_destroy(&me->mutex);
    free(me);
    return accepted();
}

static const rangelock_calls calls = {.acquire = acquire, .release = release, .destroy = destroy};

pgq_status pgq_rangelock_ofd(int fd, pgq_rangelock **lock)
{
    ofd *me;
    int first;

    if (lock == NULL)
        return refused(PGQ_NULL, 0);
    me = calloc(1, sizeof *me);
    if (me == NULL)
        return refused(PGQ_MEMORY, 0);
    me->head.calls = &calls;
    me->fd = fd;
    pthread_mutex_init(&me->mutex, NULL);
    first = take(me); /* to find out now whether it can be done */
    if (first < 0) {
        pgq_code code = errno == ENOMEM ? PGQ_MEMORY : PGQ_RANGELOCK_FILE;

        free(me->spare);
        pthread_mutex_destroy(&me->mutex);
        free(me);
        return refused(code, 0);
    }
    put_back(me, first);
    *lock = &me->head;
    return accepted();
}
