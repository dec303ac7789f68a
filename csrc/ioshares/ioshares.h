/* SPDX-License-Identifier: PostgreSQL */
/*
 * An I/O scheduler that divides a device between classes of requests by their shares: start-time fair queueing with D
 * requests in flight. One kind, `ioshares`: its variants make schedulers that differ in which request goes next.
 *
 * Sources: Goyal, Vin and Cheng, "Start-time fair queuing", SIGCOMM 1996; Jin, Chase and Kaur, "Interposed proportional
 * sharing for a storage service utility", SIGMETRICS 2004 (SFQ(D)); Duda and Cheriton, "Borrowed-virtual-time (BVT)
 * scheduling", SOSP 1999 (warp). ref/ioshares.py is the definition.
 *
 * A scheduler lives in memory that the caller gives. It allocates nothing and has no lock: calls on one scheduler come one
 * at a time. Sizes are in bytes, times in nanoseconds. Classes count from 0; the index of a refusal counts them from 1, and
 * is 0 where none is named. A refused call changes nothing: neither the scheduler nor what the call writes to.
 */
#ifndef PGQUERN_IOSHARES_H
#define PGQUERN_IOSHARES_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum { PGQ_IOSHARES_MAX_CLASSES = 8 };

/*
 * share: 1 to 10000. While two classes have requests waiting, the service they are given is in proportion to their shares: the bytes,
 * or what pgq_ioshares_costs makes of them.
 * warp: 0 to 2^30 bytes by which the class may run ahead of its share, so that a burst of it goes before the others.
 * capacity: 1 to 2^20 requests that may wait.
 */
typedef struct pgq_ioshares_class {
    uint32_t share, warp, capacity;
} pgq_ioshares_class;

/*
 * How many requests may be in flight: `start` at first, then between least and most; 1 <= least <= start <= most <= 2^15.
 *
 * Completions are counted in windows of `window` (1 to 2^16), but of no fewer than the limit (in a probe: the limit
 * before it). The floor is the lowest mean latency of a window since the last probe, or that of the last window if the limit
 * is at its least. If the mean of a window is above 7/4 of the floor, requests queue inside the device: the limit falls to
 * limit * floor * 5/4 / mean, at least by one, and not below least; the next window, in which requests of before complete,
 * is not looked at. Otherwise, if other requests waited at some completion of the window, it rises by one, and not above
 * most. A probe, at first and after each 64 windows of which this is so, those at most included, lets half as many be in flight
 * for two windows, not below least; the mean of the second one is the floor, and the window after it is not looked at.
 *
 * target: 0, or a hint of 1 to 2^40 ns: it takes the place of 7/4 of the floor, but not below 3/2 of it and not above twice.
 */
typedef struct pgq_ioshares_limits {
    uint32_t least, start, most, window;
    uint64_t target;
} pgq_ioshares_limits;

/* id: the caller's own. size: 1 to 2^30 bytes. write: false for a read. */
typedef struct pgq_ioshares_request {
    uint64_t id;
    uint32_t size, cls;
    bool write;
} pgq_ioshares_request;

/*
 * What an operation costs its class beside its bytes, in bytes: 0 to 2^30 for each read, and for each write. A request's cost is this
 * and its size. With 0 and 0 bytes alone count. Where a volume is sold by operations and by bytes a second, it is the second divided
 * by the first: of 125 MiB and 3,000 operations a second 43,690. Then a class that takes small requests pays for the operations that
 * it uses up. It is the linear model of Linux's blk-iocost; a volume that counts both, each by itself, is charged at most twice.
 */
typedef struct pgq_ioshares_costs {
    uint32_t read, write;
} pgq_ioshares_costs;

typedef enum pgq_ioshares_what {
    PGQ_IOSHARES_SUBMITTED = 1,
    PGQ_IOSHARES_DISPATCHED = 2,
    PGQ_IOSHARES_COMPLETED = 3,
    PGQ_IOSHARES_CANCELLED = 4,
    PGQ_IOSHARES_SHARED = 5
} pgq_ioshares_what;

/*
 * A call that was not refused, and the state after it. request.id, request.size and request.write are 0 for a completion. New shares are an event
 * of each class, in order: request.size is the share then, and request.id 0.
 */
typedef struct pgq_ioshares_event {
    pgq_ioshares_request request;
    uint64_t latency; /* of a completion, at most 2^40 ns */
    uint32_t what;    /* a pgq_ioshares_what */
    uint32_t waiting, in_flight, limit;
} pgq_ioshares_event;

/* log: room for log_capacity events; the k-th event (from 0) is written to log[k % log_capacity]. NULL and 0: no log. */
typedef struct pgq_ioshares_config {
    const pgq_ioshares_class *classes;
    uint32_t class_count;
    pgq_ioshares_limits limits;
    pgq_ioshares_event *log;
    size_t log_capacity;
    pgq_ioshares_costs costs;
} pgq_ioshares_config;

/*
 * Of a class. lead: how far its service is ahead of the least that a class with requests waiting had when next() gave the
 * last request, in bytes (of cost) times the class's factor: the least common multiple of all shares, divided by its share.
 * That request counts for its own class, so every class may be ahead; 0 if it is not, and always with `fifo`. dispatched:
 * bytes of requests that have gone, modulo 2^64; charged: what these cost, modulo 2^64.
 */
typedef struct pgq_ioshares_class_state {
    uint64_t lead, dispatched, charged;
    uint32_t waiting, in_flight;
} pgq_ioshares_class_state;

/*
 * limit: how many may be in flight now; level: the same, but for probes. floor: ns; 0 until the first probe has ended. logged:
 * events so far, those included that have been written over; 0 without a log.
 */
typedef struct pgq_ioshares_state {
    uint32_t class_count, waiting, in_flight, limit, level;
    uint64_t floor;
    uint32_t window_completed;
    uint64_t window_latency;
    uint64_t logged;
    pgq_ioshares_class_state classes[PGQ_IOSHARES_MAX_CLASSES];
} pgq_ioshares_state;

typedef struct pgq_ioshares pgq_ioshares;

/* Bytes of memory for a scheduler, to *bytes. Refused: what pgq_ioshares_init refuses, except PGQ_IOSHARES_MEMORY. */
pgq_status pgq_ioshares_bytes(const pgq_ioshares_config *config, size_t *bytes);

/*
 * Makes a scheduler in `memory`, which must be aligned to 8 bytes and stay while the scheduler is used; so must the log.
 * config and config->classes are read now alone. There is no call that ends a scheduler: its memory may just go. Refused: PGQ_NULL; PGQ_IOSHARES_CLASSES; for the first class at fault PGQ_IOSHARES_SHARE, PGQ_IOSHARES_WARP,
 * PGQ_IOSHARES_CAPACITY; PGQ_IOSHARES_LIMITS, PGQ_IOSHARES_WINDOW, PGQ_IOSHARES_TARGET, PGQ_IOSHARES_COST; PGQ_IOSHARES_FACTOR if the least
 * common multiple of the shares is more than 2^30 times the least of them; PGQ_IOSHARES_MEMORY.
 *
 * The variant says which request pgq_ioshares_next takes. `sfq`: the first one of the class that has had the least service
 * for its share, less its warp; of equals that of the class with the lower number. `fifo`, the baseline: the one that came
 * first, whatever its class, as the kernel's "none" scheduler does.
 */
typedef pgq_status (*pgq_ioshares_fn)(void *memory, size_t bytes, const pgq_ioshares_config *config,
                                      pgq_ioshares **scheduler);

typedef struct pgq_ioshares_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_ioshares_fn fn;
} pgq_ioshares_variant;

extern const pgq_ioshares_variant pgq_ioshares_variants[];
extern const size_t pgq_ioshares_variant_count;

/* By the dispatched variant. */
pgq_status pgq_ioshares_init(void *memory, size_t bytes, const pgq_ioshares_config *config,
                             pgq_ioshares **scheduler);

/*
 * The request waits from now on. Refused: PGQ_NULL, PGQ_IOSHARES_CLASS, PGQ_IOSHARES_SIZE, PGQ_IOSHARES_FULL, with the
 * request's class as index.
 */
pgq_status pgq_ioshares_submit(pgq_ioshares *scheduler, const pgq_ioshares_request *request);

/*
 * Takes the request that goes to the device now, and writes it to *request. Refused: PGQ_NULL; PGQ_IOSHARES_EMPTY if none waits;
 * PGQ_IOSHARES_AT_LIMIT if as many are in flight as the limit says, or more, since it may have fallen.
 */
pgq_status pgq_ioshares_next(pgq_ioshares *scheduler, pgq_ioshares_request *request);

/*
 * The device has done a request of the class, well or not. latency: since next() gave it, in ns; more than 2^40 counts as
 * 2^40, and so does what a clock that goes backwards makes of a difference. Requests of a class are not distinguished: one that
 * is reported twice counts for another one of the class that is in flight, if there is any. Refused: PGQ_NULL;
 * PGQ_IOSHARES_CLASS; PGQ_IOSHARES_NOT_IN_FLIGHT if none of the class is in flight, with the class as index.
 */
pgq_status pgq_ioshares_complete(pgq_ioshares *scheduler, uint32_t cls, uint64_t latency);

/*
 * Takes back the oldest request of the class that has this id and waits: it will not go, and has cost its class nothing, whose
 * lead stays as it is. Takes a time in proportion to the requests of the class that wait. Refused: PGQ_NULL;
 * PGQ_IOSHARES_CLASS; PGQ_IOSHARES_NOT_WAITING, with the class as index: such a request never came, or has gone, and then
 * completes.
 */
pgq_status pgq_ioshares_cancel(pgq_ioshares *scheduler, uint32_t cls, uint64_t id);

/*
 * The classes have these shares from now on: shares[i], 1 to 10000, is that of class i, and there are as many as classes. Warps stay
 * the bytes that they were. What has gone keeps its cost; what waits costs by the share that holds when it goes, so nobody has to
 * submit again. Each class stays as many bytes ahead as it was, parts of a byte too: its lead times its new factor, divided by its old
 * one, rounded down. From now on two classes that stay backlogged divide service by the new shares, within one
 * request and the warp of each, whatever they have had before. `fifo` looks at no share. Takes a time in proportion to the classes.
 * Refused: PGQ_NULL; PGQ_IOSHARES_SHARE with the first class at fault; PGQ_IOSHARES_FACTOR.
 *
 * So do others: BFQ and blk-iocost of Linux charge what waits by the weight at dispatch; where a weight changes, EEVDF (Stoica and
 * Abdel-Wahab 1995) keeps the lag in units of service. mClock (Gulati, Merchant and Varman, OSDI 2010) tags at arrival, and there
 * what waits keeps its old tags.
 */
pgq_status pgq_ioshares_set_shares(pgq_ioshares *scheduler, const uint32_t *shares);

/* What a scheduler knows now. Refused: PGQ_NULL. */
pgq_status pgq_ioshares_look(const pgq_ioshares *scheduler, pgq_ioshares_state *state);

/* ---- on real files ---- */

/*
 * A read, or a write, of size bytes at offset; offset + size is at most 2^63 - 1. It belongs to the engine from a submit that
 * is accepted until it is done: until then it stays where it is with its buffer, and must not be submitted again, which the
 * engine does not notice. After that it may be used again; the members from done on are the engine's, and set anew.
 *
 * did: bytes that were read or written. error: 0, errno, EIO if the file ends before, or ECANCELED if it was taken back; if
 * did is more than 0, a part was done. The times are of CLOCK_MONOTONIC, in ns: submitted, gone to the file, ended; the latency that the scheduler gets
 * is from the second to the third. done: 1 once it has ended; other values are the engine's own.
 */
typedef struct pgq_ioshares_io {
    void *buffer;
    uint64_t offset;
    uint32_t size, cls;
    int fd;
    bool write;
    uint32_t done, did;
    int error;
    uint64_t submitted, went, ended;
} pgq_ioshares_io;

/* How the engine reads and writes. */
typedef enum pgq_ioshares_way {
    PGQ_IOSHARES_BY_ANY =
        0, /* by io_uring, or by threads where the kernel forbids it or liburing is missing */
    PGQ_IOSHARES_BY_URING = 1,  /* one ring, and one thread that enters it */
    PGQ_IOSHARES_BY_THREADS = 2 /* a thread for each request that may ever be in flight (limits.most) */
} pgq_ioshares_way;

typedef struct pgq_ioshares_engine pgq_ioshares_engine;

/*
 * The scheduler is the engine's until it stops: no other call of it until then. When the engine starts, nothing may wait in it or be
 * in flight. The calls below may come from any threads, and a thread that has submitted may end.
 *
 * A kernel that takes nothing from the ring for now (EAGAIN, EINTR, EBUSY, ENOMEM) is asked 100 times, within a tenth of a
 * second; then, and at once with any other error, each request that it has not taken ends with that errno, and nothing of it
 * is done. What the kernel has taken is waited for, also if that wait fails.
 * Refused: PGQ_NULL, PGQ_MEMORY, PGQ_IOSHARES_WAY, PGQ_IOSHARES_IN_USE, PGQ_IOSHARES_THREADS; PGQ_IOSHARES_URING if io_uring was
 * asked for and there is none.
 */
pgq_status pgq_ioshares_engine_start(pgq_ioshares *scheduler, pgq_ioshares_way way,
                                     pgq_ioshares_engine **engine);

/* The way that was taken: by io_uring or by threads. */
pgq_ioshares_way pgq_ioshares_engine_way(const pgq_ioshares_engine *engine);

/*
 * The request goes as soon as the scheduler lets it. Refused: as pgq_ioshares_submit; PGQ_NULL also if it has no buffer;
 * PGQ_IOSHARES_OFFSET with its class as index. Of a refused request only `done` is changed: it is 1, so that a wait for it
 * returns; without a buffer not even that. PGQ_IOSHARES_FULL: as many of the class wait as its capacity. The engine neither
 * blocks nor drops: the caller waits for one of its requests, and submits again.
 */
pgq_status pgq_ioshares_engine_submit(pgq_ioshares_engine *engine, pgq_ioshares_io *io);

/*
 * Takes back a request that was submitted, if it waits: it ends with ECANCELED, once, before the call returns; nothing of it is
 * done, went is 0, and the scheduler counts no completion. Whoever waits for it returns. A request that has gone to the file is
 * left, and ends by itself. It must not be freed while this call lasts. Takes a time in proportion to the requests of the class
 * that wait. Refused, and nothing is changed: PGQ_NULL; PGQ_IOSHARES_CLASS, PGQ_IOSHARES_NOT_WAITING, with its class as index:
 * it has gone, or is done, or was never submitted.
 */
pgq_status pgq_ioshares_engine_cancel(pgq_ioshares_engine *engine, pgq_ioshares_io *io);

/* As pgq_ioshares_set_shares: what waits goes by the new shares. Refused: as that. */
pgq_status pgq_ioshares_engine_set_shares(pgq_ioshares_engine *engine, const uint32_t *shares);

/*
 * Returns once the request, which was submitted, is done. Several threads may wait for one; it stays until all have returned.
 * For a request that was never submitted it may wait for ever. Refused: PGQ_NULL.
 */
pgq_status pgq_ioshares_engine_wait(pgq_ioshares_engine *engine, pgq_ioshares_io *io);

/*
 * Does all that waits, ends the threads, and frees the engine. Nobody submits any more, and nobody is in a call of the engine;
 * whoever waits for a request has returned. Refused: PGQ_NULL.
 */
pgq_status pgq_ioshares_engine_stop(pgq_ioshares_engine *engine);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
