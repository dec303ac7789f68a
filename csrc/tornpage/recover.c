/* SPDX-License-Identifier: PostgreSQL */
/*
 * Recovery. In memory: the pages from their places, over them what the double-write area holds whole, and the log from the last
 * complete checkpoint on: an image makes a page right whatever stood there; a change goes to a page that is older.
 *
 * What was read need not be durable, and no sync makes it so: after a failed sync, also one of an earlier process or of the
 * kernel's own, it may be in the kernel's cache alone, marked as clean. So all that this recovery relies on is written again:
 * the control file; the log, before any page; the area, before any page that it protects; and each page that may have been
 * written since the checkpoint. Only then a new epoch begins. Until that is durable, all of it can be repeated.
 */
#include "tornpage/store.h"

#include "common/holds.h"

static bool same_shape(const store *s, const control *c)
{
    return c->protection == (uint32_t)s->config.protection && c->block_size == s->config.block_size &&
           c->pages == s->config.pages && c->slots == s->config.slots &&
           c->log_capacity == s->config.log_capacity;
}

/* Reads the pages in their places, and over them the area. */
static bool load(store *s)
{
    size_t block = s->config.block_size;

    for (uint32_t page = 0; page < s->config.pages; page++)
        if (!pgq_tornpage_read(s, PGQ_TORNPAGE_DATA, (uint64_t)page * block, page_of(s, page), block))
            return false;
    s->area_count = 0;
    return s->config.protection != PGQ_TORNPAGE_DOUBLE_WRITE || pgq_tornpage_read_area(s);
}

/* Where the log ends. false: the mark is not there with which it begins. */
static bool find_end(store *s)
{
    record head;
    const uint8_t *payload;
    uint64_t end;

    if (!pgq_tornpage_next_record(s, s->durable_redo, &head, &payload, &end))
        return false;
    do
        s->insert = end;
    while (pgq_tornpage_next_record(s, s->insert, &head, &payload, &end));
    return true;
}

/* Notes which pages are not what was written. 1 + the first page that is newer than the end of the log, or 0. */
static size_t judge(store *s)
{
    size_t ahead = 0;

    for (uint32_t page = 0; page < s->config.pages; page++) {
        s->torn[page] = !pgq_tornpage_is_right(s, page);
        s->first_change[page] = CLEAN;
        if (ahead == 0 && !s->torn[page] && page_lsn(page_of(s, page)) > s->insert)
            ahead = page + (size_t)1;
    }
    return ahead;
}

/* Each page that the log names counts as changed: it may have been written since the checkpoint, and not be durable. */
static void replay(store *s)
{
    record head;
    const uint8_t *payload;
    uint64_t end;

    for (uint64_t at = s->durable_redo; pgq_tornpage_next_record(s, at, &head, &payload, &end); at = end) {
        uint8_t *page = page_of(s, head.page);

        HOLDS(end <= s->insert && head.offset + head.length <= s->config.block_size);
        if (head.kind == MARK)
            continue;
        if (s->first_change[head.page] == CLEAN)
            s->first_change[head.page] = end;
        if (head.kind == IMAGE)
            s->torn[head.page] = false;
        if (s->torn[head.page] || (head.kind == DELTA && page_lsn(page) >= end))
            continue;
        memcpy(page + head.offset, payload, head.length);
        set_page_lsn(page, end);
    }
}

/* Makes durable what was found. */
static bool write_again(store *s, const control *c)
{
    s->flushed = s->durable_redo;
    return pgq_tornpage_put_control(s, c) && pgq_tornpage_write_log(s) && pgq_tornpage_restore_area(s) &&
           pgq_tornpage_write_changed(s, UINT64_MAX) && pgq_tornpage_sync_data(s);
}

static bool begin_epoch(store *s)
{
    HOLDS(s->flushed == s->insert && !s->unsynced); /* all that was found is durable */
    s->epoch++;
    s->redo = s->insert;
    pgq_tornpage_append_mark(s);
    return pgq_tornpage_write_log(s) && pgq_tornpage_next_control(s, true);
}

pgq_status pgq_tornpage_recover(pgq_tornpage_store *s)
{
    control c;
    size_t ahead;

    if (s == NULL)
        return refused(PGQ_NULL, 0);
    s->open = s->failed = false;
    s->unsynced = true; /* by an earlier process, perhaps */
    if (!pgq_tornpage_read_control(s, &c))
        return refused(PGQ_TORNPAGE_IO, 0);
    if (c.generation == 0 || !c.made)
        return refused(PGQ_TORNPAGE_NO_STORE, 0);
    if (!same_shape(s, &c))
        return refused(PGQ_TORNPAGE_SHAPE, 0);
    s->generation = c.generation;
    s->redo = s->durable_redo = c.redo;
    s->epoch = c.epoch;
    s->life = c.life;
    if (!pgq_tornpage_read(s, PGQ_TORNPAGE_LOG, 0, s->log, (size_t)s->config.log_capacity))
        return refused(PGQ_TORNPAGE_IO, 0);
    if (!find_end(s))
        return refused(PGQ_TORNPAGE_OTHER_LOG, 0);
    if (!load(s))
        return refused(PGQ_TORNPAGE_IO, 0);
    ahead = judge(s);
    replay(s);
    for (uint32_t page = 0; page < s->config.pages; page++)
        if (s->torn[page])
            return refused(PGQ_TORNPAGE_WRONG_PAGE, page + (size_t)1);
    if (ahead != 0)
        return refused(PGQ_TORNPAGE_AHEAD, ahead);
    if (!write_again(s, &c) || !begin_epoch(s))
        return refused(PGQ_TORNPAGE_IO, 0);
    s->open = true;
    return accepted();
}
