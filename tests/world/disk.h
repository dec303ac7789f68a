/* SPDX-License-Identifier: PostgreSQL */
/*
 * Files with a kernel's cache over a medium. A read sees the cache. A write goes to the cache, and its sectors wait for the
 * medium. A sync brings what waits to the medium. A power loss lands any subset of what waits, each sector whole, older
 * versions of a sector among them, and drops the cache; a kill keeps the cache. A write in which the machine stops may have
 * come to the cache in part. When it has stopped, all operations fail and change nothing, until it is started again.
 */
#ifndef PGQUERN_TESTS_DISK_H
#define PGQUERN_TESTS_DISK_H

#include "../tests/world/world.h"

enum { DISK_FILES = 6 };

typedef struct disk_sector {
    uint64_t number;
    uint8_t *bytes;
} disk_sector;

typedef struct disk_file {
    uint8_t *medium, *cache; /* capacity bytes each */
    uint64_t medium_size, cache_size, capacity;
    disk_sector *waiting; /* in the order of the writes */
    size_t waits, room;
    uint8_t *spare;            /* memory of sectors, each with the next one's address */
    uint64_t bad_from, bad_to; /* bytes; no bad range if equal */
} disk_file;

/* Kinds of operations. */
typedef enum disk_kind { DISK_READ, DISK_WRITE, DISK_SYNC } disk_kind;

typedef struct disk {
    world *world;
    uint32_t sector; /* bytes: what lands whole or not at all */
    disk_file files[DISK_FILES];
    int n;
    bool quiet;          /* no faults while this is set, but bad ranges and the stop stay */
    bool whole_requests; /* no short reads and writes: the stem's calls move all or fail */
    bool uncounted;      /* the stem counts its operations itself: calls.h */
    uint32_t short_unit; /* a short write moves a multiple of these bytes; 0: any number */
    bool keeps_seen; /* reads give what was written last until the power is lost, also after a failed sync */
    bool stopped;
    bool was_short;                /* the last read or write moved fewer bytes, by a fault */
    uint64_t operations, stops_at; /* the machine stops in operation stops_at; 0: it does not */
    uint64_t full_until;           /* writes fail before this operation */
    struct disk_failure {
        int file;
        disk_kind kind;
        uint64_t in; /* operations of this kind; 0: none is to fail */
    } failure;
} disk;

/* Empty files of at most these capacities (multiples of the sector). */
void disk_make(disk *d, world *w, uint32_t sector, int n, const uint64_t capacities[]);
void disk_free(disk *d);

/* As pread, pwrite and fsync. -1: failed. A read at or behind the end gives 0. */
int64_t disk_read(disk *d, int file, void *bytes, uint64_t size, uint64_t offset);
int64_t disk_write(disk *d, int file, const void *bytes, uint64_t size, uint64_t offset);
int disk_sync(disk *d, int file);

/* The machine stops in the n-th operation from now, n > 0. */
void disk_stop_after(disk *d, uint64_t n);
/* The n-th operation of this kind on this file from now on fails, n > 0, in the manner of the world's faults. */
void disk_fail_after(disk *d, int file, disk_kind kind, uint64_t n);
/* Stops at once. */
void disk_stop(disk *d);
/* Starts again after a stop, with the cache (a kill) or without (a power loss). The stop is no longer armed. */
void disk_start(disk *d, bool cache_stays);

/* ---- files that come back as something else; nothing waits afterwards, and the medium is what is seen ---- */
typedef struct disk_copy {
    uint8_t *bytes;
    uint64_t size;
} disk_copy;

disk_copy disk_take_copy(const disk *d, int file); /* of what is seen; give it back to free_copy */
void disk_free_copy(disk_copy *copy);
void disk_put_copy(disk *d, int file, const disk_copy *copy);
void disk_truncate(disk *d, int file, uint64_t size); /* no longer than it is */
void disk_zero(disk *d, int file);                    /* all bytes; the size stays */
/* Makes a range bad until it is made empty again. */
void disk_make_bad(disk *d, int file, uint64_t from, uint64_t to);

#endif
