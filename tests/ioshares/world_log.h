/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the log of a scheduler must say, by its definition (SFQ(D) with warp: the header names the sources): what goes is the first
 * of the class that has had the least service for its share (with `fifo`, the first of all) and finds room below the limit; a
 * completion is of what has gone; the limit follows the mean latency of each window.
 */
#ifndef PGQUERN_TESTS_IOSHARES_WORLD_LOG_H
#define PGQUERN_TESTS_IOSHARES_WORLD_LOG_H

#include "pgquern.h"

enum { LOG = 1024, MULTIPLE = 2520 }; /* MULTIPLE: of all shares, which are 1 to 10 */

typedef struct log_judge {
    const pgq_ioshares_config *config;
    bool fifo;
    uint64_t queue[LOG]; /* ids, in the order in which they came */
    uint32_t cls[LOG], size[LOG];
    size_t n;
    uint64_t tag[PGQ_IOSHARES_MAX_CLASSES], virtual_time; /* bytes for a share of MULTIPLE */
    uint32_t gone[PGQ_IOSHARES_MAX_CLASSES], in_flight, limit, completed;
    bool pressed;
    uint64_t sum, latency[PGQ_IOSHARES_MAX_CLASSES]; /* sum: of the window */
    unsigned at_limit, rose, fell;
} log_judge;

/* The first one of a class that waits; n: none does. */
static size_t first_of(const log_judge *j, uint32_t cls)
{
    size_t i = 0;

    while (i < j->n && j->cls[i] != cls)
        i++;
    return i;
}

static uint64_t factor_of(const log_judge *j, uint32_t cls)
{
    return MULTIPLE / j->config->classes[cls].share;
}

/* By start-time fair queueing. Service is charged when a request goes. */
static size_t fairest(log_judge *j)
{
    int64_t least = INT64_MAX;
    uint64_t earliest = UINT64_MAX;
    size_t chosen = 0;

    for (uint32_t c = 0; c < j->config->class_count; c++) {
        size_t first = first_of(j, c);

        if (first == j->n)
            continue;
        int64_t start = (int64_t)(j->tag[c] - factor_of(j, c) * j->config->classes[c].warp);
        if (start < least) {
            least = start;
            chosen = first;
        }
        earliest = j->tag[c] < earliest ? j->tag[c] : earliest;
    }
    j->virtual_time = earliest;
    j->tag[j->cls[chosen]] += factor_of(j, j->cls[chosen]) * j->size[chosen];
    return chosen;
}

static void judge_arrival(log_judge *j, const pgq_ioshares_event *e)
{
    uint32_t cls = e->request.cls;

    if (first_of(j, cls) == j->n && j->tag[cls] < j->virtual_time)
        j->tag[cls] = j->virtual_time;
    j->cls[j->n] = cls;
    j->size[j->n] = e->request.size;
    j->queue[j->n++] = e->request.id;
}

static const char *judge_dispatch(log_judge *j, const pgq_ioshares_event *e)
{
    if (j->n == 0 || j->in_flight >= j->limit)
        return "a request goes above the limit, or none waits";
    size_t first = j->fifo ? 0 : fairest(j);
    if (j->queue[first] != e->request.id || j->cls[first] != e->request.cls)
        return "what goes is not what is to go";
    for (size_t i = first; i + 1 < j->n; i++) {
        j->queue[i] = j->queue[i + 1];
        j->cls[i] = j->cls[i + 1];
        j->size[i] = j->size[i + 1];
    }
    j->n--;
    j->gone[e->request.cls]++;
    j->at_limit += ++j->in_flight == j->limit;
    return NULL;
}

static void end_window(log_judge *j)
{
    const pgq_ioshares_limits *l = &j->config->limits;
    uint32_t eighth = j->limit / 8 == 0 ? 1 : j->limit / 8;

    if (j->sum > l->target * l->window) {
        j->fell += j->limit > l->least;
        j->limit = j->limit < l->least + eighth ? l->least : j->limit - eighth;
    } else if (j->pressed && j->limit < l->most) {
        j->rose++;
        j->limit++;
    }
    j->completed = 0;
    j->sum = 0;
    j->pressed = false;
}

static const char *judge_completion(log_judge *j, const pgq_ioshares_event *e)
{
    if (j->gone[e->request.cls]-- == 0)
        return "a completion of what has not gone";
    j->in_flight--;
    j->latency[e->request.cls] += e->latency;
    j->sum += e->latency;
    j->pressed |= j->n > 0;
    if (++j->completed == j->config->limits.window)
        end_window(j);
    return NULL;
}

/* NULL: nothing is wrong with this event. */
static const char *judge_event(log_judge *j, const pgq_ioshares_event *e)
{
    const char *fault = NULL;

    if (e->what == PGQ_IOSHARES_SUBMITTED)
        judge_arrival(j, e);
    else if (e->what == PGQ_IOSHARES_DISPATCHED)
        fault = judge_dispatch(j, e);
    else
        fault = judge_completion(j, e);
    if (fault == NULL && (e->waiting != j->n || e->in_flight != j->in_flight || e->limit != j->limit))
        fault = "the state is not what the calls make of it";
    return fault;
}

#endif
