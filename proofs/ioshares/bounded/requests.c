/* SPDX-License-Identifier: PostgreSQL */
/* A request comes, or one goes: each class is a queue, wherever its ring begins, and the counts say how many wait. */
#include "bounded.h"
#include "ioshares/scheduler.c"
#include CHOICE

enum { CLASSES = 2 };

static void step(uint32_t head, uint32_t first_count, uint32_t second_count, uint32_t to)
{
    waiting_request rings[CLASSES][CAPACITY];
    uint32_t counts[CLASSES] = {first_count, second_count}, waiting = first_count + second_count, cls, other,
             end;
    pgq_ioshares s = {.choose = choose,
                      .waiting = waiting,
                      .limit = 1 + nondet_u8(),
                      .in_flight = nondet_u8(),
                      .virtual_time = nondet_u64(),
                      .class_count = CLASSES};
    uint32_t in_flight = s.in_flight;
    pgq_ioshares_request request = {.id = nondet_u64(), .size = nondet_u32(), .cls = to}, next = {0};
    pgq_status status;

    assume(s.virtual_time < REBASE);
    for (uint32_t i = 0; i < CLASSES; i++) {
        for (uint32_t k = 0; k < CAPACITY; k++) {
            rings[i][k] = (waiting_request){nondet_u64(), nondet_u64(), nondet_u32()};
            assume(rings[i][k].size <= MAX_BYTES && rings[i][k].arrival < UINT64_MAX);
        }
        s.flows[i] = (flow){.tag = nondet_u64(),
                            .handicap = nondet_u64(),
                            .factor = nondet_u32(),
                            .ring = rings[i],
                            .head = head,
                            .count = counts[i],
                            .capacity = CAPACITY};
        s.backlogged |= (uint32_t)(counts[i] > 0) << i;
        assume(s.flows[i].tag <= 2 * REBASE && s.flows[i].handicap <= REBASE / 2 &&
               s.flows[i].factor <= MAX_FACTOR);
    }
    if (COMES) {
        status = pgq_ioshares_submit(&s, &request);
        claim(status.code == (to >= CLASSES                                    ? PGQ_IOSHARES_CLASS
                              : request.size == 0 || request.size > (1u << 30) ? PGQ_IOSHARES_SIZE
                              : counts[to] == CAPACITY                         ? PGQ_IOSHARES_FULL
                                                                               : PGQ_OK),
              "it is accepted if its class and its size are right, and there is room");
        if (status.code != PGQ_OK)
            return;
        cls = to, end = (head + counts[cls]) % CAPACITY;
        claim(rings[cls][end].id == request.id && rings[cls][end].size == request.size,
              "it stands behind the others");
        claim(s.flows[cls].count == counts[cls] + 1 && s.waiting == waiting + 1, "one request more waits");
        claim((s.backlogged >> cls & 1) == 1, "its class has requests");
        return;
    }
    cls = s.flows[1].count > 0 && (s.flows[0].count == 0 || TURN_OF_SECOND);
    other = 1 - cls;
    status = pgq_ioshares_next(&s, &next);
    claim((status.code == PGQ_OK) == (waiting > 0 && in_flight < s.limit),
          "one goes if one waits and the limit lets it");
    if (status.code != PGQ_OK)
        return;
    claim(next.cls == cls, "it is of the class whose turn it is");
    claim(next.id == rings[cls][head].id && next.size == rings[cls][head].size,
          "it is the first of its class");
    claim(s.flows[cls].head == (head + 1) % CAPACITY, "the second becomes the first");
    claim(s.flows[cls].count == counts[cls] - 1 && s.waiting == waiting - 1, "one request less waits");
    claim(s.in_flight == in_flight + 1 && s.flows[cls].in_flight == 1, "one more is in flight");
    claim(s.backlogged == ((uint32_t)(counts[cls] > 1) << cls | (uint32_t)(counts[other] > 0) << other),
          "a class counts as waiting while requests of it wait");
}

void proof(void)
{
    for (uint32_t head = 0; head < CAPACITY; head++)
        for (uint32_t first = 0; first <= CAPACITY; first++)
            for (uint32_t second = 0; second <= CAPACITY; second++)
                for (uint32_t to = 0; to <= (COMES ? CLASSES : 0); to++)
                    step(head, first, second, to);
}
