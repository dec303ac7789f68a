/* SPDX-License-Identifier: PostgreSQL */
/*
 * The rule, by its definition, over the log of a lock: a request is granted when it conflicts with nothing that is held
 * and with no earlier request that waits; and whatever may go is granted before anything else happens.
 */
#ifndef PGQUERN_TESTS_RANGELOCK_JUDGE_H
#define PGQUERN_TESTS_RANGELOCK_JUDGE_H

#include "pgquern.h"

enum { PRESENT_MAX = 64 };

typedef struct judge {
    struct {
        uint64_t ticket, lo, hi;
        bool exclusive, held;
    } present[PRESENT_MAX];
    size_t n;
    uint64_t arrivals;
    unsigned long grants, after_a_wait, refusals, releases, cancels, timeouts;
} judge;

static inline bool may_go(const judge *j, uint64_t ticket, uint64_t lo, uint64_t hi, bool exclusive)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->present[i].ticket != ticket && (j->present[i].held || j->present[i].ticket < ticket) &&
            j->present[i].lo < hi && lo < j->present[i].hi && (exclusive || j->present[i].exclusive))
            return false;
    return true;
}

static inline bool waiter_may_go(const judge *j)
{
    for (size_t i = 0; i < j->n; i++)
        if (!j->present[i].held &&
            may_go(j, j->present[i].ticket, j->present[i].lo, j->present[i].hi, j->present[i].exclusive))
            return true;
    return false;
}

/* The index of a request that is there; n if it is not. */
static inline size_t find(const judge *j, uint64_t ticket)
{
    size_t i = 0;

    while (i < j->n && j->present[i].ticket != ticket)
        i++;
    return i;
}

static inline const char *judge_arrival(judge *j, const pgq_rangelock_event *e)
{
    if (e->ticket <= j->arrivals)
        return "tickets are not in the order of arrival";
    j->arrivals = e->ticket;
    if (e->what == PGQ_RANGELOCK_EVENT_REFUSE) {
        j->refusals++;
        return may_go(j, e->ticket, e->lo, e->hi, e->exclusive) ? "refused, and may go" : NULL;
    }
    if (j->n == PRESENT_MAX)
        return "more requests than the test has made";
    j->present[j->n].ticket = e->ticket;
    j->present[j->n].lo = e->lo;
    j->present[j->n].hi = e->hi;
    j->present[j->n].exclusive = e->exclusive;
    j->present[j->n++].held = false;
    return NULL;
}

static inline const char *judge_departure(judge *j, const pgq_rangelock_event *e)
{
    size_t i = find(j, e->ticket);

    if (i == j->n || j->present[i].held != (e->what == PGQ_RANGELOCK_EVENT_RELEASE))
        return "leaves, and was not there";
    j->present[i] = j->present[--j->n];
    j->releases += e->what == PGQ_RANGELOCK_EVENT_RELEASE;
    j->cancels += e->what == PGQ_RANGELOCK_EVENT_CANCEL;
    j->timeouts += e->what == PGQ_RANGELOCK_EVENT_TIMEOUT;
    return NULL;
}

static inline const char *judge_grant(judge *j, const pgq_rangelock_event *e, bool after_its_request)
{
    size_t i = find(j, e->ticket);

    if (i == j->n || j->present[i].held)
        return "granted, and does not wait";
    if (!may_go(j, e->ticket, e->lo, e->hi, e->exclusive))
        return "granted, and may not go";
    j->present[i].held = true;
    j->grants++;
    j->after_a_wait += !after_its_request;
    return NULL;
}

/* The fault of a log's first n events, NULL if there is none; *at is the event's index. The judge can go on with more. */
static inline const char *judge_log(judge *j, const pgq_rangelock_event events[], size_t n, size_t *at)
{
    const char *fault = NULL;

    for (*at = 0; *at < n && fault == NULL; ++*at) {
        const pgq_rangelock_event *e = &events[*at];

        if (e->what == PGQ_RANGELOCK_EVENT_GRANT)
            fault = judge_grant(j, e, *at > 0 && e[-1].what == PGQ_RANGELOCK_EVENT_REQUEST);
        else if (waiter_may_go(j))
            fault = "something happens while a request that may go was not granted";
        else if (e->what == PGQ_RANGELOCK_EVENT_REQUEST || e->what == PGQ_RANGELOCK_EVENT_REFUSE)
            fault = judge_arrival(j, e);
        else
            fault = judge_departure(j, e);
    }
    if (fault == NULL && waiter_may_go(j))
        fault = "a request that may go was not granted";
    return fault;
}

#endif
