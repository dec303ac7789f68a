/* SPDX-License-Identifier: PostgreSQL */
/*
 * What makes an open trust or discard what it finds.
 *
 * A random id names the store. It stands in the store, behind the last page, in the control file, in the SSD's superblock
 * and in each slot. Each open draws a number for itself. It writes the number to the superblock, syncs that, and only then
 * writes it to the control file: the next open trusts an SSD that has the control file's number. If the SSD fails on the
 * way, the control file gets another number, which was never written to any SSD: whatever of the first one has landed
 * there, nothing equals it. To retire an SSD that fails later, the control file gets that same other number.
 *
 * Each time that something is taken off the SSD, the epoch in its superblock grows, and then, with the pages that are
 * written, the one in the store's trailer. So an SSD as it was at an earlier moment of the same mount is told by its epoch.
 *
 * If the caller writes the store itself, a kill may come between that and the write here, and leave older contents on the SSD: so then
 * the control file gets that other number at once, and no open trusts the SSD.
 */
#include "tiercache/internal.h"

#include <sys/random.h>

#define CONTROL_MAGIC UINT64_C(0x324C525443475150) /* "PQGCTRL2" */
#define SSD_MAGIC     UINT64_C(0x3244535347515047)

/* All numbers are little-endian, as memory is here; see SOUNDNESS.md. */
typedef struct control {
    uint64_t magic, pages;
    store_id id;
    uint64_t mount;
    uint32_t zero, crc;
} control;

typedef struct superblock {
    uint64_t magic, pages, slots;
    store_id id;
    uint64_t mount, generation, epoch;
    uint32_t padding, crc; /* padding: zeros before a slot's header */
} superblock;

/* The random numbers of an open. */
typedef struct drawn {
    store_id id;
    uint64_t mount, spare, generation;
} drawn;

/* ---- records ---- */

static bool draw(pgq_tiercache *c, drawn *numbers)
{
    if (c->files.random != NULL)
        return c->files.random(c->files.context, numbers, sizeof *numbers) == 0;
    return getrandom(numbers, sizeof *numbers, 0) == (ssize_t)sizeof *numbers;
}

/* A record stands at the start of a file, and is read and written by the unit of that. */
static size_t unit_of(const pgq_tiercache *c, int file)
{
    return file == PGQ_TIERCACHE_FILE_SSD ? c->options.ssd_block : SECTOR;
}

static bool get_record(pgq_tiercache *c, int file, void *record, size_t size)
{
    if (!pgq_tiercache_read_all(c, file, c->head, unit_of(c, file), 0))
        return false;
    memcpy(record, c->head, size);
    return true;
}

static bool put_record(pgq_tiercache *c, int file, void *record, size_t size)
{
    pgq_tiercache_seal(c, record, size);
    memset(c->head, 0, unit_of(c, file));
    memcpy(c->head, record, size);
    return pgq_tiercache_write_all(c, file, c->head, unit_of(c, file), 0);
}

static bool put_control(pgq_tiercache *c)
{
    control record = {CONTROL_MAGIC, c->options.pages, c->id, c->mount, 0, 0};

    return put_record(c, PGQ_TIERCACHE_FILE_CONTROL, &record, sizeof record) &&
           pgq_tiercache_sync_file(c, PGQ_TIERCACHE_FILE_CONTROL);
}

/* ---- the SSD ---- */

bool pgq_tiercache_put_superblock(pgq_tiercache *c)
{
    superblock record = {.magic = SSD_MAGIC,
                         .pages = c->options.pages,
                         .slots = c->options.slots,
                         .id = c->id,
                         .mount = c->mount,
                         .generation = c->generation,
                         .epoch = c->epoch,
                         .padding = c->options.ssd_block - SECTOR};

    return put_record(c, PGQ_TIERCACHE_FILE_SSD, &record, sizeof record);
}

/* last: the control file's record; NULL: that is new. */
static pgq_tiercache_ssd_found look_at_ssd(pgq_tiercache *c, const control *last, superblock *found)
{
    if (!get_record(c, PGQ_TIERCACHE_FILE_SSD, found, sizeof *found))
        return PGQ_TIERCACHE_SSD_FAILED;
    if (found->magic != SSD_MAGIC || !pgq_tiercache_is_sound(c, found, sizeof *found))
        return PGQ_TIERCACHE_SSD_EMPTY;
    if (!same_id(&found->id, &c->id) || found->pages != c->options.pages ||
        found->slots != c->options.slots || found->padding != c->options.ssd_block - SECTOR)
        return PGQ_TIERCACHE_SSD_FOREIGN;
    if (last == NULL || found->mount != last->mount || found->epoch < c->epoch || c->options.write_through)
        return PGQ_TIERCACHE_SSD_OLD;
    return PGQ_TIERCACHE_SSD_OURS;
}

/* If the SSD was written for an epoch that the store does not know, a crash came between, or a sync failed. */
static bool take_over(pgq_tiercache *c, const superblock *found)
{
    bool in_doubt = found->epoch > c->epoch;

    c->generation = found->generation;
    c->epoch = found->epoch;
    return pgq_tiercache_ssd_scan(c, in_doubt);
}

static pgq_tiercache_ssd_found mount_ssd(pgq_tiercache *c, const control *last)
{
    superblock before;
    pgq_tiercache_ssd_found found = look_at_ssd(c, last, &before);

    if (found == PGQ_TIERCACHE_SSD_FAILED || (found == PGQ_TIERCACHE_SSD_OURS && !take_over(c, &before)) ||
        !pgq_tiercache_put_superblock(c) || !pgq_tiercache_sync_file(c, PGQ_TIERCACHE_FILE_SSD))
        return PGQ_TIERCACHE_SSD_FAILED;
    return found;
}

bool pgq_tiercache_retire(pgq_tiercache *c)
{
    if (c->ssd_in_use) {
        pgq_tiercache_ssd_abandon(c, false);
        c->mount = c->spare_mount;
        c->retiring = true;
    }
    if (c->retiring) {
        unlock_map(c);
        c->retiring = !put_control(c);
        lock_map(c);
    }
    return !c->retiring;
}

/* ---- opens ---- */

pgq_code pgq_tiercache_mount(pgq_tiercache *c)
{
    control last;
    drawn numbers;

    if (!draw(c, &numbers))
        return PGQ_TIERCACHE_RANDOM;
    if (!get_record(c, PGQ_TIERCACHE_FILE_CONTROL, &last, sizeof last))
        return PGQ_TIERCACHE_CONTROL;
    bool is_new = pgq_tiercache_is_zero(&last, sizeof last);
    if (!is_new && (last.magic != CONTROL_MAGIC || last.pages != c->options.pages ||
                    !pgq_tiercache_is_sound(c, &last, sizeof last)))
        return PGQ_TIERCACHE_CONTROL;
    c->id = last.id;
    pgq_code code = pgq_tiercache_store_mount(c, is_new, &numbers.id);
    if (code != PGQ_OK)
        return code;
    c->mount = numbers.mount;
    c->spare_mount = numbers.spare;
    c->generation = numbers.generation;
    if (c->ssd.n > 0)
        c->counts.ssd_found = mount_ssd(c, is_new ? NULL : &last);
    c->ssd_in_use = c->ssd.n > 0 && c->counts.ssd_found != PGQ_TIERCACHE_SSD_FAILED;
    if (c->ssd_in_use)
        c->counts.ssd_taken_over = c->ssd.n - c->ssd.free_count;
    else
        pgq_tiercache_ssd_abandon(c, true);
    if (!c->ssd_in_use || c->options.write_through)
        c->mount = c->spare_mount;
    return put_control(c) ? PGQ_OK : PGQ_TIERCACHE_CONTROL;
}
