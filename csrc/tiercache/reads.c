/* SPDX-License-Identifier: PostgreSQL */
/*
 * Reads. What is not in memory is loaded, by one thread: it marks the pages, reads the file while `map` is free, and looks again
 * then at what has become of them. Others that want them wait for it, if the pages are to come to memory. A load whose page was
 * written meanwhile leaves memory as it is.
 */
#include "tiercache/internal.h"

/* ---- loads ---- */

static load **loads_of(pgq_tiercache *c, uint64_t page)
{
    return &c->loads[page / BLOCK_PAGES % LOADS];
}

/* The load that reads a page; NULL: there is none. */
static load *load_of(pgq_tiercache *c, uint64_t page)
{
    load *l = *loads_of(c, page);

    while (l != NULL && page - l->page >= l->n)
        l = l->next;
    return l;
}

/* The page will come to memory, by another thread. */
static bool is_coming(pgq_tiercache *c, uint64_t page)
{
    load *l = load_of(c, page);

    return l != NULL && l->keeps;
}

/* Frames that loads may have yet: a quarter at most, so that there are victims. */
static uint32_t frames_for_loads(const pgq_tiercache *c)
{
    uint32_t left = c->memory.n / 4 - c->reserved;

    HOLDS(c->reserved <= c->memory.n / 4);
    return left < c->memory.free_count ? left : c->memory.free_count;
}

/* Without frames the pages are read past the memory. */
static void begin_load(pgq_tiercache *c, load *l, uint64_t page, uint32_t n)
{
    *l = (load){.page = page, .n = n, .keeps = n <= frames_for_loads(c) && !is_coming(c, page)};
    for (uint32_t i = 0; l->keeps && i < n; i++)
        l->frames[i] = tier_take(&c->memory);
    c->reserved += l->keeps ? n : 0;
    l->next = *loads_of(c, page);
    *loads_of(c, page) = l;
}

/* What was read, into the load's frames. `map` is free. */
static void fill_frames(pgq_tiercache *c, const load *l, const uint8_t *pages)
{
    for (uint32_t i = 0; l->keeps && i < l->n; i++)
        memcpy(frame_of(c, l->frames[i]), pages + PAGE * i, PAGE);
}

/* done: the frames are filled. They come to memory, or are free again. touches: of the first page; what was read ahead of a scan
   was not asked for yet. */
static void end_load(pgq_tiercache *c, load *l, uint64_t version, unsigned touches, bool done)
{
    load **at = loads_of(c, l->page);

    HOLDS(IS_LOCKED(&c->map) && (!l->keeps || c->reserved >= l->n));
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    for (uint32_t i = 0; l->keeps && i < l->n; i++) {
        if (done && !(l->old >> i & 1)) {
            HOLDS(tier_find(&c->memory, l->page + i) == TABLE_NONE);
            fill_frame(c, l->frames[i], l->page + i, version, i == 0 ? touches : 0);
        } else {
            tier_give(&c->memory, l->frames[i]);
        }
    }
    c->reserved -= l->keeps ? l->n : 0;
    pthread_cond_broadcast(&c->arrived[l->page / BLOCK_PAGES % LOADS]);
}

/* ---- from the store ---- */

/* How many pages to read at once from the store: one, or in a sequential scan those up to the end of the block that no
   tier has and nobody reads, a quarter of the memory at most. */
static uint32_t pages_ahead(pgq_tiercache *c, uint64_t page)
{
    uint32_t most = BLOCK_PAGES - (uint32_t)(page % BLOCK_PAGES), n = 1;

    if (page != c->expected || c->reads_ahead)
        return 1;
    if (most > c->memory.n / 4)
        most = c->memory.n / 4;
    while (n < most && tier_find(&c->memory, page + n) == TABLE_NONE &&
           tier_find(&c->ssd, page + n) == TABLE_NONE && load_of(c, page + n) == NULL)
        n++;
    return n;
}

/* The caller's bytes may stand anywhere, so no file gives to them: a single page goes to its frame, if it has one. *again: the page was
   written meanwhile, and what was read may be a mixture. */
static pgq_code load_from_store(pgq_tiercache *c, uint64_t page, void *contents, bool *again)
{
    uint32_t n = pages_ahead(c, page), most = frames_for_loads(c);
    uint8_t room[ALIGNMENT - 1 + PAGE];
    load l;

    if (n > 1 && n > most)
        n = most > 0 ? most : 1;
    begin_load(c, &l, page, n);
    c->reads_ahead |= n > 1;
    unlock_map(c);
    uint8_t *bytes = n > 1 ? c->read_buffer : l.keeps ? frame_of(c, l.frames[0]) : aligned(room);
    bool done = pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_STORE, bytes, PAGE * n, PAGE * page);
    if (done) {
        memcpy(contents, bytes, PAGE);
        if (n > 1)
            fill_frames(c, &l, bytes);
    }
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    c->reads_ahead &= n == 1;
    end_load(c, &l, 0, 1, done);
    *again = l.old & 1;
    if (*again)
        return PGQ_OK;
    if (!done)
        return PGQ_TIERCACHE_READ;
    c->counts.store_reads++;
    c->expected = page + n;
    return PGQ_OK;
}

/* ---- from the SSD ---- */

/* A slot that cannot be read is forgotten if the store has its page. *again: the page is elsewhere now. */
static pgq_code load_from_ssd(pgq_tiercache *c, uint64_t page, uint32_t slot, void *contents, bool *again)
{
    uint64_t version = c->ssd.versions[slot];
    load l;

    begin_load(c, &l, page, 1);
    c->users[slot]++;
    unlock_map(c);
    bool done = pgq_tiercache_ssd_get(c, slot, page, version, contents);
    if (done)
        fill_frames(c, &l, contents);
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    end_load(c, &l, version, TWICE, done);
    bool held = tier_find(&c->ssd, page) == slot;
    if (done && held)
        c->ssd.policy.calls->hit(&c->ssd.policy, slot);
    pgq_tiercache_ssd_release(c, slot);
    if (done) {
        c->counts.ssd_hits++;
        return PGQ_OK;
    }
    *again = !held;
    if (!held)
        return PGQ_OK;
    if (c->ssd.dirty[slot])
        return PGQ_TIERCACHE_LOST;
    pgq_tiercache_ssd_forget(c, slot);
    return load_from_store(c, page, contents, again);
}

/* ---- hits ---- */

/* false: the page is not in memory, or not found so. No lock is taken, but now and then to tell. */
static bool hit_without_map(pgq_tiercache *c, uint64_t page, void *contents)
{
    hit h = {page, table_peek(&c->memory.where, page)};

    if (h.frame == TABLE_NONE || !readers_enter(&c->readers, h.frame, page, &c->map))
        return false;
    memcpy(contents, frame_of(c, h.frame), PAGE);
    readers_leave(&c->readers, h.frame, &c->map);
    if (!hits_note(c->hits, h)) {
        lock_map(c);
        pgq_tiercache_tell_hits(c);
        pgq_tiercache_tell_hit(c, h);
        unlock_map(c);
    }
    return true;
}

/* ---- the call ---- */

/* A page in memory, to who asked for it. `map` is held, and free at the end. */
static void give(pgq_tiercache *c, uint32_t frame, uint64_t page, void *contents)
{
    bool beside = readers_enter(&c->readers, frame, page, &c->map);

    if (beside)
        unlock_map(c);
    memcpy(contents, frame_of(c, frame), PAGE);
    if (beside)
        readers_leave(&c->readers, frame, &c->map);
    else
        unlock_map(c);
}

/* The contents of a page that is in no table of the memory, which it comes to if there is room. */
static pgq_code read_below(pgq_tiercache *c, uint64_t page, void *contents, bool *again)
{
    uint32_t slot = tier_find(&c->ssd, page);

    return slot == TABLE_NONE ? load_from_store(c, page, contents, again)
                              : load_from_ssd(c, page, slot, contents, again);
}

pgq_status pgq_tiercache_read(pgq_tiercache *c, uint64_t page, void *contents)
{
    pgq_code code = PGQ_OK;

    if (c == NULL || contents == NULL)
        return refused(PGQ_NULL, 0);
    if (page >= c->options.pages)
        return refused(PGQ_TIERCACHE_PAGE, 0);
    if (hit_without_map(c, page, contents))
        return accepted();
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    for (bool again = true; again;) {
        again = false;
        uint32_t frame = tier_find(&c->memory, page);
        if (frame == TABLE_NONE && !is_coming(c, page)) {
            /* Without room a page is read past the memory. */
            uint32_t wanted = tier_find(&c->ssd, page) == TABLE_NONE ? pages_ahead(c, page) : 1;

            (void)pgq_tiercache_make_room(c, wanted, false);
            frame = tier_find(&c->memory, page);
        }
        if (frame != TABLE_NONE) {
            c->counts.memory_hits++;
            touch_frame(c, frame);
            give(c, frame, page, contents);
            return accepted();
        }
        if (is_coming(c, page)) {
            wait_with_map(c, &c->arrived[page / BLOCK_PAGES % LOADS]);
            pgq_tiercache_tell_hits(c);
            again = true;
        } else {
            code = read_below(c, page, contents, &again);
        }
    }
    unlock_map(c);
    return (pgq_status){code, 0};
}
