/* SPDX-License-Identifier: PostgreSQL */
/* The policy of advise_adaptive and uring_direct; AdvicePolicy of ref/prefetch.py says why. */
#include "prefetch/prefetch.h"

pgq_prefetch_advice pgq_prefetch_policy_look(pgq_prefetch_policy *policy, uint32_t file, uint32_t block,
                                             bool comes_next)
{
    bool in_sequence = policy->looked && block != 0 && policy->file == file && policy->block == block - 1;
    bool follows = in_sequence && policy->gave;

    policy->run = !in_sequence                          ? 0
                  : policy->run == PGQ_PREFETCH_COMBINE ? PGQ_PREFETCH_COMBINE
                                                        : policy->run + 1;
    policy->looked = true;
    policy->gave = false;
    policy->file = file;
    policy->block = block;
    if (policy->quiet || comes_next || policy->run == PGQ_PREFETCH_COMBINE)
        return PGQ_PREFETCH_ADVICE_NONE;
    if (!follows && policy->until_probe == 0)
        return PGQ_PREFETCH_ADVICE_PROBE;
    policy->until_probe -= !follows;
    policy->gave = true;
    return PGQ_PREFETCH_ADVICE_GIVE;
}

bool pgq_prefetch_policy_probed(pgq_prefetch_policy *policy, bool cached)
{
    if (!cached) {
        policy->cold_probes += policy->cold_probes < PGQ_PREFETCH_COLD_PROBES;
        policy->cached_probes = 0;
        policy->until_probe = policy->probe_every - 1;
        if (policy->cold_probes == PGQ_PREFETCH_COLD_PROBES)
            policy->until_probe = PGQ_PREFETCH_TIMES_COLD * policy->probe_every - 1;
        policy->gave = true;
        return true;
    }
    policy->cold_probes = 0;
    policy->cached_probes++;
    if (policy->cached_probes == policy->probes_needed) {
        policy->quiet = true;
        policy->cached_probes = 0;
        policy->quiet_reads = 0;
        policy->until_watch = 0;
    }
    return false;
}

bool pgq_prefetch_policy_watches(pgq_prefetch_policy *policy)
{
    if (policy->until_watch == 0)
        return true;
    policy->until_watch--;
    return false;
}

void pgq_prefetch_policy_read(pgq_prefetch_policy *policy, bool cached)
{
    policy->quiet_reads++;
    if (cached) {
        if (policy->quiet_reads >= PGQ_PREFETCH_WATCH_ALL)
            policy->until_watch = PGQ_PREFETCH_WATCH_EVERY - 1;
        return;
    }
    if (policy->quiet_reads >= PGQ_PREFETCH_LONG_QUIET)
        policy->probes_needed = PGQ_PREFETCH_FEWEST_PROBES;
    else if (policy->probes_needed < PGQ_PREFETCH_MOST_PROBES)
        policy->probes_needed *= 2;
    policy->quiet = false;
    policy->until_probe = 0;
}
