/* SPDX-License-Identifier: PostgreSQL */
/*
 * The file I/O stack while the machine stops: threads change pages of a store of `tornpage`, flush, write back and checkpoint, and
 * others read its pages and write blocks back. The pages are in a cache of `tiercache`, over files behind a lock of `rangelock` and
 * an engine of `ioshares` (stack_world_below.h). The process ends in the middle, is killed, or the power is lost; then all is opened
 * again. What must hold:
 * - a recovery finds the pages as some first changes have left them, all that were covered among them, and it fails only if an
 *   operation has failed; without protection it may also find a torn page;
 * - what a thread reads through the cache is a content that the page has had since it was last written back, whole;
 * - nobody sleeps for ever, and nothing is left behind.
 */
#include "../tests/tiercache/stack_world_below.h"
#include "../tests/tornpage/world_history.h"

#include <pthread.h>

enum { THREADS = 4, CALLS = 10, CONTENTS = 256 };
#define COUNTS(X)                                                                                            \
    X(POWER_LOSSES), X(KILLS), X(ENDS), X(FORMATS), X(RECOVERED), X(RECOVERED_IN_PROCESS), X(LOST_CHANGES),  \
        X(RECOVERY_FAILED), X(OPEN_FAILED), X(TORN), X(CHANGES), X(FLUSHES), X(WRITE_BACKS), X(CHECKPOINTS), \
        X(LOG_FULL), X(CALLS_FAILED), X(READS_CHECKED), X(READS_FAILED), X(WAITS_FOR_BYTES), X(SSD_LOST),    \
        X(TAKEN_OVER)
enum { COUNTS(WORLD_NAME) };
const char *const world_counts[] = {COUNTS(WORLD_TEXT), NULL};
const unsigned world_steps = 3;
const unsigned world_weight = 4;

/* What a page has held since the store was opened, in its order; from `written` on it may be what the cache has. */
typedef struct contents {
    uint64_t hashes[CONTENTS];
    unsigned n, written;
    bool changed, known; /* since it was written back; it was written back */
} contents;

typedef struct row {
    world *world;
    below below;
    pgq_tornpage_config config;
    pgq_tornpage_store *store;
    pgq_tiercache *cache;
    bool open;
    history life;
    contents pages[PAGES];
    unsigned epoch;        /* of `pages` */
    pthread_mutex_t mutex; /* of the store, which is for one thread */
    unsigned working;
    bool ready;
} row;

/* ---- the files of the store ---- */

static int on_disk(int file)
{
    return file == PGQ_TORNPAGE_LOG ? LOG : file == PGQ_TORNPAGE_AREA ? AREA : LOG_CONTROL;
}

static int done(row *r, bool well)
{
    r->below.failed += !well;
    return well ? 0 : -1;
}

static int store_read(void *context, int file, uint64_t at, void *bytes, size_t size)
{
    row *r = context;

    if (file != PGQ_TORNPAGE_DATA) {
        int64_t n = disk_read(&r->below.disk, on_disk(file), bytes, size, at);

        if (n >= 0)
            memset((uint8_t *)bytes + n, 0, size - (size_t)n);
        return done(r, n >= 0);
    }
    for (size_t did = 0; did < size; did += BLCKSZ)
        if (pgq_tiercache_read(r->cache, (at + did) / BLCKSZ, (uint8_t *)bytes + did).code != PGQ_OK)
            return -1;
    return 0;
}

static int store_write(void *context, int file, uint64_t at, const void *bytes, size_t size)
{
    row *r = context;

    if (file != PGQ_TORNPAGE_DATA)
        return done(r, disk_write(&r->below.disk, on_disk(file), bytes, size, at) == (int64_t)size);
    for (size_t did = 0; did < size; did += BLCKSZ)
        if (pgq_tiercache_write(r->cache, (at + did) / BLCKSZ, (const uint8_t *)bytes + did).code != PGQ_OK)
            return -1;
    return 0;
}

static int store_sync(void *context, int file)
{
    row *r = context;

    return file == PGQ_TORNPAGE_DATA ? -(pgq_tiercache_fsync(r->cache).code != PGQ_OK)
                                     : done(r, disk_sync(&r->below.disk, on_disk(file)) == 0);
}

/* ---- what pages hold ---- */

static uint64_t hash_of(const uint8_t *page)
{
    uint64_t hash = 0, word;

    for (size_t i = HEADER_BYTES; i < BLCKSZ; i += 8) {
        memcpy(&word, page + i, 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static void forget_contents(row *r)
{
    r->epoch++;
    for (uint32_t page = 0; page < PAGES; page++)
        r->pages[page] = (contents){.n = 0};
}

static void note_content(row *r, uint32_t page)
{
    contents *c = &r->pages[page];

    if (c->n == CONTENTS)
        abort();
    c->hashes[c->n++] = hash_of(pgq_tornpage_page(r->store, page));
    c->changed = true;
}

/* ---- calls of the store, with the mutex held ---- */

/* true: it was done. A failure closes the store; it needs an operation that has failed. */
static bool went_well(row *r, pgq_status status, const char *call)
{
    if (status.code == PGQ_OK)
        return true;
    world_count(CALLS_FAILED);
    r->open = false;
    if (pgq_tornpage_flush(r->store).code != PGQ_TORNPAGE_IO || pgq_tornpage_page(r->store, 0) != NULL)
        world_violation(r->world, "the store goes on after %s that has failed", call);
    if (status.code != PGQ_TORNPAGE_IO || r->below.failed == 0)
        world_violation(r->world, "%s fails with %d, and nothing has failed", call, (int)status.code);
    return false;
}

static void flush(row *r)
{
    if (!went_well(r, pgq_tornpage_flush(r->store), "a flush"))
        return;
    history_cover(&r->life, r->life.n);
    world_count(FLUSHES);
}

static void checkpoint_end(row *r)
{
    if (!r->open || !went_well(r, pgq_tornpage_checkpoint_end(r->store), "a checkpoint's end"))
        return;
    history_cover(&r->life, r->life.n);
    world_count(CHECKPOINTS);
}

static bool checkpoint_begin(row *r)
{
    return r->open && went_well(r, pgq_tornpage_checkpoint_begin(r->store), "a checkpoint's begin");
}

static void change_page(row *r)
{
    world *w = r->world;
    uint32_t page = (uint32_t)world_below(w, world_one_in(w, 2) ? PAGES : 4);
    uint32_t offset = HEADER_BYTES + (uint32_t)world_below(w, BLCKSZ - HEADER_BYTES - 300), size = 100;
    uint8_t bytes[100];

    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)world_random(w);
    pgq_status status = pgq_tornpage_change(r->store, page, offset, bytes, size);
    if (status.code == PGQ_TORNPAGE_LOG_FULL) {
        world_count(LOG_FULL);
        if (checkpoint_begin(r))
            checkpoint_end(r);
        return;
    }
    if (!went_well(r, status, "a change"))
        return;
    history_add(&r->life, page, offset, bytes, size);
    note_content(r, page);
    world_count(CHANGES);
}

static void write_back(row *r)
{
    uint32_t pages[6];
    size_t n = 1 + world_below(r->world, 6);

    for (size_t i = 0; i < n; i++)
        pages[i] = (uint32_t)world_below(r->world, world_one_in(r->world, 2) ? PAGES : 4);
    if (!went_well(r, pgq_tornpage_write_back(r->store, pages, n), "a write-back"))
        return;
    for (size_t i = 0; i < n; i++) {
        contents *c = &r->pages[pages[i]];

        if (c->changed) {
            c->known = true;
            c->written = c->n - 1;
        }
        c->changed = false;
    }
    world_count(WRITE_BACKS);
}

/* true: it is open, with what it must have. */
static bool recover(row *r, bool in_process)
{
    forget_contents(r);
    pgq_status status = pgq_tornpage_recover(r->store);
    forget_contents(r);
    world_says(r->world, "  recovery: %d, index %u", (int)status.code, status.index);
    r->open = status.code == PGQ_OK;
    if (status.code == PGQ_TORNPAGE_IO && r->below.failed > 0) {
        world_count(RECOVERY_FAILED);
        return false;
    }
    if (status.code == PGQ_TORNPAGE_WRONG_PAGE && r->config.protection == PGQ_TORNPAGE_NONE) {
        world_count(TORN);
        history_free(&r->life);
        return false;
    }
    if (status.code != PGQ_OK) {
        world_violation(r->world, "a recovery fails with %d, index %u", (int)status.code, status.index);
        return false;
    }
    long found = history_find(&r->life, r->store);
    if (found < 0)
        world_violation(r->world, "what was flushed is lost, or the state never was: %zu changes since",
                        r->life.n);
    else {
        if ((size_t)found < r->life.n)
            world_count(LOST_CHANGES);
        history_cover(&r->life, (size_t)found);
    }
    world_count(in_process ? RECOVERED_IN_PROCESS : RECOVERED);
    return found >= 0;
}

/* ---- threads ---- */

static void change_and_more(row *r)
{
    world *w = r->world;

    world_mutex_lock(&r->mutex);
    if (!r->open && r->life.exists && !r->below.disk.stopped && world_one_in(w, 5))
        recover(r, true);
    for (uint64_t n = 1 + world_below(w, 4); n > 0 && r->open; n--)
        change_page(r);
    if (r->open && world_one_in(w, 2))
        flush(r);
    if (r->open && world_one_in(w, 2))
        write_back(r);
    world_mutex_unlock(&r->mutex);
}

/* The cache writes back first, while changes go on. */
static void checkpoint(row *r)
{
    world_mutex_lock(&r->mutex);
    bool begun = checkpoint_begin(r);
    unsigned epoch = r->epoch;
    world_mutex_unlock(&r->mutex);
    if (!begun)
        return;
    pgq_tiercache_fsync(r->cache);
    world_mutex_lock(&r->mutex);
    if (r->epoch == epoch)
        checkpoint_end(r);
    world_mutex_unlock(&r->mutex);
}

static void read_page(row *r)
{
    uint32_t page = (uint32_t)world_below(r->world, world_one_in(r->world, 2) ? PAGES : 4);
    uint8_t bytes[BLCKSZ], verdict = 0;
    contents *c = &r->pages[page];
    unsigned epoch = r->epoch, from = c->written;
    bool known = c->known;

    if (pgq_tiercache_read(r->cache, page, bytes).code != PGQ_OK) {
        world_count(READS_FAILED);
        if (r->below.failed == 0)
            world_violation(r->world, "a page cannot be read, and nothing has failed");
        return;
    }
    if (!known || r->epoch != epoch)
        return;
    world_count(READS_CHECKED);
    uint64_t hash = hash_of(bytes);
    while (from < c->n && c->hashes[from] != hash)
        from++;
    pgq_tornpage_check(bytes, 1, BLCKSZ, page, &verdict);
    if (from == c->n || verdict != PGQ_TORNPAGE_SOUND)
        world_violation(r->world, "page %u is read as it never was since it was written back, verdict %u",
                        page, verdict);
}

static void act(row *r)
{
    switch (world_below(r->world, 8)) {
    case 0:
    case 1:
    case 2:
        read_page(r);
        break;
    case 3:
        checkpoint(r);
        break;
    case 4:
        pgq_tiercache_write_back(r->cache, world_below(r->world, PAGES / PGQ_TIERCACHE_BLOCK_PAGES));
        break;
    default:
        change_and_more(r);
    }
}

/* ---- a process ---- */

static bool open_cache(row *r)
{
    pgq_tiercache_files files = {&r->below, below_read, below_write, below_sync, below_random};
    pgq_tiercache_options options = {PAGES, 16, SLOTS, 1, NULL, 0};
    unsigned failed = r->below.failed;
    pgq_status status = pgq_tiercache_open(&files, &options, &r->cache);

    if (status.code == PGQ_OK) {
        if (pgq_tiercache_count(r->cache).ssd_taken_over > 0)
            world_count(TAKEN_OVER);
        return true;
    }
    world_count(OPEN_FAILED);
    if (r->below.failed == failed && the_system.no_memory == 0)
        world_violation(r->world, "the cache does not open: %d", (int)status.code);
    return false;
}

static void set_quiet(row *r, bool quiet)
{
    r->below.disk.quiet = quiet;
    system_quiet(quiet);
}

static void stop_soon(row *r)
{
    if (!world_one_in(r->world, 4))
        disk_stop_after(&r->below.disk, 1 + world_below(r->world, world_one_in(r->world, 3) ? 40 : 500));
}

static void format(row *r)
{
    pgq_status status = pgq_tornpage_format(r->store);
    /* The cache may have owed this error: it tells each once. */
    if (status.code == PGQ_TORNPAGE_IO && r->below.failed > 0)
        status = pgq_tornpage_format(r->store);
    if (status.code == PGQ_OK) {
        if (!finds_empty(r->store, &r->config))
            world_violation(r->world, "a format leaves pages that are not empty");
        history_begin(&r->life, &r->config);
        world_count(FORMATS);
        r->open = true;
    } else if (!r->below.disk.stopped)
        world_violation(r->world, "a format fails with %d", (int)status.code);
}

static bool make_store(row *r)
{
    pgq_tornpage_device device = {r, store_read, store_write, store_sync};
    pgq_status status = pgq_tornpage_create(&r->config, &device, &r->store);

    if (status.code != PGQ_OK && (status.code != PGQ_MEMORY || the_system.no_memory == 0))
        world_violation(r->world, "there is no store: %d", (int)status.code);
    return status.code == PGQ_OK;
}

/* The first process makes the store, which nothing disturbs. Of the others half may fail to open it. */
static void start(row *r, bool calm)
{
    bool is_new = !r->life.exists;

    set_quiet(r, calm || is_new);
    if (!is_new && !calm)
        stop_soon(r);
    if (below_start(&r->below) && open_cache(r) && make_store(r)) {
        forget_contents(r);
        if (!is_new)
            recover(r, false);
        if (!r->life.exists && !r->world->violated) {
            set_quiet(r, true);
            format(r);
        }
    }
}

static void end(row *r)
{
    pgq_tornpage_destroy(r->store);
    pgq_tiercache_close(r->cache);
    r->store = NULL;
    r->cache = NULL;
    r->open = false;
    below_stop(&r->below);
}

/* The first one begins the process, and ends it. */
static void live(row *r, unsigned number)
{
    bool works;

    if (number == 0) {
        start(r, world_one_in(r->world, 2));
        set_quiet(r, false);
        if (r->below.disk.stops_at == 0)
            stop_soon(r);
        r->ready = true;
        world_wake(&r->ready);
    }
    while (!r->ready)
        world_wait(&r->ready);
    works = r->store != NULL && r->life.exists;
    for (unsigned i = 0; i < CALLS && works && !r->world->violated && !r->below.disk.stopped; i++)
        act(r);
    r->working--;
    world_wake(&r->working);
    while (number == 0 && r->working > 0)
        world_wait(&r->working);
    if (number == 0 && !r->world->violated)
        end(r);
    if (number == 0)
        system_stop();
}

static void run(void *argument, unsigned number)
{
    row *r = argument;

    if (number == THREADS)
        system_kernel();
    else
        live(r, number);
}

static void process(row *r, void (*body)(void *, unsigned), unsigned threads)
{
    system_begin(r->world, &r->below.disk, (system_row){NULL, NULL, NULL});
    r->below.fd = system_open(STORE);
    r->below.failed = 0;
    r->ready = false;
    r->working = THREADS;
    world_run_threads(r->world, threads, body, r);
    for (; r->below.waits > 0; r->below.waits--)
        world_count(WAITS_FOR_BYTES);
    world_close(r->below.fd);
    if (!r->world->violated)
        system_end(r->world);
}

/* A kill leaves what reads give, as the cache's header says of its files. */
static void restart(row *r, world *w)
{
    bool power = w->rate[WORLD_KILL] == 0 || (w->rate[WORLD_POWER_LOSS] != 0 && world_one_in(w, 2));

    world_count(r->below.disk.stopped ? power ? POWER_LOSSES : KILLS : ENDS);
    world_says(w, "  %s", power ? "the power is lost" : "the process is killed");
    if (power)
        disk_start(&r->below.disk, false);
    r->below.disk.stopped = false;
    r->below.disk.stops_at = r->below.disk.full_until = 0;
    if (w->rate[WORLD_REPLACED] != 0 && world_one_in(w, 3)) {
        disk_zero(&r->below.disk, SSD);
        world_count(SSD_LOST);
    }
}

/* ---- a run ---- */

void *world_begin(world *w)
{
    static const int protections[] = {PGQ_TORNPAGE_NONE, PGQ_TORNPAGE_IMAGES, PGQ_TORNPAGE_IMAGES,
                                      PGQ_TORNPAGE_DOUBLE_WRITE};
    row *r = allocated(sizeof *r);

    r->world = w;
    r->config = (pgq_tornpage_config){protections[world_below(w, 4)], BLCKSZ, PAGES, AREA_SLOTS, LOG_BYTES};
    below_make(&r->below, w);
    return r;
}

void world_step(void *context, world *w, unsigned step)
{
    row *r = context;

    (void)step;
    process(r, run, THREADS + 1);
    if (!w->violated)
        restart(r, w);
}

static void check_all(void *argument, unsigned number)
{
    row *r = argument;

    if (number == 1) {
        system_kernel();
        return;
    }
    start(r, true);
    if (!r->open)
        world_violation(r->world, "nothing fails any more, and the store does not open");
    if (!r->world->violated)
        end(r);
    system_stop();
}

void world_end(void *context, world *w)
{
    row *r = context;

    if (!w->violated && r->life.exists)
        process(r, check_all, 2);
    history_free(&r->life);
    disk_free(&r->below.disk);
    free(r);
}
