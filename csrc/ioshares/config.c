/* SPDX-License-Identifier: PostgreSQL */
/* From a configuration to a scheduler: its checks, its factors, its memory. */
#include "ioshares/scheduler.h"

#include "common/holds.h"

#include <string.h>

static bool is_share(uint32_t share)
{
    return share >= 1 && share <= MAX_SHARE;
}

static pgq_code class_fault(const pgq_ioshares_class *c)
{
    if (!is_share(c->share))
        return PGQ_IOSHARES_SHARE;
    if (c->warp > MAX_BYTES)
        return PGQ_IOSHARES_WARP;
    return c->capacity == 0 || c->capacity > MAX_CAPACITY ? PGQ_IOSHARES_CAPACITY : PGQ_OK;
}

static pgq_code limits_fault(const pgq_ioshares_limits *l)
{
    if (l->least == 0 || l->least > l->start || l->start > l->most || l->most > MAX_LIMIT)
        return PGQ_IOSHARES_LIMITS;
    if (l->window == 0 || l->window > MAX_WINDOW)
        return PGQ_IOSHARES_WINDOW;
    return l->target > MAX_LATENCY ? PGQ_IOSHARES_TARGET : PGQ_OK;
}

static pgq_code costs_fault(const pgq_ioshares_costs *costs)
{
    return costs->read > MAX_BYTES || costs->write > MAX_BYTES ? PGQ_IOSHARES_COST : PGQ_OK;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The least common multiple of the shares; 0 if it is more than MAX_FACTOR times the least share. Below 2^58 on the way. */
static uint64_t common_multiple(const uint32_t *shares, uint32_t count)
{
    uint64_t multiple = 1, least = MAX_SHARE;

    for (uint32_t i = 0; i < count; i++)
        least = shares[i] < least ? shares[i] : least;
    for (uint32_t i = 0; i < count; i++) {
        multiple *= shares[i] / common_divisor(multiple, shares[i]);
        if (multiple > MAX_FACTOR * least)
            return 0;
    }
    return multiple;
}

static pgq_status shares_status(const uint32_t *shares, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_share(shares[i]))
            return refused(PGQ_IOSHARES_SHARE, i + 1);
    return common_multiple(shares, count) == 0 ? refused(PGQ_IOSHARES_FACTOR, 0) : accepted();
}

static void shares_of(const pgq_ioshares_config *config, uint32_t *shares)
{
    for (uint32_t i = 0; i < config->class_count; i++)
        shares[i] = config->classes[i].share;
}

static pgq_status config_status(const pgq_ioshares_config *config)
{
    uint32_t shares[PGQ_IOSHARES_MAX_CLASSES];
    pgq_code fault;

    if (config->classes == NULL || (config->log == NULL && config->log_capacity != 0))
        return refused(PGQ_NULL, 0);
    if (config->class_count == 0 || config->class_count > PGQ_IOSHARES_MAX_CLASSES)
        return refused(PGQ_IOSHARES_CLASSES, 0);
    for (uint32_t i = 0; i < config->class_count; i++)
        if ((fault = class_fault(&config->classes[i])) != PGQ_OK)
            return refused(fault, i + 1);
    if ((fault = limits_fault(&config->limits)) != PGQ_OK)
        return refused(fault, 0);
    if ((fault = costs_fault(&config->costs)) != PGQ_OK)
        return refused(fault, 0);
    shares_of(config, shares);
    return shares_status(shares, config->class_count);
}

static size_t bytes_of(const pgq_ioshares_config *config)
{
    size_t bytes = sizeof(pgq_ioshares);

    for (uint32_t i = 0; i < config->class_count; i++)
        bytes += config->classes[i].capacity * sizeof(waiting_request);
    return bytes;
}

pgq_status pgq_ioshares_bytes(const pgq_ioshares_config *config, size_t *bytes)
{
    if (config == NULL || bytes == NULL)
        return refused(PGQ_NULL, 0);
    pgq_status status = config_status(config);
    if (status.code == PGQ_OK)
        *bytes = bytes_of(config);
    return status;
}

/* So many bytes times another factor; rounded down, by less than a byte. A lead is a warp and a request at most: 3 * 2^60. */
static uint64_t with_factor(uint64_t lead, uint64_t from, uint64_t to)
{
    return lead / from * to + lead % from * to / from;
}

/*
 * From now on the classes have these shares, which are sound. The virtual time begins anew, and each class is as many bytes ahead of
 * it as it was.
 */
static void weigh(pgq_ioshares *s, const uint32_t *shares)
{
    uint64_t multiple = common_multiple(shares, s->class_count), largest = 0;

    for (uint32_t i = 0; i < s->class_count; i++) {
        flow *f = &s->flows[i];
        uint64_t factor = multiple / shares[i], warp = factor * f->warp;

        HOLDS(multiple % shares[i] == 0 && 1 <= factor && factor <= MAX_FACTOR);
        f->tag = with_factor(lead_of(s, f), f->factor, factor);
        f->factor = factor;
        largest = warp > largest ? warp : largest;
    }
    for (uint32_t i = 0; i < s->class_count; i++)
        s->flows[i].handicap = largest - s->flows[i].factor * s->flows[i].warp;
    s->virtual_time = 0;
}

static void make_flows(pgq_ioshares *s, const pgq_ioshares_config *config)
{
    waiting_request *ring = (waiting_request *)(s + 1);
    uint32_t shares[PGQ_IOSHARES_MAX_CLASSES];

    for (uint32_t i = 0; i < s->class_count; i++) {
        s->flows[i] = (flow){.factor = 1,
                             .ring = ring,
                             .capacity = config->classes[i].capacity,
                             .warp = config->classes[i].warp};
        ring += s->flows[i].capacity;
    }
    shares_of(config, shares);
    weigh(s, shares);
}

pgq_status pgq_ioshares_make(void *memory, size_t bytes, const pgq_ioshares_config *config, choose_fn *choose,
                             pgq_ioshares **scheduler)
{
    if (memory == NULL || config == NULL || scheduler == NULL)
        return refused(PGQ_NULL, 0);
    pgq_status status = config_status(config);
    if (status.code != PGQ_OK)
        return status;
    if (bytes < bytes_of(config) || (uintptr_t)memory % sizeof(uint64_t) != 0)
        return refused(PGQ_IOSHARES_MEMORY, 0);

    pgq_ioshares *s = memory;
    memset(s, 0, sizeof *s);
    s->choose = choose;
    s->limits = config->limits;
    s->costs = config->costs;
    pgq_ioshares_pace_start(s);
    s->log = config->log;
    s->log_capacity = config->log_capacity;
    s->class_count = config->class_count;
    make_flows(s, config);
    *scheduler = s;
    return accepted();
}

pgq_status pgq_ioshares_set_shares(pgq_ioshares *scheduler, const uint32_t *shares)
{
    if (scheduler == NULL || shares == NULL)
        return refused(PGQ_NULL, 0);
    pgq_status status = shares_status(shares, scheduler->class_count);
    if (status.code != PGQ_OK)
        return status;
    weigh(scheduler, shares);
    for (uint32_t i = 0; i < scheduler->class_count; i++)
        log_event(scheduler, PGQ_IOSHARES_SHARED, (pgq_ioshares_request){.size = shares[i], .cls = i}, 0);
    return accepted();
}
