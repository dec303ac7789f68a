/* SPDX-License-Identifier: PostgreSQL */
/* io_uring, as liburing's functions show it, and the thread that is the kernel. */
#include "../tests/world/system.h"
#include "common/uring.h"

#include <stdlib.h>
#include <string.h>

#if HAVE_LIBURING
#include <errno.h>

enum { OPERATIONS = 256 };

/* What the kernel has taken. */
typedef struct operation {
    struct io_uring *ring; /* NULL: it was closed, and nobody hears of the end */
    uint8_t opcode;
    bool registered; /* the buffer lies in the one that is registered */
    int fd, result;
    void *buffer;
    uint64_t size, offset, user_data;
    enum { NONE, WAITS, GOES_ON, DONE } state; /* DONE: it waits for a place in the queue of completions */
} operation;

/* The queues of a ring, in one piece of memory with the ring's place in the kernel. */
typedef struct queues {
    unsigned sq_head, sq_tail, cq_head, cq_tail, sq_mask, sq_entries, cq_mask, cq_entries;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
    struct iovec registered; /* a buffer, or nothing */
} queues;

static operation operations[OPERATIONS];
static unsigned end; /* none is from here on */
static bool stops;
static unsigned refusals_to_come, failures_to_come;
static int refusal;
static bool refuses_for_good; /* this refusal, or one before it in the same row, is lasting */
static char kernel;           /* the address at which the kernel sleeps */

void world_kernel_may_go_on(void)
{
    world_wake(&kernel);
}

/* ---- what fails ---- */

static const int passing[] = {EAGAIN, EINTR, EBUSY, ENOMEM}, lasting[] = {ENXIO, EPERM, EINVAL, EBADF};

/* Once, a few times, or so often that nobody should wait for it. */
static unsigned times(void)
{
    static const unsigned often[] = {1, 1, 2, 5, 99, 100, 101, 400};

    return often[world_below(system_world, 8)];
}

static bool is_refused(void)
{
    if (refusals_to_come == 0) {
        if (!system_comes(SYSTEM_SUBMIT_FAILS))
            return false;
        refusals_to_come = times();
        bool hard = world_one_in(system_world, 4);
        refusal = (hard ? lasting : passing)[world_below(system_world, 4)];
        refuses_for_good = hard || (refuses_for_good && the_system.refused > 0);
    }
    refusals_to_come--;
    return true;
}

static int refused_submission(void)
{
    if (the_system.refused++ == 0)
        the_system.slept = 0;
    if (the_system.refused > the_system.most_refused)
        the_system.most_refused = the_system.refused;
    /* After a lasting one the requests are given up, and others are asked for: that may take any time. */
    if (the_system.refused == 100 && !refuses_for_good && the_system.slept > the_system.slept_in_100)
        the_system.slept_in_100 = the_system.slept;
    the_system.refusals |= UINT64_C(1) << refusal;
    world_says(system_world, "  ring: takes nothing, error %d", refusal);
    return -refusal;
}

/* ---- a ring ---- */

static unsigned power_of_two(unsigned n)
{
    unsigned power = 1;

    while (power < n)
        power *= 2;
    return power;
}

static queues *make_queues(unsigned entries)
{
    queues *q = calloc(1, sizeof *q);

    if (q == NULL)
        abort();
    q->sq_entries = power_of_two(entries);
    q->cq_entries = 2 * q->sq_entries;
    q->sq_mask = q->sq_entries - 1;
    q->cq_mask = q->cq_entries - 1;
    q->sqes = calloc(q->sq_entries, sizeof *q->sqes);
    q->cqes = calloc(q->cq_entries, sizeof *q->cqes);
    if (q->sqes == NULL || q->cqes == NULL)
        abort();
    return q;
}

static int ring_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    if (flags != 0 || entries == 0 || entries > 32768)
        return -EINVAL;
    if (system_comes(SYSTEM_NO_RING)) {
        the_system.no_ring = passing[world_below(system_world, 4)];
        return -the_system.no_ring;
    }
    queues *q = make_queues(entries);
    *ring = (struct io_uring){.ring_fd = -1};
    ring->sq = (struct io_uring_sq){.khead = &q->sq_head,
                                    .ktail = &q->sq_tail,
                                    .kring_mask = &q->sq_mask,
                                    .kring_entries = &q->sq_entries,
                                    .sqes = q->sqes,
                                    .ring_ptr = q,
                                    .ring_mask = q->sq_mask,
                                    .ring_entries = q->sq_entries};
    ring->cq = (struct io_uring_cq){.khead = &q->cq_head,
                                    .ktail = &q->cq_tail,
                                    .kring_mask = &q->cq_mask,
                                    .kring_entries = &q->cq_entries,
                                    .cqes = q->cqes,
                                    .ring_mask = q->cq_mask,
                                    .ring_entries = q->cq_entries};
    the_system.rings++;
    return 0;
}

/* What the kernel does for a ring goes on after its end; only who waits for an event waits no longer. */
static void ring_exit(struct io_uring *ring)
{
    queues *q = ring->sq.ring_ptr;

    for (operation *o = operations; o < operations + end; o++)
        if (o->state != NONE && o->ring == ring) {
            o->ring = NULL;
            if (o->state == DONE || (o->state == WAITS && system_event(o->fd) != NULL))
                o->state = NONE;
        }
    free(q->sqes);
    free(q->cqes);
    free(q);
    memset(ring, 0, sizeof *ring);
    the_system.rings--;
}

static struct io_uring_sqe *ring_sqe(struct io_uring *ring)
{
    struct io_uring_sq *sq = &ring->sq;

    if (sq->sqe_tail + 1 - *sq->khead > sq->ring_entries)
        return NULL;
    return &sq->sqes[sq->sqe_tail++ & sq->ring_mask];
}

static void take(struct io_uring *ring)
{
    const struct io_uring_sqe *s = &ring->sq.sqes[(*ring->sq.khead)++ & ring->sq.ring_mask];
    const struct iovec *known = &((const queues *)ring->sq.ring_ptr)->registered;
    uintptr_t into = (uintptr_t)known->iov_base;
    unsigned free_one = 0;

    while (operations[free_one].state != NONE)
        if (++free_one == OPERATIONS)
            abort();
    if (free_one == end)
        end++;
    operations[free_one] = (operation){.ring = ring,
                                       .opcode = s->opcode,
                                       .registered = s->buf_index == 0 && s->addr >= into &&
                                                     s->addr + s->len <= into + known->iov_len,
                                       .fd = s->fd,
                                       .buffer = (void *)(uintptr_t)s->addr,
                                       .size = s->len,
                                       .offset = s->off,
                                       .user_data = s->user_data,
                                       .state = WAITS};
    if (s->opcode != IORING_OP_NOP && system_event(s->fd) == NULL)
        the_system.doing++;
}

/* A completion for which the queue has no place waits in the kernel. */
static void show_completions(struct io_uring *ring)
{
    struct io_uring_cq *cq = &ring->cq;

    for (operation *o = operations; o < operations + end; o++) {
        if (o->state != DONE || o->ring != ring || *cq->ktail - *cq->khead == cq->ring_entries)
            continue;
        cq->cqes[*cq->ktail & cq->ring_mask] =
            (struct io_uring_cqe){.user_data = o->user_data, .res = o->result};
        ++*cq->ktail;
        o->state = NONE;
        world_wake(ring);
    }
}

static int ring_submit(struct io_uring *ring)
{
    struct io_uring_sq *sq = &ring->sq;

    /* liburing tells the kernel of no entries that it believes it has told of. */
    if (sq->sqe_head != sq->sqe_tail)
        sq->sqe_head = *sq->ktail = sq->sqe_tail;
    unsigned n = *sq->ktail - *sq->khead;
    world_yield();
    if (n == 0)
        return 0;
    show_completions(ring);
    if (is_refused())
        return refused_submission();
    if (n > 1 && system_comes(SYSTEM_SUBMIT_TAKES_FEWER)) {
        the_system.fewer++;
        n = 1 + (unsigned)world_below(system_world, n - 1);
    }
    for (unsigned i = 0; i < n; i++)
        take(ring);
    the_system.refused = 0;
    world_says(system_world, "  ring: takes %u", n);
    world_kernel_may_go_on();
    world_yield();
    return (int)n;
}

static unsigned ring_peek(struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count)
{
    struct io_uring_cq *cq = &ring->cq;

    world_yield();
    show_completions(ring);
    unsigned n = *cq->ktail - *cq->khead;
    if (n > count)
        n = count;
    for (unsigned i = 0; i < n; i++)
        cqes[i] = &cq->cqes[(*cq->khead + i) & cq->ring_mask];
    return n;
}

/* One piece of memory, which the kernel may refuse. */
static int ring_register(struct io_uring *ring, const struct iovec *buffers, unsigned count)
{
    if (count != 1)
        return -EINVAL;
    if (system_comes(SYSTEM_NO_RING))
        return -ENOMEM;
    ((queues *)ring->sq.ring_ptr)->registered = *buffers;
    return 0;
}

static int ring_wait(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
                     struct __kernel_timespec *timeout, sigset_t *signals)
{
    if (n != 1 || timeout != NULL || signals != NULL)
        return -EINVAL;
    while (ring_peek(ring, cqe, 1) == 0) {
        if (failures_to_come == 0 && system_comes(SYSTEM_WAIT_FAILS))
            failures_to_come = times();
        if (failures_to_come > 0) {
            failures_to_come--;
            the_system.failed_waits++;
            return -passing[world_below(system_world, 4)];
        }
        world_wait(ring);
    }
    return 0;
}

/* What was taken counts, whatever becomes of the wait; it does not come if the kernel has not taken all. */
static int ring_submit_and_wait(struct io_uring *ring, unsigned n)
{
    unsigned all = ring->sq.sqe_tail - *ring->sq.khead;
    int taken = ring_submit(ring);
    struct io_uring_cqe *cqe;

    if (taken >= 0 && (unsigned)taken == all) {
        int waited = ring_wait(ring, &cqe, n, NULL, NULL);

        if (taken == 0 && waited < 0)
            return waited;
    }
    return taken;
}

void *world_ring_function(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {
        {"io_uring_queue_init", (void (*)(void))ring_init},
        {"io_uring_queue_exit", (void (*)(void))ring_exit},
        {"io_uring_get_sqe", (void (*)(void))ring_sqe},
        {"io_uring_submit", (void (*)(void))ring_submit},
        {"io_uring_submit_and_wait", (void (*)(void))ring_submit_and_wait},
        {"io_uring_register_buffers", (void (*)(void))ring_register},
        {"io_uring_wait_cqes", (void (*)(void))ring_wait},
        {"io_uring_peek_batch_cqe", (void (*)(void))ring_peek},
    };
    void *found = NULL;

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(functions[i].name, name) == 0)
            memcpy(&found, &functions[i].function, sizeof found);
    return found;
}

/* ---- the kernel ---- */

static bool can_end(const operation *o)
{
    const uint64_t *event = o->opcode == IORING_OP_NOP ? NULL : system_event(o->fd);

    return o->state == WAITS && (event == NULL || *event > 0);
}

/* Any one that can end; events: only those that read an event. NULL: there is none. */
static operation *any_operation(bool events)
{
    operation *found[OPERATIONS];
    unsigned n = 0;

    for (operation *o = operations; o < operations + end; o++)
        if (can_end(o) && (!events || system_event(o->fd) != NULL))
            found[n++] = o;
    return n == 0 ? NULL : found[world_below(system_world, n)];
}

static int read_event(const operation *o, uint64_t *event)
{
    if (system_comes(SYSTEM_INTERRUPTS))
        return -EINTR;
    memcpy(o->buffer, event, sizeof *event);
    *event = 0;
    return sizeof *event;
}

static int perform(const operation *o)
{
    uint64_t *event = system_event(o->fd);

    if (o->opcode == IORING_OP_NOP)
        return 0;
    if (event != NULL)
        return read_event(o, event);
    if (o->opcode == IORING_OP_READ_FIXED && !o->registered)
        return -EFAULT;
    if ((o->opcode == IORING_OP_READ || o->opcode == IORING_OP_READ_FIXED) &&
        system_comes(SYSTEM_SCRIBBLES)) {
        memset(o->buffer, 0xee, world_below(system_world, o->size) + 1);
        world_yield();
    }
    return (int)system_transfer(o->fd, o->opcode == IORING_OP_WRITE, o->buffer, o->size, o->offset, true);
}

static void complete(operation *o)
{
    o->state = GOES_ON;
    o->result = perform(o);
    o->state = o->ring == NULL ? NONE : DONE;
    if (o->ring != NULL)
        show_completions(o->ring);
}

void system_kernel(void)
{
    for (;;) {
        operation *o = any_operation(false);

        if (o == NULL && stops)
            return;
        if (o == NULL) {
            world_wait(&kernel);
            continue;
        }
        system_serve();
        if (any_operation(true) == NULL)
            system_look_for_idleness();
        o = any_operation(false);
        if (o != NULL)
            complete(o);
    }
}

void system_stop(void)
{
    stops = true;
    world_wake(&kernel);
}

void world_rings_end(void)
{
    memset(operations, 0, end * sizeof operations[0]);
    end = 0;
    stops = false;
    refusals_to_come = failures_to_come = 0;
}

#else
void world_kernel_may_go_on(void) {}

void *world_ring_function(const char *name)
{
    (void)name;
    return NULL;
}

void system_kernel(void) {}

void system_stop(void) {}

void world_rings_end(void) {}
#endif
