/* SPDX-License-Identifier: PostgreSQL */
/*
 * File operations of the store, and its control file. After a failed write or sync nobody knows what is durable, and a second
 * sync may wrongly say that all is well. So a failure stays: only recovery goes on.
 */
#include "tornpage/store.h"

#include "common/holds.h"

static bool kept(store *s, int failure)
{
    s->failed |= failure != 0;
    return failure == 0;
}

bool pgq_tornpage_read(store *s, int file, uint64_t at, void *bytes, size_t size)
{
    return kept(s, s->device.read(s->device.context, file, at, bytes, size));
}

bool pgq_tornpage_write(store *s, int file, uint64_t at, const void *bytes, size_t size)
{
    return kept(s, s->device.write(s->device.context, file, at, bytes, size));
}

bool pgq_tornpage_sync(store *s, int file)
{
    return kept(s, s->device.sync(s->device.context, file));
}

bool pgq_tornpage_sync_data(store *s)
{
    if (s->unsynced && !pgq_tornpage_sync(s, PGQ_TORNPAGE_DATA))
        return false;
    s->unsynced = false;
    return true;
}

static uint32_t control_crc(const store *s, const control *c)
{
    return pgq_crc(&s->crc, (const uint8_t *)c + sizeof c->crc, sizeof *c - sizeof c->crc);
}

bool pgq_tornpage_put_control(store *s, const control *c)
{
    return pgq_tornpage_write(s, PGQ_TORNPAGE_CONTROL, c->generation % 2 * SECTOR, c, sizeof *c) &&
           pgq_tornpage_sync(s, PGQ_TORNPAGE_CONTROL);
}

bool pgq_tornpage_next_control(store *s, bool made)
{
    control c = {.magic = CONTROL_MAGIC,
                 .generation = s->generation + 1,
                 .redo = s->redo,
                 .life = s->life,
                 .log_capacity = s->config.log_capacity,
                 .epoch = s->epoch,
                 .protection = (uint32_t)s->config.protection,
                 .block_size = s->config.block_size,
                 .pages = s->config.pages,
                 .slots = s->config.slots,
                 .made = made};

    HOLDS(!made || s->redo + sizeof(record) <= s->flushed); /* a recovery will find the mark at redo */
    c.crc = control_crc(s, &c);
    if (!pgq_tornpage_put_control(s, &c))
        return false;
    s->generation++;
    s->durable_redo = s->redo;
    return true;
}

bool pgq_tornpage_read_control(store *s, control *newest)
{
    newest->generation = 0;
    for (uint64_t slot = 0; slot < 2; slot++) {
        control c;

        if (!pgq_tornpage_read(s, PGQ_TORNPAGE_CONTROL, slot * SECTOR, &c, sizeof c))
            return false;
        if (c.magic == CONTROL_MAGIC && c.crc == control_crc(s, &c) && c.generation > newest->generation)
            *newest = c;
    }
    return true;
}
