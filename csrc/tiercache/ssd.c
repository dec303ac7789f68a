/* SPDX-License-Identifier: PostgreSQL */
/*
 * The SSD tier, and what makes a restart trust or discard it.
 *
 * A slot is a sector with a header, and a page; the checksum covers both, so a torn slot is no slot. Three rules keep old
 * contents from coming back:
 *
 * 1. Before the store is written, each slot with older contents of any page is overwritten, and the SSD is synced
 *    (ssd_scrub; write-back does it). So a slot that is valid after a crash is not older than the store.
 * 2. If that fails, the SSD is retired: the control file, which is durable, gets a mount number that the SSD lacks.
 * 3. Each mount writes a new number to both. An SSD that does not have the control file's number is discarded whole: it
 *    was lost, or it is a copy from an earlier mount.
 */
#include "tiercache/internal.h"

#define CONTROL_MAGIC UINT64_C(0x314C525443475150) /* "PQGCTRL1" */
#define SSD_MAGIC     UINT64_C(0x3144535347515047)
#define SLOT_MAGIC    UINT64_C(0x31544F4C53475150)
#define FIRST_SLOT    4096

/* All numbers are little-endian, as memory is here; see SOUNDNESS.md. */
typedef struct control {
    uint64_t magic, pages, mount;
    uint32_t zero, crc;
} control;

typedef struct superblock {
    uint64_t magic, pages, slots, mount, generation;
    uint32_t zero, crc;
} superblock;

typedef struct slot_header {
    uint64_t magic, generation, page, version;
    uint32_t dirty, crc;
} slot_header;

static uint64_t slot_offset(uint32_t slot)
{
    return FIRST_SLOT + (uint64_t)SLOT * slot;
}

/* Writes a record to a sector of its own, with the checksum of what precedes the checksum, the record's last field. */
static bool put_record(pgq_tiercache *c, int file, void *record, size_t size)
{
    uint32_t crc = crc32c_of(&c->crc, record, size - sizeof crc);

    memcpy((uint8_t *)record + size - sizeof crc, &crc, sizeof crc);
    memset(c->sector, 0, SECTOR);
    memcpy(c->sector, record, size);
    c->ssd_unsynced |= file == PGQ_TIERCACHE_FILE_SSD;
    return write_all(c, file, c->sector, SECTOR, 0);
}

static bool is_sound(pgq_tiercache *c, const void *record, size_t size)
{
    uint32_t crc;

    memcpy(&crc, (const uint8_t *)record + size - sizeof crc, sizeof crc);
    return crc == crc32c_of(&c->crc, record, size - sizeof crc);
}

/* ---- slots ---- */

static bool read_slot(pgq_tiercache *c, uint32_t slot, slot_header *header, bool *valid)
{
    if (!read_all(c, PGQ_TIERCACHE_FILE_SSD, c->slot_buffer, SLOT, slot_offset(slot)))
        return false;
    memcpy(header, c->slot_buffer, sizeof *header);
    memset(c->slot_buffer + offsetof(slot_header, crc), 0, sizeof header->crc);
    *valid = header->magic == SLOT_MAGIC && header->generation == c->generation &&
             header->page < c->options.pages && header->crc == crc32c_of(&c->crc, c->slot_buffer, SLOT);
    return true;
}

bool ssd_get(pgq_tiercache *c, uint32_t slot, void *contents)
{
    slot_header header;
    bool valid;

    if (!read_slot(c, slot, &header, &valid) || !valid || header.page != c->ssd.policy.pages[slot] ||
        header.version != c->ssd.versions[slot])
        return false;
    memcpy(contents, c->slot_buffer + SECTOR, PAGE);
    return true;
}

bool ssd_put(pgq_tiercache *c, uint64_t page, uint64_t version, bool dirty, const uint8_t *contents)
{
    uint32_t slot = tier_take(&c->ssd);
    slot_header header = {SLOT_MAGIC, c->generation, page, version, dirty, 0};

    memset(c->slot_buffer, 0, SECTOR);
    memcpy(c->slot_buffer, &header, sizeof header);
    memcpy(c->slot_buffer + SECTOR, contents, PAGE);
    header.crc = crc32c_of(&c->crc, c->slot_buffer, SLOT);
    memcpy(c->slot_buffer, &header, sizeof header);
    c->ssd_unsynced = true;
    c->stale[slot] = false;
    tier_put(&c->ssd, slot, page, version, dirty);
    if (write_all(c, PGQ_TIERCACHE_FILE_SSD, c->slot_buffer, SLOT, slot_offset(slot)))
        return true;
    ssd_forget(c, slot);
    return false;
}

void ssd_forget(pgq_tiercache *c, uint32_t slot)
{
    tier_drop(&c->ssd, slot, false);
    c->stale[slot] = true;
}

bool ssd_scrub(pgq_tiercache *c)
{
    memset(c->sector, 0, SECTOR);
    for (uint32_t slot = 0; slot < c->ssd.n; slot++) {
        if (!c->stale[slot])
            continue;
        c->ssd_unsynced = true;
        if (!write_all(c, PGQ_TIERCACHE_FILE_SSD, c->sector, SECTOR, slot_offset(slot)))
            return false;
        c->stale[slot] = false;
    }
    return true;
}

/* ---- mounts ---- */

static bool put_control(pgq_tiercache *c)
{
    control record = {CONTROL_MAGIC, c->options.pages, c->mount, 0, 0};

    return put_record(c, PGQ_TIERCACHE_FILE_CONTROL, &record, sizeof record) &&
           sync_file(c, PGQ_TIERCACHE_FILE_CONTROL);
}

bool ssd_retire(pgq_tiercache *c)
{
    if (c->ssd_in_use) {
        c->ssd_in_use = false;
        for (uint32_t slot = 0; slot < c->ssd.n; slot++) {
            uint64_t page = c->ssd.policy.pages[slot];

            if (tier_find(&c->ssd, page) == slot && !c->ssd.dirty[slot])
                ssd_forget(c, slot);
        }
        c->mount++;
        c->retiring = true;
    }
    if (c->retiring)
        c->retiring = !put_control(c);
    return !c->retiring;
}

/* Of two slots of a page the newer one counts. */
static void take_over(pgq_tiercache *c, uint32_t slot, const slot_header *header)
{
    uint32_t other = tier_find(&c->ssd, header->page);

    if (other != TABLE_NONE && c->ssd.versions[other] >= header->version) {
        c->stale[slot] = true;
        c->ssd.free[c->ssd.free_count++] = slot;
        return;
    }
    if (other != TABLE_NONE)
        ssd_forget(c, other);
    tier_put(&c->ssd, slot, header->page, header->version, header->dirty != 0);
    if (header->version > c->version)
        c->version = header->version;
}

/* What the slots hold. A slot that cannot be read now may be readable later: it is stale. */
static void scan(pgq_tiercache *c)
{
    c->ssd.free_count = 0;
    for (uint32_t slot = 0; slot < c->ssd.n; slot++) {
        slot_header header;
        bool valid = false;

        c->stale[slot] = !read_slot(c, slot, &header, &valid);
        if (valid)
            take_over(c, slot, &header);
        else
            c->ssd.free[c->ssd.free_count++] = slot;
    }
}

/* Read the superblock; scan if it is of the last mount; write that of this mount. false: the SSD does not work. */
static bool begin_mount(pgq_tiercache *c)
{
    superblock found;

    if (!read_all(c, PGQ_TIERCACHE_FILE_SSD, &found, sizeof found, 0))
        return false;
    bool trusted = found.magic == SSD_MAGIC && is_sound(c, &found, sizeof found) &&
                   found.pages == c->options.pages && found.slots == c->options.slots &&
                   found.mount == c->mount;
    c->generation = trusted ? found.generation : c->mount + 1;
    if (trusted)
        scan(c);
    superblock next = {SSD_MAGIC, c->options.pages, c->options.slots, c->mount + 1, c->generation, 0, 0};
    return put_record(c, PGQ_TIERCACHE_FILE_SSD, &next, sizeof next) && sync_file(c, PGQ_TIERCACHE_FILE_SSD);
}

static bool is_zero(const void *record, size_t size)
{
    const uint8_t *bytes = record;

    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

pgq_code ssd_mount(pgq_tiercache *c)
{
    control found;

    if (!read_all(c, PGQ_TIERCACHE_FILE_CONTROL, &found, sizeof found, 0))
        return PGQ_TIERCACHE_CONTROL;
    if (!is_zero(&found, sizeof found) && (found.magic != CONTROL_MAGIC || found.pages != c->options.pages ||
                                           !is_sound(c, &found, sizeof found)))
        return PGQ_TIERCACHE_CONTROL;
    c->mount = found.mount;
    c->ssd_in_use = c->ssd.n > 0 && begin_mount(c);
    c->ssd_unsynced = false;
    if (!c->ssd_in_use)
        for (uint32_t slot = 0; slot < c->ssd.n; slot++)
            if (tier_find(&c->ssd, c->ssd.policy.pages[slot]) == slot)
                ssd_forget(c, slot);
    c->mount++;
    return put_control(c) ? PGQ_OK : PGQ_TIERCACHE_CONTROL;
}
