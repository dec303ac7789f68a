/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's way: PrefetchSharedBuffer advises the block to the kernel (FilePrefetch), and replay preads it. */
#include "prefetch/engine.h"

static void advise(engine *e, uint32_t access)
{
    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_ADVISE, access);
    e->io.advise(e->io.arg, engine_fd(e, access), engine_offset(e, access), POOL_PAGE);
}

static const way always = {.looks_ahead = true, .start = advise, .read = pgq_prefetch_engine_read};

pgq_status pgq_prefetch_replay_advise(pgq_prefetch_job *job)
{
    engine e = {.way = &always};

    return pgq_prefetch_engine_run(&e, job);
}

/* ---- advise_adaptive: only where it pays ---- */

/* Whether the kernel has the start of an access's block in its cache. */
static bool is_cached(engine *e, uint32_t access)
{
    unsigned char byte;

    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_PROBE, access);
    return e->io.read(e->io.arg, engine_fd(e, access), &byte, 1, engine_offset(e, access), true) == 1;
}

static void advise_if_it_pays(engine *e, uint32_t access)
{
    const pgq_prefetch_access *block = &e->job->accesses[access];

    switch (pgq_prefetch_policy_look(e->own, block->file, block->block)) {
    case PGQ_PREFETCH_ADVICE_NONE:
        return;
    case PGQ_PREFETCH_ADVICE_GIVE:
        break;
    case PGQ_PREFETCH_ADVICE_PROBE:
        if (!pgq_prefetch_policy_probed(e->own, is_cached(e, access)))
            return;
    }
    advise(e, access);
}

/* While no advice is given, a read that need not wait costs no more than pread; one that must wait tells it. */
static pgq_code read_and_watch(engine *e, uint32_t access, uint32_t frame)
{
    pgq_prefetch_policy *policy = e->own;
    int64_t got;

    if (!policy->quiet)
        return pgq_prefetch_engine_read(e, access, frame);
    got = e->io.read(e->io.arg, engine_fd(e, access), pool_page(&e->pool, frame), POOL_PAGE,
                     engine_offset(e, access), true);
    pgq_prefetch_policy_read(policy, got == POOL_PAGE);
    if (got != POOL_PAGE)
        return pgq_prefetch_engine_read_rest(e, access, frame, got > 0 ? (size_t)got : 0);
    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_READ, access);
    return PGQ_OK;
}

static const way if_it_pays = {.looks_ahead = true, .start = advise_if_it_pays, .read = read_and_watch};

pgq_status pgq_prefetch_replay_advise_adaptive(pgq_prefetch_job *job)
{
    pgq_prefetch_policy policy = {.probes_needed = PGQ_PREFETCH_FEWEST_PROBES};
    engine e = {.way = &if_it_pays, .own = &policy};

    return pgq_prefetch_engine_run(&e, job);
}
