/* SPDX-License-Identifier: PostgreSQL */
/*
 * The store's trailer, behind its last page.
 *
 * It names the store; so a store that was truncated or exchanged is refused. It has the epoch (mount.c). And it lists the
 * blocks that a write-back is about to write, beside those of which a sync has failed: Linux calls their pages clean, and
 * reads give them, but no later sync makes them durable. If the process is killed then, the next open writes these blocks
 * once more. The list need not be durable: a power loss leaves only what is.
 */
#include "tiercache/internal.h"

#define STORE_MAGIC UINT64_C(0x3245524F54535150)
#define ALL         (LISTED + 1)

_Static_assert(sizeof(trailer) == PGQ_TIERCACHE_PAGE_SIZE, "a trailer is a page");

/* The checksum stands in the first sector, so that a trailer with an empty list is not torn. */
static uint32_t crc_of(pgq_tiercache *c, trailer *t)
{
    uint32_t found = t->crc;

    t->crc = 0;
    uint32_t crc = pgq_tiercache_crc32c_of(&c->crc, (const uint8_t *)t, sizeof *t);
    t->crc = found;
    return crc;
}

/* Not over the last one that was synced, nor over the one after that, which a failed sync may have left to this process. */
static bool put_trailer(pgq_tiercache *c)
{
    trailer *t = c->trailer;
    uint32_t synced = c->trailer_synced, last = c->trailer_last;
    uint32_t place = last == synced ? (synced + 1) % TRAILERS : TRAILERS - synced - last;

    HOLDS(place < TRAILERS && place != synced && place != last);
    t->turn++;
    t->crc = crc_of(c, t);
    if (!pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_STORE, t, PAGE, PAGE * (t->pages + place)))
        return false;
    c->trailer_last = place;
    return true;
}

/* ---- opens ---- */

static bool write_again(pgq_tiercache *c, uint64_t block)
{
    const size_t size = PAGE * BLOCK_PAGES;

    return pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_STORE, c->read_buffer, size, size * block) &&
           pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_STORE, c->read_buffer, size, size * block);
}

static bool write_listed_again(pgq_tiercache *c, const trailer *t)
{
    bool all = t->listed > LISTED;
    uint64_t n = all ? t->pages / BLOCK_PAGES : t->listed;

    for (uint64_t i = 0; i < n; i++)
        if ((all || t->blocks[i] < t->pages / BLOCK_PAGES) && !write_again(c, all ? i : t->blocks[i]))
            return false;
    return true;
}

/* The place of the newest sound trailer; TRAILERS: there is none. */
static uint32_t newest(pgq_tiercache *c, trailer found[])
{
    uint32_t last = TRAILERS;

    for (uint32_t i = 0; i < TRAILERS; i++)
        if (found[i].magic == STORE_MAGIC && found[i].crc == crc_of(c, &found[i]) &&
            (last == TRAILERS || found[i].turn > found[last].turn))
            last = i;
    return last;
}

/* What a process that was killed has written becomes what it seems to be: the listed blocks, the trailers, all else. */
static bool make_durable(pgq_tiercache *c, const trailer found[], uint32_t last)
{
    return write_listed_again(c, &found[last]) &&
           pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_STORE, found, PAGE * TRAILERS,
                                   PAGE * c->options.pages) &&
           pgq_tiercache_sync_file(c, PGQ_TIERCACHE_FILE_STORE);
}

pgq_code pgq_tiercache_store_mount(pgq_tiercache *c, bool is_new, const store_id *fresh)
{
    trailer *found = (trailer *)c->gap_buffer;

    if (!pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_STORE, found, PAGE * TRAILERS, PAGE * c->options.pages))
        return PGQ_TIERCACHE_READ;
    bool is_zero = pgq_tiercache_is_zero(found, PAGE * TRAILERS);
    uint32_t last = newest(c, found);
    if (last == TRAILERS) {
        if (!is_new || !is_zero)
            return PGQ_TIERCACHE_STORE;
        last = 0;
        found[0] = (trailer){.magic = STORE_MAGIC, .pages = c->options.pages, .id = *fresh};
        found[0].crc = crc_of(c, &found[0]);
    }
    if (found[last].pages != c->options.pages || (!is_new && !same_id(&found[last].id, &c->id)))
        return PGQ_TIERCACHE_STORE;
    *c->trailer = found[last];
    c->trailer_synced = c->trailer_last = last;
    c->id = found[last].id;
    c->epoch = found[last].epoch;
    return make_durable(c, found, last) ? PGQ_OK : PGQ_TIERCACHE_WRITE_BACK;
}

/* ---- write-backs ---- */

static void list(trailer *t, uint32_t unsure, uint64_t block)
{
    for (uint32_t i = 0; i < unsure && i < LISTED; i++)
        if (t->blocks[i] == block)
            return;
    if (t->listed < LISTED)
        t->blocks[t->listed] = block;
    if (t->listed < ALL)
        t->listed++;
}

bool pgq_tiercache_store_announce(pgq_tiercache *c, const gathered batch[], size_t n)
{
    c->trailer->epoch = c->epoch;
    c->trailer->listed = c->unsure;
    for (size_t i = 0; i < n; i++)
        list(c->trailer, c->unsure, batch[i].block);
    return put_trailer(c);
}

static bool was_written(const gathered batch[], size_t n, uint64_t block)
{
    for (size_t i = 0; i < n; i++)
        if (batch[i].block == block)
            return batch[i].written == batch[i].asked && batch[i].left_out == 0;
    return false;
}

void pgq_tiercache_store_settle(pgq_tiercache *c, const gathered batch[], size_t n, bool synced)
{
    uint64_t *blocks = c->trailer->blocks;
    uint32_t kept = 0;

    if (!synced) {
        c->unsure = c->trailer->listed;
        return;
    }
    c->trailer_synced = c->trailer_last;
    if (c->unsure <= LISTED) {
        for (uint32_t i = 0; i < c->unsure; i++)
            if (!was_written(batch, n, blocks[i]))
                blocks[kept++] = blocks[i];
        c->unsure = kept;
    }
}
