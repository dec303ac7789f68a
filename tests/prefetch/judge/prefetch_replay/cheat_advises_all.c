/* SPDX-License-Identifier: PostgreSQL */
/* It advises all blocks at once, whatever `concurrency` is, behind the back of who counts them. */
#include "pgquern.h"

#include <fcntl.h>

pgq_status pgq_prefetch_replay_sync(pgq_prefetch_job *job);

pgq_status candidate(pgq_prefetch_job *job)
{
    bool looks = job != NULL && job->fds != NULL && job->accesses != NULL && job->segments == NULL;

    for (size_t i = 0; looks && job->concurrency > 0 && i < job->access_count; i++)
        if (job->accesses[i].file < job->file_count)
            posix_fadvise(job->fds[job->accesses[i].file], (off_t)job->accesses[i].block * 8192, 8192,
                          POSIX_FADV_WILLNEED);
    return pgq_prefetch_replay_sync(job);
}
