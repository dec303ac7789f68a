/* SPDX-License-Identifier: PostgreSQL */
/*
 * The engine on files of the world, by threads and by an io_uring of the world. Clients submit requests, wait for their own and for
 * those of others, and leave some to the stop. What the kernel was asked for, and what it has said, is held against each request:
 * - the kernel does it once, a part after the other, from the buffer and for the place that it names;
 * - the request says what the kernel has said, or why the ring has not taken it; then the kernel has not touched its buffer;
 * - what is taken back ends once, with ECANCELED, and the kernel never hears of it; what has gone is not taken back;
 * - nobody sleeps for ever, and none while a request that may go waits;
 * - when a request is done, it and its buffer are freed at once: nobody uses them any more;
 * - the scheduler was called by one thread at a time: its log, called again from one thread, gives the same; and nothing is left behind.
 */
#include "../tests/world/system.h"
#include "common/uring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CLIENTS = 4,
    SLOTS = 4,
    ACTIONS = 14,
    FILES = 2,
    CAPACITY = 8192,
    SECTOR = 512,
    CLASSES = 3,
    MOST = 5,
    LOG = 1024,
    BEFORE = 77 /* of what the engine sets */
};
#define COUNTS(X)                                                                                            \
    X(BY_THREADS), X(NO_START), X(DONE), X(ERRORS), X(ENDS_OF_FILES), X(PARTS), X(INTERRUPTED), X(AT_LIMIT), \
        X(LIMIT_FELL), X(LIMIT_ROSE), X(FULL), X(WRONG), X(WAITS_FOR_OTHERS), X(LEFT_TO_THE_STOP),           \
        X(MACHINE_STOPS), X(BAD_DESCRIPTORS), X(TAKEN_BACK), X(TOO_LATE), X(SHARES_CHANGED), X(BAD_SHARES)
#define RING_COUNTS(X)                                                                                       \
    X(BY_URING), X(THREADS_IN_ITS_PLACE), X(GIVEN_UP), X(GIVEN_UP_IN_PART), X(FAILED_WAITS), X(TAKES_FEWER), \
        X(REFUSED)
enum { COUNTS(WORLD_NAME), RING_COUNTS(WORLD_NAME) };
#if HAVE_LIBURING
const char *const world_counts[] = {COUNTS(WORLD_TEXT), RING_COUNTS(WORLD_TEXT), NULL};
#else
const char *const world_counts[] = {COUNTS(WORLD_TEXT), NULL};
#endif
const unsigned world_steps = 4;
const bool world_tries_all_lines = true;

/* A request, and what the kernel has said of it. */
typedef struct request {
    pgq_ioshares_io io;
    int file;
    uint8_t fill;     /* of its buffer, when it was submitted */
    unsigned waiters; /* of other clients */
    uint8_t *given;   /* bytes that the kernel has read */
    uint32_t did;
    int error;
    bool taken, over, back; /* back: a cancel of it was accepted */
    uint64_t asked, told;   /* when */
} request;

typedef struct row {
    world *world;
    disk disk;
    int fds[FILES];
    pgq_ioshares_class classes[CLASSES];
    pgq_ioshares_config config;
    pgq_ioshares_way way;
    bool fifo;
    pgq_ioshares *scheduler;
    pgq_ioshares_engine *engine; /* NULL: it has not started, or could not, or has stopped */
    bool started;
    unsigned clients, working;
    request *requests[MOST_CLIENTS][SLOTS];
    uint32_t outstanding[CLASSES], submits[CLASSES]; /* submitted, and not seen to be done; ever submitted */
    uint64_t latency[CLASSES];
    unsigned shared; /* so often shares have changed */
    unsigned writes; /* submitted */
    pgq_ioshares_event log[LOG];
} row;

/* ---- what the kernel is asked for ---- */

static request *request_of(row *r, const uint8_t *buffer)
{
    for (unsigned c = 0; c < r->clients; c++)
        for (unsigned s = 0; s < SLOTS; s++) {
            request *q = r->requests[c][s];

            if (q != NULL && buffer >= (uint8_t *)q->io.buffer &&
                buffer < (uint8_t *)q->io.buffer + q->io.size)
                return q;
        }
    return NULL;
}

static bool is_filled(const uint8_t *bytes, uint64_t size, uint8_t fill)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != fill)
            return false;
    return true;
}

static void told(void *context, const system_request *said)
{
    row *r = context;
    request *q = request_of(r, said->buffer);

    if (q == NULL || q->over || q->back || said->file != q->file || said->write != q->io.write ||
        said->buffer != (uint8_t *)q->io.buffer + q->did || said->size != q->io.size - q->did ||
        said->offset != q->io.offset + q->did) {
        world_violation(r->world, "the kernel is asked for what is no request, or no longer one");
        return;
    }
    if (said->write && !is_filled(said->buffer, said->size, q->fill))
        world_violation(r->world, "a write has other bytes than its request");
    q->taken = true;
    q->told = world_now();
    if (said->result == -EINTR) {
        world_count(INTERRUPTED);
        return;
    }
    if (said->result <= 0)
        q->error = said->result < 0 ? (int)-said->result : EIO;
    else if (!said->write)
        memcpy(q->given + q->did, said->buffer, (size_t)said->result);
    q->did += said->result > 0 ? (uint32_t)said->result : 0;
    q->over = said->result <= 0 || q->did == q->io.size;
    world_count(said->result == 0 ? ENDS_OF_FILES : said->result < 0 ? ERRORS : q->over ? DONE : PARTS);
}

/* All threads sleep until the kernel has done something. */
static void idle(void *context)
{
    row *r = context;
    pgq_ioshares_state now;

    if (r->engine == NULL)
        return;
    pgq_ioshares_look(r->scheduler, &now);
    if (now.waiting > 0 && now.in_flight < now.limit)
        world_violation(r->world, "a request may go, and nobody sees to it");
}

/* ---- requests ---- */

static void check_given_up(row *r, const request *q)
{
    bool passes =
        q->io.error == EAGAIN || q->io.error == EINTR || q->io.error == EBUSY || q->io.error == ENOMEM;

    world_count(q->did > 0 ? GIVEN_UP_IN_PART : GIVEN_UP);
    if (q->io.error <= 0 || q->io.error > 63 || (the_system.refusals >> q->io.error & 1) == 0)
        world_violation(r->world, "a request of which the kernel says nothing ends with error %d",
                        q->io.error);
    if (passes && the_system.most_refused < 100)
        world_violation(r->world, "a request is given up after %u refusals", the_system.most_refused);
    if (!q->taken && !is_filled(q->io.buffer, q->io.size, q->fill))
        world_violation(r->world, "the buffer of what was not taken has changed");
}

static void check_taken_back(row *r, const request *q)
{
    if (q->taken || q->io.error != ECANCELED || q->io.did != 0 || q->io.went != 0 ||
        !is_filled(q->io.buffer, q->io.size, q->fill))
        world_violation(r->world, "what was taken back has gone, or says another error");
}

/* It is done: checks it, and frees it with its buffer. */
static void end_request(row *r, request **slot)
{
    request *q = *slot;

    if (q->io.done != 1)
        world_violation(r->world, "a request is not done");
    if (q->io.submitted < q->asked || q->io.submitted > q->io.ended || q->io.ended > world_now() ||
        (!q->back && (q->io.submitted > q->io.went || q->io.went > q->io.ended || q->told > q->io.ended)))
        world_violation(r->world, "the times of a request are in no order");
    if (q->io.did != q->did || (q->over && q->io.error != q->error))
        world_violation(r->world, "the kernel says %u bytes, error %d, and the request %u, %d", q->did,
                        q->error, q->io.did, q->io.error);
    if (q->back)
        check_taken_back(r, q);
    else if (!q->over)
        check_given_up(r, q);
    if (!q->io.write && q->did > 0 && memcmp(q->io.buffer, q->given, q->did) != 0)
        world_violation(r->world, "a buffer has not what the kernel has read");
    if (!q->back)
        r->latency[q->io.cls] += q->io.ended - q->io.went;
    r->outstanding[q->io.cls]--;
    free(q->io.buffer);
    free(q->given);
    free(q);
    *slot = NULL;
}

static request *any_request(row *r)
{
    world *w = r->world;
    request *q = calloc(1, sizeof *q);
    uint32_t size = 1 + (uint32_t)world_below(w, world_one_in(w, 3) ? 2000 : 64);

    if (q == NULL)
        abort();
    q->file = (int)world_below(w, FILES);
    q->fill = (uint8_t)(1 + world_below(w, 200));
    q->io = (pgq_ioshares_io){.buffer = malloc(size),
                              .offset = world_below(w, CAPACITY - size + 1),
                              .size = size,
                              .cls = (uint32_t)world_below(w, r->config.class_count),
                              .fd = r->fds[q->file],
                              .write = world_one_in(w, 2),
                              .did = BEFORE,
                              .error = BEFORE,
                              .submitted = BEFORE,
                              .went = BEFORE,
                              .ended = BEFORE,
                              .done = (uint32_t)world_below(w, 4)};
    q->given = malloc(size);
    if (q->io.buffer == NULL || q->given == NULL)
        abort();
    memset(q->io.buffer, q->fill, size);
    if (world_one_in(w, 30)) {
        world_count(BAD_DESCRIPTORS);
        q->io.fd = q->file = -1;
    }
    return q;
}

/* Of a refused request only `done` is changed, and a wait for it returns. */
static void end_refused(row *r, request *q)
{
    if (q->io.done != 1 || q->io.did != BEFORE || q->io.error != BEFORE || q->io.submitted != BEFORE ||
        q->io.went != BEFORE || q->io.ended != BEFORE ||
        pgq_ioshares_engine_wait(r->engine, &q->io).code != PGQ_OK)
        world_violation(r->world, "a refused request has changed");
    free(q->io.buffer);
    free(q->given);
    free(q);
}

static void submit_wrongly(row *r)
{
    request *q = any_request(r);
    pgq_code code = PGQ_IOSHARES_OFFSET;
    uint64_t way = world_below(r->world, 3);

    if (way == 0) {
        q->io.offset = (UINT64_C(1) << 63) - world_below(r->world, q->io.size);
    } else if (way == 1) {
        code = PGQ_IOSHARES_CLASS;
        q->io.cls = r->config.class_count;
    } else {
        code = PGQ_IOSHARES_SIZE;
        q->io.size = 0;
    }
    pgq_status status = pgq_ioshares_engine_submit(r->engine, &q->io);
    if (status.code != code || status.index != q->io.cls + 1)
        world_violation(r->world, "a wrong request is answered with %d, index %u", (int)status.code,
                        status.index);
    end_refused(r, q);
    world_count(WRONG);
}

static void submit(row *r, request **slot)
{
    request *q = any_request(r);

    *slot = q; /* the kernel may have it before the call returns */
    q->waiters = 1;
    bool writes = q->io.write;
    uint32_t cls = q->io.cls, before = r->outstanding[cls]++, submits = ++r->submits[cls];
    q->asked = world_now();
    pgq_status status = pgq_ioshares_engine_submit(r->engine, &q->io);
    q->waiters = 0;
    r->writes += status.code == PGQ_OK && writes;
    if (status.code == PGQ_OK)
        return;
    *slot = NULL;
    r->outstanding[cls]--;
    before += r->submits[cls] - submits;
    if (status.code != PGQ_IOSHARES_FULL || status.index != cls + 1 || before < r->classes[cls].capacity)
        world_violation(r->world, "a request is refused with %d, %u are before it", (int)status.code, before);
    world_count(FULL);
    end_refused(r, q);
}

static void wait_for(row *r, request *q)
{
    if (pgq_ioshares_engine_wait(r->engine, &q->io).code != PGQ_OK || q->io.done != 1)
        world_violation(r->world, "a wait ends before its request");
}

/* It stays while anybody waits for it. */
static void wait_for_mine(row *r, request **slot)
{
    wait_for(r, *slot);
    if ((*slot)->waiters == 0)
        end_request(r, slot);
}

static void wait_for_any(row *r)
{
    request *q = r->requests[world_below(r->world, r->clients)][world_below(r->world, SLOTS)];

    if (q == NULL || q->waiters > 0)
        return;
    world_count(WAITS_FOR_OTHERS);
    q->waiters++;
    wait_for(r, q);
    q->waiters--;
}

/* Of any client: it stays until the call has returned. Done or gone, it is left as it is. */
static void cancel_any(row *r)
{
    request *q = r->requests[world_below(r->world, r->clients)][world_below(r->world, SLOTS)];

    if (q == NULL || q->waiters > 0)
        return;
    q->waiters++;
    bool gone = q->taken;
    pgq_status status = pgq_ioshares_engine_cancel(r->engine, &q->io);
    if (status.code == PGQ_OK && (gone || q->back || q->io.done != 1))
        world_violation(r->world, "a request is taken back that has gone, or twice, or is not done then");
    if (status.code != PGQ_OK && (status.code != PGQ_IOSHARES_NOT_WAITING || status.index != q->io.cls + 1))
        world_violation(r->world, "a cancel is refused with %d", (int)status.code);
    world_count(status.code == PGQ_OK ? TAKEN_BACK : TOO_LATE);
    q->back |= status.code == PGQ_OK;
    q->waiters--;
}

static void set_shares(row *r)
{
    uint32_t shares[CLASSES];
    bool bad = world_one_in(r->world, 8);

    for (unsigned i = 0; i < CLASSES; i++)
        shares[i] = 1 + (uint32_t)world_below(r->world, 9);
    if (bad)
        shares[r->config.class_count - 1] = world_one_in(r->world, 2) ? 0 : 10001;
    pgq_status status = pgq_ioshares_engine_set_shares(r->engine, shares);
    if (status.code != (bad ? PGQ_IOSHARES_SHARE : PGQ_OK) ||
        status.index != (bad ? r->config.class_count : 0))
        world_violation(r->world, "new shares are answered with %d, index %u", (int)status.code,
                        status.index);
    if (bad)
        world_count(BAD_SHARES);
    else
        r->shared++;
}

/* ---- threads ---- */

static void work(row *r, unsigned number)
{
    world *w = r->world;

    for (unsigned i = 0; i < ACTIONS && !w->violated; i++) {
        request **slot = &r->requests[number][world_below(w, SLOTS)];

        if (world_one_in(w, 5))
            wait_for_any(r);
        else if (world_one_in(w, 8))
            cancel_any(r);
        else if (world_one_in(w, 20))
            submit_wrongly(r);
        else if (world_one_in(w, 16))
            set_shares(r);
        else if (*slot == NULL)
            submit(r, slot);
        else if (world_one_in(w, 2))
            wait_for_mine(r, slot);
    }
    for (unsigned i = 0, leaves = (unsigned)world_below(w, 2); i < SLOTS && !leaves; i++)
        if (r->requests[number][i] != NULL)
            wait_for_mine(r, &r->requests[number][i]);
}

static void check_start(row *r, pgq_status status)
{
    pgq_ioshares_way way = status.code == PGQ_OK ? pgq_ioshares_engine_way(r->engine) : PGQ_IOSHARES_BY_ANY;
    bool no_ring = !HAVE_LIBURING || the_system.no_ring != 0 || the_system.no_descriptor != 0;

    if (status.code == PGQ_OK) {
        world_count(way == PGQ_IOSHARES_BY_URING ? BY_URING : BY_THREADS);
        if (way != r->way && r->way != PGQ_IOSHARES_BY_ANY)
            world_violation(r->world, "another way was taken");
        if (way == PGQ_IOSHARES_BY_THREADS && r->way == PGQ_IOSHARES_BY_ANY) {
            world_count(THREADS_IN_ITS_PLACE);
            if (!no_ring)
                world_violation(r->world, "threads, though there is a ring");
        }
        return;
    }
    world_count(NO_START);
    if (r->engine != NULL || status.index != 0 ||
        !((status.code == PGQ_MEMORY && the_system.no_memory > 0) ||
          (status.code == PGQ_IOSHARES_THREADS && the_system.no_thread > 0) ||
          (status.code == PGQ_IOSHARES_URING && no_ring && r->way == PGQ_IOSHARES_BY_URING)))
        world_violation(r->world, "the start is refused with %d", (int)status.code);
}

static void stop(row *r)
{
    pgq_ioshares_engine *engine = r->engine;

    for (unsigned c = 0; c < r->clients; c++)
        for (unsigned s = 0; s < SLOTS; s++)
            if (r->requests[c][s] != NULL)
                world_count(LEFT_TO_THE_STOP);
    if (pgq_ioshares_engine_stop(engine).code != PGQ_OK)
        world_violation(r->world, "the stop is refused");
    r->engine = NULL;
    for (unsigned c = 0; c < r->clients; c++)
        for (unsigned s = 0; s < SLOTS; s++)
            if (r->requests[c][s] != NULL)
                end_request(r, &r->requests[c][s]);
}

/* The first one starts and stops the engine. */
static void client(row *r, unsigned number)
{
    if (number == 0) {
        check_start(r, pgq_ioshares_engine_start(r->scheduler, r->way, &r->engine));
        r->started = true;
        world_wake(&r->started);
    }
    while (!r->started)
        world_wait(&r->started);
    if (r->engine != NULL)
        work(r, number);
    r->working--;
    world_wake(&r->working);
    while (number == 0 && r->working > 0)
        world_wait(&r->working);
    if (number == 0 && r->engine != NULL && !r->world->violated)
        stop(r);
    if (number == 0)
        system_stop();
}

static void run(void *argument, unsigned number)
{
    row *r = argument;

    if (number == r->clients)
        system_kernel();
    else
        client(r, number);
}

/* ---- an engine ---- */

static void configure(row *r)
{
    world *w = r->world;
    uint32_t most = 1 + (uint32_t)world_below(w, MOST), start = 1 + (uint32_t)world_below(w, most);

    for (unsigned i = 0; i < CLASSES; i++)
        r->classes[i] =
            (pgq_ioshares_class){1 + (uint32_t)world_below(w, 9), (uint32_t)world_below(w, 2) * 3000,
                                 1 + (uint32_t)world_below(w, 5)};
    r->config = (pgq_ioshares_config){
        .classes = r->classes,
        .class_count = 1 + (uint32_t)world_below(w, CLASSES),
        .limits = {1 + (uint32_t)world_below(w, start), start, most, 1 + (uint32_t)world_below(w, 6),
                   world_below(w, 2) * world_below(w, 1000000)},
        .costs = {(uint32_t)world_below(w, 2) * 100, (uint32_t)world_below(w, 2) * 5000}};
    r->fifo = world_one_in(w, 3);
    r->way = (pgq_ioshares_way)world_below(w, 3);
    r->clients = 1 + (unsigned)world_below(w, MOST_CLIENTS);
}

/* NULL: none could be made. */
static void *make_scheduler(row *r, pgq_ioshares_event *log, pgq_ioshares **scheduler)
{
    pgq_ioshares_config config = r->config;
    size_t bytes = 0;
    void *memory = NULL;

    config.log = log;
    config.log_capacity = log == NULL ? 0 : LOG;
    pgq_status status = pgq_ioshares_bytes(&config, &bytes);
    for (size_t i = 0; i < pgq_ioshares_variant_count; i++)
        if (strcmp(pgq_ioshares_variants[i].name, r->fifo ? "fifo" : "sfq") == 0) {
            memory = malloc(bytes);
            status = pgq_ioshares_variants[i].fn(memory, bytes, &config, scheduler);
        }
    if (status.code != PGQ_OK)
        world_violation(r->world, "no scheduler: %d", (int)status.code);
    return memory;
}

typedef struct twin {
    pgq_ioshares *scheduler;
    uint32_t shares[CLASSES], told; /* of so many classes */
    uint64_t latency[CLASSES];
    unsigned shared, writes;
} twin;

/* The call that an event is of, again: false if it is refused, or another request goes. */
static bool call_again(twin *t, const row *r, const pgq_ioshares_event *e)
{
    pgq_ioshares_request went;

    if (t->told > 0 && e->what != PGQ_IOSHARES_SHARED)
        return false;
    switch (e->what) {
    case PGQ_IOSHARES_SUBMITTED:
        t->writes += e->request.write;
        return pgq_ioshares_submit(t->scheduler, &e->request).code == PGQ_OK;
    case PGQ_IOSHARES_DISPATCHED:
        return pgq_ioshares_next(t->scheduler, &went).code == PGQ_OK && went.id == e->request.id &&
               went.cls == e->request.cls && went.size == e->request.size && went.write == e->request.write;
    case PGQ_IOSHARES_CANCELLED:
        return pgq_ioshares_cancel(t->scheduler, e->request.cls, e->request.id).code == PGQ_OK;
    case PGQ_IOSHARES_SHARED:
        if (e->request.cls != t->told)
            return false;
        t->shares[t->told++] = e->request.size;
        if (t->told < r->config.class_count)
            return true;
        t->told = 0;
        t->shared++;
        world_count(SHARES_CHANGED);
        return pgq_ioshares_set_shares(t->scheduler, t->shares).code == PGQ_OK;
    default:
        t->latency[e->request.cls] += e->latency;
        return pgq_ioshares_complete(t->scheduler, e->request.cls, e->latency).code == PGQ_OK;
    }
}

static void replay(row *r, twin *t, uint64_t logged)
{
    pgq_ioshares_state before, now;

    for (uint64_t i = 0; i < logged; i++) {
        const pgq_ioshares_event *e = &r->log[i];

        pgq_ioshares_look(t->scheduler, &before);
        bool same = call_again(t, r, e);
        pgq_ioshares_look(t->scheduler, &now);
        if (!same || now.waiting != e->waiting || now.in_flight != e->in_flight || now.limit != e->limit)
            world_violation(r->world, "event %llu of the log is not what the calls before it make of it",
                            (unsigned long long)i);
        if (e->what == PGQ_IOSHARES_DISPATCHED && now.in_flight == now.limit)
            world_count(AT_LIMIT);
        if (now.level != before.level)
            world_count(now.level < before.level ? LIMIT_FELL : LIMIT_ROSE);
    }
}

static void judge_all(row *r)
{
    twin t = {.told = 0};
    pgq_ioshares_state end;
    void *memory = make_scheduler(r, NULL, &t.scheduler);

    pgq_ioshares_look(r->scheduler, &end);
    if (end.logged > LOG)
        world_violation(r->world, "the log is too short");
    else
        replay(r, &t, end.logged);
    if (end.waiting + end.in_flight != 0)
        world_violation(r->world, "%u requests wait, and %u are in flight", end.waiting, end.in_flight);
    for (unsigned c = 0; c < CLASSES; c++)
        if (t.latency[c] != r->latency[c])
            world_violation(r->world, "the scheduler was told other latencies than the requests have");
    if (the_system.most_doing > r->config.limits.most)
        world_violation(r->world, "the kernel has %u requests at once", the_system.most_doing);
    if (the_system.slept_in_100 > 100000000)
        world_violation(r->world, "a kernel that takes nothing is asked for longer than a tenth of a second");
    if (t.writes != r->writes)
        world_violation(r->world, "%u writes were submitted, and the log says %u", r->writes, t.writes);
    if (t.shared != r->shared || t.told != 0)
        world_violation(r->world, "shares have changed %u times, and the log says %u", r->shared, t.shared);
    free(memory);
}

static void one_engine(row *r)
{
    world *w = r->world;
    bool stops = world_comes(w, WORLD_POWER_LOSS) || world_comes(w, WORLD_KILL);

    configure(r);
    void *memory = make_scheduler(r, r->log, &r->scheduler);
    if (stops)
        disk_stop_after(&r->disk, 1 + world_below(w, 60));
    memset(r->outstanding, 0, sizeof r->outstanding);
    memset(r->latency, 0, sizeof r->latency);
    r->shared = r->writes = 0;
    r->started = false;
    r->working = r->clients;
    r->engine = NULL;
    world_run_threads(w, r->clients + 1, run, r);
    if (r->disk.stopped)
        world_count(MACHINE_STOPS);
    if (!w->violated)
        judge_all(r);
    for (; the_system.failed_waits > 0; the_system.failed_waits--)
        world_count(FAILED_WAITS);
    if (the_system.fewer > 0)
        world_count(TAKES_FEWER);
    if (the_system.refusals != 0)
        world_count(REFUSED);
    disk_start(&r->disk, true);
    free(memory);
}

void *world_begin(world *w)
{
    row *r = calloc(1, sizeof *r);

    if (r == NULL)
        abort();
    r->world = w;
    disk_make(&r->disk, w, SECTOR, FILES, (uint64_t[]){CAPACITY, CAPACITY});
    r->disk.quiet = true;
    for (int file = 0; file < FILES; file++)
        for (uint64_t at = 0; at < world_below(w, CAPACITY); at += SECTOR)
            disk_write(&r->disk, file, (uint64_t[SECTOR / 8]){world_random(w)}, SECTOR, at);
    r->disk.quiet = false;
    return r;
}

void world_step(void *context, world *w, unsigned step)
{
    row *r = context;

    (void)step;
    system_begin(w, &r->disk, (system_row){r, told, idle});
    for (int file = 0; file < FILES; file++)
        r->fds[file] = system_open(file);
    one_engine(r);
    for (int file = 0; file < FILES; file++)
        world_close(r->fds[file]);
    if (!w->violated)
        system_end(w);
}

void world_end(void *context, world *w)
{
    row *r = context;

    (void)w;
    disk_free(&r->disk);
    free(r);
}
