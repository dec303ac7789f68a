/* SPDX-License-Identifier: PostgreSQL */
/*
 * Recovery. First the double-write area gives back what it holds whole. Then the log is replayed from the last complete
 * checkpoint on: an image makes a page right whatever stood there; a change goes to a page that is older. At last the pages
 * are written back, with their protection, and only then a new epoch begins: until that is durable, all of it can be repeated.
 */
#include "tornpage/store.h"

/* Reads all pages and the log, and notes which pages are not what was written. */
static bool load(store *s)
{
    size_t block = s->config.block_size;

    for (uint32_t page = 0; page < s->config.pages; page++) {
        uint8_t verdict;

        if (!pgq_tornpage_read(s, PGQ_TORNPAGE_DATA, (uint64_t)page * block, page_of(s, page), block))
            return false;
        pgq_tornpage_check(page_of(s, page), 1, block, page, &verdict);
        s->torn[page] = verdict != PGQ_TORNPAGE_SOUND;
        s->first_change[page] = CLEAN;
    }
    return pgq_tornpage_read(s, PGQ_TORNPAGE_LOG, 0, s->log, (size_t)s->config.log_capacity);
}

static void replay(store *s)
{
    record head;
    const uint8_t *payload;
    uint64_t end;

    s->insert = s->durable_redo;
    while (pgq_tornpage_next_record(s, s->insert, &head, &payload, &end)) {
        uint8_t *page = page_of(s, head.page);

        s->insert = end;
        if (head.kind == IMAGE)
            s->torn[head.page] = false;
        if (s->torn[head.page] || (head.kind == DELTA && page_lsn(page) >= end))
            continue;
        memcpy(page + head.offset, payload, head.length);
        set_page_lsn(page, end);
        if (s->first_change[head.page] == CLEAN)
            s->first_change[head.page] = end;
    }
}

pgq_status pgq_tornpage_recover(pgq_tornpage_store *s)
{
    if (s == NULL)
        return refused(PGQ_NULL, 0);
    s->open = s->failed = s->unsynced = false;
    if (!pgq_tornpage_read_control(s))
        return refused(PGQ_TORNPAGE_IO, 0);
    if (s->generation == 0)
        return refused(PGQ_TORNPAGE_NO_STORE, 0);
    if (s->config.protection == PGQ_TORNPAGE_DOUBLE_WRITE && !pgq_tornpage_restore_area(s))
        return refused(PGQ_TORNPAGE_IO, 0);
    if (!load(s))
        return refused(PGQ_TORNPAGE_IO, 0);
    replay(s);
    for (uint32_t page = 0; page < s->config.pages; page++)
        if (s->torn[page])
            return refused(PGQ_TORNPAGE_WRONG_PAGE, page + (size_t)1);
    for (uint32_t page = 0; page < s->config.pages; page++)
        if (page_lsn(page_of(s, page)) > s->insert)
            return refused(PGQ_TORNPAGE_AHEAD, page + (size_t)1);
    s->flushed = s->redo = s->insert;
    s->epoch++;
    if (!pgq_tornpage_write_changed(s, UINT64_MAX) || !pgq_tornpage_sync_data(s) ||
        !pgq_tornpage_write_control(s))
        return refused(PGQ_TORNPAGE_IO, 0);
    s->open = true;
    return accepted();
}
