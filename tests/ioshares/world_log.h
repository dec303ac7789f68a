/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the log of a scheduler must say, by its definition (SFQ(D) with warp: the header names the sources): what goes is the first
 * of the class that has had the least service for its share (with `fifo`, the first of all) and finds room below the limit; a
 * completion is of what has gone; what is taken back has come and not gone; the limit follows the mean latency of each window.
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
    bool write[LOG];
    uint32_t share[PGQ_IOSHARES_MAX_CLASSES],
        told[PGQ_IOSHARES_MAX_CLASSES]; /* told: new ones, not yet of all classes */
    uint32_t next_told;
    size_t n;
    uint64_t tag[PGQ_IOSHARES_MAX_CLASSES], virtual_time; /* bytes for a share of MULTIPLE */
    uint32_t gone[PGQ_IOSHARES_MAX_CLASSES], in_flight, limit, completed;
    uint32_t level, grown,
        window; /* grown: windows that might have raised it since a probe; window: of this probe, 1 to 3 */
    bool pressed, after_fall;
    uint64_t lowest;
    uint64_t sum, latency[PGQ_IOSHARES_MAX_CLASSES]; /* sum: of the window */
    unsigned at_limit, rose, fell, shares_changed;
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
    return MULTIPLE / j->share[cls];
}

/* Its bytes, and those of an operation. */
static uint64_t cost_at(const log_judge *j, size_t at)
{
    const pgq_ioshares_costs *costs = &j->config->costs;

    return (uint64_t)j->size[at] + (j->write[at] ? costs->write : costs->read);
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
    j->tag[j->cls[chosen]] += factor_of(j, j->cls[chosen]) * cost_at(j, chosen);
    return chosen;
}

static void judge_arrival(log_judge *j, const pgq_ioshares_event *e)
{
    uint32_t cls = e->request.cls;

    if (first_of(j, cls) == j->n && j->tag[cls] < j->virtual_time)
        j->tag[cls] = j->virtual_time;
    j->cls[j->n] = cls;
    j->size[j->n] = e->request.size;
    j->write[j->n] = e->request.write;
    j->queue[j->n++] = e->request.id;
}

static void forget(log_judge *j, size_t at)
{
    for (size_t i = at; i + 1 < j->n; i++) {
        j->queue[i] = j->queue[i + 1];
        j->cls[i] = j->cls[i + 1];
        j->size[i] = j->size[i + 1];
        j->write[i] = j->write[i + 1];
    }
    j->n--;
}

static const char *judge_cancel(log_judge *j, const pgq_ioshares_event *e)
{
    size_t at = 0;

    while (at < j->n && (j->queue[at] != e->request.id || j->cls[at] != e->request.cls))
        at++;
    if (at == j->n || j->size[at] != e->request.size || j->write[at] != e->request.write)
        return "what is taken back does not wait";
    forget(j, at);
    return NULL;
}

static const char *judge_dispatch(log_judge *j, const pgq_ioshares_event *e)
{
    if (j->n == 0 || j->in_flight >= j->limit)
        return "a request goes above the limit, or none waits";
    size_t first = j->fifo ? 0 : fairest(j);
    if (j->queue[first] != e->request.id || j->cls[first] != e->request.cls ||
        j->size[first] != e->request.size || j->write[first] != e->request.write)
        return "what goes is not what is to go";
    forget(j, first);
    j->gone[e->request.cls]++;
    j->at_limit += ++j->in_flight == j->limit;
    return NULL;
}

static void begin_probe(log_judge *j)
{
    j->window = 1;
    j->grown = 0;
    j->limit = j->level / 2 > j->config->limits.least ? j->level / 2 : j->config->limits.least;
}

/* In units of whole bytes for the smallest class: least common multiple of the shares over this one. */
static uint64_t unit_of(const log_judge *j, const uint32_t *shares)
{
    uint64_t multiple = 1;

    for (uint32_t c = 0; c < j->config->class_count; c++) {
        uint64_t whole = multiple;

        while (multiple % shares[c] != 0)
            multiple += whole;
    }
    return MULTIPLE / multiple;
}

/* New shares: each class stays as many bytes ahead, rounded down to what the scheduler counts. */
static void take_shares(log_judge *j)
{
    uint64_t before = unit_of(j, j->share), after = unit_of(j, j->told);

    for (uint32_t c = 0; c < j->config->class_count; c++) {
        uint64_t ahead = j->tag[c] > j->virtual_time ? j->tag[c] - j->virtual_time : 0, old = factor_of(j, c);

        ahead = ahead / before * (MULTIPLE / j->told[c] / after) / (old / before);
        j->tag[c] = j->virtual_time + ahead * after;
    }
    /* The virtual time stays; its unit does not matter, for only leads do. */
    for (uint32_t c = 0; c < j->config->class_count; c++)
        j->share[c] = j->told[c];
    j->shares_changed++;
}

static const char *judge_share(log_judge *j, const pgq_ioshares_event *e)
{
    if (e->request.cls != j->next_told || e->request.size < 1 || e->request.size > 10 || e->request.id != 0)
        return "new shares are told in another order, or others than were set";
    j->told[j->next_told++] = e->request.size;
    if (j->next_told == j->config->class_count) {
        j->next_told = 0;
        take_shares(j);
    }
    return NULL;
}

/* The log begins so. */
static void begin_log(log_judge *j)
{
    for (uint32_t c = 0; c < j->config->class_count; c++)
        j->share[c] = j->config->classes[c].share;
    j->level = j->config->limits.start;
    begin_probe(j);
}

/* Of a probe the second window tells the latency; the third one is not looked at either. */
static void probe_goes_on(log_judge *j, uint64_t mean)
{
    if (j->window == 2) {
        j->lowest = mean;
        j->limit = j->level;
    }
    j->window = j->window == 3 ? 0 : j->window + 1;
}

static void look_at_window(log_judge *j, uint64_t mean)
{
    const pgq_ioshares_limits *l = &j->config->limits;

    if (mean < j->lowest || j->level == l->least)
        j->lowest = mean;
    /* In quarters of what was the lowest. */
    uint64_t most = 4 * l->target < 6 * j->lowest   ? 6 * j->lowest / 4
                    : 4 * l->target > 8 * j->lowest ? 2 * j->lowest
                                                    : l->target;
    if (mean > (l->target == 0 ? 7 * j->lowest / 4 : most)) {
        uint64_t kept = 5 * j->lowest * j->level / (4 * mean);

        j->fell += j->level > l->least;
        j->level = kept >= j->level ? j->level - 1 : (uint32_t)kept;
        j->level = j->level < l->least ? l->least : j->level;
        j->limit = j->level;
        j->after_fall = true;
    } else if (j->pressed) {
        j->rose += j->level < l->most;
        j->level = j->level < l->most ? j->level + 1 : j->level;
        j->limit = j->level;
        if (++j->grown == 64)
            begin_probe(j);
    }
}

static void end_window(log_judge *j)
{
    uint64_t mean = j->sum / j->completed;

    if (j->window > 0)
        probe_goes_on(j, mean);
    else if (j->after_fall)
        j->after_fall = false;
    else
        look_at_window(j, mean);
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
    j->completed++;
    if (j->completed >= j->config->limits.window && j->completed >= j->level)
        end_window(j);
    return NULL;
}

/* NULL: nothing is wrong with this event. */
static const char *judge_event(log_judge *j, const pgq_ioshares_event *e)
{
    const char *fault = NULL;

    if (j->next_told > 0 && e->what != PGQ_IOSHARES_SHARED)
        return "other calls come between new shares";
    if (e->what == PGQ_IOSHARES_SUBMITTED)
        judge_arrival(j, e);
    else if (e->what == PGQ_IOSHARES_DISPATCHED)
        fault = judge_dispatch(j, e);
    else if (e->what == PGQ_IOSHARES_CANCELLED)
        fault = judge_cancel(j, e);
    else if (e->what == PGQ_IOSHARES_SHARED)
        fault = judge_share(j, e);
    else
        fault = judge_completion(j, e);
    if (fault == NULL && (e->waiting != j->n || e->in_flight != j->in_flight || e->limit != j->limit))
        fault = "the state is not what the calls make of it";
    return fault;
}

#endif
