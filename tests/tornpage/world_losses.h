/* SPDX-License-Identifier: PostgreSQL */
/*
 * Files that come back as something else while no process has them open: empty, another store's, cut, older, or with other
 * bytes.
 */
#ifndef PGQUERN_TESTS_TORNPAGE_WORLD_LOSSES_H
#define PGQUERN_TESTS_TORNPAGE_WORLD_LOSSES_H

#include "../tests/tornpage/world_calls.h"

static int plain_read(void *files, int file, uint64_t at, void *bytes, size_t size)
{
    memcpy(bytes, ((disk_copy *)files)[file].bytes + at, size);
    return 0;
}

static int plain_write(void *files, int file, uint64_t at, const void *bytes, size_t size)
{
    memcpy(((disk_copy *)files)[file].bytes + at, bytes, size);
    return 0;
}

static int plain_sync(void *files, int file)
{
    (void)files;
    (void)file;
    return 0;
}

/* Another store of the first shape, with some changes. */
static void make_foreign(row *r, world *w)
{
    const pgq_tornpage_config *c = &r->shapes[0];
    pgq_tornpage_device device = {r->foreign, plain_read, plain_write, plain_sync};
    pgq_tornpage_store *store = NULL;

    for (int file = 0; file < FILES; file++)
        r->foreign[file] = copy_file(&r->dev, file);
    if (pgq_tornpage_create(c, &device, &store).code != PGQ_OK || pgq_tornpage_format(store).code != PGQ_OK)
        world_violation(w, "another store was not made");
    for (uint64_t n = world_below(w, 40); n > 0; n--) {
        pgq_tornpage_change(store, (uint32_t)world_below(w, c->pages), 24, &n, 8);
        if (world_one_in(w, 8)) {
            pgq_tornpage_checkpoint_begin(store);
            pgq_tornpage_checkpoint_end(store);
        }
    }
    pgq_tornpage_flush(store);
    pgq_tornpage_destroy(store);
    for (int file = 0; file < FILES; file++)
        r->foreign[file].size = file_size(c, file);
}

/* Zeros, garbage, or nothing at all. */
static void wipe(row *r, disk_copy *copy)
{
    world *w = r->dev.world;
    bool garbage = world_one_in(w, 2);

    for (uint64_t i = 0; i < copy->size; i += 8)
        memcpy(copy->bytes + i, &(uint64_t){garbage ? world_random(w) : 0},
               copy->size - i < 8 ? copy->size - i : 8);
    if (!garbage && world_one_in(w, 2))
        copy->size = 0;
    put_file(&r->dev, r->lost, copy);
}

/* The file of another store of this shape: the one before the last format, or the foreign one. false: there is none. */
static bool exchange(row *r)
{
    bool previous = r->previous[0].bytes != NULL && r->previous_shape == r->shape;
    bool foreign = r->shape == 0;

    if (!foreign && !previous)
        return false;
    previous = !foreign || (previous && world_one_in(r->dev.world, 2));
    put_file(&r->dev, r->lost, previous ? &r->previous[r->lost] : &r->foreign[r->lost]);
    return true;
}

/* A file is lost, exchanged or cut, while no process has it open; its own content is kept. */
static void lose_file(row *r)
{
    world *w = r->dev.world;

    if (!holds_this_shape(r) || r->loss != WHOLE)
        return;
    r->lost = needs_area(r) ? PGQ_TORNPAGE_AREA : (int)world_below(w, FILES);
    r->saved = copy_file(&r->dev, r->lost);
    r->writes_before = r->dev.writes;
    r->loss = (loss)(LOST + world_below(w, r->lost == PGQ_TORNPAGE_DATA ? 3 : 2));
    if (r->loss == LOST) {
        disk_copy copy = copy_file(&r->dev, r->lost);
        wipe(r, &copy);
        disk_free_copy(&copy);
    } else if (r->loss == CUT) {
        r->cut = world_below(w, file_size(shape_of(r), PGQ_TORNPAGE_DATA));
        disk_truncate(&r->dev.data, 0, r->cut);
    } else if (!exchange(r)) {
        r->loss = WHOLE;
        disk_free_copy(&r->saved);
    }
    world_says(w, "file %d: loss %d", r->lost, r->loss);
}

/* After the recovery of a store without a file. A refusal has written nothing: with the file all is there again. */
static void find_file(row *r)
{
    if (!r->open && r->dev.writes == r->writes_before) {
        put_file(&r->dev, r->lost, &r->saved);
        world_count(PUT_BACK);
    } else if (!r->open)
        r->any_state = true;
    r->loss = WHOLE;
    disk_free_copy(&r->saved);
}

static void keep_older(row *r)
{
    for (int file = 0; file < FILES && !r->formatting; file++) {
        disk_free_copy(&r->older[file]);
        r->older[file] = copy_file(&r->dev, file);
    }
    r->older_shape = 1 + r->shape;
}

/* Some files are older, or have other bytes: the header promises nothing then. */
static void hurt_files(row *r)
{
    world *w = r->dev.world;
    bool older = r->older_shape == 1 + r->shape && !world_one_in(w, 3);

    r->any_state = true;
    for (int file = 0; file < FILES; file++) {
        if (!world_one_in(w, 2) && file != PGQ_TORNPAGE_LOG)
            continue;
        if (older) {
            if (file != PGQ_TORNPAGE_DATA)
                put_file(&r->dev, file, &r->older[file]);
            continue;
        }
        disk_copy copy = copy_file(&r->dev, file);
        for (uint64_t n = 1 + world_below(w, 20); n > 0; n--) {
            uint8_t byte = (uint8_t)world_random(w); /* first, whatever order the compiler takes */

            copy.bytes[world_below(w, file_size(shape_of(r), file))] = byte;
        }
        put_file(&r->dev, file, &copy);
        disk_free_copy(&copy);
    }
}

#endif
