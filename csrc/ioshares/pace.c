/* SPDX-License-Identifier: PostgreSQL */
/* How many requests may be in flight: the limit follows the latency, against the lowest that the device has shown. */
#include "ioshares/scheduler.h"

#include "common/holds.h"

static void set_limit(pgq_ioshares *s)
{
    uint32_t half = s->level / 2;

    HOLDS(s->limits.least <= s->level && s->level <= s->limits.most);
    s->limit = !s->probing ? s->level : half > s->limits.least ? half : s->limits.least;
    HOLDS(1 <= s->limit && s->limit <= s->limits.most); /* with 0 nothing would ever go, nor complete */
}

void pgq_ioshares_pace_start(pgq_ioshares *s)
{
    s->level = s->limits.start;
    s->probing = s->settling = true;
    set_limit(s);
}

/* Above this mean latency requests queue inside the device. A target moves it a little, and no further. */
static uint64_t bound(const pgq_ioshares *s)
{
    uint64_t low = s->floor * 3 / 2, high = s->floor * 2, target = s->limits.target;

    if (target == 0)
        return s->floor * 7 / 4;
    return target < low ? low : target > high ? high : target;
}

/*
 * As many as would take a quarter longer than the floor, if the latency is in proportion. The mean is above 3/2 of the floor, so
 * that is less than now anyway; it is said again where it matters. Below 2^58.
 */
static void fall(pgq_ioshares *s, uint64_t mean)
{
    HOLDS(mean > s->floor && mean <= MAX_LATENCY);
    uint64_t fair = s->level * s->floor * 5 / (mean * 4);

    fair = fair < s->level ? fair : s->level - 1;
    s->level = fair > s->limits.least ? (uint32_t)fair : s->limits.least;
    s->settling = true;
}

static void rise(pgq_ioshares *s)
{
    s->level += s->level < s->limits.most;
    s->age++;
    s->probing = s->settling = s->age == PROBE_EVERY;
}

/* The device has shown its floor. */
static void end_probe(pgq_ioshares *s, uint64_t mean)
{
    s->floor = mean;
    s->age = 0;
    s->probing = false;
    s->settling = true;
}

/* A window has ended. */
static void adapt(pgq_ioshares *s, uint64_t mean)
{
    if (s->settling) {
        s->settling = false;
        return;
    }
    if (s->probing) {
        end_probe(s, mean);
        return;
    }
    if (mean < s->floor || s->level == s->limits.least)
        s->floor = mean;
    if (mean > bound(s))
        fall(s, mean);
    else if (s->pressed)
        rise(s);
}

void pgq_ioshares_pace(pgq_ioshares *s, uint64_t latency)
{
    s->completed++;
    s->latency += latency;
    s->pressed |= s->waiting > 0;
    if (s->completed < s->limits.window || s->completed < s->level)
        return;
    adapt(s, s->latency / s->completed);
    set_limit(s);
    s->completed = 0;
    s->latency = 0;
    s->pressed = false;
}
