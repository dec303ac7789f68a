/* SPDX-License-Identifier: PostgreSQL */
/* Opening a cache; reads and writes; how room is made. */
#include "tiercache/internal.h"

bool pgq_tiercache_tier_make(tier *t, const policy_calls *calls, uint32_t n)
{
    t->n = n;
    t->versions = calloc(n + 1, sizeof *t->versions);
    t->free = calloc(n + 1, sizeof *t->free);
    bool made = pgq_tiercache_policy_make(&t->policy, calls, n);
    made &= entries_make(&t->dirty, n);
    if (!table_make(&t->where, n) || !made || t->versions == NULL || t->free == NULL)
        return false;
    for (uint32_t entry = 0; entry < n; entry++)
        t->free[t->free_count++] = entry;
    return true;
}

void pgq_tiercache_tier_free(tier *t)
{
    pgq_tiercache_policy_free(&t->policy);
    free(t->where.entries);
    free(t->versions);
    entries_free(&t->dirty);
    free(t->free);
}

static bool in_range(const pgq_tiercache_options *o)
{
    return o->pages > 0 && o->pages % BLOCK_PAGES == 0 && o->pages < (uint64_t)1 << 40 && o->frames >= 16 &&
           o->frames <= (uint32_t)1 << 28 && o->slots <= (uint32_t)1 << 28 && o->batch >= 1 &&
           o->batch <= 512;
}

static bool allocate(pgq_tiercache *c, const policy_calls *calls)
{
    const pgq_tiercache_options *o = &c->options;

    if (!pgq_tiercache_tier_make(&c->memory, calls, o->frames) ||
        !pgq_tiercache_tier_make(&c->ssd, calls, o->slots) || !entries_make(&c->stale, o->slots))
        return false;
    c->frames = aligned_alloc(4096, PAGE * o->frames);
    c->read_buffer = aligned_alloc(4096, PAGE * BLOCK_PAGES);
    c->gap_buffer = aligned_alloc(4096, PAGE * BLOCK_PAGES);
    c->trailer = aligned_alloc(4096, sizeof *c->trailer);
    c->slot_buffer = malloc(SLOT);
    c->batch = calloc(o->batch, sizeof *c->batch);
    c->blocks = calloc((size_t)o->frames + o->slots, sizeof *c->blocks);
    if (c->frames == NULL || c->read_buffer == NULL || c->gap_buffer == NULL || c->slot_buffer == NULL ||
        c->trailer == NULL || c->batch == NULL || c->blocks == NULL)
        return false;
    for (uint32_t i = 0; i < o->batch; i++)
        if ((c->batch[i].bytes = aligned_alloc(4096, PAGE * BLOCK_PAGES)) == NULL)
            return false;
    return true;
}

static pgq_code start(pgq_tiercache *c, const policy_calls *calls)
{
    if (!allocate(c, calls))
        return PGQ_MEMORY;
    pgq_tiercache_crc32c_make(&c->crc);
    return pgq_tiercache_mount(c);
}

pgq_status pgq_tiercache_open(const pgq_tiercache_files *files, const pgq_tiercache_options *options,
                              pgq_tiercache **cache)
{
    const policy_calls *calls;

    if (files == NULL || options == NULL || cache == NULL || files->read == NULL || files->write == NULL ||
        files->sync == NULL)
        return refused(PGQ_NULL, 0);
    if (!in_range(options))
        return refused(PGQ_TIERCACHE_OPTIONS, 0);
    if (pgq_tiercache_policy_named(options->policy, &calls) != PGQ_OK)
        return refused(PGQ_VARIANT, 0);
    pgq_tiercache *c = calloc(1, sizeof *c);
    if (c == NULL)
        return refused(PGQ_MEMORY, 0);
    c->files = *files;
    c->options = *options;
    c->options.policy = NULL; /* the caller's */
    c->expected = UINT64_MAX;
    pthread_mutex_init(&c->flushing, NULL);
    pthread_mutex_init(&c->map, NULL);
    pgq_code code = start(c, calls);
    if (code != PGQ_OK) {
        pgq_tiercache_close(c);
        return refused(code, 0);
    }
    *cache = c;
    return accepted();
}

void pgq_tiercache_close(pgq_tiercache *c)
{
    if (c == NULL)
        return;
    pgq_tiercache_tier_free(&c->memory);
    pgq_tiercache_tier_free(&c->ssd);
    free(c->frames);
    free(c->read_buffer);
    free(c->gap_buffer);
    free(c->trailer);
    free(c->slot_buffer);
    entries_free(&c->stale);
    for (uint32_t i = 0; c->batch != NULL && i < c->options.batch; i++)
        free(c->batch[i].bytes);
    free(c->batch);
    free(c->blocks);
    pthread_mutex_destroy(&c->flushing);
    pthread_mutex_destroy(&c->map);
    free(c);
}

/* ---- room ---- */

/*
 * Until there are free frames: the victim goes to the SSD, dirty or clean, unless the SSD has it. If the SSD cannot take
 * it, a clean one goes, and a dirty one is written back first. Writing back releases `map`: then all begins anew.
 *
 * A page that could not be written back was set aside, and the next victim is asked. If none is left, what was set aside
 * before this call is tried once more if the caller insists.
 */
static pgq_code make_room(pgq_tiercache *c, uint32_t wanted, bool insists)
{
    bool may_use_ssd = true;

    insists &= c->memory.policy.queues[ASIDE].count + c->ssd.policy.queues[ASIDE].count > 0;
    while (c->memory.free_count < wanted) {
        uint32_t frame = c->memory.policy.calls->victim(&c->memory.policy);

        if (frame == TABLE_NONE) {
            if (!insists)
                return PGQ_TIERCACHE_WRITE_BACK;
            insists = false;
            may_use_ssd = true;
            tier_bring_back(&c->memory);
            tier_bring_back(&c->ssd);
            continue;
        }
        uint64_t page = c->memory.policy.pages[frame];
        if (may_use_ssd && c->ssd_in_use && tier_find(&c->ssd, page) == TABLE_NONE) {
            if (c->ssd.free_count == 0) {
                uint32_t slot = c->ssd.policy.calls->victim(&c->ssd.policy);

                may_use_ssd = slot != TABLE_NONE;
                if (!may_use_ssd)
                    continue;
                if (entries_has(&c->ssd.dirty, slot)) {
                    pgq_tiercache_write_back_for_room(c, c->ssd.policy.pages[slot] / BLOCK_PAGES);
                    continue;
                }
                tier_drop(&c->ssd, slot, true);
            }
            may_use_ssd = pgq_tiercache_ssd_put(c, page, c->memory.versions[frame],
                                                entries_has(&c->memory.dirty, frame), frame_of(c, frame));
            if (!may_use_ssd)
                continue;
        } else if (entries_has(&c->memory.dirty, frame)) {
            pgq_tiercache_write_back_for_room(c, page / BLOCK_PAGES);
            continue;
        }
        tier_drop(&c->memory, frame, true);
    }
    return PGQ_OK;
}

/* ---- reads ---- */

/* How many pages to read at once from the store: one, or in a sequential scan those up to the end of the block that no
   tier has, a quarter of the memory at most. */
static uint32_t pages_ahead(pgq_tiercache *c, uint64_t page)
{
    uint32_t most = BLOCK_PAGES - (uint32_t)(page % BLOCK_PAGES), n = 1;

    if (page != c->expected)
        return 1;
    if (most > c->memory.n / 4)
        most = c->memory.n / 4;
    while (n < most && tier_find(&c->memory, page + n) == TABLE_NONE &&
           tier_find(&c->ssd, page + n) == TABLE_NONE)
        n++;
    return n;
}

static void keep(pgq_tiercache *c, uint64_t page, uint64_t version, const void *contents)
{
    if (c->memory.free_count == 0)
        return;
    uint32_t frame = tier_take(&c->memory);
    memcpy(frame_of(c, frame), contents, PAGE);
    tier_put(&c->memory, frame, page, version, false);
}

/* Several pages of a scan, one request. */
static pgq_code read_ahead(pgq_tiercache *c, uint64_t page, uint32_t n, void *contents)
{
    if (!pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_STORE, c->read_buffer, PAGE * n, PAGE * page))
        return PGQ_TIERCACHE_READ;
    c->counts.store_reads++;
    c->expected = page + n;
    for (uint32_t i = 0; i < n; i++)
        keep(c, page + i, 0, c->read_buffer + PAGE * i);
    memcpy(contents, c->read_buffer, PAGE);
    return PGQ_OK;
}

/*
 * One page, for which a frame is reserved if one is free. `map` is released meanwhile, and *again becomes true if the page
 * was written then: what was read may be old. If another thread has brought the page to memory, its contents count.
 */
static pgq_code read_one(pgq_tiercache *c, uint64_t page, void *contents, bool *again)
{
    uint32_t *writes = &c->writes[page % WRITES], before = *writes;
    bool reserves = c->memory.free_count > 0 && c->reserved < c->memory.n / 4;
    uint32_t frame = reserves ? tier_take(&c->memory) : TABLE_NONE;

    c->reserved += reserves;
    pthread_mutex_unlock(&c->map);
    bool read = pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_STORE, contents, PAGE, PAGE * page);
    pthread_mutex_lock(&c->map);
    c->reserved -= reserves;
    if (reserves)
        c->memory.free[c->memory.free_count++] = frame;
    *again = *writes != before;
    if (*again)
        return PGQ_OK;
    if (!read)
        return PGQ_TIERCACHE_READ;
    c->counts.store_reads++;
    c->expected = page + 1;
    if (reserves && tier_find(&c->memory, page) == TABLE_NONE)
        keep(c, page, 0, contents);
    return PGQ_OK;
}

static pgq_code read_store(pgq_tiercache *c, uint64_t page, void *contents, bool *again)
{
    uint32_t n = pages_ahead(c, page);

    if (n > 1 && n > c->memory.free_count)
        n = c->memory.free_count > 0 ? c->memory.free_count : 1;
    return n > 1 ? read_ahead(c, page, n, contents) : read_one(c, page, contents, again);
}

/* The contents of a page that is not in memory, which it comes to if there is room. *again: as of read_one. */
static pgq_code load(pgq_tiercache *c, uint64_t page, void *contents, bool *again)
{
    uint32_t slot = tier_find(&c->ssd, page);

    if (slot == TABLE_NONE)
        return read_store(c, page, contents, again);
    if (pgq_tiercache_ssd_get(c, slot, contents)) {
        c->counts.ssd_hits++;
        c->ssd.policy.calls->hit(&c->ssd.policy, slot);
        keep(c, page, c->ssd.versions[slot], contents);
        return PGQ_OK;
    }
    if (entries_has(&c->ssd.dirty, slot))
        return PGQ_TIERCACHE_LOST;
    pgq_tiercache_ssd_forget(c, slot);
    return read_store(c, page, contents, again);
}

pgq_status pgq_tiercache_read(pgq_tiercache *c, uint64_t page, void *contents)
{
    pgq_code code = PGQ_OK;

    if (c == NULL || contents == NULL)
        return refused(PGQ_NULL, 0);
    if (page >= c->options.pages)
        return refused(PGQ_TIERCACHE_PAGE, 0);
    pthread_mutex_lock(&c->map);
    for (bool again = true; again;) {
        again = false;
        uint32_t frame = tier_find(&c->memory, page);
        if (frame == TABLE_NONE) {
            /* Without room a page is read past the memory. */
            (void)make_room(c, tier_find(&c->ssd, page) == TABLE_NONE ? pages_ahead(c, page) : 1, false);
            frame = tier_find(&c->memory, page);
        }
        if (frame != TABLE_NONE) {
            c->counts.memory_hits++;
            c->memory.policy.calls->hit(&c->memory.policy, frame);
            memcpy(contents, frame_of(c, frame), PAGE);
        } else {
            code = load(c, page, contents, &again);
        }
    }
    pthread_mutex_unlock(&c->map);
    return (pgq_status){code, 0};
}

/* ---- writes ---- */

pgq_status pgq_tiercache_write(pgq_tiercache *c, uint64_t page, const void *contents)
{
    pgq_code code = PGQ_OK;

    if (c == NULL || contents == NULL)
        return refused(PGQ_NULL, 0);
    if (page >= c->options.pages)
        return refused(PGQ_TIERCACHE_PAGE, 0);
    pthread_mutex_lock(&c->map);
    uint32_t frame = tier_find(&c->memory, page);
    if (frame == TABLE_NONE) {
        code = make_room(c, 1, true);
        frame = tier_find(&c->memory, page);
    }
    if (frame != TABLE_NONE) {
        c->memory.policy.calls->hit(&c->memory.policy, frame);
    } else if (code == PGQ_OK) {
        frame = tier_take(&c->memory);
        tier_put(&c->memory, frame, page, 0, false);
    }
    if (frame != TABLE_NONE) {
        code = PGQ_OK;
        memcpy(frame_of(c, frame), contents, PAGE);
        c->memory.versions[frame] = ++c->version;
        entries_add(&c->memory.dirty, frame);
        c->writes[page % WRITES]++;
        uint32_t slot = tier_find(&c->ssd, page);
        if (slot != TABLE_NONE)
            pgq_tiercache_ssd_forget(c, slot);
    }
    pthread_mutex_unlock(&c->map);
    return (pgq_status){code, 0};
}

uint32_t pgq_tiercache_where(pgq_tiercache *c, uint64_t page)
{
    uint32_t found = 0;

    if (c == NULL || page >= c->options.pages)
        return 0;
    pthread_mutex_lock(&c->map);
    uint32_t frame = tier_find(&c->memory, page), slot = tier_find(&c->ssd, page);
    if (frame != TABLE_NONE)
        found |=
            PGQ_TIERCACHE_IN_MEMORY | (entries_has(&c->memory.dirty, frame) ? PGQ_TIERCACHE_MEMORY_DIRTY : 0);
    if (slot != TABLE_NONE)
        found |= PGQ_TIERCACHE_ON_SSD | (entries_has(&c->ssd.dirty, slot) ? PGQ_TIERCACHE_SSD_DIRTY : 0);
    pthread_mutex_unlock(&c->map);
    return found;
}

pgq_tiercache_counts pgq_tiercache_count(pgq_tiercache *c)
{
    pgq_tiercache_counts counts = {0, 0, 0, 0, false, PGQ_TIERCACHE_SSD_NONE};

    if (c == NULL)
        return counts;
    pthread_mutex_lock(&c->map);
    counts = c->counts;
    counts.ssd_in_use = c->ssd_in_use;
    pthread_mutex_unlock(&c->map);
    return counts;
}
