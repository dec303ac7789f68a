/* SPDX-License-Identifier: PostgreSQL */
#include "../tests/world/calls.h"
#include "../tests/world/disk.h"
#include "../tests/world/threads.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(size_t n, size_t size)
{
    void *bytes = calloc(n > 0 ? n : 1, size);

    if (bytes == NULL)
        abort();
    return bytes;
}

void disk_make(disk *d, world *w, uint32_t sector, int n, const uint64_t capacities[])
{
    *d = (disk){.world = w, .sector = sector, .n = n};
    for (int i = 0; i < n; i++) {
        disk_file *f = &d->files[i];

        f->capacity = (capacities[i] + sector - 1) / sector * sector;
        f->medium = allocate(f->capacity, 1);
        f->cache = allocate(f->capacity, 1);
    }
}

/* The memory of sectors that wait no more is used again: there are many. */
static void forget_waiting(disk_file *f)
{
    for (size_t i = 0; i < f->waits; i++) {
        memcpy(f->waiting[i].bytes, &f->spare, sizeof f->spare);
        f->spare = f->waiting[i].bytes;
    }
    f->waits = 0;
}

static uint8_t *sector_bytes(const disk *d, disk_file *f)
{
    uint8_t *bytes = f->spare;

    if (bytes == NULL)
        return allocate(d->sector, 1);
    memcpy(&f->spare, bytes, sizeof f->spare);
    return bytes;
}

void disk_free(disk *d)
{
    for (int i = 0; i < d->n; i++) {
        forget_waiting(&d->files[i]);
        while (d->files[i].spare != NULL)
            free(sector_bytes(d, &d->files[i]));
        free(d->files[i].waiting);
        free(d->files[i].medium);
        free(d->files[i].cache);
    }
}

/* ---- the medium ---- */

static void land(disk *d, disk_file *f, const disk_sector *s)
{
    uint64_t start = s->number * d->sector, end = start + d->sector;

    memcpy(f->medium + start, s->bytes, d->sector);
    if (end > f->cache_size)
        end = f->cache_size;
    if (end > f->medium_size)
        f->medium_size = end;
}

/* Lands a subset of what waits: all of it, nothing, or each with the same chance. */
static void land_some(disk *d, disk_file *f)
{
    uint64_t how = world_below(d->world, 4);

    for (size_t i = 0; i < f->waits; i++)
        if (how == 0 || (how > 1 && world_one_in(d->world, how == 2 ? 2 : 8)))
            land(d, f, &f->waiting[i]);
}

static void see_medium(disk_file *f)
{
    memcpy(f->cache, f->medium, f->capacity);
    f->cache_size = f->medium_size;
}

static bool is_waiting(const disk_file *f, uint64_t number)
{
    for (size_t i = 0; i < f->waits; i++)
        if (f->waiting[i].number == number)
            return true;
    return false;
}

/* Clean pages may leave the cache at any time: then the medium is seen. It matters after a sync that forgot. */
static void evict_some(disk *d, disk_file *f)
{
    uint64_t how = world_below(d->world, 3);

    for (uint64_t n = 0; n < f->capacity / d->sector; n++)
        if ((how == 0 || (how == 1 && world_one_in(d->world, 2))) && !is_waiting(f, n))
            memcpy(f->cache + n * d->sector, f->medium + n * d->sector, d->sector);
}

/* ---- operations ---- */

/* One more operation. false: the machine has stopped. */
static bool runs(disk *d)
{
    world_yield();
    d->was_short = false;
    d->operations++;
    if (d->stops_at != 0 && d->operations >= d->stops_at)
        d->stopped = true;
    return !d->stopped;
}

static bool comes(disk *d, world_fault fault)
{
    return !d->quiet && world_comes(d->world, fault);
}

static bool fails(disk *d, int file, disk_kind kind)
{
    static const world_fault faults[] = {WORLD_READ_FAILS, WORLD_WRITE_FAILS, WORLD_SYNC_FAILS};
    struct disk_failure *next = &d->failure;

    if (next->in > 0 && next->file == file && next->kind == kind && --next->in == 0)
        return true;
    return comes(d, faults[kind]);
}

static bool is_bad(const disk_file *f, uint64_t size, uint64_t offset)
{
    return f->bad_from < f->bad_to && offset < f->bad_to && offset + size > f->bad_from;
}

/* A request that moves fewer bytes, a multiple of `unit` of them. */
static uint64_t shortened(disk *d, uint64_t size, uint32_t unit)
{
    d->was_short = !d->whole_requests && size > unit && comes(d, WORLD_SHORT);
    if (!d->was_short)
        return size;
    return unit * (1 + world_below(d->world, (size - 1) / unit));
}

static int64_t read_now(disk *d, int file, void *bytes, uint64_t size, uint64_t offset)
{
    disk_file *f = &d->files[file];

    if (!runs(d) || is_bad(f, size, offset) || fails(d, file, DISK_READ))
        return -1;
    if (offset >= f->cache_size)
        return 0;
    size = shortened(d, size < f->cache_size - offset ? size : f->cache_size - offset, 1);
    memcpy(bytes, f->cache + offset, size);
    return (int64_t)size;
}

static void wait_for_medium(disk *d, disk_file *f, uint64_t number)
{
    if (f->waits == f->room) {
        f->room = f->room == 0 ? 64 : 2 * f->room;
        f->waiting = realloc(f->waiting, f->room * sizeof *f->waiting);
        if (f->waiting == NULL)
            abort();
    }
    disk_sector *s = &f->waiting[f->waits++];
    s->number = number;
    s->bytes = memcpy(sector_bytes(d, f), f->cache + number * d->sector, d->sector);
}

/* The part of a write that falls into one sector. */
static void write_sector(disk *d, disk_file *f, const uint8_t *bytes, uint64_t size, uint64_t offset,
                         uint64_t number)
{
    uint64_t from = number * d->sector, to = from + d->sector;

    if (from < offset)
        from = offset;
    if (to > offset + size)
        to = offset + size;
    memcpy(f->cache + from, bytes + (from - offset), to - from);
    if (to > f->cache_size)
        f->cache_size = to;
    wait_for_medium(d, f, number);
}

/* Writes all sectors of a request, or some of them. */
static void write_sectors(disk *d, disk_file *f, const uint8_t *bytes, uint64_t size, uint64_t offset,
                          uint32_t one_in)
{
    for (uint64_t n = offset / d->sector; n * d->sector < offset + size; n++)
        if (one_in == 1 || world_one_in(d->world, one_in))
            write_sector(d, f, bytes, size, offset, n);
}

static bool is_full(disk *d)
{
    if (comes(d, WORLD_NO_SPACE))
        d->full_until = d->operations + 1 + world_below(d->world, 40);
    return !d->quiet && d->operations < d->full_until;
}

static int64_t write_now(disk *d, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    disk_file *f = &d->files[file];

    if (offset + size > f->capacity) {
        world_violation(d->world, "a write of %llu bytes at %llu of file %d, which may have %llu",
                        (unsigned long long)size, (unsigned long long)offset, file,
                        (unsigned long long)f->capacity);
        return -1;
    }
    bool before = d->stopped;
    if (!runs(d)) {
        if (!before)
            write_sectors(d, f, bytes, size, offset, (uint32_t)world_below(d->world, 3));
        return -1;
    }
    if (is_bad(f, size, offset) || is_full(d) || fails(d, file, DISK_WRITE)) {
        if (!is_bad(f, size, offset))
            write_sectors(d, f, bytes, size, offset, (uint32_t)world_below(d->world, 3));
        return -1;
    }
    size = shortened(d, size, d->short_unit > 0 ? d->short_unit : 1);
    write_sectors(d, f, bytes, size, offset, 1);
    return (int64_t)size;
}

static int sync_now(disk *d, int file)
{
    disk_file *f = &d->files[file];

    if (!runs(d))
        return -1;
    if (fails(d, file, DISK_SYNC)) {
        land_some(d, f);
        if (d->world->rate[WORLD_SYNC_FORGETS] != 0) {
            forget_waiting(f);
            if (!d->keeps_seen)
                evict_some(d, f);
        }
        return -1;
    }
    for (size_t i = 0; i < f->waits; i++)
        land(d, f, &f->waiting[i]);
    forget_waiting(f);
    return 0;
}

/* ---- operations, counted by the lines that they come from ---- */

static void count(const disk *d, disk_kind kind, void *const *frame, bool was_stopped, int64_t moved,
                  uint64_t asked)
{
    static const char *const names[] = {"read", "write", "sync"};
    bool may_be_short =
        !d->whole_requests && asked > (kind == DISK_WRITE && d->short_unit > 0 ? d->short_unit : 1);
    call_end end = d->stopped                     ? CALL_CUT
                   : moved < 0                    ? CALL_FAILED
                   : may_be_short && d->was_short ? CALL_INTERRUPTED
                                                  : CALL_DONE;

    if (!was_stopped && !d->uncounted)
        world_call(names[kind], frame, end, may_be_short);
}

int64_t disk_read(disk *d, int file, void *bytes, uint64_t size, uint64_t offset)
{
    bool was_stopped = d->stopped;
    int64_t moved = read_now(d, file, bytes, size, offset);

    count(d, DISK_READ, __builtin_frame_address(0), was_stopped, moved, size);
    return moved;
}

int64_t disk_write(disk *d, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    bool was_stopped = d->stopped;
    int64_t moved = write_now(d, file, bytes, size, offset);

    count(d, DISK_WRITE, __builtin_frame_address(0), was_stopped, moved, size);
    return moved;
}

int disk_sync(disk *d, int file)
{
    bool was_stopped = d->stopped;
    int done = sync_now(d, file);

    count(d, DISK_SYNC, __builtin_frame_address(0), was_stopped, done, 0);
    return done;
}

/* ---- stops ---- */

void disk_stop_after(disk *d, uint64_t n)
{
    d->stops_at = d->operations + n;
}

void disk_fail_after(disk *d, int file, disk_kind kind, uint64_t n)
{
    d->failure = (struct disk_failure){file, kind, n};
}

void disk_stop(disk *d)
{
    d->stopped = true;
}

void disk_start(disk *d, bool cache_stays)
{
    d->stopped = false;
    d->stops_at = d->full_until = d->failure.in = 0;
    for (int i = 0; i < d->n; i++) {
        disk_file *f = &d->files[i];

        if (cache_stays) {
            if (!d->keeps_seen)
                evict_some(d, f);
            continue;
        }
        land_some(d, f);
        forget_waiting(f);
        see_medium(f);
    }
}

/* ---- files that come back as something else ---- */

disk_copy disk_take_copy(const disk *d, int file)
{
    const disk_file *f = &d->files[file];

    return (disk_copy){memcpy(allocate(f->capacity, 1), f->cache, f->capacity), f->cache_size};
}

void disk_free_copy(disk_copy *copy)
{
    free(copy->bytes);
    *copy = (disk_copy){NULL, 0};
}

void disk_put_copy(disk *d, int file, const disk_copy *copy)
{
    disk_file *f = &d->files[file];

    forget_waiting(f);
    memcpy(f->medium, copy->bytes, f->capacity);
    f->medium_size = copy->size;
    see_medium(f);
}

void disk_truncate(disk *d, int file, uint64_t size)
{
    disk_file *f = &d->files[file];

    forget_waiting(f);
    memcpy(f->medium, f->cache, f->capacity);
    f->medium_size = size < f->cache_size ? size : f->cache_size;
    memset(f->medium + f->medium_size, 0, f->capacity - f->medium_size);
    see_medium(f);
}

void disk_zero(disk *d, int file)
{
    disk_file *f = &d->files[file];

    forget_waiting(f);
    memset(f->medium, 0, f->capacity);
    f->medium_size = f->cache_size;
    see_medium(f);
}

void disk_make_bad(disk *d, int file, uint64_t from, uint64_t to)
{
    d->files[file].bad_from = from;
    d->files[file].bad_to = to;
}
