/* SPDX-License-Identifier: PostgreSQL */
/*
 * The device of a store on two disks of the world: the data file's, where a block may be a sector, and that of the other files. It
 * adds the faults that the header names and the disks lack: a write that lands byte by byte in part, also when the process ends in
 * it, and a sync that forgets some of its sectors.
 */
#ifndef PGQUERN_TESTS_TORNPAGE_WORLD_DEVICE_H
#define PGQUERN_TESTS_TORNPAGE_WORLD_DEVICE_H

#include "../tests/world/calls.h"
#include "../tests/world/disk.h"
#include "tornpage/tornpage.h"

#include <stdlib.h>
#include <string.h>

enum { FILES = 4 };

typedef struct device {
    world *world;
    disk data, rest;
    pgq_tornpage_config shape; /* of the store that uses the device */
    uint64_t operations, stops_at, failed, writes;
    bool stopped, power, quiet; /* power: the stop is a power loss */
} device;

static uint64_t file_size(const pgq_tornpage_config *c, int file)
{
    switch (file) {
    case PGQ_TORNPAGE_DATA:
        return (uint64_t)c->pages * c->block_size;
    case PGQ_TORNPAGE_LOG:
        return c->log_capacity;
    case PGQ_TORNPAGE_AREA:
        return 4096 + (uint64_t)c->slots * c->block_size;
    default:
        return 8192;
    }
}

static disk *disk_of(device *d, int *file)
{
    if (*file == PGQ_TORNPAGE_DATA)
        return &d->data;
    *file -= 1;
    return &d->rest;
}

static disk_file *seen_file(device *d, int file)
{
    disk *k = disk_of(d, &file);

    return &k->files[file];
}

static bool comes_now(device *d, world_fault fault)
{
    return !d->quiet && world_comes(d->world, fault);
}

/* One more operation, in its bounds. false: the machine has stopped before it. */
static bool goes_on(device *d, int file, uint64_t at, uint64_t size)
{
    if (file < 0 || file >= FILES || at + size > file_size(&d->shape, file))
        world_violation(d->world, "%llu bytes at %llu of file %d are not in the file",
                        (unsigned long long)size, (unsigned long long)at, file);
    d->operations++;
    if (d->stops_at != 0 && d->operations >= d->stops_at)
        d->stopped = true;
    return !d->stopped && file >= 0 && file < FILES;
}

static void device_stop_after(device *d, uint64_t n, bool power)
{
    d->stops_at = d->operations + n;
    d->power = power;
}

/* One fault seldom comes alone: a stop may follow. */
static int has_failed(device *d)
{
    bool power = d->world->rate[WORLD_POWER_LOSS] != 0, kill = d->world->rate[WORLD_KILL] != 0;

    d->failed++;
    if (!d->quiet && !d->stopped && d->stops_at == 0 && (power || kill) && world_one_in(d->world, 4)) {
        /* Drawn first: the arguments of a call have no order. */
        bool by_power = power && (!kill || world_one_in(d->world, 2));

        device_stop_after(d, 1 + world_below(d->world, 12), by_power);
    }
    return -1;
}

static int read_now(device *d, int file, uint64_t at, void *bytes, size_t size)
{
    if (!goes_on(d, file, at, size))
        return has_failed(d);
    disk *k = disk_of(d, &file);
    int64_t n = disk_read(k, file, bytes, size, at);
    if (n < 0)
        return has_failed(d);
    memset((uint8_t *)bytes + n, 0, size - (size_t)n);
    return 0;
}

/* A write that lands in part: some of its sectors, or any range of its bytes. */
static void tear(device *d, int file, uint64_t at, const void *bytes, uint64_t size, bool any_bytes)
{
    world *w = d->world;
    disk *k = disk_of(d, &file);
    uint32_t rate = w->rate[WORLD_WRITE_FAILS];
    bool quiet = k->quiet;

    if (size == 0)
        return;
    if (any_bytes && world_one_in(w, 2)) {
        uint64_t from = world_one_in(w, 2) ? 0 : world_below(w, size), n = 1 + world_below(w, size - from);

        k->quiet = true;
        disk_write(k, file, (const uint8_t *)bytes + from, n, at + from);
    } else {
        w->rate[WORLD_WRITE_FAILS] = 1;
        k->quiet = false;
        disk_write(k, file, bytes, size, at);
    }
    k->quiet = quiet;
    w->rate[WORLD_WRITE_FAILS] = rate;
}

static int write_now(device *d, int file, uint64_t at, const void *bytes, size_t size)
{
    bool before = d->stopped;
    bool any_bytes = file != PGQ_TORNPAGE_DATA || d->shape.protection != PGQ_TORNPAGE_ATOMIC;

    d->writes++;
    if (!goes_on(d, file, at, size)) {
        if (!before && !d->world->violated)
            tear(d, file, at, bytes, size, any_bytes && !d->power);
        return has_failed(d);
    }
    if (comes_now(d, WORLD_WRITE_FAILS)) {
        tear(d, file, at, bytes, size, any_bytes);
        return has_failed(d);
    }
    disk *k = disk_of(d, &file);
    return disk_write(k, file, bytes, size, at) == (int64_t)size ? 0 : has_failed(d);
}

/* Each sector that waits lands, waits on, or is forgotten, by itself. */
static void scatter(world *w, disk *k, disk_file *f, bool forgets)
{
    uint64_t salt = world_random(w);
    size_t kept = 0;

    for (size_t i = 0; i < f->waits; i++) {
        disk_sector s = f->waiting[i];
        uint64_t start = s.number * k->sector, end = start + k->sector;
        uint64_t way = ((s.number ^ salt) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (forgets ? 3 : 2);

        if (way == 0) {
            f->waiting[kept++] = s;
            continue;
        }
        if (way == 1) {
            memcpy(f->medium + start, s.bytes, k->sector);
            end = end < f->cache_size ? end : f->cache_size;
            f->medium_size = end > f->medium_size ? end : f->medium_size;
        }
        free(s.bytes);
    }
    f->waits = kept;
}

static int sync_now(device *d, int file)
{
    bool forgets = d->world->rate[WORLD_SYNC_FORGETS] != 0;

    if (!goes_on(d, file, 0, 0))
        return has_failed(d);
    disk *k = disk_of(d, &file);
    if (comes_now(d, WORLD_SYNC_FAILS)) {
        scatter(d->world, k, &k->files[file], forgets);
        if (world_one_in(d->world, 2))
            disk_start(k, true); /* what is clean may leave the cache at any time */
        return has_failed(d);
    }
    return disk_sync(k, file) == 0 ? 0 : has_failed(d);
}

/* Counts an operation by the line that it comes from. */
static int counted(const device *d, const char *what, void *const *frame, bool was_stopped, int done)
{
    if (!was_stopped)
        world_call(what, frame, d->stopped ? CALL_CUT : done != 0 ? CALL_FAILED : CALL_DONE, false);
    return done;
}

static int device_read(void *context, int file, uint64_t at, void *bytes, size_t size)
{
    device *d = context;
    bool was_stopped = d->stopped;

    return counted(d, "read", __builtin_frame_address(0), was_stopped, read_now(d, file, at, bytes, size));
}

static int device_write(void *context, int file, uint64_t at, const void *bytes, size_t size)
{
    device *d = context;
    bool was_stopped = d->stopped;

    return counted(d, "write", __builtin_frame_address(0), was_stopped, write_now(d, file, at, bytes, size));
}

static int device_sync(void *context, int file)
{
    device *d = context;
    bool was_stopped = d->stopped;

    return counted(d, "sync", __builtin_frame_address(0), was_stopped, sync_now(d, file));
}

static void device_quiet(device *d, bool quiet)
{
    d->quiet = d->data.quiet = d->rest.quiet = quiet;
    if (!quiet)
        return;
    for (int file = 0; file < FILES; file++)
        seen_file(d, file)->bad_from = seen_file(d, file)->bad_to = 0;
}

/* The process has ended, by itself or by a stop; a kill keeps the cache, of which some may be forgotten unseen. */
static void device_restart(device *d, bool power)
{
    if (!power && d->world->rate[WORLD_SYNC_FORGETS] != 0 && world_one_in(d->world, 2)) {
        for (int file = 0; file < FILES; file++)
            scatter(d->world, file == 0 ? &d->data : &d->rest, seen_file(d, file), true);
    }
    disk_start(&d->data, !power);
    disk_start(&d->rest, !power);
    d->stopped = false;
    d->stops_at = 0;
}

static disk_copy copy_file(device *d, int file)
{
    disk *k = disk_of(d, &file);

    return disk_take_copy(k, file);
}

static void put_file(device *d, int file, const disk_copy *copy)
{
    disk *k = disk_of(d, &file);

    disk_put_copy(k, file, copy);
}

static void free_copies(disk_copy copies[])
{
    for (int file = 0; file < FILES; file++)
        disk_free_copy(&copies[file]);
}

/* Files that were never written may have any value: zeros, garbage, or nothing at all. */
static void device_make(device *d, world *w, uint32_t data_sector, uint32_t rest_sector,
                        const uint64_t sizes[])
{
    *d = (device){.world = w};
    disk_make(&d->data, w, data_sector, 1, sizes);
    disk_make(&d->rest, w, rest_sector, 3, sizes + 1);
    d->data.whole_requests = d->rest.whole_requests = true;
    d->data.uncounted = d->rest.uncounted = true;
    for (int file = 0; file < FILES; file++) {
        disk_copy copy = copy_file(d, file);
        uint64_t way = world_below(w, 3);

        copy.size = way == 0 ? 0 : seen_file(d, file)->capacity;
        for (uint64_t i = 0; way == 2 && i < copy.size; i += 8)
            memcpy(copy.bytes + i, &(uint64_t){world_random(w)}, 8);
        put_file(d, file, &copy);
        disk_free_copy(&copy);
    }
}

static void device_free(device *d)
{
    disk_free(&d->data);
    disk_free(&d->rest);
}

#endif
