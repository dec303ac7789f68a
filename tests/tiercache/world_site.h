/* SPDX-License-Identifier: PostgreSQL */
/*
 * One store of the world of tiercache: a machine of its own, with a store, an SSD and a control file on its disk, and what the
 * oracle remembers of it. The files' operations are here: they fail as the disk says, and take down what has failed.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_WORLD_SITE_H
#define PGQUERN_TESTS_TIERCACHE_WORLD_SITE_H

#include "../tests/tiercache/world_oracle.h"
#include "../tests/world/disk.h"
#include "../tests/world/threads.h"

enum { STORE = PGQ_TIERCACHE_FILE_STORE, SSD = PGQ_TIERCACHE_FILE_SSD, CONTROL = PGQ_TIERCACHE_FILE_CONTROL };
enum {
    FILES = 3,
    OWN = 3, /* pages of the cache's own, behind those of a store */
    COPIES = 3,
    FEWEST_PAGES = 16,
    MOST_PAGES = 32,
    MOST_SLOTS = 24,
    MOST_UNIT = 4096 /* of the SSD */
};

/* What must happen in some run. */
#define COUNTS(X)                                                                                            \
    X(KILLS), X(POWER_LOSSES), X(CLOSES), X(OPENS), X(OPENS_AFTER_REFUSAL), X(STOPS_IN_OPEN),                \
        X(CHECKED_PAGES), X(REFUSED_CONTROL), X(REFUSED_READ), X(REFUSED_WRITE_BACK), X(REFUSED_RANDOM),     \
        X(WRONG_CONTROL), X(WRONG_STORE), X(OTHER_PAGES), X(OTHER_SLOTS), X(OLD_STORE), X(NEW_STORE),        \
        X(SSD_NONE), X(SSD_EMPTY), X(SSD_FOREIGN), X(SSD_OLD), X(SSD_OURS), X(SSD_FAILED), X(TAKEN_OVER),    \
        X(OTHER_UNIT), X(SAME_MOUNT_COPY), X(READ_FAILED), X(LOST), X(WRITE_FAILED), X(WRITE_BACK_FAILED),   \
        X(FSYNC_FAILED), X(FSYNC_DONE), X(SSD_HITS), X(STORE_READS), X(EVICTED_DIRTY),                       \
        X(WRITES_BESIDE_BAD_BLOCK), X(STOPS_WITH_THREADS), X(THREADS), X(STAYS), X(REFUSED_MEMORY),          \
        X(CLEANED), X(CLEAN_FAILED), X(CLEANED_BESIDE), X(WRITTEN_BESIDE_FAILED)
enum { COUNTS(WORLD_NAME) };

/* Failed operations, counted. */
typedef struct faults {
    unsigned store_read, store_write, ssd, control, random;
} faults;

typedef struct old_copy {
    disk_copy bytes;
    unsigned mount, fsyncs; /* when it was taken */
} old_copy;

typedef struct site {
    world *world;
    unsigned number;
    disk disk;
    pgq_tiercache_options options, opened; /* opened: of the last open that succeeded */
    pgq_tiercache *cache;
    page pages[MOST_PAGES];
    faults failed, at_open, at_fsync;
    versions refused;       /* in this write-back: pages whose last write, alone, has failed */
    versions pages_failed;  /* in this call: refused when a write-back ended */
    bool all_failed;        /* in this call: a sync, or a page of the cache's own */
    bool owes_error;        /* the next fsync must fail */
    bool threads;           /* several at work */
    unsigned mount, fsyncs; /* opens that succeeded; fsyncs that wrote something, since then */
    unsigned refusals;      /* of open since the last that succeeded */
    bool torn;              /* a power loss in the middle of a call, since the last open that succeeded */
    unsigned randoms;
    enum { ANY_STOP, A_KILL, A_POWER_LOSS } next; /* the next stop */
    bool hides;                                   /* the next open cannot read one of the slots */
    uint64_t read_last;                           /* the page that a thread has begun to read */
    bool ssd_changed, control_is_new;             /* since the last open that succeeded */
    old_copy copies[COPIES];
    unsigned copies_taken;
    disk_copy store_copy;
    page store_pages[MOST_PAGES];
    bool stays[MOST_PAGES]; /* a kill, or an end, has left the page as it was read */
    uint64_t units;         /* the last number of choose_unit */
    uint64_t cleans;        /* and of comes_to_clean */
    int finds;              /* what the next open finds in the SSD's place; -1: that is not known */
} site;

/* Copies into the place of an earlier copy, if there is one: fresh memory costs more than the bytes. */
static void copy_file(disk_copy *copy, const disk *d, int file)
{
    const disk_file *f = &d->files[file];

    if (copy->bytes == NULL) {
        *copy = disk_take_copy(d, file);
        return;
    }
    memcpy(copy->bytes, f->cache, f->capacity);
    copy->size = f->cache_size;
}

static _Thread_local const site *calls; /* the cache that this thread calls now */

/* ---- the files' operations ---- */

/* A write-back may yet write the pages of a request that has failed, one by one: only a page that fails alone fails it. An open
   does not. */
static bool may_be_written_yet(site *s, uint64_t size, uint64_t offset)
{
    if (size == 0 || s->cache == (const void *)s || offset >= s->options.pages * PAGE)
        return false;
    if (offset / PAGE == (offset + size - 1) / PAGE)
        s->refused |= UINT64_C(1) << offset / PAGE;
    return true;
}

static void has_failed(site *s, int file, bool reading, uint64_t size, uint64_t offset)
{
    world_says(s->world, "    failed: file %d, %s, %llu bytes at %llu", file,
               reading ? "read" : "write or sync", (unsigned long long)size, (unsigned long long)offset);
    bool is_ssd_sync = file == SSD && size == 0;

    if (!reading && !s->disk.stopped && !s->disk.quiet && s->disk.stops_at == 0 &&
        (s->world->rate[WORLD_KILL] != 0 || s->world->rate[WORLD_POWER_LOSS] != 0) &&
        world_one_in(s->world, is_ssd_sync ? 2 : 8))
        disk_stop_after(&s->disk,
                        1 + world_below(s->world, is_ssd_sync ? 1 : 3)); /* one fault seldom comes alone */
    if (file == SSD)
        s->failed.ssd++;
    else if (file == CONTROL)
        s->failed.control++;
    else if (reading)
        s->failed.store_read++;
    else if (!may_be_written_yet(s, size, offset))
        s->failed.store_write++;
    if (file == CONTROL || (file == STORE && offset + size > s->options.pages * PAGE))
        s->all_failed = true;
}

static uint32_t unit_of(const site *s, int file)
{
    return file == STORE ? PAGE : file == SSD && s->options.ssd_block > 0 ? s->options.ssd_block : SECTOR;
}

/* rest: of a read that has met the end of the file. */
static void check_request(site *s, int file, const void *bytes, uint64_t size, uint64_t offset, bool rest)
{
    uint32_t unit = unit_of(s, file);
    bool whole = size % unit == 0 && offset % unit == 0 && (uintptr_t)bytes % MOST_UNIT == 0;

    if (calls != s)
        world_violation(s->world, "an operation outside of the thread that called the cache");
    if (!whole && !rest && s->world->rate[WORLD_SHORT] == 0) /* what is moved in part is continued */
        world_violation(
            s->world, "a request to file %d of %llu bytes at %llu, %u bytes behind a multiple of 4096", file,
            (unsigned long long)size, (unsigned long long)offset, (unsigned)((uintptr_t)bytes % MOST_UNIT));
    if (file == CONTROL && offset + size > SECTOR)
        world_violation(s->world, "a request to the control file behind its sector");
}

static int64_t site_read(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    site *s = context;

    check_request(s, file, bytes, size, offset, offset == s->disk.files[file].cache_size);
    int64_t moved = disk_read(&s->disk, file, bytes, size, offset);
    if (moved < 0)
        has_failed(s, file, true, size, offset);
    return moved;
}

static int64_t site_write(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    site *s = context;

    check_request(s, file, bytes, size, offset, false);
    int64_t moved = disk_write(&s->disk, file, bytes, size, offset);
    if (moved < 0)
        has_failed(s, file, false, size, offset);
    else if (file == STORE)
        for (uint64_t p = offset / PAGE; (p + 1) * PAGE <= offset + (uint64_t)moved; p++)
            s->refused &= ~(UINT64_C(1) << p);
    return moved;
}

static int site_sync(void *context, int file)
{
    site *s = context;

    check_request(s, file, NULL, 0, 0, false);
    int done = disk_sync(&s->disk, file);
    if (file == STORE && s->refused != 0) {
        s->failed.store_write++;
        s->pages_failed |= s->refused;
        s->refused = 0;
    }
    if (done != 0) {
        has_failed(s, file, false, 0, 0);
        if (file == STORE)
            s->all_failed = true;
    }
    return done;
}

/* One of the next operations on one of the files is to fail, if the world has this fault. */
static void aim(site *s)
{
    world *w = s->world;
    int file = world_one_in(w, 2) ? SSD : (int)world_below(w, FILES);
    disk_kind kind = (disk_kind)(world_below(w, 4) % 3);

    if (w->rate[WORLD_READ_FAILS + (int)kind] != 0)
        disk_fail_after(&s->disk, file, kind,
                        1 + world_below(w, file == SSD && kind == DISK_READ ? 1 + s->options.slots : 4));
}

static int site_random(void *context, void *bytes, uint64_t size)
{
    site *s = context;

    check_request(s, CONTROL, NULL, 0, 0, false);
    s->randoms++;
    if (!s->disk.quiet && s->world->rate[WORLD_READ_FAILS] != 0 && world_one_in(s->world, 8)) {
        s->failed.random++;
        return -1;
    }
    for (uint64_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)world_random(s->world);
    return 0;
}

#endif
