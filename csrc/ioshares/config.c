/* SPDX-License-Identifier: PostgreSQL */
/* From a configuration to a scheduler: its checks, its factors, its memory. */
#include "ioshares/scheduler.h"

#include <string.h>

static pgq_code class_fault(const pgq_ioshares_class *c)
{
    if (c->share == 0 || c->share > MAX_SHARE)
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
static uint64_t common_multiple(const pgq_ioshares_config *config)
{
    uint64_t multiple = 1, least = MAX_SHARE;

    for (uint32_t i = 0; i < config->class_count; i++)
        least = config->classes[i].share < least ? config->classes[i].share : least;
    for (uint32_t i = 0; i < config->class_count; i++) {
        multiple *= config->classes[i].share / common_divisor(multiple, config->classes[i].share);
        if (multiple > MAX_FACTOR * least)
            return 0;
    }
    return multiple;
}

static pgq_status config_status(const pgq_ioshares_config *config)
{
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
    return common_multiple(config) == 0 ? refused(PGQ_IOSHARES_FACTOR, 0) : accepted();
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

static void make_flows(pgq_ioshares *s, const pgq_ioshares_config *config)
{
    uint64_t multiple = common_multiple(config), largest = 0;
    waiting_request *ring = (waiting_request *)(s + 1);

    for (uint32_t i = 0; i < s->class_count; i++) {
        uint64_t factor = multiple / config->classes[i].share, warp = factor * config->classes[i].warp;

        s->flows[i] = (flow){.factor = factor, .ring = ring, .capacity = config->classes[i].capacity};
        ring += s->flows[i].capacity;
        largest = warp > largest ? warp : largest;
    }
    for (uint32_t i = 0; i < s->class_count; i++)
        s->flows[i].handicap = largest - s->flows[i].factor * config->classes[i].warp;
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
    pgq_ioshares_pace_start(s);
    s->log = config->log;
    s->log_capacity = config->log_capacity;
    s->class_count = config->class_count;
    make_flows(s, config);
    *scheduler = s;
    return accepted();
}
