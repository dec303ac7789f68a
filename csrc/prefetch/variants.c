/* SPDX-License-Identifier: PostgreSQL */
/* The table of the kind prefetch_replay. The last one runs everywhere, and is never much worse than `sync`. */
#include "common/dispatch.h"
#include "prefetch/engine.h"

const pgq_prefetch_replay_variant pgq_prefetch_replay_variants[] = {
    {"sync", "no look-ahead: pread, a block at a time", pgq_cpu_any, pgq_prefetch_replay_sync},
    {"advise", "upstream: posix_fadvise for what comes, then pread", pgq_cpu_any, pgq_prefetch_replay_advise},
    {"uring", "io_uring reads into the buffers, through the kernel's cache", pgq_cpu_any,
     pgq_prefetch_replay_uring},
    {"uring_direct",
     "io_uring reads into the buffers, with O_DIRECT, of what the kernel does not have cached", pgq_cpu_any,
     pgq_prefetch_replay_uring_direct},
    {"advise_adaptive", "as advise, as long as the kernel does not have the blocks cached", pgq_cpu_any,
     pgq_prefetch_replay_advise_adaptive},
};
const size_t pgq_prefetch_replay_variant_count =
    sizeof pgq_prefetch_replay_variants / sizeof pgq_prefetch_replay_variants[0];
PGQ_KIND(prefetch_replay)

pgq_status pgq_prefetch_replay(pgq_prefetch_job *job)
{
    const pgq_prefetch_replay_variant *variant = prefetch_replay_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(job);
}
