/* SPDX-License-Identifier: PostgreSQL */
/*
 * A page cache in three tiers: pages of 8 KiB in memory, below it a fast SSD that may be lost, below that a slow durable
 * store that is written in blocks of 128 KiB. Source: the AppOS file stack's description of a page cache over cloud
 * storage; the eviction policy is S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache
 * eviction", SOSP 2023): a database's scans must not flush its hot pages, which SIEVE does not promise, and a hit should
 * move nothing, which CLOCK-Pro pays for with three hands and more state. One kind, `tiercache_policy`: the eviction
 * policies, on their own.
 */
#ifndef PGQUERN_TIERCACHE_H
#define PGQUERN_TIERCACHE_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Bytes of a page, and pages of a block. */
enum { PGQ_TIERCACHE_PAGE_SIZE = 8192, PGQ_TIERCACHE_BLOCK_PAGES = 16 };

/* ---- files ---- */

/* What a cache works on. What lies behind the end of any of them reads as zeros. */
typedef enum pgq_tiercache_file {
    PGQ_TIERCACHE_FILE_STORE = 0,   /* durable: page p at byte 8192 * p, nothing else */
    PGQ_TIERCACHE_FILE_SSD = 1,     /* fast; it may be lost as a whole at any time */
    PGQ_TIERCACHE_FILE_CONTROL = 2, /* durable: one sector of 512 bytes */
} pgq_tiercache_file;

/*
 * The file operations, in the manner of pread, pwrite and fsync. read and write return the bytes moved, which may be
 * fewer than asked for, 0 at the end of the file (read), or -1. sync returns 0 or -1. A write is durable once a later
 * sync of its file has returned 0; until then a crash may keep any of its sectors. All are called with the same
 * context, by the thread that called the cache. Several threads may read the store at once, also while one writes or syncs it.
 */
typedef struct pgq_tiercache_files {
    void *context;
    int64_t (*read)(void *context, int file, void *bytes, uint64_t size, uint64_t offset);
    int64_t (*write)(void *context, int file, const void *bytes, uint64_t size, uint64_t offset);
    int (*sync)(void *context, int file);
} pgq_tiercache_files;

/* The operations on three open file descriptors, by pgq_tiercache_file; fds must outlive the cache. */
pgq_tiercache_files pgq_tiercache_descriptors(int fds[3]);

/* ---- eviction policies ---- */

/*
 * Replays n references to pages in a cache of `frames` pages (1 to 2^28) that is empty at first, and counts those that
 * find their page there into *hits. Refused: PGQ_NULL if a pointer is NULL, PGQ_TIERCACHE_OPTIONS if frames is out of
 * range, PGQ_MEMORY; index is 0, and *hits stays. It allocates about 120 bytes a frame.
 */
typedef pgq_status (*pgq_tiercache_policy_fn)(const uint64_t pages[], size_t n, uint32_t frames,
                                              uint64_t *hits);

typedef struct pgq_tiercache_policy_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_tiercache_policy_fn fn;
} pgq_tiercache_policy_variant;

extern const pgq_tiercache_policy_variant pgq_tiercache_policy_variants[];
extern const size_t pgq_tiercache_policy_variant_count;

/* By the dispatched variant. */
pgq_status pgq_tiercache_policy(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits);

/* ---- the cache ---- */

typedef struct pgq_tiercache pgq_tiercache;

typedef struct pgq_tiercache_options {
    uint64_t pages;     /* of the store: a positive multiple of 16, below 2^40 */
    uint32_t frames;    /* pages in memory, at least 16 */
    uint32_t slots;     /* pages on the SSD; 0: there is no SSD */
    uint32_t batch;     /* blocks that a write-back gathers at once, each 128 KiB of memory */
    const char *policy; /* a variant of tiercache_policy; NULL: the dispatched one */
} pgq_tiercache_options;

/*
 * Opens a cache over files, which are copied, and mounts its SSD: slots whose checksum and versions are right are used
 * again, all else is discarded. *cache is for pgq_tiercache_close. All memory is allocated here. An SSD that cannot be
 * read or written is left aside. Refused, with index 0: PGQ_NULL; PGQ_TIERCACHE_OPTIONS; PGQ_VARIANT if there is no such
 * policy; PGQ_MEMORY; PGQ_TIERCACHE_CONTROL.
 */
pgq_status pgq_tiercache_open(const pgq_tiercache_files *files, const pgq_tiercache_options *options,
                              pgq_tiercache **cache);

/* Frees the memory. Nothing is written: what was not synced is as after a crash. NULL is allowed. */
void pgq_tiercache_close(pgq_tiercache *cache);

/*
 * The calls below may be made by several threads at once; each is refused with PGQ_NULL or PGQ_TIERCACHE_PAGE, and
 * index 0. If a call fails, the cache stays usable.
 *
 * read: copies the newest contents of a page, 8192 bytes. Fails with PGQ_TIERCACHE_READ, or with PGQ_TIERCACHE_LOST:
 * what was written since the last fsync stood on the SSD alone, and cannot be read. *contents is then undefined.
 *
 * write: replaces the contents of a page. Fails with PGQ_TIERCACHE_WRITE_BACK if there is no room: every page that could
 * make room is dirty and cannot be written. Then the page keeps its contents.
 *
 * write_back: writes what is dirty in a block of 16 pages to the durable store, and syncs the store. Fails with
 * PGQ_TIERCACHE_WRITE_BACK: the pages stay dirty, and the next fsync gives the error too.
 *
 * fsync: makes durable all that was written before the call. PGQ_OK: no crash loses it, not even one that loses the
 * SSD. It fails with PGQ_TIERCACHE_WRITE_BACK if that did not succeed, or if a write-back has failed since the last
 * fsync, be it one that only made room. What is still dirty is tried again by the next fsync.
 *
 * A read of the SSD, an eviction to it, or a read of several pages of a scan holds the cache's lock until the device answers.
 * A single page is read from the store without it, and the store is written and synced without it.
 *
 * After a crash each page holds what it held at the last successful fsync, or what was written later; each sector of a
 * page by itself, since the store may tear a page that was being written.
 */
pgq_status pgq_tiercache_read(pgq_tiercache *cache, uint64_t page, void *contents);
pgq_status pgq_tiercache_write(pgq_tiercache *cache, uint64_t page, const void *contents);
pgq_status pgq_tiercache_write_back(pgq_tiercache *cache, uint64_t block);
pgq_status pgq_tiercache_fsync(pgq_tiercache *cache);

/* Where a page is: bits, 0 if the store alone has it. A page is dirty while the store may have older contents. */
enum {
    PGQ_TIERCACHE_IN_MEMORY = 1,
    PGQ_TIERCACHE_MEMORY_DIRTY = 2,
    PGQ_TIERCACHE_ON_SSD = 4,
    PGQ_TIERCACHE_SSD_DIRTY = 8
};
uint32_t pgq_tiercache_where(pgq_tiercache *cache, uint64_t page);

/* Reads by the tier that answered, and whether the SSD is in use. */
typedef struct pgq_tiercache_counts {
    uint64_t memory_hits, ssd_hits, store_reads;
    bool ssd_in_use;
} pgq_tiercache_counts;
pgq_tiercache_counts pgq_tiercache_count(pgq_tiercache *cache);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
