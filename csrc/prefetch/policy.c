/* SPDX-License-Identifier: PostgreSQL */
/* The policy of advise_adaptive and uring_direct; AdvicePolicy of ref/prefetch.py says why. */
#include "prefetch/prefetch.h"

pgq_prefetch_advice pgq_prefetch_policy_look(pgq_prefetch_policy *policy, uint32_t file, uint32_t block,
                                             bool comes_next)
{
    bool follows = policy->looked && block != 0 && policy->file == file && policy->block == block - 1;

    policy->looked = true;
    policy->file = file;
    policy->block = block;
    if (policy->quiet || follows || comes_next)
        return PGQ_PREFETCH_ADVICE_NONE;
    if (policy->until_probe != 0) {
        policy->until_probe--;
        return PGQ_PREFETCH_ADVICE_GIVE;
    }
    return PGQ_PREFETCH_ADVICE_PROBE;
}

bool pgq_prefetch_policy_probed(pgq_prefetch_policy *policy, bool cached)
{
    if (!cached) {
        policy->cached_probes = 0;
        policy->until_probe = policy->probe_every - 1;
        return true;
    }
    policy->cached_probes++;
    if (policy->cached_probes == policy->probes_needed) {
        policy->quiet = true;
        policy->cached_probes = 0;
        policy->quiet_reads = 0;
    }
    return false;
}

void pgq_prefetch_policy_read(pgq_prefetch_policy *policy, bool cached)
{
    policy->quiet_reads++;
    if (cached)
        return;
    if (policy->quiet_reads >= PGQ_PREFETCH_LONG_QUIET)
        policy->probes_needed = PGQ_PREFETCH_FEWEST_PROBES;
    else if (policy->probes_needed < PGQ_PREFETCH_MOST_PROBES)
        policy->probes_needed *= 2;
    policy->quiet = false;
    policy->until_probe = 0;
}
