/* SPDX-License-Identifier: PostgreSQL */
/* Requests come, go and complete, or are taken back. */
#include "ioshares/scheduler.h"

#include "common/holds.h"

/* Where a place counted from the first waiting request is in the ring. */
static waiting_request *at_place(const flow *f, uint32_t place)
{
    uint64_t at = (uint64_t)f->head + place;

    HOLDS(f->head < f->capacity && place < f->capacity);
    return &f->ring[at < f->capacity ? at : at - f->capacity];
}

static pgq_ioshares_request request_of(const waiting_request *w, uint32_t cls)
{
    return (pgq_ioshares_request){.id = w->id, .size = w->size, .cls = cls, .write = w->write};
}

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
    *at_place(f, f->count) = (waiting_request){
        .id = request->id, .arrival = scheduler->arrivals++, .size = request->size, .write = request->write};
    /* A class that comes back banks nothing of what it did not use. */
    if (f->count == 0 && f->tag < scheduler->virtual_time)
        f->tag = scheduler->virtual_time;
    f->count++;
    scheduler->backlogged |= UINT32_C(1) << request->cls;
    scheduler->waiting++;
    log_event(scheduler, PGQ_IOSHARES_SUBMITTED, *request, 0);
    return accepted();
}

/* One request of the class waits less. */
static void one_less(pgq_ioshares *s, uint32_t cls)
{
    flow *f = &s->flows[cls];

    HOLDS(f->count > 0 && s->waiting >= f->count && (s->backlogged >> cls & 1) != 0);
    f->count--;
    if (f->count == 0)
        s->backlogged &= ~(UINT32_C(1) << cls);
    s->waiting--;
}

pgq_status pgq_ioshares_cancel(pgq_ioshares *scheduler, uint32_t cls, uint64_t id)
{
    uint32_t place = 0;

    if (scheduler == NULL)
        return refused(PGQ_NULL, 0);
    if (cls >= scheduler->class_count)
        return refused(PGQ_IOSHARES_CLASS, (size_t)cls + 1);
    flow *f = &scheduler->flows[cls];
    while (place < f->count && at_place(f, place)->id != id)
        place++;
    if (place == f->count)
        return refused(PGQ_IOSHARES_NOT_WAITING, cls + 1);

    pgq_ioshares_request request = request_of(at_place(f, place), cls);
    /* Those behind it move up. It has not been charged, so its class's tag is right as it is. */
    for (; place + 1 < f->count; place++)
        *at_place(f, place) = *at_place(f, place + 1);
    one_less(scheduler, cls);
    log_event(scheduler, PGQ_IOSHARES_CANCELLED, request, 0);
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

    HOLDS(cls < scheduler->class_count && f->count > 0);
    *request = request_of(first, cls);
    f->head = f->head + 1 == f->capacity ? 0 : f->head + 1;
    one_less(scheduler, cls);
    f->in_flight++;
    f->dispatched += first->size;
    f->charged += cost_of(scheduler, first);
    scheduler->in_flight++;
    log_event(scheduler, PGQ_IOSHARES_DISPATCHED, *request, 0);
    return accepted();
}

pgq_status pgq_ioshares_complete(pgq_ioshares *scheduler, uint32_t cls, uint64_t latency)
{
    if (scheduler == NULL)
        return refused(PGQ_NULL, 0);
    if (cls >= scheduler->class_count)
        return refused(PGQ_IOSHARES_CLASS, (size_t)cls + 1);
    if (scheduler->flows[cls].in_flight == 0)
        return refused(PGQ_IOSHARES_NOT_IN_FLIGHT, cls + 1);
    HOLDS(scheduler->in_flight >= scheduler->flows[cls].in_flight);
    latency = latency > MAX_LATENCY ? MAX_LATENCY : latency;
    scheduler->flows[cls].in_flight--;
    scheduler->in_flight--;
    pgq_ioshares_pace(scheduler, latency);
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
                                  .level = scheduler->level,
                                  .floor = scheduler->floor,
                                  .window_completed = scheduler->completed,
                                  .window_latency = scheduler->latency,
                                  .logged = scheduler->logged};
    for (uint32_t i = 0; i < scheduler->class_count; i++) {
        const flow *f = &scheduler->flows[i];

        state->classes[i] = (pgq_ioshares_class_state){.lead = lead_of(scheduler, f),
                                                       .dispatched = f->dispatched,
                                                       .charged = f->charged,
                                                       .waiting = f->count,
                                                       .in_flight = f->in_flight};
    }
    return accepted();
}
