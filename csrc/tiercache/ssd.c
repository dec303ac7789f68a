/* SPDX-License-Identifier: PostgreSQL */
/*
 * The SSD tier.
 *
 * A slot is a sector with a header, and a page; the checksum covers both, so a torn slot is no slot. If the SSD's unit is larger
 * than a sector, zeros stand before the header: its sector ends a unit, and the page begins one. The checksum does not cover the
 * zeros: nobody reads them, so a slot is as good without them, and a checksum over them would cost time for nothing. A slot is written
 * and read by one request. To discard one, its first unit is overwritten with zeros: the header goes or stays as a whole, with its sector.
 *
 * The headers might stand apart from the pages, eight to a unit of 4 KiB: 8.5 KiB a slot in place of 12. But then a page takes two
 * requests, and a header a read before its write, or a lock of its seven neighbours. The device would be written the same 12 KiB.
 *
 * The header has the store's id and a random generation, which changes when an SSD is not trusted. Two rules keep old contents
 * from coming back:
 *
 * 1. Before the store is written, and before an fsync ends that has nothing to write, each slot with older contents of any
 *    page is overwritten, and the SSD is synced (pgq_tiercache_ssd_scrub; write-back does it). So a slot that is valid after
 *    a crash is not older than the store.
 * 2. If that fails, the SSD is retired: no open trusts it any more. What an open trusts, mount.c says.
 */
#include "tiercache/internal.h"

#define SLOT_MAGIC UINT64_C(0x32544F4C53475150)
#define FIRST_SLOT 4096

typedef struct slot_header {
    uint64_t magic;
    store_id id;
    uint64_t generation, page, version;
    uint32_t dirty, crc;
} slot_header;

static size_t slot_size(const pgq_tiercache *c)
{
    return c->options.ssd_block + PAGE;
}

static uint64_t slot_offset(const pgq_tiercache *c, uint32_t slot)
{
    return FIRST_SLOT + (uint64_t)slot_size(c) * slot;
}

/* What the checksum covers: behind the zeros. */
static uint8_t *sealed(const pgq_tiercache *c, slot_image *image)
{
    return aligned(image->room) + c->options.ssd_block - SECTOR;
}

/* What a slot's bytes are. DAMAGED ones may be sound when they are read again, or after a crash. */
enum { VALID, NOT_OURS, DAMAGED };

static int read_slot(pgq_tiercache *c, uint32_t slot, slot_image *image, slot_header *header)
{
    uint8_t *bytes = sealed(c, image);

    if (!pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_SSD, aligned(image->room), slot_size(c),
                                slot_offset(c, slot)))
        return DAMAGED;
    memcpy(header, bytes, sizeof *header);
    if (header->magic == 0)
        return NOT_OURS;
    memset(bytes + offsetof(slot_header, crc), 0, sizeof header->crc);
    if (header->crc != pgq_tiercache_crc32c_of(&c->crc, bytes, SLOT))
        return DAMAGED;
    bool ours = header->magic == SLOT_MAGIC && memcmp(&header->id, &c->id, sizeof c->id) == 0 &&
                header->generation == c->generation && header->page < c->options.pages;
    return ours ? VALID : NOT_OURS;
}

static bool write_slot(pgq_tiercache *c, uint32_t slot, slot_image *image)
{
    return pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_SSD, aligned(image->room), slot_size(c),
                                   slot_offset(c, slot));
}

/* ---- contents; `map` is free ---- */

bool pgq_tiercache_ssd_get(pgq_tiercache *c, uint32_t slot, uint64_t page, uint64_t version, void *contents)
{
    slot_image image;
    slot_header header;

    if (read_slot(c, slot, &image, &header) != VALID || header.page != page || header.version != version)
        return false;
    memcpy(contents, sealed(c, &image) + SECTOR, PAGE);
    return true;
}

void pgq_tiercache_ssd_prepare(const pgq_tiercache *c, uint32_t frame, slot_image *image)
{
    bool dirty = c->memory.dirty[frame];
    slot_header header = {
        SLOT_MAGIC, c->id, c->generation, c->memory.policy.pages[frame], c->memory.versions[frame], dirty, 0};
    uint8_t *bytes = sealed(c, image);

    memset(aligned(image->room), 0, c->options.ssd_block);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + SECTOR, c->frames + PAGE * frame, PAGE);
}

bool pgq_tiercache_ssd_put(pgq_tiercache *c, uint32_t slot, slot_image *image)
{
    uint8_t *bytes = sealed(c, image);
    uint32_t crc = pgq_tiercache_crc32c_of(&c->crc, bytes, SLOT);

    memcpy(bytes + offsetof(slot_header, crc), &crc, sizeof crc);
    return write_slot(c, slot, image);
}

/* ---- who has a slot; `map` is held ---- */

/* Of the free ones only that which is being scrubbed has a user. */
uint32_t pgq_tiercache_ssd_take(pgq_tiercache *c)
{
    tier *t = &c->ssd;

    if (t->free_count == 0)
        return TABLE_NONE;
    uint32_t *top = t->free + t->free_count - 1;
    if (t->free_count > 1 && c->users[*top] > 0) {
        uint32_t scrubbed = *top;

        *top = top[-1];
        top[-1] = scrubbed;
    }
    if (c->users[*top] > 0)
        return TABLE_NONE;
    uint32_t slot = tier_take(t);
    HOLDS(IS_LOCKED(&c->map) && !tier_holds(t, slot) && !t->dirty[slot]);
    c->users[slot] = 1;
    entries_add(&c->stale, slot);
    return slot;
}

void pgq_tiercache_ssd_release(pgq_tiercache *c, uint32_t slot)
{
    HOLDS(IS_LOCKED(&c->map) && c->users[slot] > 0);
    if (--c->users[slot] > 0)
        return;
    if (!tier_holds(&c->ssd, slot))
        tier_give(&c->ssd, slot);
    pthread_cond_broadcast(&c->settled);
}

/* A page leaves its slot, which is free then, unless somebody reads it. */
static void drop(pgq_tiercache *c, uint32_t slot, bool evicted)
{
    c->ssd.policy.calls->remove(&c->ssd.policy, slot, evicted);
    tier_remove(&c->ssd, slot);
    if (c->users[slot] == 0)
        tier_give(&c->ssd, slot);
}

bool pgq_tiercache_ssd_evict(pgq_tiercache *c, uint32_t slot)
{
    HOLDS(!c->ssd.dirty[slot]); /* its contents would be lost */
    drop(c, slot, true);
    if (c->users[slot] == 0)
        return true;
    slot_is_stale(c, slot);
    return false;
}

void pgq_tiercache_ssd_forget(pgq_tiercache *c, uint32_t slot)
{
    drop(c, slot, false);
    slot_is_stale(c, slot);
}

void pgq_tiercache_ssd_abandon(pgq_tiercache *c, bool with_dirty)
{
    c->ssd_in_use = false;
    for (uint32_t slot = 0; slot < c->ssd.n; slot++)
        if (tier_holds(&c->ssd, slot) && (with_dirty || !c->ssd.dirty[slot]))
            pgq_tiercache_ssd_forget(c, slot);
}

/* ---- taking old contents off; `flushing` and `map` are held ---- */

/* A slot that is stale: nobody else takes it meanwhile. */
static bool scrub_slot(pgq_tiercache *c, uint32_t slot)
{
    HOLDS(c->users[slot] == 0 && !tier_holds(&c->ssd, slot));
    c->users[slot] = 1;
    unlock_map(c);
    bool done = pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_SSD, c->head, c->options.ssd_block,
                                        slot_offset(c, slot));
    lock_map(c);
    c->users[slot] = 0;
    pthread_cond_broadcast(&c->settled);
    if (done)
        entries_remove(&c->stale, slot);
    return done;
}

/* What is stale now; what becomes so later is not older than what this write-back writes. A page that is on its way to a slot
   takes off what the slot had, or leaves it stale. */
bool pgq_tiercache_ssd_scrub(pgq_tiercache *c)
{
    uint32_t left = c->stale.count;

    memset(c->head, 0, c->options.ssd_block);
    entries_sort(&c->stale);
    memcpy(c->scrubbed, c->stale.members, left * sizeof *c->scrubbed);
    while (left > 0) {
        uint32_t slot = c->scrubbed[--left];

        while (entries_has(&c->stale, slot) && c->users[slot] > 0)
            wait_with_map(c, &c->settled);
        if (entries_has(&c->stale, slot) && !scrub_slot(c, slot))
            return false;
    }
    return true;
}

/* ---- opens ---- */

/* Of two slots of a page the newer one counts. */
static void take_over(pgq_tiercache *c, uint32_t slot, const slot_header *header)
{
    uint32_t other = tier_find(&c->ssd, header->page);

    if (other != TABLE_NONE && c->ssd.versions[other] >= header->version) {
        slot_is_stale(c, slot);
        tier_give(&c->ssd, slot);
        return;
    }
    if (other != TABLE_NONE)
        pgq_tiercache_ssd_forget(c, other);
    tier_put(&c->ssd, slot, header->page, header->version, header->dirty != 0);
    if (header->version > c->version)
        c->version = header->version;
}

/* The bytes that were read, once more. */
static bool write_again(pgq_tiercache *c, uint32_t slot, slot_image *image, const slot_header *header)
{
    memcpy(sealed(c, image), header, sizeof *header);
    return write_slot(c, slot, image);
}

/*
 * In doubt, a sync of the SSD may have failed before, and reads give what never becomes durable: sound slots are written
 * again, and the others are stale, whatever they seem to be.
 */
bool pgq_tiercache_ssd_scan(pgq_tiercache *c, bool in_doubt)
{
    c->ssd.free_count = 0;
    for (uint32_t slot = 0; slot < c->ssd.n; slot++) {
        slot_image image;
        slot_header header;
        int found = read_slot(c, slot, &image, &header);

        if (found == DAMAGED || (found == NOT_OURS && in_doubt))
            slot_is_stale(c, slot);
        if (found == VALID)
            take_over(c, slot, &header);
        else
            tier_give(&c->ssd, slot);
        if (found == VALID && in_doubt && !write_again(c, slot, &image, &header))
            return false;
    }
    return true;
}
