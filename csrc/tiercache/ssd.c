/* SPDX-License-Identifier: PostgreSQL */
/*
 * The SSD tier.
 *
 * A slot is a sector with a header, and a page; the checksum covers both, so a torn slot is no slot. The header has the
 * store's id and a random generation, which changes when an SSD is not trusted. Two rules keep old contents from coming back:
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

static uint64_t slot_offset(uint32_t slot)
{
    return FIRST_SLOT + (uint64_t)SLOT * slot;
}

/* What a slot's bytes are. DAMAGED ones may be sound when they are read again, or after a crash. */
enum { VALID, NOT_OURS, DAMAGED };

static int read_slot(pgq_tiercache *c, uint32_t slot, slot_header *header)
{
    if (!pgq_tiercache_read_all(c, PGQ_TIERCACHE_FILE_SSD, c->slot_buffer, SLOT, slot_offset(slot)))
        return DAMAGED;
    memcpy(header, c->slot_buffer, sizeof *header);
    if (header->magic == 0)
        return NOT_OURS;
    memset(c->slot_buffer + offsetof(slot_header, crc), 0, sizeof header->crc);
    if (header->crc != pgq_tiercache_crc32c_of(&c->crc, c->slot_buffer, SLOT))
        return DAMAGED;
    bool ours = header->magic == SLOT_MAGIC && memcmp(&header->id, &c->id, sizeof c->id) == 0 &&
                header->generation == c->generation && header->page < c->options.pages;
    return ours ? VALID : NOT_OURS;
}

bool pgq_tiercache_ssd_get(pgq_tiercache *c, uint32_t slot, void *contents)
{
    slot_header header;

    if (read_slot(c, slot, &header) != VALID || header.page != c->ssd.policy.pages[slot] ||
        header.version != c->ssd.versions[slot])
        return false;
    memcpy(contents, c->slot_buffer + SECTOR, PAGE);
    return true;
}

bool pgq_tiercache_ssd_put(pgq_tiercache *c, uint64_t page, uint64_t version, bool dirty,
                           const uint8_t *contents)
{
    uint32_t slot = tier_take(&c->ssd);
    slot_header header = {SLOT_MAGIC, c->id, c->generation, page, version, dirty, 0};

    memset(c->slot_buffer, 0, SECTOR);
    memcpy(c->slot_buffer, &header, sizeof header);
    memcpy(c->slot_buffer + SECTOR, contents, PAGE);
    header.crc = pgq_tiercache_crc32c_of(&c->crc, c->slot_buffer, SLOT);
    memcpy(c->slot_buffer, &header, sizeof header);
    c->ssd_unsynced = true;
    entries_remove(&c->stale, slot);
    tier_put(&c->ssd, slot, page, version, dirty);
    if (pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_SSD, c->slot_buffer, SLOT, slot_offset(slot)))
        return true;
    pgq_tiercache_ssd_forget(c, slot);
    return false;
}

void pgq_tiercache_ssd_forget(pgq_tiercache *c, uint32_t slot)
{
    tier_drop(&c->ssd, slot, false);
    slot_is_stale(c, slot);
}

bool pgq_tiercache_ssd_scrub(pgq_tiercache *c)
{
    if (!c->ssd_owes)
        return true;
    memset(c->sector, 0, SECTOR);
    entries_sort(&c->stale);
    while (c->stale.count > 0) {
        uint32_t slot = c->stale.members[c->stale.count - 1];

        c->ssd_unsynced = true;
        if (!pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_SSD, c->sector, SECTOR, slot_offset(slot)))
            return false;
        entries_remove(&c->stale, slot);
    }
    return true;
}

void pgq_tiercache_ssd_abandon(pgq_tiercache *c, bool with_dirty)
{
    c->ssd_in_use = false;
    for (uint32_t slot = 0; slot < c->ssd.n; slot++)
        if (tier_find(&c->ssd, c->ssd.policy.pages[slot]) == slot &&
            (with_dirty || !entries_has(&c->ssd.dirty, slot)))
            pgq_tiercache_ssd_forget(c, slot);
}

/* ---- opens ---- */

/* Of two slots of a page the newer one counts. */
static void take_over(pgq_tiercache *c, uint32_t slot, const slot_header *header)
{
    uint32_t other = tier_find(&c->ssd, header->page);

    if (other != TABLE_NONE && c->ssd.versions[other] >= header->version) {
        slot_is_stale(c, slot);
        c->ssd.free[c->ssd.free_count++] = slot;
        return;
    }
    if (other != TABLE_NONE)
        pgq_tiercache_ssd_forget(c, other);
    tier_put(&c->ssd, slot, header->page, header->version, header->dirty != 0);
    if (header->version > c->version)
        c->version = header->version;
}

/* The bytes that were read, once more. */
static bool write_again(pgq_tiercache *c, uint32_t slot, const slot_header *header)
{
    memcpy(c->slot_buffer, header, sizeof *header);
    return pgq_tiercache_write_all(c, PGQ_TIERCACHE_FILE_SSD, c->slot_buffer, SLOT, slot_offset(slot));
}

/*
 * In doubt, a sync of the SSD may have failed before, and reads give what never becomes durable: sound slots are written
 * again, and the others are stale, whatever they seem to be.
 */
bool pgq_tiercache_ssd_scan(pgq_tiercache *c, bool in_doubt)
{
    c->ssd.free_count = 0;
    for (uint32_t slot = 0; slot < c->ssd.n; slot++) {
        slot_header header;
        int found = read_slot(c, slot, &header);

        if (found == DAMAGED || (found == NOT_OURS && in_doubt))
            slot_is_stale(c, slot);
        if (found == VALID)
            take_over(c, slot, &header);
        else
            c->ssd.free[c->ssd.free_count++] = slot;
        if (found == VALID && in_doubt && !write_again(c, slot, &header))
            return false;
    }
    return true;
}
