/* SPDX-License-Identifier: PostgreSQL */
/* Opening and closing a cache; writes; where a page is. */
#include "tiercache/internal.h"

bool pgq_tiercache_tier_make(tier *t, const policy_calls *calls, uint32_t n, dirty_blocks *dirty,
                             unsigned first_bit)
{
    t->n = n;
    t->dirty_blocks = dirty;
    t->first_bit = first_bit;
    t->dirty = calloc(n + 1, sizeof *t->dirty);
    t->versions = calloc(n + 1, sizeof *t->versions);
    t->free = calloc(n + 1, sizeof *t->free);
    bool made = pgq_tiercache_policy_make(&t->policy, calls, n);
    if (!table_make(&t->where, n) || !made || t->versions == NULL || t->free == NULL || t->dirty == NULL)
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
    free(t->dirty);
    free(t->free);
}

static bool in_range(const pgq_tiercache_options *o)
{
    return o->pages > 0 && o->pages % BLOCK_PAGES == 0 && o->pages < (uint64_t)1 << 40 && o->frames >= 16 &&
           o->frames <= (uint32_t)1 << 28 && o->slots <= (uint32_t)1 << 28 && o->batch >= 1 &&
           o->batch <= 512 && (o->ssd_block == 0 || o->ssd_block == SECTOR || o->ssd_block == ALIGNMENT);
}

static bool allocate(pgq_tiercache *c, const policy_calls *calls)
{
    const pgq_tiercache_options *o = &c->options;
    uint64_t entries = (uint64_t)o->frames + o->slots, blocks = o->pages / BLOCK_PAGES;

    if (!readers_make(&c->readers, o->frames) ||
        !pgq_tiercache_tier_make(&c->memory, calls, o->frames, &c->dirty, 0) ||
        !pgq_tiercache_tier_make(&c->ssd, calls, o->slots, &c->dirty, BLOCK_PAGES) ||
        !pgq_tiercache_dirty_make(&c->dirty, (uint32_t)(entries < blocks ? entries : blocks)) ||
        !entries_make(&c->stale, o->slots) || !once_make(&c->once, o->slots))
        return false;
    c->frames = aligned_alloc(ALIGNMENT, PAGE * o->frames);
    c->read_buffer = aligned_alloc(ALIGNMENT, PAGE * BLOCK_PAGES);
    c->gap_buffer = aligned_alloc(ALIGNMENT, PAGE * BLOCK_PAGES);
    c->trailer = aligned_alloc(ALIGNMENT, sizeof *c->trailer);
    c->head = aligned_alloc(ALIGNMENT, ALIGNMENT);
    c->hits = hits_make();
    c->touches = calloc(o->frames, sizeof *c->touches);
    c->leaving = calloc(o->frames, sizeof *c->leaving);
    c->users = calloc((size_t)o->slots + 1, sizeof *c->users);
    c->scrubbed = calloc((size_t)o->slots + 1, sizeof *c->scrubbed);
    c->batch = calloc(o->batch, sizeof *c->batch);
    if (c->frames == NULL || c->read_buffer == NULL || c->gap_buffer == NULL || c->touches == NULL ||
        c->leaving == NULL || c->users == NULL || c->scrubbed == NULL || c->trailer == NULL ||
        c->head == NULL || c->hits == NULL || c->batch == NULL)
        return false;
    for (uint32_t i = 0; i < o->batch; i++)
        if ((c->batch[i].bytes = aligned_alloc(ALIGNMENT, PAGE * BLOCK_PAGES)) == NULL)
            return false;
    return true;
}

/* A hit holds it for less time than it takes to fall asleep: who finds it taken looks again for a moment first. glibc alone can. */
static void make_map(pthread_mutex_t *map)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
#ifdef __GLIBC__
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(map, &kind);
    pthread_mutexattr_destroy(&kind);
}

static pgq_code start(pgq_tiercache *c, const policy_calls *calls)
{
    if (!allocate(c, calls))
        return PGQ_MEMORY;
    pgq_crc_make(&c->crc, CRC32C);
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
    if (c->options.ssd_block == 0)
        c->options.ssd_block = SECTOR;
    c->expected = UINT64_MAX;
    pthread_mutex_init(&c->flushing, NULL);
    make_map(&c->map);
    pthread_cond_init(&c->settled, NULL);
    pthread_cond_init(&c->flush_begins, NULL);
    for (int i = 0; i < LOADS; i++)
        pthread_cond_init(&c->arrived[i], NULL);
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
    free(c->head);
    free(c->hits);
    free(c->touches);
    once_free(&c->once);
    free(c->leaving);
    readers_free(&c->readers);
    free(c->users);
    free(c->scrubbed);
    entries_free(&c->stale);
    for (uint32_t i = 0; c->batch != NULL && i < c->options.batch; i++)
        free(c->batch[i].bytes);
    free(c->batch);
    free(c->dirty.of);
    pthread_mutex_destroy(&c->flushing);
    pthread_mutex_destroy(&c->map);
    pthread_cond_destroy(&c->settled);
    pthread_cond_destroy(&c->flush_begins);
    for (int i = 0; i < LOADS; i++)
        pthread_cond_destroy(&c->arrived[i]);
    free(c);
}

/* ---- writes ---- */

pgq_status pgq_tiercache_write(pgq_tiercache *c, uint64_t page, const void *contents)
{
    pgq_code code = PGQ_OK;

    if (c == NULL || contents == NULL)
        return refused(PGQ_NULL, 0);
    if (page >= c->options.pages)
        return refused(PGQ_TIERCACHE_PAGE, 0);
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    uint32_t frame;
    do {
        frame = tier_find(&c->memory, page);
        if (frame == TABLE_NONE) {
            code = pgq_tiercache_make_room(c, 1, true);
            frame = tier_find(&c->memory, page);
        }
    } while (frame != TABLE_NONE && close_frame(c, frame));
    bool comes = frame == TABLE_NONE && code == PGQ_OK;
    if (comes)
        frame = tier_take(&c->memory);
    if (frame != TABLE_NONE) {
        code = PGQ_OK;
        memcpy(frame_of(c, frame), contents, PAGE);
        if (comes)
            fill_frame(c, frame, page, 0, tier_find(&c->ssd, page) == TABLE_NONE ? 1 : TWICE);
        else
            touch_frame(c, frame);
        c->memory.versions[frame] = ++c->version;
        tier_mark(&c->memory, frame, !c->options.write_through);
    }
    if (c->options.write_through)
        code = PGQ_OK; /* the store has it, at least */
    if (code == PGQ_OK) {
        note_write(c, page);
        uint32_t slot = tier_find(&c->ssd, page);
        if (slot != TABLE_NONE)
            pgq_tiercache_ssd_forget(c, slot);
    }
    unlock_map(c);
    return (pgq_status){code, 0};
}

uint32_t pgq_tiercache_where(pgq_tiercache *c, uint64_t page)
{
    uint32_t found = 0;

    if (c == NULL || page >= c->options.pages)
        return 0;
    lock_map(c);
    uint32_t frame = tier_find(&c->memory, page), slot = tier_find(&c->ssd, page);
    if (frame != TABLE_NONE)
        found |= PGQ_TIERCACHE_IN_MEMORY | (c->memory.dirty[frame] ? PGQ_TIERCACHE_MEMORY_DIRTY : 0);
    if (slot != TABLE_NONE)
        found |= PGQ_TIERCACHE_ON_SSD | (c->ssd.dirty[slot] ? PGQ_TIERCACHE_SSD_DIRTY : 0);
    unlock_map(c);
    return found;
}

pgq_tiercache_counts pgq_tiercache_count(pgq_tiercache *c)
{
    pgq_tiercache_counts counts = {0, 0, 0, 0, false, PGQ_TIERCACHE_SSD_NONE};

    if (c == NULL)
        return counts;
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    counts = c->counts;
    counts.ssd_in_use = c->ssd_in_use;
    unlock_map(c);
    return counts;
}
