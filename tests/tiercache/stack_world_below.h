/* SPDX-License-Identifier: PostgreSQL */
/*
 * What lies below the cache of the stack's world: a disk with all files, an engine of `ioshares` for the requests to the store, each
 * of which holds its bytes in a lock of `rangelock`. SSD and control file are written as they are.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_STACK_WORLD_BELOW_H
#define PGQUERN_TESTS_TIERCACHE_STACK_WORLD_BELOW_H

#include "../tests/world/system.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { STORE = PGQ_TIERCACHE_FILE_STORE, SSD, CONTROL, LOG, AREA, LOG_CONTROL, FILES };
enum {
    PAGES = 32,
    SLOTS = 6,
    BLCKSZ = PGQ_TIERCACHE_PAGE_SIZE,
    SECTOR = 512,
    OWN = 3, /* pages of the cache's own, behind those of a store */
    LOG_BYTES = 65536,
    AREA_SLOTS = 3,
    CLASSES = 2,
    QUEUE = 16
};

typedef struct below {
    world *world;
    disk disk;
    int fd;          /* of the store */
    unsigned failed; /* operations, and starts of the engine */
    void *memory;    /* of the scheduler */
    pgq_ioshares *scheduler;
    pgq_ioshares_engine *engine;
    pgq_rangelock *lock;
    unsigned readers[PAGES + OWN], writers[PAGES + OWN]; /* requests that the lock lets through now */
    uint64_t waits;                                      /* requests that found their bytes held */
} below;

static void below_make(below *b, world *w)
{
    uint64_t sizes[FILES] = {(PAGES + OWN) * BLCKSZ,
                             4096 + SLOTS * (SECTOR + BLCKSZ),
                             SECTOR,
                             LOG_BYTES,
                             4096 + AREA_SLOTS * BLCKSZ,
                             8192};

    *b = (below){.world = w};
    disk_make(&b->disk, w, SECTOR, FILES, sizes);
    b->disk.whole_requests = true;
    for (int file = 0; file < FILES; file++) /* the engine takes the end of a file for an error */
        b->disk.files[file].cache_size = b->disk.files[file].medium_size = b->disk.files[file].capacity;
}

/* ---- the engine, and the lock ---- */

static pgq_rangelock *make_lock(void)
{
    pgq_rangelock *lock = NULL;

    for (size_t i = 0; i < pgq_rangelock_variant_count; i++)
        if (strcmp(pgq_rangelock_variants[i].name, "interval") == 0)
            pgq_rangelock_variants[i].fn(-1, &lock);
    return lock;
}

static void below_stop(below *b)
{
    if (b->engine != NULL && pgq_ioshares_engine_stop(b->engine).code != PGQ_OK)
        world_violation(b->world, "the engine does not stop");
    if (b->lock != NULL && pgq_rangelock_destroy(b->lock).code != PGQ_OK)
        world_violation(b->world, "bytes of the store are still held");
    free(b->memory);
    b->engine = NULL;
    b->lock = NULL;
    b->memory = NULL;
}

/* false: there is no memory, or no thread. */
static bool below_start(below *b)
{
    world *w = b->world;
    uint32_t most = 1 + (uint32_t)world_below(w, 4);
    pgq_ioshares_class classes[CLASSES] = {{500, 1 << 16, QUEUE}, {200, 0, QUEUE}};
    pgq_ioshares_config config = {classes, CLASSES, {1, 1, most, 4, 1000000}, NULL, 0, {0, 0}};
    size_t bytes = 0;

    pgq_ioshares_bytes(&config, &bytes);
    b->memory = malloc(bytes);
    if (b->memory == NULL || pgq_ioshares_init(b->memory, bytes, &config, &b->scheduler).code != PGQ_OK)
        abort();
    b->lock = make_lock();
    if (b->lock != NULL)
        pgq_ioshares_engine_start(b->scheduler, (pgq_ioshares_way)world_below(w, 3), NULL, &b->engine);
    if (b->engine == NULL && the_system.no_memory == 0 && the_system.no_thread == 0 &&
        the_system.no_ring == 0 && the_system.no_descriptor == 0)
        world_violation(w, "there is no engine");
    return b->engine != NULL;
}

static void hold_pages(below *b, uint64_t offset, uint64_t size, bool write)
{
    for (uint64_t page = offset / BLCKSZ; page * BLCKSZ < offset + size; page++) {
        if (b->writers[page] > 0 || (write && b->readers[page] > 0))
            world_violation(b->world, "page %llu is moved by two requests at once", (unsigned long long)page);
        *(write ? &b->writers[page] : &b->readers[page]) += 1;
    }
}

static void release_pages(below *b, uint64_t offset, uint64_t size, bool write)
{
    for (uint64_t page = offset / BLCKSZ; page * BLCKSZ < offset + size; page++)
        *(write ? &b->writers[page] : &b->readers[page]) -= 1;
}

/* A request to the store. A queue that is full is no failure: it is asked again when something has ended. */
static int64_t request(below *b, void *bytes, uint64_t size, uint64_t offset, bool write)
{
    pgq_rangelock_hold hold = {0};
    pgq_rangelock_mode mode = write ? PGQ_RANGELOCK_EXCLUSIVE : PGQ_RANGELOCK_SHARED;
    pgq_ioshares_io io = {
        .buffer = bytes, .offset = offset, .size = (uint32_t)size, .cls = write, .fd = b->fd, .write = write};

    if (pgq_rangelock_try(b->lock, &hold, offset, size, mode).code != PGQ_OK) {
        b->waits++;
        if (pgq_rangelock_lock(b->lock, &hold, offset, size, mode).code != PGQ_OK)
            world_violation(b->world, "bytes of the store cannot be locked");
    }
    hold_pages(b, offset, size, write);
    if (pgq_ioshares_engine_submit(b->engine, &io).code != PGQ_OK ||
        pgq_ioshares_engine_wait(b->engine, &io).code != PGQ_OK)
        world_violation(b->world, "a request to the store is refused");
    release_pages(b, offset, size, write);
    if (pgq_rangelock_unlock(b->lock, &hold).code != PGQ_OK)
        world_violation(b->world, "bytes of the store are not held");
    if (io.error == 0)
        return io.did;
    b->failed++;
    return -1;
}

/* ---- the files of a cache ---- */

static int64_t moved(below *b, int64_t n)
{
    b->failed += n < 0;
    return n;
}

static int64_t below_read(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    below *b = context;

    return file == STORE ? request(b, bytes, size, offset, false)
                         : moved(b, disk_read(&b->disk, file, bytes, size, offset));
}

static int64_t below_write(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    below *b = context;

    return file == STORE ? request(b, (void *)(uintptr_t)bytes, size, offset, true)
                         : moved(b, disk_write(&b->disk, file, bytes, size, offset));
}

/* After a failed sync reads give what was written last, until the power is lost: the cache's header says so of its files. Nobody
   else writes to the file meanwhile. */
static int below_sync(void *context, int file)
{
    below *b = context;
    bool forgets = b->world->rate[WORLD_SYNC_FORGETS] != 0 && b->world->rate[WORLD_SYNC_FAILS] != 0;
    disk_file *f = &b->disk.files[file];
    disk_copy seen = {NULL, 0};

    world_yield();
    if (forgets)
        seen = disk_take_copy(&b->disk, file);
    int done = disk_sync(&b->disk, file);
    if (done != 0 && forgets)
        memcpy(f->cache, seen.bytes, f->capacity);
    disk_free_copy(&seen);
    b->failed += done != 0;
    return done;
}

static int below_random(void *context, void *bytes, uint64_t size)
{
    below *b = context;

    for (uint64_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)world_random(b->world);
    return 0;
}

#endif
