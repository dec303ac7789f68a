/* SPDX-License-Identifier: PostgreSQL */
/* A request completes: it counts for its class and its window, and the end of a window moves the limit by its rule. */
#include "bounded.h"
#include "ioshares/scheduler.c"

#include "ioshares/pace.c"

enum { CLASSES = 2 };

static pgq_ioshares any_scheduler(void)
{
    pgq_ioshares s = {.class_count = CLASSES,
                      .waiting = nondet_u8(),
                      .level = nondet_u16(),
                      .age = nondet_u8(),
                      .completed = nondet_u32(),
                      .probing = nondet_bool(),
                      .settling = nondet_bool(),
                      .pressed = nondet_bool(),
                      .floor = nondet_u64(),
                      .latency = nondet_u64(),
                      .limits = {nondet_u16(), 1, nondet_u16(), nondet_u32(), nondet_u64()}};

    assume(1 <= s.limits.least && s.limits.least <= s.limits.most && s.limits.most <= MAX_LIMIT);
    assume(1 <= s.limits.window && s.limits.window <= MAX_WINDOW && s.limits.target <= MAX_LATENCY);
    assume(s.limits.least <= s.level && s.level <= s.limits.most && s.floor <= MAX_LATENCY);
    assume(s.age < PROBE_EVERY);
    return s;
}

#ifdef WINDOW_ENDS
/* The rule of the header, of a window with this mean; `looked` are those that are looked at. */
static void rule(pgq_ioshares s, uint64_t mean)
{
    pgq_ioshares was = s;

    assume(mean <= MAX_MEAN && s.floor <= MAX_MEAN && s.level <= MAX_LEVEL);
    adapt(&s, mean);
    claim(s.limits.least <= s.level && s.level <= s.limits.most, "the level stays in its range");
    if (was.settling) {
        claim(!s.settling && s.level == was.level && s.floor == was.floor && s.age == was.age &&
                  s.probing == was.probing,
              "a window that settles changes nothing else");
        return;
    }
    if (was.probing) {
        claim(s.floor == mean && s.age == 0 && !s.probing && s.settling && s.level == was.level,
              "a probe tells the floor");
        return;
    }
    uint64_t floor = mean < was.floor || was.level == was.limits.least ? mean : was.floor;
    claim(s.floor == floor, "the floor is the lowest mean, or the last one at the least");
    if (2 * mean <= 3 * floor - (floor > 0))
        claim(s.level >= was.level, "below 3/2 of the floor the level does not fall");
    if (mean > 2 * floor) {
        uint64_t fair = floor * was.level * 5 / (4 * mean), most = was.level - 1;

        claim(s.settling && !s.probing && s.age == was.age, "the window after a fall is not looked at");
        claim(s.level == (fair < most ? fair : most) || s.level == was.limits.least,
              "above twice the floor it falls with the gradient");
        claim(s.level < was.level || was.level == was.limits.least, "by one at least");
    }
    if (s.level > was.level)
        claim(s.level == was.level + 1 && was.pressed, "it rises by one, and if others wait");
    if (s.age != was.age)
        claim(s.age == was.age + 1 && s.probing == (s.age == 64) && s.settling == s.probing,
              "the 64th window that might raise it begins a probe");
    else
        claim(!s.probing, "no other begins one");
    if (was.pressed && 2 * mean <= 3 * floor - (floor > 0))
        claim(s.age == was.age + 1 && (s.level == was.level + 1 || was.level == was.limits.most),
              "and it does rise");
}

void proof(void)
{
    rule(any_scheduler(), nondet_u64());
}
#else
void proof(void)
{
    pgq_ioshares s = any_scheduler(), was;
    uint32_t cls = nondet_u32();
    uint64_t latency = nondet_u64(), counted = latency < (UINT64_C(1) << 40) ? latency : UINT64_C(1) << 40;

    for (uint32_t i = 0; i < CLASSES; i++) {
        s.flows[i].in_flight = nondet_u8();
        s.in_flight += s.flows[i].in_flight;
    }
    /* The window goes on. */
    assume(s.completed < MAX_WINDOW && s.latency <= s.completed * MAX_LATENCY);
    assume(s.completed + 1 < s.limits.window || s.completed + 1 < s.level);
    was = s;
    pgq_status status = pgq_ioshares_complete(&s, cls, latency);
    claim(status.code == (cls >= CLASSES                  ? PGQ_IOSHARES_CLASS
                          : was.flows[cls].in_flight == 0 ? PGQ_IOSHARES_NOT_IN_FLIGHT
                                                          : PGQ_OK),
          "it counts if one of its class is in flight");
    if (status.code != PGQ_OK) {
        claim(s.in_flight == was.in_flight && s.completed == was.completed && s.latency == was.latency &&
                  s.pressed == was.pressed,
              "a refused one changes nothing");
        return;
    }
    claim(s.flows[cls].in_flight == was.flows[cls].in_flight - 1 &&
              s.flows[1 - cls].in_flight == was.flows[1 - cls].in_flight && s.in_flight == was.in_flight - 1,
          "one less of its class is in flight");
    claim(s.completed == was.completed + 1 && s.latency == was.latency + counted,
          "it counts in its window, with its latency");
    claim(s.pressed == (was.pressed || was.waiting > 0), "and with whether others wait");
    claim(s.limit == was.limit && s.level == was.level && s.floor == was.floor,
          "the limit waits for the window's end");
}
#endif
