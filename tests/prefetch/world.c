/* SPDX-License-Identifier: PostgreSQL */
/*
 * The engine on files of the world, by each variant, with an io_uring of the world. What must hold:
 * - each access is replayed once, in its order, and its page is what the file has, while it is replayed too;
 * - a job is refused only for what the system has said of this access's block, or at its start, and says so;
 * - what the kernel was asked for is a page or the rest of one, or by the ring pages that follow each other; past the cache
 *   what the ring reads where the variant says so;
 * - each read that was started has ended, when the job ends; then all is given back, and the kernel writes to no buffer;
 * - nobody waits for ever; the log of steps and the counters tell what was done.
 * In some jobs the two files are the segments of one.
 */
#include "../tests/world/system.h"
#include "common/uring.h"
#include "pgquern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 2, BLOCKS = 10, PAGE = 8192, SECTOR = 512, ACCESSES = 640, VARIANTS = 5 };
#define COUNTS(X)                                                                                            \
    X(SYNC), X(ADVISE), X(URING), X(URING_DIRECT), X(ADVISE_ADAPTIVE), X(REPLAYED), X(NO_MEMORY),            \
        X(NO_FILE), X(NO_RING), X(PAST_END), X(SHORT), X(FAILED), X(PARTS), X(INTERRUPTED),                  \
        X(MACHINE_STOPS), X(ADVISED), X(PROBED), X(NO_LOOK_AHEAD), X(RESTED), X(RECORDS), X(SEGMENTS)
#define RING_COUNTS(X)                                                                                       \
    X(NO_DIRECT), X(SUBMITTED), X(GIVEN_UP), X(REPLAYED_WITHOUT_THE_RING), X(FAILED_WAITS), X(TAKES_FEWER),  \
        X(IN_FLIGHT_AT_A_REFUSAL), X(COMBINED), X(COMBINED_AND_FAILED), X(COMBINED_AND_CUT), X(REGISTERED)
enum { COUNTS(WORLD_NAME), RING_COUNTS(WORLD_NAME) };
#if HAVE_LIBURING
const char *const world_counts[] = {COUNTS(WORLD_TEXT), RING_COUNTS(WORLD_TEXT), NULL};
#else
const char *const world_counts[] = {COUNTS(WORLD_TEXT), NULL};
#endif
const unsigned world_steps = 5;
const bool world_tries_all_lines = true;

typedef struct row {
    world *world;
    disk disk;
    uint64_t sizes[FILES], contents[FILES][BLOCKS + 1][PAGE / 8];
    const char *variant;
    bool direct, adapts; /* adapts: it has a policy, which rests after many probes */
    pgq_prefetch_job job;
    pgq_prefetch_access accesses[ACCESSES]; /* as the job has them, */
    pgq_prefetch_access places[ACCESSES];   /* and by the disk's files */
    uint32_t segments[1];
    uint32_t record_blocks[2 * ACCESSES];
    pgq_prefetch_step steps[5 * ACCESSES];
    pgq_prefetch_io io;
    unsigned cached_in_8; /* probes of 8 that find their block cached; 9: the kernel does not say */
    pgq_status status;
    uint32_t used;
    int64_t said[FILES][BLOCKS + 1]; /* the last result of a read of the block that was not interrupted */
    bool failed[FILES][BLOCKS + 1];  /* the ring's last read of the block */
    unsigned reads, shrinks_at;      /* then a file becomes shorter; 0: never */
} row;

/* ---- what the kernel is asked for, and what is replayed ---- */

/* Of a read of one block, a part of it or a byte. */
static void note_answer(row *r, const system_request *said, uint64_t block)
{
    if (said->result == -EINTR || (said->by_ring && said->result == -EAGAIN))
        world_count(INTERRUPTED); /* no reason to refuse */
    else
        r->said[said->file][block] = said->result;
    if (said->by_ring)
        r->failed[said->file][block] = said->result < 0 && said->result != -EINTR && said->result != -EAGAIN;
    if (said->result > 0 && (uint64_t)said->result < said->size)
        world_count(PARTS);
}

/* The ring has read blocks that follow each other: no reason to refuse any of them, whatever it says. */
static void note_combined(row *r, const system_request *said)
{
    world_count(COMBINED);
    if (said->result < 0)
        world_count(COMBINED_AND_FAILED);
    if (said->result > 0 && (uint64_t)said->result < said->size)
        world_count(COMBINED_AND_CUT);
    for (uint64_t block = said->offset / PAGE; block < (said->offset + said->size) / PAGE; block++) {
        r->said[said->file][block] = 1;
        r->failed[said->file][block] = false;
    }
}

static void told(void *context, const system_request *said)
{
    row *r = context;
    uint64_t block = said->offset / PAGE, at = said->offset % PAGE;
    bool probe = said->size == 1 && at == 0, to_the_end = at + said->size == PAGE;
    bool combined = said->by_ring && at == 0 && said->size > PAGE && said->size % PAGE == 0 &&
                    block + said->size / PAGE <= BLOCKS + 1;

    if (said->write || said->file < 0 || block > BLOCKS || (!probe && !combined && said->size > PAGE - at) ||
        (!to_the_end && said->size % 4096 != 0 && !probe)) {
        world_violation(r->world, "the kernel is asked for %llu bytes at %llu",
                        (unsigned long long)said->size, (unsigned long long)said->offset);
        return;
    }
    if (said->direct != (r->direct && said->by_ring))
        world_violation(r->world, "block %llu is read %s the cache", (unsigned long long)block,
                        said->direct ? "past" : "through");
    if (combined)
        note_combined(r, said);
    else
        note_answer(r, said, block);
    if (++r->reads == r->shrinks_at)
        r->disk.files[0].cache_size = world_below(r->world, r->disk.files[0].cache_size);
}

/* The answer need not be true: what the kernel has cached may leave at any time. */
static int cached(void *context, int fd, uint64_t offset, size_t size)
{
    row *r = context;

    (void)fd;
    if (size != PAGE || offset % PAGE != 0)
        world_violation(r->world, "asked whether %zu bytes at %llu are cached", size,
                        (unsigned long long)offset);
    return r->cached_in_8 == 9 ? -ENOSYS : world_below(r->world, 8) < r->cached_in_8;
}

static void use(void *context, uint32_t access, void *page)
{
    row *r = context;
    const pgq_prefetch_access *a = &r->places[access];

    if (access != r->used++)
        world_violation(r->world, "access %u is replayed in the place of %u", access, r->used - 1);
    if (r->failed[a->file][a->block])
        world_violation(r->world, "access %u is replayed, though its read has failed", access);
    for (int look = 0; look < 3 && !r->world->violated; look++) {
        if (memcmp(page, r->contents[a->file][a->block], PAGE) != 0)
            world_violation(r->world, "access %u: the page is not that of the file", access);
        world_yield();
    }
}

/* ---- how a job ends ---- */

static bool is_short_of(const row *r, const pgq_prefetch_access *a)
{
    return a->block >= r->sizes[a->file] / PAGE;
}

/* Of an access: all before it were replayed. */
static bool may_refuse(const row *r, const pgq_prefetch_access *a)
{
    int64_t said = r->said[a->file][a->block];

    if (r->status.code == PGQ_PREFETCH_PAST_END)
        return is_short_of(r, a);
    return r->status.code == PGQ_PREFETCH_SHORT
               ? said == 0
               : r->status.code == PGQ_PREFETCH_IO && said < 0 && r->job.error_number == -said;
}

static bool may_refuse_at_the_start(const row *r)
{
    int error = r->job.error_number, no_ring = the_system.no_ring < 0 ? 0 : the_system.no_ring;
    bool asynchronous = strncmp(r->variant, "uring", 5) == 0;

    switch (r->status.code) {
    case PGQ_MEMORY:
        return the_system.no_memory > 0;
    case PGQ_PREFETCH_FILE:
        return the_system.no_descriptor != 0 && error == the_system.no_descriptor;
    case PGQ_PREFETCH_URING:
        return asynchronous && (!HAVE_LIBURING || (the_system.no_ring != 0 && error == no_ring));
    case PGQ_PREFETCH_DIRECT:
        return r->direct && the_system.no_descriptor != 0 && error == the_system.no_descriptor;
    default:
        return false;
    }
}

static void count_refusal(pgq_code code)
{
    world_count(code == PGQ_MEMORY              ? NO_MEMORY
                : code == PGQ_PREFETCH_FILE     ? NO_FILE
                : code == PGQ_PREFETCH_URING    ? NO_RING
                : code == PGQ_PREFETCH_PAST_END ? PAST_END
                : code == PGQ_PREFETCH_SHORT    ? SHORT
                : code == PGQ_PREFETCH_IO       ? FAILED
                                                : NO_DIRECT);
}

static void check_status(const row *r)
{
    const pgq_prefetch_job *job = &r->job;
    pgq_status s = r->status;

    if (job->used != r->used)
        world_violation(r->world, "%zu accesses count as replayed, and %u were", job->used, r->used);
    if (s.code == PGQ_OK) {
        world_count(REPLAYED);
        if (r->used != job->access_count || s.index != 0)
            world_violation(r->world, "%u of %zu were replayed", r->used, job->access_count);
        return;
    }
    count_refusal(s.code);
    if (s.index == 0 ? r->used > 0 || !may_refuse_at_the_start(r)
                     : s.index != r->used + 1 || !may_refuse(r, &r->places[r->used]))
        world_violation(r->world, "refused with %d, index %u, error %d, after %u accesses", (int)s.code,
                        s.index, job->error_number, r->used);
}

/* ---- the log ---- */

enum { WHATS = PGQ_PREFETCH_STEP_GIVE_UP + 1 };

static void check_step(const row *r, pgq_prefetch_step step, bool seen[ACCESSES][WHATS], uint32_t *ahead)
{
    const bool *mine = seen[step.access];
    bool started = step.what == PGQ_PREFETCH_STEP_SUBMIT || step.what == PGQ_PREFETCH_STEP_ADVISE;
    bool ends = step.what == PGQ_PREFETCH_STEP_COMPLETE || step.what == PGQ_PREFETCH_STEP_GIVE_UP;

    if (mine[step.what] || (ends && !mine[PGQ_PREFETCH_STEP_SUBMIT]) ||
        (ends && (mine[PGQ_PREFETCH_STEP_COMPLETE] || mine[PGQ_PREFETCH_STEP_GIVE_UP])))
        world_violation(r->world, "step %d of access %u comes twice, or for nothing", (int)step.what,
                        step.access);
    if (step.what == PGQ_PREFETCH_STEP_USE) {
        if (mine[PGQ_PREFETCH_STEP_SUBMIT] && !mine[PGQ_PREFETCH_STEP_COMPLETE] &&
            !mine[PGQ_PREFETCH_STEP_GIVE_UP])
            world_violation(r->world, "access %u is replayed before its read has ended", step.access);
        *ahead -= mine[PGQ_PREFETCH_STEP_SUBMIT] || mine[PGQ_PREFETCH_STEP_ADVISE];
    }
    *ahead += started;
    if (*ahead > r->job.concurrency)
        world_violation(r->world, "%u are advised or read ahead", *ahead);
    seen[step.access][step.what] = true;
}

static void check_totals(const row *r, const uint64_t n[WHATS])
{
    const pgq_prefetch_job *job = &r->job;
    uint64_t looked = 0, advised = job->counters[PGQ_PREFETCH_WHAT_PREFETCH];
    bool ok = r->status.code == PGQ_OK;
    bool looks = strcmp(r->variant, "sync") != 0 && job->concurrency > (r->adapts ? 1 : 0);

    for (int what = 0; what < PGQ_PREFETCH_WHATS; what++)
        looked += job->counters[what];
    if (n[PGQ_PREFETCH_STEP_SUBMIT] != n[PGQ_PREFETCH_STEP_COMPLETE] + n[PGQ_PREFETCH_STEP_GIVE_UP])
        world_violation(r->world, "a read that was started has not ended");
    if (n[PGQ_PREFETCH_STEP_USE] != r->used)
        world_violation(r->world, "the log has another number of accesses");
    if (job->rested > r->used || (job->rested > 0 && looks && !r->adapts))
        world_violation(r->world, "%zu of %u were replayed without look-ahead", job->rested, r->used);
    if (looked + job->rested > job->access_count || (!looks && looked > 0) ||
        (ok && looks && job->record_blocks == NULL && looked + job->rested != job->access_count))
        world_violation(r->world, "the counters have %llu accesses", (unsigned long long)looked);
    if (n[PGQ_PREFETCH_STEP_ADVISE] + n[PGQ_PREFETCH_STEP_SUBMIT] > advised ||
        (strcmp(r->variant, "advise") == 0 && n[PGQ_PREFETCH_STEP_ADVISE] != advised))
        world_violation(r->world, "the log has other advice than the counters");
    if (ok && n[PGQ_PREFETCH_STEP_GIVE_UP] > 0 && the_system.most_refused < 100 &&
        (the_system.refusals & ~(UINT64_C(1) << EAGAIN | UINT64_C(1) << EINTR | UINT64_C(1) << EBUSY)) == 0)
        world_violation(r->world, "a read is given up after %u refusals", the_system.most_refused);
}

static void check_log(const row *r)
{
    static bool seen[ACCESSES][WHATS];
    uint64_t n[WHATS] = {0};
    uint32_t ahead = 0;

    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < r->job.step_count && !r->world->violated; i++) {
        check_step(r, r->steps[i], seen, &ahead);
        n[r->steps[i].what]++;
    }
    check_totals(r, n);
    if (r->job.rested > 0 && n[PGQ_PREFETCH_STEP_PROBE] > 0)
        world_count(RESTED);
    for (; n[PGQ_PREFETCH_STEP_ADVISE] > 0; n[PGQ_PREFETCH_STEP_ADVISE]--)
        world_count(ADVISED);
    for (; n[PGQ_PREFETCH_STEP_PROBE] > 0; n[PGQ_PREFETCH_STEP_PROBE]--)
        world_count(PROBED);
    for (; n[PGQ_PREFETCH_STEP_SUBMIT] > 0; n[PGQ_PREFETCH_STEP_SUBMIT]--)
        world_count(SUBMITTED);
    if (n[PGQ_PREFETCH_STEP_GIVE_UP] > 0) {
        world_count(GIVEN_UP);
        if (r->status.code == PGQ_OK && n[PGQ_PREFETCH_STEP_COMPLETE] == 0)
            world_count(REPLAYED_WITHOUT_THE_RING);
    }
    if (r->status.code != PGQ_OK && ahead > 1)
        world_count(IN_FLIGHT_AT_A_REFUSAL);
}

/* ---- a job ---- */

static void run(void *context, unsigned number)
{
    row *r = context;

    if (number == 1) {
        system_kernel();
        return;
    }
    for (size_t i = 0; i < pgq_prefetch_replay_variant_count; i++)
        if (strcmp(pgq_prefetch_replay_variants[i].name, r->variant) == 0)
            r->status = pgq_prefetch_replay_variants[i].fn(&r->job);
    system_stop();
}

/* Blocks that come again soon, runs of them, and now and then one behind the end. */
static void choose_accesses(row *r)
{
    world *w = r->world;
    size_t n = world_below(w, r->adapts ? ACCESSES : world_one_in(w, 4) ? 160 : 40);
    bool past = world_one_in(w, 4);

    for (size_t i = 0; i < n; i++) {
        pgq_prefetch_access *a = &r->places[i];

        if (i > 0 && world_one_in(w, 3))
            *a = (pgq_prefetch_access){a[-1].file, a[-1].block + 1};
        else
            *a = (pgq_prefetch_access){(uint32_t)world_below(w, FILES), (uint32_t)world_below(w, BLOCKS)};
        if (is_short_of(r, a) && !(past && world_one_in(w, 20)))
            a->block = (uint32_t)world_below(w, r->sizes[a->file] / PAGE);
        if (a->block > BLOCKS)
            a->block = BLOCKS;
    }
    memcpy(r->accesses, r->places, sizeof r->accesses);
    r->job.accesses = r->accesses;
    r->job.access_count = n;
}

/* One file of two segments: what would lie past the end of the first is in the second. */
static void join_files(row *r)
{
    uint32_t whole = (uint32_t)(r->sizes[0] / PAGE);

    if (r->sizes[1] / PAGE > whole)
        return; /* No segment is longer than the others. */
    r->segments[0] = FILES;
    r->job.segments = r->segments;
    r->job.segment_blocks = whole;
    r->job.file_count = 1;
    for (size_t i = 0; i < r->job.access_count; i++) {
        pgq_prefetch_access *place = &r->places[i];

        if (place->file == 0 && place->block >= whole)
            *place = (pgq_prefetch_access){1, place->block - whole};
        r->accesses[i] = (pgq_prefetch_access){0, place->file * whole + place->block};
    }
    world_count(SEGMENTS);
}

/* The accesses belong to records of several blocks, or of none; or each has a record of its own. */
static void choose_records(row *r)
{
    world *w = r->world;
    size_t most = world_one_in(w, 4) ? PGQ_PREFETCH_RECORD_BLOCKS : 4, n = 0;

    if (world_one_in(w, 2))
        return;
    for (size_t left = r->job.access_count; left > 0; n++) {
        bool room = n + left < sizeof r->record_blocks / sizeof *r->record_blocks;

        r->record_blocks[n] = room ? (uint32_t)world_below(w, (left < most ? left : most) + 1) : 1;
        left -= r->record_blocks[n];
    }
    r->job.record_blocks = r->record_blocks;
    r->job.record_count = n;
    world_count(RECORDS);
}

static void choose_job(row *r, const int fds[])
{
    static const char *const variants[VARIANTS] = {"sync", "advise", "uring", "uring_direct",
                                                   "advise_adaptive"};
    world *w = r->world;
    uint64_t way = world_below(w, VARIANTS + 3); /* the last three, that ask in more ways, more often */
    uint32_t concurrency = (uint32_t)world_below(w, 9);

    way = way < VARIANTS ? way : way - 3;
    r->cached_in_8 = world_one_in(w, 3) ? 9 : world_one_in(w, 2) ? 8 : (unsigned)world_below(w, 9);
    r->io = (pgq_prefetch_io){.arg = r, .cached = cached};
    world_count(SYNC + (unsigned)way);
    if (concurrency == 0)
        world_count(NO_LOOK_AHEAD);
    r->variant = variants[way];
    r->direct = strcmp(r->variant, "uring_direct") == 0;
    r->adapts = r->direct || strcmp(r->variant, "advise_adaptive") == 0;
    r->job = (pgq_prefetch_job){.fds = fds,
                                .file_count = FILES,
                                .concurrency = concurrency,
                                .buffers = concurrency + 1 + (uint32_t)world_below(w, 4),
                                .io = &r->io,
                                .arg = r,
                                .use = use,
                                .steps = r->steps,
                                .step_space = sizeof r->steps / sizeof r->steps[0]};
    choose_accesses(r);
    if (r->job.buffers % 3 == 0)
        join_files(r);
    choose_records(r);
    r->used = r->reads = 0;
    r->shrinks_at = world_one_in(w, 8) ? 1 + (unsigned)world_below(w, 30) : 0;
    memset(r->said, 0x55, sizeof r->said);
    memset(r->failed, 0, sizeof r->failed);
    if ((w->rate[WORLD_POWER_LOSS] != 0 || w->rate[WORLD_KILL] != 0) && world_one_in(w, r->adapts ? 1 : 3))
        disk_stop_after(&r->disk, 1 + world_below(w, 20 + r->job.access_count));
}

static void one_job(row *r, const int fds[])
{
    uint64_t size = r->disk.files[0].cache_size;

    choose_job(r, fds);
    world_run_threads(r->world, 2, run, r);
    if (!r->world->violated)
        check_status(r);
    if (!r->world->violated)
        check_log(r);
    if (the_system.failed_waits > 0)
        world_count(FAILED_WAITS);
    if (the_system.fewer > 0)
        world_count(TAKES_FEWER);
    if (r->job.registered)
        world_count(REGISTERED);
    if (r->job.registered && !r->direct)
        world_violation(r->world, "buffers are registered for reads through the cache");
    if (r->disk.stopped)
        world_count(MACHINE_STOPS);
    disk_start(&r->disk, true);
    r->disk.files[0].cache_size = size;
}

/* The last block of a file may be a part of one. */
static void fill_files(row *r)
{
    for (int file = 0; file < FILES; file++) {
        uint64_t whole = 1 + world_below(r->world, BLOCKS);

        r->sizes[file] = whole * PAGE + world_below(r->world, 2) * world_below(r->world, PAGE);
        for (uint64_t block = 0; block <= BLOCKS; block++)
            for (size_t i = 0; i < PAGE / 8; i++)
                r->contents[file][block][i] = (uint64_t)(file + 1) << 32 | block << 16 | i;
        disk_copy copy = {(uint8_t *)r->contents[file], r->sizes[file]};
        disk_put_copy(&r->disk, file, &copy);
    }
}

void *world_begin(world *w)
{
    row *r = calloc(1, sizeof *r);

    if (r == NULL)
        abort();
    r->world = w;
    disk_make(&r->disk, w, SECTOR, FILES, (uint64_t[]){(BLOCKS + 1) * PAGE, (BLOCKS + 1) * PAGE});
    fill_files(r);
    return r;
}

void world_step(void *context, world *w, unsigned step)
{
    row *r = context;
    int fds[FILES];

    (void)step;
    system_begin(w, &r->disk, (system_row){r, told, NULL});
    for (int file = 0; file < FILES; file++)
        fds[file] = system_open(file);
    one_job(r, fds);
    for (int file = 0; file < FILES; file++)
        world_close(fds[file]);
    if (!w->violated)
        system_end(w);
}

void world_end(void *context, world *w)
{
    row *r = context;

    (void)w;
    disk_free(&r->disk);
    free(r);
}
