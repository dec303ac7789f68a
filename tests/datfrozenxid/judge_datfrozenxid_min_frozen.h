/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `datfrozenxid_min_frozen`: see tools/judge/inputs.h. */
#include "../tests/datfrozenxid/judge_ids.h"

#define ANY_BYTES 2 /* the values */
enum { LENT_MOST = 3 };

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    judge_show(host, &a->bounds, sizeof *a->bounds, 4);
    judge_lend(host, &a->minimum, sizeof *a->minimum, 4);
    if (a->n <= 1u << 28)
        judge_show(host, &a->values, a->n * sizeof *a->values, 4);
    else
        judge_forbid(host, &a->values);
}

static void fill(inputs *in, arguments *a)
{
    pgq_datfrozenxid_bounds *bounds = take(in, sizeof *bounds);
    uint32_t last = some_last(in), *values;

    memset(bounds, 0, sizeof *bounds);
    bounds->last_sane = last;
    bounds->start = normal(some_id(in, last));
    bounds->multixact = one_in(in, 2);
    a->n = length(in, MOST_VALUES);
    values = take(in, a->n * sizeof *values);
    bool faults = in->n < 0 && one_in(in, 3), young = in->n < 0 && one_in(in, a->n > LONG ? 1 : 4);
    for (size_t i = 0; i < a->n; i++)
        values[i] = some_value(in, last, faults, young);
    if (young && a->n > 0)
        values[below(in, a->n)] = deciding_value(in, last);
    a->values = values;
    a->bounds = bounds;
    a->minimum = take(in, sizeof *a->minimum);
    *a->minimum = 0x5a5a5a5a;
    if (odd(in)) {
        switch (below(in, 5)) {
        case 0:
            a->values = NULL;
            break;
        case 1:
            a->bounds = NULL;
            break;
        case 2:
            a->minimum = NULL;
            break;
        case 3:
            a->n = (1u << 28) + 1 + edge(in, 40);
            break;
        default:
            bounds->start = (uint32_t)edge(in, 32);
            break;
        }
    }
}
