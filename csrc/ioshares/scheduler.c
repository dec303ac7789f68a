/* SPDX-License-Identifier: PostgreSQL */
/* Requests come and complete; the limit of those in flight follows the latency. */
#include "ioshares/scheduler.h"

static pgq_code submit_fault(const pgq_ioshares *s, const pgq_ioshares_request *request)
{
    if (request->cls >= s->class_count)
        return PGQ_IOSHARES_CLASS;
    if (request->size == 0 || request->size > MAX_BYTES)
        return PGQ_IOSHARES_SIZE;
    return s->flows[request->cls].count == s->flows[request->cls].capacity ? PGQ_IOSHARES_FULL : PGQ_OK;
}

pgq_status pgq_ioshares_submit(pgq_ioshares *scheduler, const pgq_ioshares_request *request)
{
    if (scheduler == NULL || request == NULL)
        return refused(PGQ_NULL, 0);
    pgq_code fault = submit_fault(scheduler, request);
    if (fault != PGQ_OK)
        return refused(fault, (size_t)request->cls + 1);

    flow *f = &scheduler->flows[request->cls];
    uint64_t end = (uint64_t)f->head + f->count;
    f->ring[end < f->capacity ? end : end - f->capacity] =
        (waiting_request){.id = request->id, .arrival = scheduler->arrivals++, .size = request->size};
    /* A class that comes back banks nothing of what it did not use. */
    if (f->count == 0 && f->tag < scheduler->virtual_time)
        f->tag = scheduler->virtual_time;
    f->count++;
    scheduler->backlogged |= UINT32_C(1) << request->cls;
    scheduler->waiting++;
    log_event(scheduler, PGQ_IOSHARES_SUBMITTED, *request, 0);
    return accepted();
}

static pgq_code next_fault(const pgq_ioshares *s, const pgq_ioshares_request *request)
{
    if (s == NULL || request == NULL)
        return PGQ_NULL;
    if (s->waiting == 0)
        return PGQ_IOSHARES_EMPTY;
    return s->in_flight >= s->limit ? PGQ_IOSHARES_AT_LIMIT : PGQ_OK;
}

pgq_status pgq_ioshares_next(pgq_ioshares *scheduler, pgq_ioshares_request *request)
{
    pgq_code fault = next_fault(scheduler, request);

    if (fault != PGQ_OK)
        return refused(fault, 0);
    uint32_t cls = scheduler->choose(scheduler);
    flow *f = &scheduler->flows[cls];
    const waiting_request *first = first_of(f);

    *request = (pgq_ioshares_request){.id = first->id, .size = first->size, .cls = cls};
    f->head = f->head + 1 == f->capacity ? 0 : f->head + 1;
    f->count--;
    if (f->count == 0)
        scheduler->backlogged &= ~(UINT32_C(1) << cls);
    f->in_flight++;
    f->dispatched += request->size;
    scheduler->waiting--;
    scheduler->in_flight++;
    log_event(scheduler, PGQ_IOSHARES_DISPATCHED, *request, 0);
    return accepted();
}

/* The end of a window: additive increase, multiplicative decrease. */
static void adapt(pgq_ioshares *s)
{
    const pgq_ioshares_limits *l = &s->limits;

    if (s->latency > l->target * l->window) {
        uint32_t step = s->limit / 8 > 0 ? s->limit / 8 : 1;

        s->limit = s->limit - l->least > step ? s->limit - step : l->least;
    } else if (s->pressed && s->limit < l->most) {
        s->limit++;
    }
    s->completed = 0;
    s->latency = 0;
    s->pressed = false;
}

pgq_status pgq_ioshares_complete(pgq_ioshares *scheduler, uint32_t cls, uint64_t latency)
{
    if (scheduler == NULL)
        return refused(PGQ_NULL, 0);
    if (cls >= scheduler->class_count)
        return refused(PGQ_IOSHARES_CLASS, (size_t)cls + 1);
    if (scheduler->flows[cls].in_flight == 0)
        return refused(PGQ_IOSHARES_NOT_IN_FLIGHT, cls + 1);
    latency = latency > MAX_LATENCY ? MAX_LATENCY : latency;
    scheduler->flows[cls].in_flight--;
    scheduler->in_flight--;
    scheduler->completed++;
    scheduler->latency += latency;
    scheduler->pressed |= scheduler->waiting > 0;
    if (scheduler->completed == scheduler->limits.window)
        adapt(scheduler);
    log_event(scheduler, PGQ_IOSHARES_COMPLETED, (pgq_ioshares_request){.cls = cls}, latency);
    return accepted();
}

pgq_status pgq_ioshares_look(const pgq_ioshares *scheduler, pgq_ioshares_state *state)
{
    if (scheduler == NULL || state == NULL)
        return refused(PGQ_NULL, 0);
    *state = (pgq_ioshares_state){.class_count = scheduler->class_count,
                                  .waiting = scheduler->waiting,
                                  .in_flight = scheduler->in_flight,
                                  .limit = scheduler->limit,
                                  .window_completed = scheduler->completed,
                                  .window_latency = scheduler->latency,
                                  .logged = scheduler->logged};
    for (uint32_t i = 0; i < scheduler->class_count; i++) {
        const flow *f = &scheduler->flows[i];

        state->classes[i] = (pgq_ioshares_class_state){
            .lead = f->tag > scheduler->virtual_time ? f->tag - scheduler->virtual_time : 0,
            .dispatched = f->dispatched,
            .waiting = f->count,
            .in_flight = f->in_flight};
    }
    return accepted();
}
