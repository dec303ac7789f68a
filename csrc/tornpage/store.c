/* SPDX-License-Identifier: PostgreSQL */
/* The life of a store: create, format, change, flush, write back, checkpoint. */
#include "tornpage/store.h"

#include "common/holds.h"

#include <stdlib.h>
#include <unistd.h>

static pgq_code config_fault(const pgq_tornpage_config *c)
{
    uint16_t checksum;
    static const uint8_t page[32768];
    pgq_status tried = pgq_tornpage_checksum(page, 1, c->block_size, 0, &checksum);

    if (tried.code != PGQ_OK)
        return tried.code;
    if (c->pages == 0 || c->pages == UINT32_MAX || c->slots == 0 || c->slots > MAX_SLOTS ||
        c->protection < PGQ_TORNPAGE_NONE || c->protection > PGQ_TORNPAGE_ATOMIC)
        return PGQ_TORNPAGE_CONFIG;
    if (c->log_capacity % 8 != 0 || c->log_capacity < 2 * record_size(c->block_size) ||
        c->log_capacity > SIZE_MAX / 2)
        return PGQ_TORNPAGE_CONFIG;
    return PGQ_OK;
}

pgq_status pgq_tornpage_create(const pgq_tornpage_config *config, const pgq_tornpage_device *device,
                               pgq_tornpage_store **made)
{
    pgq_code fault;
    store *s;

    if (config == NULL || device == NULL || made == NULL || device->read == NULL || device->write == NULL ||
        device->sync == NULL)
        return refused(PGQ_NULL, 0);
    fault = config_fault(config);
    if (fault != PGQ_OK)
        return refused(fault, 0);
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return refused(PGQ_MEMORY, 0);
    s->config = *config;
    s->device = *device;
    pgq_crc_make(&s->crc, CRC32);
    s->pages = calloc(config->pages, config->block_size);
    s->first_change = calloc(config->pages, sizeof *s->first_change);
    s->torn = calloc(config->pages, sizeof *s->torn);
    s->log = calloc(1, (size_t)config->log_capacity);
    s->area = calloc(1, SECTOR + (size_t)config->slots * config->block_size);
    s->scratch = calloc(1, record_size(config->block_size));
    if (s->pages == NULL || s->first_change == NULL || s->torn == NULL || s->log == NULL || s->area == NULL ||
        s->scratch == NULL) {
        pgq_tornpage_destroy(s);
        return refused(PGQ_MEMORY, 0);
    }
    *made = s;
    return accepted();
}

void pgq_tornpage_destroy(pgq_tornpage_store *s)
{
    if (s == NULL)
        return;
    free(s->pages);
    free(s->first_change);
    free(s->torn);
    free(s->log);
    free(s->area);
    free(s->scratch);
    free(s);
}

static void make_empty(store *s, uint32_t page)
{
    uint32_t size = s->config.block_size;
    uint16_t fields[5] = {0, PAGE_HEADER, (uint16_t)size, (uint16_t)size, (uint16_t)(size | 4)};

    memset(page_of(s, page), 0, size);
    memcpy(page_of(s, page) + 10, fields, sizeof fields); /* pd_flags to pd_pagesize_version */
    set_page_life(page_of(s, page), s->life);
    pgq_tornpage_seal(s, page);
}

/*
 * Ends the store that the files may hold, by one sector: until that is durable nothing else is touched. The newest control is written
 * again first, since the next one goes over the one before it, which may be the only one that is durable.
 */
static bool end_old_life(store *s)
{
    control old;

    if (!pgq_tornpage_read_control(s, &old))
        return false;
    s->generation = old.generation;
    return (old.generation == 0 || pgq_tornpage_put_control(s, &old)) && pgq_tornpage_next_control(s, false);
}

static bool write_new_files(store *s)
{
    size_t block = s->config.block_size;

    memset(s->log, 0, (size_t)s->config.log_capacity);
    memset(s->area, 0, SECTOR);
    pgq_tornpage_append_mark(s);
    s->flushed = s->insert;
    for (uint32_t page = 0; page < s->config.pages; page++) {
        make_empty(s, page);
        s->first_change[page] = CLEAN;
        if (!pgq_tornpage_write(s, PGQ_TORNPAGE_DATA, (uint64_t)page * block, page_of(s, page), block))
            return false;
    }
    if (!pgq_tornpage_write(s, PGQ_TORNPAGE_LOG, 0, s->log, (size_t)s->config.log_capacity) ||
        !pgq_tornpage_write(s, PGQ_TORNPAGE_AREA, 0, s->area, SECTOR))
        return false;
    for (int file = PGQ_TORNPAGE_DATA; file <= PGQ_TORNPAGE_AREA; file++)
        if (!pgq_tornpage_sync(s, file))
            return false;
    return true;
}

pgq_status pgq_tornpage_format(pgq_tornpage_store *s)
{
    if (s == NULL)
        return refused(PGQ_NULL, 0);
    s->open = s->unsynced = false;
    s->failed = getentropy(&s->life, sizeof s->life) != 0;
    s->insert = s->redo = 0;
    s->epoch = 1;
    if (s->failed || !end_old_life(s) || !write_new_files(s) || !pgq_tornpage_next_control(s, true))
        return refused(PGQ_TORNPAGE_IO, 0);
    s->open = true;
    return accepted();
}

pgq_status pgq_tornpage_change(pgq_tornpage_store *s, uint32_t page, uint32_t offset, const void *bytes,
                               uint32_t size)
{
    pgq_status status = usable(s);
    record head = {.page = page, .offset = (uint16_t)offset, .kind = DELTA, .length = size};
    uint8_t *at;
    uint64_t end;

    if (status.code != PGQ_OK)
        return status;
    if (bytes == NULL)
        return refused(PGQ_NULL, 0);
    if (page >= s->config.pages || offset < PAGE_HEADER || size == 0 || size > s->config.block_size ||
        offset > s->config.block_size - size)
        return refused(PGQ_TORNPAGE_RANGE, 0);
    at = page_of(s, page);
    if (s->config.protection == PGQ_TORNPAGE_IMAGES && page_lsn(at) <= s->redo)
        head = (record){.page = page, .offset = 0, .kind = IMAGE, .length = s->config.block_size};
    end = s->insert + record_size(head.length);
    /* Room stays for a mark of the next checkpoint, and for one of a recovery. */
    if (end + 2 * sizeof(record) - s->durable_redo > s->config.log_capacity)
        return refused(PGQ_TORNPAGE_LOG_FULL, 0);
    memmove(at + offset, bytes, size); /* they may be bytes of the page */
    set_page_lsn(at, end);
    pgq_tornpage_append(s, head, at + head.offset);
    HOLDS(s->insert == end); /* the page's LSN is where its record ends */
    if (s->first_change[page] == CLEAN)
        s->first_change[page] = end;
    return accepted();
}

const void *pgq_tornpage_page(const pgq_tornpage_store *s, uint32_t page)
{
    return usable(s).code == PGQ_OK && page < s->config.pages ? page_of(s, page) : NULL;
}

pgq_status pgq_tornpage_flush(pgq_tornpage_store *s)
{
    pgq_status status = usable(s);

    if (status.code != PGQ_OK)
        return status;
    return pgq_tornpage_write_log(s) ? accepted() : refused(PGQ_TORNPAGE_IO, 0);
}

pgq_status pgq_tornpage_write_back(pgq_tornpage_store *s, const uint32_t pages[], size_t count)
{
    pgq_status status = usable(s);

    if (status.code != PGQ_OK)
        return status;
    if (pages == NULL && count > 0)
        return refused(PGQ_NULL, 0);
    for (size_t i = 0; i < count; i++)
        if (pages[i] >= s->config.pages)
            return refused(PGQ_TORNPAGE_RANGE, i + 1);
    return pgq_tornpage_write_pages(s, pages, count) ? accepted() : refused(PGQ_TORNPAGE_IO, 0);
}

pgq_status pgq_tornpage_checkpoint_begin(pgq_tornpage_store *s)
{
    pgq_status status = usable(s);

    if (status.code != PGQ_OK)
        return status;
    if (s->insert != s->redo + sizeof(record)) { /* something was logged since the last mark */
        s->redo = s->insert;
        pgq_tornpage_append_mark(s);
    }
    return status;
}

pgq_status pgq_tornpage_checkpoint_end(pgq_tornpage_store *s)
{
    pgq_status status = usable(s);

    if (status.code != PGQ_OK)
        return status;
    HOLDS(s->durable_redo <= s->redo && s->redo < s->insert); /* at redo stands a mark */
    if (!pgq_tornpage_write_changed(s, s->redo) || !pgq_tornpage_sync_data(s) ||
        !pgq_tornpage_next_control(s, true))
        return refused(PGQ_TORNPAGE_IO, 0);
    return accepted();
}
