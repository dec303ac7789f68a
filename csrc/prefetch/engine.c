/* SPDX-License-Identifier: PostgreSQL */
/* The engine: the prefetcher looks ahead along the accesses, and replay takes them one by one. */
#include "prefetch/engine.h"

#include "common/holds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- the system's own calls ---- */

enum { CACHESTAT = 451 };

static int64_t system_read(void *arg, int fd, void *buffer, size_t size, uint64_t offset, bool nowait)
{
    ssize_t got;

    (void)arg;
    if (nowait) {
#ifdef RWF_NOWAIT
        struct iovec whole = {buffer, size};

        got = preadv2(fd, &whole, 1, (off_t)offset, RWF_NOWAIT);
#else
        return -EOPNOTSUPP;
#endif
    } else
        got = pread(fd, buffer, size, (off_t)offset);
    return got < 0 ? -errno : got;
}

static int system_advise(void *arg, int fd, uint64_t offset, size_t size)
{
    (void)arg;
    return posix_fadvise(fd, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
}

/* cachestat, of Linux 6.5 and later; its number is the same on all architectures. */
static int system_cached(void *arg, int fd, uint64_t offset, size_t size)
{
    struct {
        uint64_t offset, size;
    } range = {offset, size};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } pages = {0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    (void)arg;
    if (syscall(CACHESTAT, fd, &range, &pages, 0) != 0)
        return -errno;
    return pages.cached > (offset + size - 1) / page - offset / page;
}

static int32_t system_completed(void *arg, uint32_t access, int32_t result)
{
    (void)arg;
    (void)access;
    return result;
}

static int system_goes_on(void *arg)
{
    (void)arg;
    return 0;
}

/* ---- steps that the variants share ---- */

void pgq_prefetch_engine_log(engine *e, pgq_prefetch_step_what what, uint32_t access)
{
    /* Five steps an access at most. */
    HOLDS(e->job->steps == NULL || e->job->step_count < e->job->step_space);
    if (e->job->steps != NULL)
        e->job->steps[e->job->step_count] = (pgq_prefetch_step){what, access};
    e->job->step_count++;
}

pgq_code pgq_prefetch_engine_failed(engine *e, int64_t error)
{
    e->job->error_number = (int)-error;
    return PGQ_PREFETCH_IO;
}

pgq_code pgq_prefetch_engine_read(engine *e, uint32_t access, uint32_t frame)
{
    return pgq_prefetch_engine_read_rest(e, access, frame, 0);
}

pgq_code pgq_prefetch_engine_read_rest(engine *e, uint32_t access, uint32_t frame, size_t done)
{
    unsigned char *page = pool_page(&e->pool, frame);

    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_READ, access);
    while (done < POOL_PAGE) {
        int64_t got = e->io.read(e->io.arg, engine_fd(e, access), page + done, POOL_PAGE - done,
                                 engine_offset(e, access) + done, false);

        if (got == 0)
            return PGQ_PREFETCH_SHORT;
        if (got < 0 && got != -EINTR)
            return pgq_prefetch_engine_failed(e, got);
        done += got > 0 ? (size_t)got : 0;
        HOLDS(done <= POOL_PAGE); /* what lies behind is another page's */
    }
    return PGQ_OK;
}

/* ---- what the prefetcher asks ---- */

static uint32_t blocks_of(const pgq_prefetch_job *job, uint32_t record)
{
    return job->record_blocks == NULL ? 1 : job->record_blocks[record];
}

/* Record i lies from LSN i + 1 to LSN i + 2. A slot is used again once its record has been replayed. */
static const pgq_prefetch_record *read_ahead(void *arg, size_t queued, bool nonblocking)
{
    engine *e = arg;
    uint32_t record = e->decoded, slot = record % e->record_space;
    pgq_prefetch_block *blocks = &e->blocks[(size_t)slot * e->most_blocks];

    (void)queued;
    /* The slot's record is neither queued nor the one that is replayed. */
    HOLDS(queued + 1 < e->record_space);
    if (record == e->record_count || (e->policy.quiet && nonblocking))
        return NULL;
    e->records[slot] = (pgq_prefetch_record){.lsn = (uint64_t)record + 1,
                                             .next_lsn = (uint64_t)record + 2,
                                             .blocks = blocks,
                                             .block_count = blocks_of(e->job, record)};
    e->first_accesses[slot] = e->decoded_accesses;
    for (uint32_t i = 0; i < e->records[slot].block_count; i++) {
        const pgq_prefetch_access *access = &e->job->accesses[e->decoded_accesses++];

        blocks[i] =
            (pgq_prefetch_block){.relation.number = access->file, .block = access->block, .in_use = true};
    }
    e->decoded++;
    return &e->records[slot];
}

static uint32_t first_access(const engine *e, const pgq_prefetch_record *record)
{
    return e->first_accesses[record - e->records];
}

static int64_t blocks(void *arg, const pgq_prefetch_relation *relation)
{
    return ((engine *)arg)->sizes[relation->number];
}

static int64_t buffer(void *arg, const pgq_prefetch_relation *relation, uint32_t block)
{
    return pgq_prefetch_pool_find(&((engine *)arg)->pool, (pgq_prefetch_access){relation->number, block});
}

static void event(void *arg, const pgq_prefetch_event *event)
{
    engine *e = arg;

    if (event->what == PGQ_PREFETCH_WHAT_PREFETCH)
        e->way->start(e, first_access(e, event->record) + event->index);
}

/* ---- the workspace ---- */

/* Whether the segments have a number each in fds. */
static bool has_sound_segments(const pgq_prefetch_job *job)
{
    uint64_t all = 0;

    for (uint32_t i = 0; job->segments != NULL && i < job->file_count; i++)
        all += job->segments[i];
    return all <= INT32_MAX;
}

/* Whether the records have all accesses, and no more. */
static bool has_sound_records(const pgq_prefetch_job *job)
{
    uint64_t blocks = 0;

    if (job->record_blocks == NULL)
        return true;
    if (job->record_count >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < job->record_count; i++) {
        if (job->record_blocks[i] > PGQ_PREFETCH_RECORD_BLOCKS)
            return false;
        blocks += job->record_blocks[i];
    }
    return blocks == job->access_count;
}

static pgq_status check(const pgq_prefetch_job *job)
{
    if (job->fds == NULL || (job->accesses == NULL && job->access_count != 0))
        return refused(PGQ_NULL, 0);
    if (job->concurrency > PGQ_PREFETCH_MAX_CONCURRENCY || job->buffers <= job->concurrency ||
        job->buffers > UINT32_MAX / 2 || job->access_count >= UINT32_MAX ||
        (job->steps != NULL && job->step_space / 5 < job->access_count) || !has_sound_records(job) ||
        !has_sound_segments(job))
        return refused(PGQ_PREFETCH_JOB, 0);
    for (size_t i = 0; i < job->access_count; i++)
        if (job->accesses[i].file >= job->file_count)
            return refused(PGQ_PREFETCH_FILE, i + 1);
    return accepted();
}

/* The whole blocks of a file, or a segment. */
static pgq_status measure(engine *e, uint32_t place, int64_t *blocks)
{
    struct stat file;

    *blocks = 0;
    if (e->segment_blocks != 0 && e->job->fds[place] == -1)
        return accepted();
    if (fstat(e->job->fds[place], &file) != 0) {
        e->job->error_number = errno;
        return refused(PGQ_PREFETCH_FILE, 0);
    }
    *blocks = file.st_size / POOL_PAGE;
    return accepted();
}

/* The blocks of a file are those of its segments, of which all but the last one with any are full. */
static pgq_status measure_segments(engine *e, uint32_t file)
{
    bool ended = false;

    for (uint32_t place = e->first_fds[file]; place < e->first_fds[file + 1]; place++) {
        int64_t blocks;
        pgq_status status = measure(e, place, &blocks);

        if (status.code != PGQ_OK)
            return status;
        if (e->segment_blocks != 0 && ((ended && blocks > 0) || blocks > e->segment_blocks))
            return refused(PGQ_PREFETCH_SEGMENT, (size_t)place + 1);
        ended = blocks < e->segment_blocks;
        e->sizes[file] += blocks;
    }
    return accepted();
}

static pgq_status measure_files(engine *e)
{
    pgq_status status = accepted();

    for (uint32_t i = 0; i < e->job->file_count; i++)
        e->first_fds[i + 1] = e->first_fds[i] + (e->job->segments == NULL ? 1 : e->job->segments[i]);
    for (uint32_t i = 0; i < e->job->file_count && status.code == PGQ_OK; i++)
        status = measure_segments(e, i);
    return status;
}

static void use_system_calls(engine *e)
{
    if (e->job->io != NULL)
        e->io = *e->job->io;
    if (e->io.cached == NULL && e->io.read == NULL)
        e->io.cached = system_cached;
    if (e->io.read == NULL)
        e->io.read = system_read;
    if (e->io.advise == NULL)
        e->io.advise = system_advise;
    if (e->io.completed == NULL)
        e->io.completed = system_completed;
    if (e->io.submit == NULL)
        e->io.submit = system_goes_on;
    if (e->io.wait == NULL)
        e->io.wait = system_goes_on;
}

/* The queue has space for all that the ring looks at, and one record more. */
static bool allocate(engine *e)
{
    pgq_prefetch *p = &e->prefetch;

    e->record_count = (uint32_t)(e->job->record_blocks == NULL ? e->job->access_count : e->job->record_count);
    e->most_blocks = 1;
    for (uint32_t i = 0; i < e->record_count; i++)
        if (blocks_of(e->job, i) > e->most_blocks)
            e->most_blocks = blocks_of(e->job, i);
    e->record_space = PGQ_PREFETCH_DISTANCE_MULTIPLIER * e->job->concurrency + 3;
    p->queue_space = e->record_space - 1;
    p->entry_space = e->record_space;
    p->filter_space = (size_t)e->job->file_count + 2;
    e->sizes = calloc((size_t)e->job->file_count + 1, sizeof *e->sizes);
    e->first_fds = calloc((size_t)e->job->file_count + 1, sizeof *e->first_fds);
    e->records = calloc(e->record_space, sizeof *e->records);
    e->blocks = calloc((size_t)e->record_space * e->most_blocks, sizeof *e->blocks);
    e->first_accesses = calloc(e->record_space, sizeof *e->first_accesses);
    p->entries = calloc(p->entry_space, sizeof *p->entries);
    p->queue = calloc(p->queue_space, sizeof *p->queue);
    p->filters = calloc(p->filter_space, sizeof *p->filters);
    return pgq_prefetch_pool_make(&e->pool, e->job->buffers) && e->sizes != NULL && e->first_fds != NULL &&
           e->records != NULL && e->blocks != NULL && e->first_accesses != NULL && p->entries != NULL &&
           p->queue != NULL && p->filters != NULL;
}

static void release(engine *e)
{
    pgq_prefetch_pool_free(&e->pool);
    free(e->sizes);
    free(e->first_fds);
    free(e->records);
    free(e->blocks);
    free(e->first_accesses);
    free(e->prefetch.entries);
    free(e->prefetch.queue);
    free(e->prefetch.filters);
}

/* ---- replay ---- */

/* Sees to it that the page of an access is in a buffer, and replays it. */
static pgq_code replay_access(engine *e, uint32_t access)
{
    const pgq_prefetch_access *block = &e->job->accesses[access];
    int64_t found;
    pgq_code code = PGQ_OK;

    HOLDS(access == e->job->used); /* in order, each once */
    if (block->block >= e->sizes[block->file])
        return PGQ_PREFETCH_PAST_END;
    found = pgq_prefetch_pool_find(&e->pool, *block);
    if (found == POOL_NONE) {
        found = pgq_prefetch_pool_take(&e->pool, *block);
        code = e->way->read(e, access, (uint32_t)found);
    } else if (e->way->await != NULL)
        code = e->way->await(e, access, (uint32_t)found);
    if (code != PGQ_OK)
        return code;
    pgq_prefetch_engine_log(e, PGQ_PREFETCH_STEP_USE, access);
    if (e->job->use != NULL)
        e->job->use(e->job->arg, access, pool_page(&e->pool, (uint32_t)found));
    e->job->used++;
    return PGQ_OK;
}

/* Replays the accesses of a record: `count` of them, from `first` on. */
static pgq_status replay(engine *e, uint32_t first, uint32_t count)
{
    for (uint32_t access = first; access < first + count; access++) {
        pgq_code code = replay_access(e, access);

        if (code != PGQ_OK)
            return refused(code, (size_t)access + 1);
    }
    return accepted();
}

/* Nothing is queued. Replays what comes without look-ahead: all of it, or while the policy is quiet. */
static pgq_status replay_in_order(engine *e, bool all)
{
    pgq_status status = accepted();

    while (status.code == PGQ_OK && e->decoded < e->record_count && (all || e->policy.quiet)) {
        size_t used = e->job->used;
        uint32_t count = blocks_of(e->job, e->decoded++);

        status = replay(e, e->decoded_accesses, count);
        e->decoded_accesses += count;
        e->job->rested += e->job->used - used;
    }
    return status;
}

static pgq_status replay_looking_ahead(engine *e)
{
    pgq_status status = pgq_prefetch_begin(&e->prefetch, e->job->concurrency, 1);

    e->world = (pgq_prefetch_world){e, read_ahead, blocks, buffer, event};
    while (status.code == PGQ_OK) {
        const pgq_prefetch_record *record;

        if (e->policy.quiet && e->prefetch.queued == 0)
            status = replay_in_order(e, false);
        if (status.code == PGQ_OK)
            status = pgq_prefetch_read(&e->prefetch, &e->world, &record);
        if (status.code != PGQ_OK || record == NULL)
            break;
        if (e->way->started != NULL)
            e->way->started(e);
        status = replay(e, first_access(e, record), record->block_count);
    }
    memcpy(e->job->counters, e->prefetch.counters, sizeof e->job->counters);
    return status;
}

/* With one in flight all that could be advised is what replay needs next: a policy sees no use in that. */
static bool looks_ahead(const engine *e)
{
    return e->way->looks_ahead && (e->way->probe_every == 0 || e->job->concurrency > 1);
}

pgq_status pgq_prefetch_engine_run(engine *e, pgq_prefetch_job *job)
{
    pgq_status status;

    if (job == NULL)
        return refused(PGQ_NULL, 0);
    job->step_count = job->used = job->rested = job->combined = job->calls = 0;
    job->registered = false;
    job->error_number = 0;
    memset(job->counters, 0, sizeof job->counters);
    status = check(job);
    if (status.code != PGQ_OK)
        return status;
    e->job = job;
    e->policy = (pgq_prefetch_policy){.probe_every = e->way->probe_every,
                                      .probes_needed = PGQ_PREFETCH_FEWEST_PROBES};
    if (job->segments != NULL)
        e->segment_blocks = job->segment_blocks == 0 ? PGQ_PREFETCH_SEGMENT_BLOCKS : job->segment_blocks;
    use_system_calls(e);
    status = allocate(e) ? measure_files(e) : refused(PGQ_MEMORY, 0);
    if (status.code == PGQ_OK && e->way->begin != NULL)
        status = e->way->begin(e);
    if (status.code == PGQ_OK)
        status = looks_ahead(e) ? replay_looking_ahead(e) : replay_in_order(e, true);
    if (e->way->end != NULL)
        e->way->end(e);
    release(e);
    return status;
}
