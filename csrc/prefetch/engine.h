/* SPDX-License-Identifier: PostgreSQL */
/* What the variants of the kind prefetch_replay share: the workspace, the loop, and a page read by pread. */
#ifndef PGQUERN_PREFETCH_ENGINE_H
#define PGQUERN_PREFETCH_ENGINE_H

#include "common/outcome.h"
#include "prefetch/pool.h"
#include "prefetch/prefetch.h"

typedef struct engine engine;

/* What a variant does in its own way. NULL: nothing. */
typedef struct way {
    bool looks_ahead;
    uint32_t probe_every; /* of the policy; 0: the variant has none */
    /* Before the first access is replayed, and after the last: also if begin refused. */
    pgq_status (*begin)(engine *e);
    void (*end)(engine *e);
    /* Look-ahead has come to an access whose block is in no buffer. */
    void (*start)(engine *e, uint32_t access);
    /* Look-ahead has ended for now. */
    void (*started)(engine *e);
    /* The page of an access is not in the pool: read it to a frame that was taken for it. */
    pgq_code (*read)(engine *e, uint32_t access, uint32_t frame);
    /* The page of an access is in the pool, or will be: see to it. */
    pgq_code (*await)(engine *e, uint32_t access, uint32_t frame);
} way;

struct engine {
    pgq_prefetch_job *job;
    const way *way;
    void *own; /* the variant's */
    pgq_prefetch_io io;
    pgq_prefetch_policy policy;
    pool pool;
    int64_t *sizes;      /* of the files, in blocks */
    uint32_t *first_fds; /* of each file, where its segments are in the job's fds; and how many there are */
    uint32_t segment_blocks; /* 0: each file is one of fds */

    /* The prefetcher, and the records that stand for the accesses: those that are queued and the one given out. */
    pgq_prefetch prefetch;
    pgq_prefetch_world world;
    pgq_prefetch_record *records;
    pgq_prefetch_block *blocks; /* most_blocks of each of them */
    uint32_t *first_accesses;   /* of each of them */
    uint32_t record_space, most_blocks;
    uint32_t record_count;
    uint32_t decoded, decoded_accesses; /* records that look-ahead was given, and their accesses */
};

/* Runs a job in a variant's way. The caller has set way and own, and zero in all other members. */
pgq_status pgq_prefetch_engine_run(engine *e, pgq_prefetch_job *job);

/* Notes a step in the job's log. */
void pgq_prefetch_engine_log(engine *e, pgq_prefetch_step_what what, uint32_t access);

/* Reads the page of an access, and waits for it. */
pgq_code pgq_prefetch_engine_read(engine *e, uint32_t access, uint32_t frame);

/* The same, if `done` bytes of the page are there already. */
pgq_code pgq_prefetch_engine_read_rest(engine *e, uint32_t access, uint32_t frame, size_t done);

/* The refusal for a read that failed with -error. */
pgq_code pgq_prefetch_engine_failed(engine *e, int64_t error);

/* By the policy: whether to read ahead, or to advise, the block of an access that look-ahead has come to. */
bool pgq_prefetch_engine_pays(engine *e, uint32_t access);

/* Reads the page of an access through the kernel's cache. While it rests, the policy hears whether that had to wait. */
pgq_code pgq_prefetch_engine_read_and_watch(engine *e, uint32_t access, uint32_t frame);

static inline uint64_t engine_offset(const engine *e, uint32_t access)
{
    uint32_t block = e->job->accesses[access].block;

    return (uint64_t)(e->segment_blocks == 0 ? block : block % e->segment_blocks) * POOL_PAGE;
}

/* The place in fds of the file, or segment, that has an access's block. */
static inline uint32_t engine_segment(const engine *e, uint32_t access)
{
    const pgq_prefetch_access *block = &e->job->accesses[access];

    return e->segment_blocks == 0 ? block->file
                                  : e->first_fds[block->file] + block->block / e->segment_blocks;
}

static inline uint32_t engine_fd_count(const engine *e)
{
    return e->first_fds[e->job->file_count];
}

static inline int engine_fd(const engine *e, uint32_t access)
{
    return e->job->fds[engine_segment(e, access)];
}

/* The variants. */
pgq_status pgq_prefetch_replay_sync(pgq_prefetch_job *job);
pgq_status pgq_prefetch_replay_advise(pgq_prefetch_job *job);
pgq_status pgq_prefetch_replay_advise_adaptive(pgq_prefetch_job *job);
pgq_status pgq_prefetch_replay_uring(pgq_prefetch_job *job);
pgq_status pgq_prefetch_replay_uring_direct(pgq_prefetch_job *job);

#endif
