/* SPDX-License-Identifier: PostgreSQL */
/* Many calls of a policy on trial, as a cache makes them; candidate.c looks at each. Pages have any numbers: boundary values, too. */
#include "../tests/tiercache/candidate.h"

#include "../tools/judge/inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEW_ENTRIES = 24, MOST_ENTRIES = 600, CALLS_OF_ONE = 400, OFTEN = 300, SWEEPS = 400 };
extern const policy_calls pgq_judge_calls;
static unsigned long hits, evicted, pinned, doomed, none;

static uint32_t entry_of(const policy *p, const bool there[], uint64_t page)
{
    for (uint32_t e = 0; e < p->n; e++)
        if (there[e] && p->pages[e] == page)
            return e;
    return TABLE_NONE;
}

static uint32_t some_entry(inputs *in, const policy *p, const bool there[])
{
    uint32_t e = (uint32_t)below(in, p->n);

    return there[e] ? e : TABLE_NONE;
}

/* A page is asked for. */
static void ask(inputs *in, policy *p, bool there[], bool hot)
{
    uint64_t page = hot && !one_in(in, 8) ? below(in, p->n)
                    : one_in(in, 2)       ? below(in, 2 * p->n)
                    : one_in(in, 2)       ? below(in, 4096)
                                          : edge(in, 64);
    uint32_t e = entry_of(p, there, page);

    if (e != TABLE_NONE && p->queue_of[e] == DOOMED)
        policy_rescue(p, e);
    if (e != TABLE_NONE) {
        p->calls->hit(p, e);
        hits++;
        return;
    }
    for (e = 0; e < p->n && there[e]; e++)
        ;
    if (e == p->n && (e = p->calls->victim(p)) != TABLE_NONE) {
        p->calls->remove(p, e, true);
        evicted++;
    }
    if (e == TABLE_NONE) {
        p->calls->pass(p, page);
        none++;
        return;
    }
    p->calls->insert(p, e, page);
    there[e] = true;
}

/* A page is pinned or let go, doomed, or leaves. */
static void disturb(inputs *in, policy *p, bool there[])
{
    uint32_t e = one_in(in, 3) ? p->calls->victim(p) : some_entry(in, p, there);

    if (e == TABLE_NONE)
        return;
    uint64_t what = below(in, 5);
    if (p->queue_of[e] == DOOMED || what == 0) {
        p->calls->remove(p, e, one_in(in, 2));
        there[e] = false;
    } else if (p->queue_of[e] == ASIDE) {
        policy_bring_back(p, e);
    } else if (what < 3) {
        policy_set_aside(p, e);
        pinned++;
    } else {
        policy_doom(p, e);
        doomed++;
    }
}

/* The same is done to all entries: each is used often, and once more; or all are pinned, used, and let go; or all are doomed. */
static void sweep(inputs *in, policy *p, bool there[])
{
    uint64_t what = below(in, 3);
    uint32_t often = below(in, 2) == 0 ? (uint32_t)below(in, p->n) : TABLE_NONE;

    for (uint32_t e = 0; e < p->n; e++) {
        if (!there[e] || p->queue_of[e] == DOOMED)
            continue;
        if (what == 1)
            policy_set_aside(p, e);
        if (what == 2)
            policy_doom(p, e);
        for (int uses = e == often ? OFTEN : 1; uses > 0 && what < 2; uses--)
            p->calls->hit(p, e);
    }
    if (p->calls->victim(p) == TABLE_NONE)
        none++;
    for (uint32_t e = 0; e < p->n; e++)
        if (there[e] && p->queue_of[e] == DOOMED) {
            p->calls->remove(p, e, true);
            there[e] = false;
        } else if (there[e] && what == 1) {
            policy_bring_back(p, e);
        }
}

int main(int argc, char *argv[])
{
    inputs in = {argc > 2 ? strtoull(argv[1], NULL, 10) * 2 + 1 : 1, NULL, -1, -1};
    uint64_t wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000, calls = wanted / 2, done = 0, caches = 0;

    /* The first one lives long, and has many hits; the next has most entries, some have many; these are left time to fill. */
    for (policy p; done < wanted; done += calls, calls = 0, caches++, pgq_tiercache_policy_free(&p)) {
        bool there[MOST_ENTRIES] = {false}, many = caches == 1 || (caches > 1 && one_in(&in, 64));
        uint32_t entries = 1 + (uint32_t)below(&in, many ? MOST_ENTRIES : FEW_ENTRIES);

        if (calls == 0)
            calls = many ? 10 * CALLS_OF_ONE : CALLS_OF_ONE;
        if (!pgq_tiercache_policy_make(&p, &pgq_judge_calls, caches == 1 ? MOST_ENTRIES : entries))
            return JUDGE_BROKEN;
        for (uint64_t i = 0; i < calls; i++)
            if (caches > 0 && one_in(&in, SWEEPS))
                sweep(&in, &p, there);
            else if (one_in(&in, many ? 30 : 3))
                disturb(&in, &p, there);
            else
                ask(&in, &p, there, caches == 0);
    }
    printf("inputs %" PRIu64 "\ntally: hits=%lu evicted=%lu pinned=%lu doomed=%lu none_can_leave=%lu\n", done,
           hits, evicted, pinned, doomed, none);
    return 0;
}
