/* SPDX-License-Identifier: PostgreSQL */
/* What the variants that have a policy share: they ask the kernel what it has cached, and tell the policy. */
#include "prefetch/engine.h"

/* Whether the kernel has an access's block in its cache. Where it does not say, it is asked for the first byte. */
static bool is_cached(engine *e, uint32_t access)
{
    unsigned char byte;
    int found = -1;

    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_PROBE, access);
    if (e->io.cached != NULL)
        found = e->io.cached(e->io.arg, engine_fd(e, access), engine_offset(e, access), POOL_PAGE);
    if (found >= 0)
        return found != 0;
    e->io.cached = NULL;
    e->policy.probe_every = PGQ_PREFETCH_PROBE_SELDOM;
    return e->io.read(e->io.arg, engine_fd(e, access), &byte, 1, engine_offset(e, access), true) == 1;
}

bool pgq_prefetch_engine_pays(engine *e, uint32_t access)
{
    const pgq_prefetch_access *block = &e->job->accesses[access];

    switch (pgq_prefetch_policy_look(&e->policy, block->file, block->block, access == e->job->used)) {
    case PGQ_PREFETCH_ADVICE_NONE:
        return false;
    case PGQ_PREFETCH_ADVICE_GIVE:
        return true;
    case PGQ_PREFETCH_ADVICE_PROBE:
        break;
    }
    return pgq_prefetch_policy_probed(&e->policy, is_cached(e, access));
}

/* A read that must not wait costs a little more than pread. */
pgq_code pgq_prefetch_engine_read_and_watch(engine *e, uint32_t access, uint32_t frame)
{
    int64_t got;

    if (!e->policy.quiet || !pgq_prefetch_policy_watches(&e->policy))
        return pgq_prefetch_engine_read(e, access, frame);
    got = e->io.read(e->io.arg, engine_fd(e, access), pool_page(&e->pool, frame), POOL_PAGE,
                     engine_offset(e, access), true);
    pgq_prefetch_policy_read(&e->policy, got == POOL_PAGE);
    if (got != POOL_PAGE)
        return pgq_prefetch_engine_read_rest(e, access, frame, got > 0 ? (size_t)got : 0);
    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_READ, access);
    return PGQ_OK;
}
