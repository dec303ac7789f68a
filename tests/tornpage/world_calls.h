/* SPDX-License-Identifier: PostgreSQL */
/*
 * The calls on a store, each with the check of what it says and of what it leaves. A call on an open store fails with
 * PGQ_TORNPAGE_IO if and only if an operation failed in it; a call that is refused uses no file.
 */
#ifndef PGQUERN_TESTS_TORNPAGE_WORLD_CALLS_H
#define PGQUERN_TESTS_TORNPAGE_WORLD_CALLS_H

#include "../tests/tornpage/world_row.h"

static void new_store(row *r)
{
    pgq_tornpage_device device = {&r->dev, device_read, device_write, device_sync};

    r->dev.shape = *shape_of(r);
    r->store = NULL;
    r->open = r->failed = false;
    pgq_status s = pgq_tornpage_create(shape_of(r), &device, &r->store);
    if (s.code != PGQ_OK || r->store == NULL)
        world_violation(r->dev.world, "create: %d", s.code);
}

/* A call on the store, open or not: its code is PGQ_TORNPAGE_IO exactly if an operation failed, otherwise `expected`. */
static bool judged(row *r, const char *call, pgq_status s, uint64_t failed_before, pgq_code expected,
                   uint32_t index)
{
    world *w = r->dev.world;
    bool failed = r->dev.failed != failed_before;

    world_says(w, "%s: %d, %u%s", call, s.code, s.index, failed ? ", an operation failed" : "");
    if (failed) {
        r->failed = true;
        r->open = false;
        expected = PGQ_TORNPAGE_IO;
        index = 0;
    }
    if (s.code != expected || s.index != index)
        world_violation(w, "%s gave %d with index %u, not %d with index %u", call, s.code, s.index, expected,
                        index);
    return s.code == PGQ_OK;
}

static pgq_code closed_code(const row *r)
{
    return r->failed ? PGQ_TORNPAGE_IO : PGQ_TORNPAGE_NO_STORE;
}

static void check_memory(row *r)
{
    if (!r->open || r->dev.world->violated)
        return;
    uint32_t page = first_other(r->store, shape_of(r), r->life.now);
    if (page < shape_of(r)->pages)
        world_violation(r->dev.world, "page %u in memory is not as it was changed", page);
}

static void flush(row *r)
{
    uint64_t failed = r->dev.failed;

    if (judged(r, "flush", pgq_tornpage_flush(r->store), failed, PGQ_OK, 0)) {
        history_cover(&r->life, r->life.n);
        world_count(FLUSHES);
    } else
        world_count(CALL_IO);
}

static void checkpoint_begin(row *r)
{
    uint64_t failed = r->dev.failed;

    if (judged(r, "begin", pgq_tornpage_checkpoint_begin(r->store), failed, PGQ_OK, 0))
        r->since_begin = 0;
}

static bool checkpoint_end(row *r)
{
    uint64_t failed = r->dev.failed;

    if (!judged(r, "end", pgq_tornpage_checkpoint_end(r->store), failed, PGQ_OK, 0)) {
        world_count(CALL_IO);
        return false;
    }
    history_cover(&r->life, r->life.n);
    r->since_point = r->since_begin;
    world_count(CHECKPOINTS);
    return true;
}

static void write_back(row *r)
{
    world *w = r->dev.world;
    const pgq_tornpage_config *c = shape_of(r);
    uint32_t pages[8];
    size_t n = world_below(w, 9), bad = n;
    uint64_t failed = r->dev.failed, writes = r->dev.writes;

    for (size_t i = n; i-- > 0;) {
        pages[i] = (uint32_t)world_below(w, c->pages);
        if (world_one_in(w, 40)) {
            pages[i] = world_one_in(w, 2) ? c->pages : UINT32_MAX;
            bad = i;
        }
    }
    pgq_status s = pgq_tornpage_write_back(r->store, n == 0 ? NULL : pages, n);
    if (bad < n) {
        judged(r, "write back", s, failed, PGQ_TORNPAGE_RANGE, (uint32_t)bad + 1);
        if (r->dev.writes != writes)
            world_violation(w, "a refused write back has written");
        world_count(RANGES);
        return;
    }
    if (!judged(r, "write back", s, failed, PGQ_OK, 0)) {
        world_count(CALL_IO);
        return;
    }
    world_count(WRITE_BACKS);
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)pages[i] * c->block_size;

        if (!sound_in_file(r, pages[i]) ||
            !same_page(seen_file(&r->dev, PGQ_TORNPAGE_DATA)->cache + at, r->life.now + at, c->block_size))
            world_violation(w, "page %u was written back, and is not in its place", pages[i]);
    }
}

/* The log may be full only if the changes since its point, each with a page's image at most, may fill it. */
static void change_once(row *r)
{
    world *w = r->dev.world;
    const pgq_tornpage_config *c = shape_of(r);
    uint8_t bytes[32768];
    uint32_t room = c->block_size - HEADER_BYTES, page = (uint32_t)world_below(w, c->pages);
    uint32_t most = world_one_in(w, 10) ? room : 64;
    uint32_t size = r->size_of_changes != 0 ? r->size_of_changes : 1 + (uint32_t)world_below(w, most);
    uint32_t offset = HEADER_BYTES + (uint32_t)world_below(w, room - size + 1);

    for (uint32_t i = 0; i < size; i += 8)
        memcpy(bytes + i, &(uint64_t){world_random(w)}, size - i < 8 ? size - i : 8);
    if (size >= 8)
        memcpy(bytes, &r->number, 8);
    r->number++;
    for (int attempt = 0; attempt < 2; attempt++) {
        uint64_t failed = r->dev.failed;
        pgq_status s = pgq_tornpage_change(r->store, page, offset, bytes, size);

        if (s.code == PGQ_TORNPAGE_LOG_FULL && r->dev.failed == failed) {
            world_says(w, "change: the log is full");
            world_count(LOG_FULL);
            if (attempt == 1)
                world_violation(w, "the log is full after a checkpoint");
            if (r->since_point != UINT64_MAX &&
                (r->since_point + 3) * 2 * (c->block_size + 32) <= c->log_capacity)
                world_violation(w, "the log of %llu bytes is full after %llu changes",
                                (unsigned long long)c->log_capacity, (unsigned long long)r->since_point);
            check_memory(r);
            if (world_one_in(w, 4))
                return;
            checkpoint_begin(r);
            if (!r->open || !checkpoint_end(r))
                return;
            continue;
        }
        if (judged(r, "change", s, failed, PGQ_OK, 0)) {
            history_add(&r->life, page, offset, bytes, size);
            r->since_point += r->since_point != UINT64_MAX;
            r->since_begin += r->since_begin != UINT64_MAX;
            world_count(CHANGES);
        }
        return;
    }
}

static void change_wrongly(row *r)
{
    const pgq_tornpage_config *c = shape_of(r);
    uint64_t failed = r->dev.failed;
    uint8_t bytes[64] = {1};
    struct {
        uint32_t page, offset, size;
    } calls[] = {{c->pages, 24, 1},
                 {UINT32_MAX, 24, 1},
                 {0, 23, 1},
                 {0, 0, 64},
                 {0, 24, 0},
                 {0, c->block_size, 1},
                 {0, c->block_size - 1, 2},
                 {0, UINT32_MAX, 2},
                 {0, 24, UINT32_MAX},
                 {0, c->block_size, 0}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        judged(r, "wrong change",
               pgq_tornpage_change(r->store, calls[i].page, calls[i].offset, bytes, calls[i].size), failed,
               PGQ_TORNPAGE_RANGE, 0);
    judged(r, "change of NULL", pgq_tornpage_change(r->store, 0, 24, NULL, 1), failed, PGQ_NULL, 0);
    judged(r, "write back of NULL", pgq_tornpage_write_back(r->store, NULL, 1), failed, PGQ_NULL, 0);
    if (pgq_tornpage_page(r->store, c->pages) != NULL)
        world_violation(r->dev.world, "there is a page %u", c->pages);
    world_count(RANGES);
}

static void call_closed(row *r)
{
    uint64_t failed = r->dev.failed, operations = r->dev.operations;
    pgq_code code = closed_code(r);

    judged(r, "closed change", pgq_tornpage_change(r->store, 0, 24, "x", 1), failed, code, 0);
    judged(r, "closed flush", pgq_tornpage_flush(r->store), failed, code, 0);
    judged(r, "closed write back", pgq_tornpage_write_back(r->store, &(uint32_t){0}, 1), failed, code, 0);
    judged(r, "closed begin", pgq_tornpage_checkpoint_begin(r->store), failed, code, 0);
    judged(r, "closed end", pgq_tornpage_checkpoint_end(r->store), failed, code, 0);
    if (pgq_tornpage_page(r->store, 0) != NULL)
        world_violation(r->dev.world, "a store that is not open has a page");
    if (r->dev.operations != operations)
        world_violation(r->dev.world, "a refused call has used its files");
    world_count(r->failed ? CLOSED_IO : CLOSED_NO_STORE);
}

/* The files are known to hold a store of the shape that the process asks for. */
static bool holds_this_shape(const row *r)
{
    return same_shape(r) && !r->formatting && !r->any_state;
}

static bool format_ends(row *r)
{
    world *w = r->dev.world;
    uint64_t failed = r->dev.failed;

    r->formatting = r->may_be_new[r->shape] = true;
    r->open = r->failed = false;
    world_no_entropy = world_one_in(w, 20);
    pgq_status s = pgq_tornpage_format(r->store);
    if (world_no_entropy) {
        world_no_entropy = false;
        r->failed = true;
        world_says(w, "format without randomness: %d", s.code);
        if (s.code != PGQ_TORNPAGE_IO)
            world_violation(w, "format without randomness gave %d", s.code);
        return false;
    }
    if (judged(r, "format", s, failed, PGQ_OK, 0))
        return true;
    world_count(FORMAT_IO);
    return false;
}

static void format(row *r)
{
    bool known = holds_this_shape(r);
    disk_copy copies[FILES];

    for (int file = 0; file < FILES; file++)
        copies[file] = copy_file(&r->dev, file);
    if (!format_ends(r)) {
        free_copies(copies);
        return;
    }
    world_count(FORMATS);
    r->open = true;
    history_begin(&r->life, shape_of(r));
    r->formatting = r->may_be_new[0] = r->may_be_new[1] = r->any_state = false;
    r->since_point = r->since_begin = 0;
    r->older_shape = 0;
    if (known) {
        free_copies(r->previous);
        memcpy(r->previous, copies, sizeof copies);
        r->previous_shape = r->shape;
    } else
        free_copies(copies);
    check_memory(r);
    if (first_torn(r) < shape_of(r)->pages)
        world_violation(r->dev.world, "page %u of a new store is not sound in its file", first_torn(r));
}

static void refuse_configs(row *r)
{
    world *w = r->dev.world;
    const uint32_t m = UINT32_MAX;
    pgq_tornpage_config good = *shape_of(r),
                        bad[] = {good, good, good, good, good, good, good, good, good, good, good};
    pgq_tornpage_device device = {&r->dev, device_read, device_write, device_sync}, half = device;
    pgq_tornpage_store *store = (pgq_tornpage_store *)&good;

    bad[0].protection = 4, bad[1].protection = -1, bad[2].pages = 0, bad[3].pages = m, bad[4].slots = 0,
    bad[5].slots = 256;
    bad[6].log_capacity++, bad[7].log_capacity = 2 * (good.block_size + 32) - 8, bad[8].log_capacity = 0;
    bad[9].block_size = 512, bad[10].block_size = good.block_size + 8;
    for (int i = 0; i < 11; i++) {
        pgq_status s = pgq_tornpage_create(&bad[i], &device, &store);
        if (s.code != (i < 9 ? PGQ_TORNPAGE_CONFIG : PGQ_TORNPAGE_BLOCK_SIZE) || s.index != 0)
            world_violation(w, "wrong config %d gave %d", i, s.code);
    }
    half.write = NULL;
    if (pgq_tornpage_create(NULL, &device, &store).code != PGQ_NULL ||
        pgq_tornpage_create(&good, NULL, &store).code != PGQ_NULL ||
        pgq_tornpage_create(&good, &device, NULL).code != PGQ_NULL ||
        pgq_tornpage_create(&good, &half, &store).code != PGQ_NULL)
        world_violation(w, "a pointer that is NULL was taken");
    if (store != (pgq_tornpage_store *)&good)
        world_violation(w, "a refused create has changed its result");
    pgq_tornpage_destroy(NULL);
    world_count(CONFIGS);
}

#endif
