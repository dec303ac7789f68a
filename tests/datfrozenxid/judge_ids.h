/* SPDX-License-Identifier: PostgreSQL */
/* Ids and bounds for the kinds of this stem: see tools/judge/inputs.h. */
#include "../tools/judge/inputs.h"
#include "datfrozenxid/datfrozenxid.h"

#include <stdio.h>

enum { MOST_VALUES = 6000, LONG = 10000 };
static unsigned long done, refused_calls;

/* At most half the ring before `last`: what is sane. */
__attribute__((unused)) static uint32_t some_id(inputs *in, uint32_t last)
{
    return last - ((uint32_t)(one_in(in, 3) ? edge(in, 31) : below(in, 1 << 20)) & INT32_MAX);
}

__attribute__((unused)) static uint32_t some_last(inputs *in)
{
    return normal((uint32_t)edge(in, 32));
}

/* Of an array whose other ids are all young, the one that decides: the oldest that there is, a permanent one, one in the future. */
__attribute__((unused)) static uint32_t deciding_value(inputs *in, uint32_t last)
{
    uint32_t near = (uint32_t)below(in, 3);

    return one_in(in, 2) ? last - INT32_MAX + near : one_in(in, 2) ? near : last + 1 + near;
}

/* What a scan meets: an id that is sane, and seldom 0, a permanent one, one in the future or just not. */
__attribute__((unused)) static uint32_t some_value(inputs *in, uint32_t last, bool faults, bool young)
{
    if (young)
        return normal(last - (uint32_t)below(in, 1 << 16));
    if (one_in(in, 50))
        return (uint32_t)below(in, 3);
    if (faults && one_in(in, 400))
        return last + (uint32_t)(one_in(in, 2) ? below(in, 3) : edge(in, 32));
    return normal(some_id(in, last));
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    done += a->result.code == PGQ_OK;
}

static void print_tally(void)
{
    printf("tally: done=%lu refused=%lu\n", done, refused_calls);
}

static void settle(arguments *a, char *const lent[], const size_t size[])
{
    (void)a, (void)lent, (void)size;
}
