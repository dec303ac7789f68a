/* SPDX-License-Identifier: PostgreSQL */
/* A policy in a process of its own (tools/judge/cage.h): what the cache calls copies all of *p there, and back. */
#include "../tests/tiercache/candidate.h"
#include "../tools/judge/cage.h"

#include <stddef.h>

typedef struct arguments {
    policy *p;
    uint64_t page;
    uint32_t what, entry, result;
    bool evicted;
} arguments;
enum { INSERT, HIT, VICTIM, REMOVE, PASSED };

#ifdef JUDGE_HOST
const bool judge_keeps_memory = false;

void judge_prepare(void) {}

static void invoke(arguments *a)
{
    switch (a->what) {
    case INSERT:
        candidate_insert(a->p, a->entry, a->page);
        break;
    case HIT:
        candidate_hit(a->p, a->entry);
        break;
    case VICTIM:
        a->result = candidate_victim(a->p);
        break;
    case REMOVE:
        candidate_remove(a->p, a->entry, a->evicted);
        break;
    default:
        candidate_pass(a->p, a->page);
        break;
    }
}
#else
static void stage(judge_host *host, void *there)
{
    const size_t n = ((arguments *)there)->p->n, all = 2 * n + 1;
    policy *p = judge_lend(host, &((arguments *)there)->p, sizeof *p, 8);

    judge_lend(host, &p->newer, all * sizeof *p->newer, 4);
    judge_lend(host, &p->older, all * sizeof *p->older, 4);
    judge_lend(host, &p->pages, all * sizeof *p->pages, 8);
    judge_lend(host, &p->queue_of, all, 1);
    judge_lend(host, &p->hits, all, 1);
    judge_lend(host, &p->ghosts.entries, (size_t)(p->ghosts.mask + 1) * sizeof *p->ghosts.entries, 8);
    judge_lend(host, &p->counts.blocks, (size_t)(p->counts.mask + 1) * sizeof *p->counts.blocks, 64);
    judge_lend(host, &p->counts.halved, (size_t)(p->counts.mask + 1) * sizeof *p->counts.halved, 4);
}

static uint32_t call(policy *p, arguments a)
{
    const policy before = *p;

    a.p = p;
    judge_call(&a, sizeof a, stage, NULL);
    if (p->calls != before.calls || p->n != before.n || p->ghosts.mask != before.ghosts.mask ||
        p->counts.mask != before.counts.mask)
        pgq_judge_breaks("it changes what of *p is the cache's own");
    return a.result;
}

void candidate_insert(policy *p, uint32_t entry, uint64_t page)
{
    call(p, (arguments){.what = INSERT, .entry = entry, .page = page});
}

void candidate_hit(policy *p, uint32_t entry)
{
    call(p, (arguments){.what = HIT, .entry = entry});
}

uint32_t candidate_victim(policy *p)
{
    return call(p, (arguments){.what = VICTIM});
}

void candidate_remove(policy *p, uint32_t entry, bool evicted)
{
    call(p, (arguments){.what = REMOVE, .entry = entry, .evicted = evicted});
}

void candidate_pass(policy *p, uint64_t page)
{
    call(p, (arguments){.what = PASSED, .page = page});
}
#endif
