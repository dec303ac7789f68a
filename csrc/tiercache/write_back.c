/* SPDX-License-Identifier: PostgreSQL */
/*
 * Write-back: gather what is dirty, take old contents off the SSD, write the store by the block, sync it, and only then
 * call the pages clean, those that were not written again meanwhile. Until then they keep their places, so that an error
 * at any step leaves them dirty, with their contents.
 */
#include "tiercache/internal.h"

/* ---- gathering ---- */

/* A page's contents and version from memory; or the slot that has them. */
static void take_page(pgq_tiercache *c, gathered *g, uint32_t k)
{
    uint64_t page = g->block * BLOCK_PAGES + k;
    uint32_t frame = tier_find(&c->memory, page), slot = tier_find(&c->ssd, page);

    if (frame != TABLE_NONE) {
        memcpy(g->bytes + PAGE * k, frame_of(c, frame), PAGE);
        g->versions[k] = c->memory.versions[frame];
        g->have |= (uint32_t)1 << k;
    } else if (slot != TABLE_NONE) {
        c->users[slot]++;
        g->slots[k] = slot;
        g->versions[k] = c->ssd.versions[slot];
    }
}

/* The dirty pages of a block, and the clean ones between them that are at hand. stuck: be it some that have failed. `map` is held. */
static void gather(pgq_tiercache *c, gathered *g, bool stuck)
{
    g->asked = pgq_tiercache_dirty_pages(&c->dirty, g->block, stuck);
    g->left_out = stuck ? 0 : pgq_tiercache_dirty_pages(&c->dirty, g->block, true) & ~g->asked;
    g->have = g->dirty = g->written = 0;
    for (uint32_t k = 0; k < BLOCK_PAGES; k++) {
        bool between = g->asked >> k != 0 && (g->asked & (((uint32_t)2 << k) - 1)) != 0;

        g->slots[k] = TABLE_NONE;
        if (between && !(g->left_out >> k & 1))
            take_page(c, g, k);
    }
}

/* What stands on the SSD. `map` is free. */
static void read_slots(pgq_tiercache *c, gathered *g)
{
    for (uint32_t k = 0; k < BLOCK_PAGES; k++)
        if (g->slots[k] != TABLE_NONE && pgq_tiercache_ssd_get(c, g->slots[k], g->block * BLOCK_PAGES + k,
                                                               g->versions[k], g->bytes + PAGE * k))
            g->have |= (uint32_t)1 << k;
}

/* `map` is held. false: a dirty page cannot be read. */
static bool has_gathered(pgq_tiercache *c, gathered *g)
{
    for (uint32_t k = 0; k < BLOCK_PAGES; k++)
        if (g->slots[k] != TABLE_NONE)
            pgq_tiercache_ssd_release(c, g->slots[k]);
    g->dirty = g->asked & g->have;
    return g->dirty == g->asked;
}

/* All as of one moment. `map` is held, and released meanwhile. */
static bool gather_all(pgq_tiercache *c, size_t n, bool stuck)
{
    bool all = true;

    HOLDS(n <= c->options.batch);
    for (size_t i = 0; i < n; i++)
        gather(c, &c->batch[i], stuck);
    unlock_map(c);
    for (size_t i = 0; i < n; i++)
        read_slots(c, &c->batch[i]);
    lock_map(c);
    for (size_t i = 0; i < n; i++)
        all &= has_gathered(c, &c->batch[i]);
    return all;
}

/* ---- the store; `map` is free ---- */

/* The end of the run of pages at hand that starts at k, without clean pages at its end. */
static uint32_t run_end(const gathered *g, uint32_t k)
{
    uint32_t end = k;

    for (; k < BLOCK_PAGES && g->have >> k & 1; k++)
        if (g->dirty >> k & 1)
            end = k + 1;
    return end;
}

/* The next dirty page from k on; BLOCK_PAGES if there is none. */
static uint32_t next_dirty(const gathered *g, uint32_t k)
{
    while (k < BLOCK_PAGES && !(g->dirty >> k & 1))
        k++;
    return k;
}

static uint32_t runs(const gathered *g)
{
    uint32_t n = 0;

    for (uint32_t k = next_dirty(g, 0); k < BLOCK_PAGES; k = next_dirty(g, run_end(g, k)))
        n++;
    return n;
}

/* Each run is a request. If there are more than two, one request reads what lies between, and one writes all. No other
   write-back runs, and no tier has had these pages: the store's contents are the newest ones. But a page that is left out has newer
   ones, and the store would not take it. */
static bool fill_gaps(pgq_tiercache *c, gathered *g)
{
    uint32_t first = next_dirty(g, 0), last = BLOCK_PAGES - 1;

    if (runs(g) <= 2 || g->left_out != 0)
        return true;
    while (!(g->dirty >> last & 1))
        last--;
    uint8_t *read = c->gap_buffer;
    if (!pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_STORE, read, PAGE * (last - first + 1),
                                PAGE * (g->block * BLOCK_PAGES + first)))
        return false;
    for (uint32_t k = first; k <= last; k++) {
        if (!(g->have >> k & 1))
            memcpy(g->bytes + PAGE * k, read + PAGE * (k - first), PAGE);
        g->have |= (uint32_t)1 << k;
    }
    return true;
}

static bool write_pages(pgq_tiercache *c, const gathered *g, uint32_t k, uint32_t end)
{
    return pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_STORE, g->bytes + PAGE * k, PAGE * (end - k),
                                   PAGE * (g->block * BLOCK_PAGES + k));
}

/* The dirty pages of a run that the store has then. If it does not take the run, each of them is a request: one that cannot be written
   holds no other one. What a write that has failed may have left of them is overwritten by the same bytes. */
static uint32_t write_run(pgq_tiercache *c, const gathered *g, uint32_t k, uint32_t end)
{
    uint32_t pages = g->dirty & (((uint32_t)1 << end) - ((uint32_t)1 << k)), written = 0;

    if (write_pages(c, g, k, end))
        return pages;
    for (uint32_t one = k; end - k > 1 && one < end; one++)
        if (pages >> one & 1 && write_pages(c, g, one, one + 1))
            written |= (uint32_t)1 << one;
    return written;
}

/* Without a gap read, the runs are written one by one. */
static void write_block(pgq_tiercache *c, gathered *g)
{
    HOLDS((g->dirty & ~g->have) == 0); /* else a run would have no end */
    (void)fill_gaps(c, g);
    for (uint32_t k = next_dirty(g, 0); k < BLOCK_PAGES;) {
        uint32_t end = run_end(g, k);

        g->written |= write_run(c, g, k, end);
        k = next_dirty(g, end);
    }
}

/* ---- the steps ---- */

/*
 * No restart will find older contents on the SSD than those that the store is about to get. What is stale without owing anything
 * is being written.
 */
static bool take_old_contents_off(pgq_tiercache *c)
{
    bool clean = true;

    if (c->ssd_in_use && (c->ssd_owes || c->ssd_unsynced || c->stale.count > 0)) {
        c->epoch++;
        c->ssd_owes = c->ssd_unsynced = false;
        clean = pgq_tiercache_ssd_scrub(c);
        unlock_map(c);
        clean =
            clean && pgq_tiercache_put_superblock(c) && pgq_tiercache_sync_file(c, PGQ_TIERCACHE_FILE_SSD);
        lock_map(c);
    }
    return (clean && !c->retiring) || pgq_tiercache_retire(c);
}

/* Written: the page is clean, unless it was written again meanwhile. */
static void call_clean(tier *t, uint64_t page, uint64_t version)
{
    uint32_t entry = tier_find(t, page);

    if (entry == TABLE_NONE)
        return;
    if (t->versions[entry] == version)
        tier_mark(t, entry, false);
    tier_bring_back(t, entry);
}

/* Not written: no victim, for now. */
static void set_aside(pgq_tiercache *c, tier *t, uint64_t page, page_state state)
{
    uint32_t entry = tier_find(t, page);

    if (entry != TABLE_NONE && t->dirty[entry] && !(t == &c->memory && c->leaving[entry]))
        tier_set_aside(t, entry, state);
}

/* What has become of the dirty pages of a block. */
static void settle(pgq_tiercache *c, const gathered *g)
{
    for (uint32_t k = 0; k < BLOCK_PAGES; k++) {
        uint64_t page = g->block * BLOCK_PAGES + k;

        if (g->written >> k & 1) {
            call_clean(&c->memory, page, g->versions[k]);
            call_clean(&c->ssd, page, g->versions[k]);
        } else if (g->asked >> k & 1) {
            set_aside(c, &c->memory, page, STUCK);
            set_aside(c, &c->ssd, page, g->dirty >> k & 1 ? STUCK : LOST);
        }
    }
}

/* Writes and syncs what is gathered. false: something failed. */
static bool write_store(pgq_tiercache *c, size_t n)
{
    if (!pgq_tiercache_store_announce(c, c->batch, n))
        return false;
    bool all = true;
    for (size_t i = 0; i < n; i++) {
        write_block(c, &c->batch[i]);
        all &= c->batch[i].written == c->batch[i].dirty;
    }
    bool synced = pgq_tiercache_sync_file(c, PGQ_TIERCACHE_FILE_STORE);
    if (!synced)
        for (size_t i = 0; i < n; i++)
            c->batch[i].written = 0;
    pgq_tiercache_store_settle(c, c->batch, n, synced);
    return all && synced;
}

/* The first n blocks of the batch. stuck: be it pages that have failed. Both locks are held; `map` is released while the files are
   written. */
static pgq_code write_back(pgq_tiercache *c, size_t n, bool stuck)
{
    HOLDS(IS_LOCKED(&c->flushing) && IS_LOCKED(&c->map));
    bool done = gather_all(c, n, stuck);

    if (take_old_contents_off(c)) {
        unlock_map(c);
        done &= write_store(c, n);
        lock_map(c);
    } else {
        done = false;
    }
    pgq_tiercache_tell_hits(c);
    for (size_t i = 0; i < n; i++)
        settle(c, &c->batch[i]);
    c->failed |= !done;
    return done ? PGQ_OK : PGQ_TIERCACHE_WRITE_BACK;
}

/* ---- calls ---- */

/* Takes both locks. A cleaner looks whether somebody waits here. */
static void begin_flush(pgq_tiercache *c)
{
    lock_map(c);
    c->flushes++;
    unlock_map(c);
    pthread_mutex_lock(&c->flushing);
    lock_map(c);
    c->flushes--;
    pthread_cond_broadcast(&c->flush_begins);
}

static void end_flush(pgq_tiercache *c)
{
    unlock_map(c);
    pthread_mutex_unlock(&c->flushing);
}

/* The next blocks join the n of the batch: from this one on, that are dirty since this version or before. How many there are then.
   stuck: be it some that have failed. */
static size_t list(pgq_tiercache *c, size_t n, uint64_t from, uint64_t version, bool stuck)
{
    const dirty_block *next;

    while (n < c->options.batch && (next = pgq_tiercache_dirty_next(&c->dirty, from, stuck)) != NULL) {
        if (next->since <= version)
            c->batch[n++].block = next->block;
        from = next->block + 1;
    }
    return n;
}

/* One block, as the first of the batch. false: no page of it is to be written. */
static bool begin_list(pgq_tiercache *c, uint64_t block, bool stuck)
{
    c->batch[0].block = block;
    return pgq_tiercache_dirty_pages(&c->dirty, block, stuck) != 0;
}

/* Pages of this block that have failed before are left out, and behind it blocks that have such pages. Another write-back may have
   made it clean meanwhile, or failed: then there may be room, or another victim, and nothing is done. */
void pgq_tiercache_write_back_for_room(pgq_tiercache *c, uint64_t block)
{
    unlock_map(c);
    pthread_mutex_lock(&c->flushing);
    lock_map(c);
    if (begin_list(c, block, false))
        (void)write_back(c, list(c, 1, block + 1, c->version, false), false);
    pthread_mutex_unlock(&c->flushing);
}

pgq_status pgq_tiercache_write_back(pgq_tiercache *c, uint64_t block)
{
    if (c == NULL)
        return refused(PGQ_NULL, 0);
    if (block >= c->options.pages / BLOCK_PAGES)
        return refused(PGQ_TIERCACHE_PAGE, 0);
    begin_flush(c);
    pgq_code code = begin_list(c, block, true) ? write_back(c, 1, true) : PGQ_OK;
    end_flush(c);
    return (pgq_status){code, 0};
}

/* In each batch `map` is released. What becomes dirty then is not waited for; what was dirty before stays so until its batch. */
pgq_status pgq_tiercache_fsync(pgq_tiercache *c)
{
    if (c == NULL)
        return refused(PGQ_NULL, 0);
    begin_flush(c);
    uint64_t version = c->version;
    size_t n = list(c, 0, 0, version, true);
    /* Nothing is dirty, but old contents may be valid on the SSD, which an open may trust, or the control file does not know that it
       is retired. */
    bool trusted = c->ssd_in_use && !c->options.write_through;
    if (n == 0 && (c->retiring || (trusted && c->ssd_owes)))
        (void)write_back(c, 0, true);
    while (n > 0) {
        (void)write_back(c, n, true);
        n = list(c, 0, c->batch[n - 1].block + 1, version, true);
    }
    pgq_code code = c->failed ? PGQ_TIERCACHE_WRITE_BACK : PGQ_OK;
    if (!c->failed)
        c->unsure = 0;
    c->failed = false;
    end_flush(c);
    return (pgq_status){code, 0};
}

pgq_tiercache_failure pgq_tiercache_failed(pgq_tiercache *c, uint64_t from, uint64_t *page)
{
    if (c == NULL || page == NULL)
        return PGQ_TIERCACHE_FAILED_NONE;
    lock_map(c);
    page_state state = pgq_tiercache_dirty_next_stuck(&c->dirty, from, page);
    unlock_map(c);
    return state == LOST    ? PGQ_TIERCACHE_FAILED_LOST
           : state == STUCK ? PGQ_TIERCACHE_FAILED_STUCK
                            : PGQ_TIERCACHE_FAILED_NONE;
}
