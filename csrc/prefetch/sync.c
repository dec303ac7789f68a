/* SPDX-License-Identifier: PostgreSQL */
/* Replay without prefetching: PostgreSQL 14 and earlier, or recovery_prefetch = off. */
#include "prefetch/engine.h"

static const way in_order = {.looks_ahead = false, .read = pgq_prefetch_engine_read};

pgq_status pgq_prefetch_replay_sync(pgq_prefetch_job *job)
{
    engine e = {.way = &in_order};

    return pgq_prefetch_engine_run(&e, job);
}
