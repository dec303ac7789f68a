/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `datfrozenxid_need_update`: see tools/judge/inputs.h. */
#include "../tests/datfrozenxid/judge_ids.h"

enum { LENT_MOST = 4 };

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    judge_show(host, &a->stored, sizeof *a->stored, 4);
    judge_show(host, &a->minimum, sizeof *a->minimum, 4);
    judge_show(host, &a->last_sane, sizeof *a->last_sane, 4);
    judge_lend(host, &a->changes, sizeof *a->changes, 1);
}

static uint32_t near(inputs *in, uint32_t id)
{
    return one_in(in, 2)   ? id + (uint32_t)below(in, 7) - 3
           : one_in(in, 3) ? id + INT32_MAX + (uint32_t)below(in, 5)
                           : (uint32_t)edge(in, 32);
}

static void fill(inputs *in, arguments *a)
{
    pgq_datfrozenxid_pair *last = take(in, sizeof *last), *minimum = take(in, sizeof *last);
    pgq_datfrozenxid_pair *stored = take(in, sizeof *last);

    *last = (pgq_datfrozenxid_pair){some_last(in), some_last(in)};
    *minimum = (pgq_datfrozenxid_pair){normal(some_id(in, last->xid)), normal(some_id(in, last->multi))};
    *stored = (pgq_datfrozenxid_pair){near(in, one_in(in, 2) ? minimum->xid : last->xid),
                                      near(in, one_in(in, 2) ? minimum->multi : last->multi)};
    a->stored = stored;
    a->minimum = minimum;
    a->last_sane = last;
    a->changes = take(in, sizeof *a->changes);
    memset(a->changes, 1, sizeof *a->changes);
    if (odd(in)) {
        switch (below(in, 4)) {
        case 0:
            a->stored = NULL;
            break;
        case 1:
            a->changes = NULL;
            break;
        case 2:
            minimum->multi = (uint32_t)edge(in, 32);
            break;
        default:
            last->xid = (uint32_t)below(in, 3);
            break;
        }
    }
}
