/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: any bytes are read as a configuration and as calls. Every variant gets them, and each answer must be
 * that of the plain definition below, which has tags of 128 bits and never subtracts the virtual time. The scheduler has
 * memory of exactly its size, so that AddressSanitizer sees an access beyond.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODES = 100, MOST_WAITING = 64, SENTINEL = 0x5A };

typedef unsigned __int128 wide;

static unsigned long long answers[CODES], probes, shared;

__attribute__((destructor)) static void print_tally(void)
{
    fprintf(
        stderr,
        "tally: done=%llu SHARE=%llu FACTOR=%llu WARP=%llu CAPACITY=%llu LIMITS=%llu WINDOW=%llu TARGET=%llu "
        "COST=%llu CLASS=%llu SIZE=%llu FULL=%llu EMPTY=%llu AT_LIMIT=%llu NOT_IN_FLIGHT=%llu "
        "NOT_WAITING=%llu "
        "probes=%llu shared=%llu\n",
        answers[PGQ_OK], answers[PGQ_IOSHARES_SHARE], answers[PGQ_IOSHARES_FACTOR],
        answers[PGQ_IOSHARES_WARP], answers[PGQ_IOSHARES_CAPACITY], answers[PGQ_IOSHARES_LIMITS],
        answers[PGQ_IOSHARES_WINDOW], answers[PGQ_IOSHARES_TARGET], answers[PGQ_IOSHARES_COST],
        answers[PGQ_IOSHARES_CLASS], answers[PGQ_IOSHARES_SIZE], answers[PGQ_IOSHARES_FULL],
        answers[PGQ_IOSHARES_EMPTY], answers[PGQ_IOSHARES_AT_LIMIT], answers[PGQ_IOSHARES_NOT_IN_FLIGHT],
        answers[PGQ_IOSHARES_NOT_WAITING], probes, shared);
}

/* ---- the input ------------------------------------------------------------------------------------------------ */

typedef struct reader {
    const uint8_t *data;
    size_t left;
} reader;

static uint8_t byte(reader *r)
{
    if (r->left == 0)
        return 0;
    r->left--;
    return *r->data++;
}

/* ---- the plain definition ------------------------------------------------------------------------------------- */

typedef struct plain_flow {
    wide tag, warp;
    uint64_t factor;
    pgq_ioshares_request waiting[MOST_WAITING];
    uint64_t arrival[MOST_WAITING];
    uint32_t count, capacity, in_flight, warp_bytes;
    uint64_t charged;
} plain_flow;

typedef struct plain {
    plain_flow flows[PGQ_IOSHARES_MAX_CLASSES];
    uint32_t class_count, waiting, in_flight, level, completed, age;
    bool fifo, pressed, probing, settling;
    uint64_t floor;
    uint64_t latency, arrivals;
    wide virtual_time;
    pgq_ioshares_limits limits;
    pgq_ioshares_costs costs;
} plain;

static wide multiple_of(const uint32_t *shares, uint32_t n)
{
    wide multiple = 1;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t whole = shares[i], rest = (uint32_t)(multiple % shares[i]);

        /* Euclid: `whole` ends as the greatest number that divides both. */
        while (rest != 0) {
            uint32_t next = whole % rest;

            whole = rest;
            rest = next;
        }
        multiple *= shares[i] / whole;
    }
    return multiple;
}

static pgq_code shares_fault(const uint32_t *shares, uint32_t n)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++) {
        if (shares[i] < 1 || shares[i] > 10000)
            return PGQ_IOSHARES_SHARE;
        least = shares[i] < least ? shares[i] : least;
    }
    return multiple_of(shares, n) > ((wide)1 << 30) * least ? PGQ_IOSHARES_FACTOR : PGQ_OK;
}

static pgq_code config_fault(const pgq_ioshares_config *config)
{
    const pgq_ioshares_limits *l = &config->limits;
    uint32_t shares[PGQ_IOSHARES_MAX_CLASSES];

    for (uint32_t i = 0; i < config->class_count; i++) {
        const pgq_ioshares_class *c = &config->classes[i];

        if (c->share < 1 || c->share > 10000)
            return PGQ_IOSHARES_SHARE;
        if (c->warp > 1 << 30)
            return PGQ_IOSHARES_WARP;
        if (c->capacity < 1 || c->capacity > 1 << 20)
            return PGQ_IOSHARES_CAPACITY;
        shares[i] = c->share;
    }
    if (!(1 <= l->least && l->least <= l->start && l->start <= l->most && l->most <= 1 << 15))
        return PGQ_IOSHARES_LIMITS;
    if (l->window < 1 || l->window > 1 << 16)
        return PGQ_IOSHARES_WINDOW;
    if (l->target > UINT64_C(1) << 40)
        return PGQ_IOSHARES_TARGET;
    if (config->costs.read > 1 << 30 || config->costs.write > 1 << 30)
        return PGQ_IOSHARES_COST;
    return shares_fault(shares, config->class_count);
}

static pgq_code plain_share(plain *p, const uint32_t *shares)
{
    pgq_code fault = shares_fault(shares, p->class_count);
    wide multiple = fault == PGQ_OK ? multiple_of(shares, p->class_count) : 0;

    for (uint32_t i = 0; fault == PGQ_OK && i < p->class_count; i++) {
        plain_flow *f = &p->flows[i];
        wide ahead = f->tag > p->virtual_time ? f->tag - p->virtual_time : 0;

        /* Ahead by so many bytes, at the new price of one. */
        f->tag = p->virtual_time + (f->factor == 0 ? 0 : ahead * (multiple / shares[i]) / f->factor);
        f->factor = (uint64_t)(multiple / shares[i]);
        f->warp = (wide)f->factor * f->warp_bytes;
    }
    return fault;
}

static void plain_make(plain *p, const pgq_ioshares_config *config, bool fifo)
{
    uint32_t shares[PGQ_IOSHARES_MAX_CLASSES];

    memset(p, 0, sizeof *p);
    p->class_count = config->class_count;
    p->limits = config->limits;
    p->costs = config->costs;
    p->level = config->limits.start;
    p->probing = p->settling = true;
    p->fifo = fifo;
    for (uint32_t i = 0; i < p->class_count; i++) {
        shares[i] = config->classes[i].share;
        p->flows[i].warp_bytes = config->classes[i].warp;
        p->flows[i].capacity = config->classes[i].capacity;
    }
    plain_share(p, shares);
}

static pgq_code plain_submit(plain *p, const pgq_ioshares_request *request)
{
    if (request->cls >= p->class_count)
        return PGQ_IOSHARES_CLASS;
    plain_flow *f = &p->flows[request->cls];
    if (request->size < 1 || request->size > 1 << 30)
        return PGQ_IOSHARES_SIZE;
    if (f->count == f->capacity)
        return PGQ_IOSHARES_FULL;
    if (f->count == 0 && f->tag < p->virtual_time)
        f->tag = p->virtual_time;
    f->arrival[f->count] = p->arrivals++;
    f->waiting[f->count++] = *request;
    p->waiting++;
    return PGQ_OK;
}

static uint32_t plain_limit(const plain *p)
{
    uint32_t limit = p->probing ? p->level / 2 : p->level;

    return limit < p->limits.least ? p->limits.least : limit;
}

static pgq_code plain_cancel(plain *p, uint32_t cls, uint64_t id)
{
    if (cls >= p->class_count)
        return PGQ_IOSHARES_CLASS;
    plain_flow *f = &p->flows[cls];
    for (uint32_t i = 0; i < f->count; i++)
        if (f->waiting[i].id == id) {
            f->count--;
            p->waiting--;
            memmove(f->waiting + i, f->waiting + i + 1, (f->count - i) * sizeof f->waiting[0]);
            memmove(f->arrival + i, f->arrival + i + 1, (f->count - i) * sizeof f->arrival[0]);
            return PGQ_OK;
        }
    return PGQ_IOSHARES_NOT_WAITING;
}

/* Whether the first request of a goes before that of b. */
static bool goes_before(const plain *p, const plain_flow *a, const plain_flow *b)
{
    return p->fifo ? a->arrival[0] < b->arrival[0] : a->tag + b->warp < b->tag + a->warp;
}

static pgq_code plain_next(plain *p, pgq_ioshares_request *request)
{
    plain_flow *chosen = NULL;
    wide least = ~(wide)0;

    if (p->waiting == 0)
        return PGQ_IOSHARES_EMPTY;
    if (p->in_flight >= plain_limit(p))
        return PGQ_IOSHARES_AT_LIMIT;
    for (uint32_t i = 0; i < p->class_count; i++) {
        plain_flow *f = &p->flows[i];

        if (f->count == 0)
            continue;
        if (chosen == NULL || goes_before(p, f, chosen))
            chosen = f;
        least = f->tag < least ? f->tag : least;
    }
    *request = chosen->waiting[0];
    uint64_t cost = (uint64_t)request->size + (request->write ? p->costs.write : p->costs.read);
    chosen->charged += cost;
    if (!p->fifo) {
        p->virtual_time = least;
        chosen->tag += (wide)chosen->factor * cost;
    }
    chosen->count--;
    memmove(chosen->waiting, chosen->waiting + 1, chosen->count * sizeof chosen->waiting[0]);
    memmove(chosen->arrival, chosen->arrival + 1, chosen->count * sizeof chosen->arrival[0]);
    chosen->in_flight++;
    p->waiting--;
    p->in_flight++;
    return PGQ_OK;
}

/* Half of a probe's limit shows the floor; above 7/4 of it, or a target from 6/4 to 8/4, the limit falls. */
static void plain_window(plain *p, wide mean)
{
    wide bound = p->limits.target;

    if (p->settling) {
        p->settling = false;
        return;
    }
    if (p->probing) {
        p->probing = false;
        p->settling = true;
        p->floor = (uint64_t)mean;
        p->age = 0;
        return;
    }
    if (p->level == p->limits.least || mean < p->floor)
        p->floor = (uint64_t)mean;
    if (bound == 0)
        bound = (wide)p->floor * 7 / 4;
    if (bound < (wide)p->floor * 6 / 4)
        bound = (wide)p->floor * 6 / 4;
    if (bound > (wide)p->floor * 2)
        bound = (wide)p->floor * 2;
    if (mean > bound) {
        wide level = (wide)p->level * p->floor * 5 / (4 * mean);

        level = level > p->level - 1 ? p->level - 1 : level;
        p->level = level < p->limits.least ? p->limits.least : (uint32_t)level;
        p->settling = true;
    } else if (p->pressed) {
        p->level += p->level < p->limits.most;
        p->probing = p->settling = ++p->age == 64;
        probes += p->probing;
    }
}

static pgq_code plain_complete(plain *p, uint32_t cls, uint64_t latency)
{
    if (cls >= p->class_count)
        return PGQ_IOSHARES_CLASS;
    if (p->flows[cls].in_flight == 0)
        return PGQ_IOSHARES_NOT_IN_FLIGHT;
    p->flows[cls].in_flight--;
    p->in_flight--;
    p->completed++;
    p->latency += latency < UINT64_C(1) << 40 ? latency : UINT64_C(1) << 40;
    p->pressed = p->pressed || p->waiting > 0;
    if (p->completed < p->limits.window || p->completed < p->level)
        return PGQ_OK;
    plain_window(p, p->latency / p->completed);
    p->completed = 0;
    p->latency = 0;
    p->pressed = false;
    return PGQ_OK;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void agree(pgq_code wanted, pgq_status got)
{
    require(got.code == wanted);
    answers[wanted]++;
}

static void same_state(const plain *p, const pgq_ioshares *s)
{
    pgq_ioshares_state state;

    require(pgq_ioshares_look(s, &state).code == PGQ_OK);
    require(state.waiting == p->waiting && state.in_flight == p->in_flight && state.limit == plain_limit(p));
    require(state.level == p->level && state.floor == p->floor);
    require(state.window_completed == p->completed && state.window_latency == p->latency);
    for (uint32_t i = 0; i < p->class_count; i++) {
        const plain_flow *f = &p->flows[i];

        require(state.classes[i].lead == (f->tag > p->virtual_time ? f->tag - p->virtual_time : 0));
        require(state.classes[i].charged == f->charged);
        require(state.classes[i].waiting == f->count && state.classes[i].in_flight == f->in_flight);
    }
}

/* Many quick ones, with others that wait: the limit grows, and a probe comes. */
static void many(plain *p, pgq_ioshares *s, uint64_t id, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        pgq_ioshares_request request = {id, 1, 0, false}, wanted = {0}, got = {0};

        agree(plain_submit(p, &request), pgq_ioshares_submit(s, &request));
        agree(plain_next(p, &wanted), pgq_ioshares_next(s, &got));
        require(got.id == wanted.id && got.cls == wanted.cls);
        agree(plain_complete(p, got.cls, 3), pgq_ioshares_complete(s, got.cls, 3));
        same_state(p, s);
    }
}

/* To others of a few, by a number; one of them is no share. */
static void change_shares(plain *p, pgq_ioshares *s, uint32_t number)
{
    static const uint32_t some[] = {1, 2, 3, 500, 9967, 9973, 10000, 10001};
    uint32_t shares[PGQ_IOSHARES_MAX_CLASSES];

    for (uint32_t i = 0; i < p->class_count; i++, number = number * 5 + 3)
        shares[i] = some[number / 7 % (number % 16 == 0 ? 8 : 7)];
    pgq_code wanted = plain_share(p, shares);
    agree(wanted, pgq_ioshares_set_shares(s, shares));
    shared += wanted == PGQ_OK;
}

static void run(plain *p, pgq_ioshares *s, reader r)
{
    static const uint32_t sizes[] = {1, 2,         3, 8192, UINT32_C(1) << 30, (UINT32_C(1) << 30) + 1,
                                     0, UINT32_MAX};
    static const uint64_t latencies[] = {0, 1, 5, 100, UINT64_C(1) << 40, UINT64_MAX};

    bool had_many = false; /* once is enough for a probe; more of them make inputs that take a second each */

    for (uint64_t id = 0; r.left > 0; id++) {
        uint8_t what = byte(&r), detail = byte(&r);
        uint32_t cls = what / 4 % (p->class_count + (what >= 250));

        if (what == 255 && !had_many) {
            had_many = true;
            many(p, s, id, 4 * (uint32_t)detail);
        } else if (what % 4 == 2 && detail % 8 == 7) {
            uint64_t of = id < detail / 8 ? 0 : id - detail / 8;

            agree(plain_cancel(p, cls, of), pgq_ioshares_cancel(s, cls, of));
        } else if (what % 4 == 3 && detail % 16 == 15) {
            change_shares(p, s, (uint32_t)(what / 4 * 16 + detail / 16));
        } else if (what % 4 < 2) {
            /* Sizes that are refused are rarer. */
            pgq_ioshares_request request = {id, sizes[detail % (detail < 32 ? 8 : 5)], cls,
                                            detail / 64 % 2 == 1};

            agree(plain_submit(p, &request), pgq_ioshares_submit(s, &request));
        } else if (what % 4 == 2) {
            pgq_ioshares_request wanted = {id, detail, what, false},
                                 got = wanted; /* and so they stay if refused */

            agree(plain_next(p, &wanted), pgq_ioshares_next(s, &got));
            require(got.id == wanted.id && got.size == wanted.size && got.cls == wanted.cls &&
                    got.write == wanted.write);
        } else {
            agree(plain_complete(p, cls, latencies[detail % 6]),
                  pgq_ioshares_complete(s, cls, latencies[detail % 6]));
        }
        same_state(p, s);
    }
}

/* A configuration; one input in eight has one thing out of its range, if that is what its byte says. */
static pgq_ioshares_config configuration(reader *r, pgq_ioshares_class *classes)
{
    static const uint32_t shares[] = {1, 2, 3, 5, 100, 200, 500, 9967, 9973, 10000};
    static const uint32_t warps[] = {0, 0, 2, 8192, UINT32_C(1) << 30};
    uint8_t bad = byte(r);
    pgq_ioshares_config config = {.classes = classes, .class_count = 1 + byte(r) % PGQ_IOSHARES_MAX_CLASSES};

    for (uint32_t i = 0; i < config.class_count; i++)
        classes[i] =
            (pgq_ioshares_class){shares[byte(r) % 10], warps[byte(r) % 5], 1 + byte(r) % MOST_WAITING};
    config.limits.least = 1 + byte(r) % 4;
    config.limits.start = config.limits.least + byte(r) % 20;
    config.limits.most = config.limits.start + byte(r) % 4;
    config.limits.window = 1 + byte(r) % 4;
    config.limits.target = (uint64_t[]){0, 0, 4, UINT64_C(1) << 40}[byte(r) % 4];
    config.costs.read = (uint32_t[]){0, 0, 3, UINT32_C(1) << 30}[bad / 8 % 4];
    config.costs.write = (uint32_t[]){0, 0, 5, UINT32_C(1) << 30}[bad / 32 % 4];
    switch (bad % 64) {
    case 0:
        classes[0].share = byte(r) % 2 ? 0 : 10001;
        break;
    case 1:
        classes[0].warp = (UINT32_C(1) << 30) + 1;
        break;
    case 2:
        classes[0].capacity = byte(r) % 2 ? 0 : (UINT32_C(1) << 20) + 1;
        break;
    case 3:
        config.limits.least = byte(r) % 2 ? 0 : config.limits.start + 1;
        break;
    case 4:
        config.limits.most = (UINT32_C(1) << 15) + 1;
        break;
    case 5:
        config.limits.window = byte(r) % 2 ? 0 : (UINT32_C(1) << 16) + 1;
        break;
    case 6:
        config.limits.target = (UINT64_C(1) << 40) + 1;
        break;
    case 7:
        config.costs = byte(r) % 2 ? (pgq_ioshares_costs){UINT32_MAX, 0}
                                   : (pgq_ioshares_costs){0, (UINT32_C(1) << 30) + 1};
        break;
    }
    return config;
}

/* Each variant refuses a configuration, and touches neither the memory nor the pointer. */
static void refuses_everywhere(const pgq_ioshares_config *config, pgq_code fault)
{
    uint64_t memory[64], before[64];
    pgq_ioshares *const sentinel = (pgq_ioshares *)before;

    memset(memory, SENTINEL, sizeof memory);
    memcpy(before, memory, sizeof memory);
    for (size_t v = 0; v < pgq_ioshares_variant_count; v++) {
        pgq_ioshares *s = sentinel;

        require(pgq_ioshares_variants[v].fn(memory, sizeof memory, config, &s).code == fault);
        require(s == sentinel && memcmp(memory, before, sizeof memory) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static plain p;
    pgq_ioshares_class classes[PGQ_IOSHARES_MAX_CLASSES];
    reader r = {data, size < 250 ? size : 250};
    pgq_ioshares_config config = configuration(&r, classes);
    pgq_code fault = config_fault(&config);
    size_t bytes = SENTINEL;

    agree(fault, pgq_ioshares_bytes(&config, &bytes));
    if (fault != PGQ_OK) {
        require(bytes == SENTINEL);
        refuses_everywhere(&config, fault);
        return 0;
    }
    for (size_t v = 0; v < pgq_ioshares_variant_count; v++) {
        pgq_ioshares *s;
        void *memory = malloc(bytes);

        require(memory != NULL);
        require(pgq_ioshares_variants[v].fn(memory, bytes, &config, &s).code == PGQ_OK);
        plain_make(&p, &config, strcmp(pgq_ioshares_variants[v].name, "fifo") == 0);
        run(&p, s, r);
        free(memory);
    }
    return 0;
}
