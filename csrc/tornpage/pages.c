/* SPDX-License-Identifier: PostgreSQL */
/* Pages to their places, by the protection; and the double-write area. */
#include "tornpage/store.h"

#include "common/holds.h"

enum { PD_CHECKSUM = 8 };

void pgq_tornpage_seal(store *s, uint32_t page)
{
    uint16_t checksum;
    pgq_status status = pgq_tornpage_checksum(page_of(s, page), 1, s->config.block_size, page, &checksum);

    HOLDS(status.code == PGQ_OK); /* create() has tried it */
    (void)status;
    memcpy(page_of(s, page) + PD_CHECKSUM, &checksum, sizeof checksum);
}

bool pgq_tornpage_is_right(const store *s, uint32_t page)
{
    uint8_t verdict;

    pgq_tornpage_check(page_of(s, page), 1, s->config.block_size, page, &verdict);
    return verdict == PGQ_TORNPAGE_SOUND && page_life(page_of(s, page)) == (uint32_t)s->life;
}

static size_t head_size(const area_head *head)
{
    return offsetof(area_head, entries) + head->count * sizeof(area_entry);
}

static uint32_t area_crc(const store *s, const area_head *head)
{
    return pgq_crc(&s->crc, (const uint8_t *)head + sizeof head->crc, head_size(head) - sizeof head->crc);
}

/* Makes the batch durable in the area. What the area held until now must be durable in its place first. */
static bool write_area(store *s, const uint32_t pages[], size_t count)
{
    size_t block = s->config.block_size;
    area_head head = {.magic = AREA_MAGIC, .life = s->life, .count = (uint32_t)count};

    HOLDS(count <= s->config.slots);
    if (!pgq_tornpage_sync_data(s))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint8_t *copy = memcpy(s->area + SECTOR + i * block, page_of(s, pages[i]), block);

        head.entries[i] = (area_entry){pages[i], pgq_crc(&s->crc, copy, block)};
    }
    head.crc = area_crc(s, &head);
    memset(s->area, 0, SECTOR);
    memcpy(s->area, &head, head_size(&head));
    return pgq_tornpage_write(s, PGQ_TORNPAGE_AREA, 0, s->area, SECTOR + count * block) &&
           pgq_tornpage_sync(s, PGQ_TORNPAGE_AREA);
}

static bool write_in_place(store *s, const uint32_t pages[], size_t count)
{
    size_t block = s->config.block_size;

    for (size_t i = 0; i < count; i++) {
        HOLDS(page_lsn(page_of(s, pages[i])) <= s->flushed); /* no page goes before its log */
        s->unsynced = true;
        if (!pgq_tornpage_write(s, PGQ_TORNPAGE_DATA, (uint64_t)pages[i] * block, page_of(s, pages[i]),
                                block))
            return false;
        s->first_change[pages[i]] = CLEAN;
    }
    return true;
}

/* Up to `slots` different pages that have changed, and whose log is durable. */
static bool write_batch(store *s, const uint32_t pages[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        pgq_tornpage_seal(s, pages[i]);
    if (s->config.protection == PGQ_TORNPAGE_DOUBLE_WRITE && count > 0 && !write_area(s, pages, count))
        return false;
    return write_in_place(s, pages, count);
}

static bool is_in(uint32_t page, const uint32_t pages[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pages[i] == page)
            return true;
    return false;
}

bool pgq_tornpage_write_pages(store *s, const uint32_t pages[], size_t count)
{
    uint32_t batch[MAX_SLOTS];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (s->first_change[pages[i]] != CLEAN && page_lsn(page_of(s, pages[i])) > s->flushed &&
            !pgq_tornpage_write_log(s))
            return false;
    for (size_t i = 0; i < count; i++) {
        if (s->first_change[pages[i]] == CLEAN || is_in(pages[i], batch, n))
            continue;
        batch[n++] = pages[i];
        if (n == s->config.slots) {
            if (!write_batch(s, batch, n))
                return false;
            n = 0;
        }
    }
    return write_batch(s, batch, n);
}

bool pgq_tornpage_write_changed(store *s, uint64_t until)
{
    uint32_t batch[MAX_SLOTS];
    size_t n = 0;

    if (!pgq_tornpage_write_log(s))
        return false;
    for (uint32_t page = 0; page < s->config.pages; page++) {
        if (s->first_change[page] == CLEAN || s->first_change[page] > until)
            continue;
        batch[n++] = page;
        if (n == s->config.slots) {
            if (!write_batch(s, batch, n))
                return false;
            n = 0;
        }
    }
    return write_batch(s, batch, n);
}

/* Reads head and slots. How many slots there are; 0 if the head is torn, another store's, or none. */
static bool read_slots(store *s, area_head *head)
{
    size_t block = s->config.block_size;

    s->area_count = 0;
    if (!pgq_tornpage_read(s, PGQ_TORNPAGE_AREA, 0, s->area, SECTOR))
        return false;
    memcpy(head, s->area, sizeof *head);
    if (head->magic != AREA_MAGIC || head->life != s->life || head->count > s->config.slots ||
        head->crc != area_crc(s, head))
        return true;
    s->area_count = head->count;
    return pgq_tornpage_read(s, PGQ_TORNPAGE_AREA, SECTOR, s->area + SECTOR, s->area_count * block);
}

bool pgq_tornpage_read_area(store *s)
{
    size_t block = s->config.block_size;
    area_head head;

    if (!read_slots(s, &head))
        return false;
    for (size_t slot = 0; slot < s->area_count; slot++) {
        const uint8_t *copy = s->area + SECTOR + slot * block;
        area_entry entry = head.entries[slot];

        s->restored[slot] = NO_PAGE;
        if (entry.page >= s->config.pages || pgq_crc(&s->crc, copy, block) != entry.crc)
            continue;
        /* No crash leaves an older copy than the page; an older file in the area's place may. */
        if (pgq_tornpage_is_right(s, entry.page) && page_lsn(page_of(s, entry.page)) > page_lsn(copy))
            continue;
        memcpy(page_of(s, entry.page), copy, block);
        s->restored[slot] = entry.page;
    }
    return true;
}

bool pgq_tornpage_restore_area(store *s)
{
    size_t block = s->config.block_size;

    if (s->area_count == 0)
        return true;
    if (!pgq_tornpage_write(s, PGQ_TORNPAGE_AREA, 0, s->area, SECTOR + s->area_count * block) ||
        !pgq_tornpage_sync(s, PGQ_TORNPAGE_AREA))
        return false;
    for (size_t slot = 0; slot < s->area_count; slot++)
        if (s->restored[slot] != NO_PAGE &&
            !pgq_tornpage_write(s, PGQ_TORNPAGE_DATA, (uint64_t)s->restored[slot] * block,
                                s->area + SECTOR + slot * block, block))
            return false;
    return true;
}
