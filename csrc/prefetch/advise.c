/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's way: the block is advised to the kernel, and replay preads it.
 *
 * Upstream: src/backend/storage/buffer/bufmgr.c, PrefetchSharedBuffer; src/backend/storage/file/fd.c, FilePrefetch.
 */
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

static void advise_if_it_pays(engine *e, uint32_t access)
{
    if (pgq_prefetch_engine_pays(e, access))
        advise(e, access);
}

static const way if_it_pays = {.looks_ahead = true,
                               .probe_every = PGQ_PREFETCH_PROBE_EVERY,
                               .start = advise_if_it_pays,
                               .read = pgq_prefetch_engine_read_and_watch};

pgq_status pgq_prefetch_replay_advise_adaptive(pgq_prefetch_job *job)
{
    engine e = {.way = &if_it_pays};

    return pgq_prefetch_engine_run(&e, job);
}
