/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: an access to the block of the one before it is left out, though each is a record that must be replayed. */
#include <stdlib.h>

pgq_status pgq_prefetch_replay_advise(pgq_prefetch_job *job);

pgq_status candidate(pgq_prefetch_job *job)
{
    if (job == NULL || job->accesses == NULL || job->record_blocks != NULL)
        return pgq_prefetch_replay_advise(job);
    pgq_prefetch_access *kept = malloc((job->access_count + 1) * sizeof *kept);
    const pgq_prefetch_access *all = job->accesses;
    size_t n = 0, given = job->access_count;

    if (kept == NULL)
        return (pgq_status){PGQ_MEMORY, 0};
    for (size_t i = 0; i < given; i++)
        if (n == 0 || all[i].file != kept[n - 1].file || all[i].block != kept[n - 1].block)
            kept[n++] = all[i];
    job->accesses = kept;
    job->access_count = n;
    pgq_status status = pgq_prefetch_replay_advise(job);
    job->accesses = all;
    job->access_count = given;
    free(kept);
    return status;
}
