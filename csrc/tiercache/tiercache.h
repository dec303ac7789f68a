/* SPDX-License-Identifier: PostgreSQL */
/*
 * A page cache in three tiers: pages of 8 KiB in memory, below it a fast SSD that may be lost, below that a slow durable
 * store that is written in blocks of 128 KiB. Source: the AppOS file stack's description of a page cache over cloud
 * storage. The eviction policy is W-TinyLFU with a window that adapts (Einziger, Eytan, Friedman, Manes: "Adaptive Software
 * Cache Management", Middleware 2018; tinylfu.c says what is other): what stays is what was asked for often, so that scans
 * pass, the window takes what comes in bursts, and other pages may become the hot ones. `lru` is the plain one. S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO
 * queues are all you need for cache eviction", SOSP 2023), where a hit moves nothing, stands beside it. `make bench ONLY=policies`
 * shows how far each is from the best, by trace and size.
 *
 * A page that leaves memory enters the SSD if the write to it is likely to pay. A clean one enters if it was asked for twice: both
 * times in memory, or again after it had left: it is on the SSD, or among the last pages that have left after one touch, of which
 * as many are remembered as the SSD has slots. A write asks for a page, too. One that was asked for once enters while a slot is
 * free, and while at least two in five of such pages came back: of the last full quarter of what is remembered. What is read ahead
 * of a scan was not asked for until the scan comes to it. A dirty page always enters: nobody waits for the store then. Which pages enter
 * changes no contents.
 *
 * One kind, `tiercache_policy`: the eviction policies, on their own.
 */
#ifndef PGQUERN_TIERCACHE_H
#define PGQUERN_TIERCACHE_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * Bytes of a page, pages of a block, and the pages that the store has behind the caller's. Constants: they are part of the format
 * of the store and of the SSD.
 */
enum { PGQ_TIERCACHE_PAGE_SIZE = 8192, PGQ_TIERCACHE_BLOCK_PAGES = 16, PGQ_TIERCACHE_TRAILERS = 3 };

/* ---- files ---- */

/* What a cache works on. What lies behind the end of any of them reads as zeros. */
typedef enum pgq_tiercache_file {
    /* durable: page p at byte 8192 * p; behind the last page PGQ_TIERCACHE_TRAILERS more, the cache's own, which name it */
    PGQ_TIERCACHE_FILE_STORE = 0,
    /* fast; it may be lost as a whole at any time: slot s is ssd_block + 8192 bytes from 4096 + (ssd_block + 8192) * s on */
    PGQ_TIERCACHE_FILE_SSD = 1,
    PGQ_TIERCACHE_FILE_CONTROL = 2, /* durable: one sector of 512 bytes */
} pgq_tiercache_file;

/*
 * The file operations, in the manner of pread, pwrite and fsync. read and write return the bytes moved, which may be
 * fewer than asked for, 0 at the end of the file (read), or -1. sync returns 0 or -1. random fills bytes with random
 * numbers that nobody can guess or repeat, and returns 0 or -1; NULL: the system's. open calls it once, nothing else does.
 * All are called with the same context, by the thread that called the cache. Several threads may read the store at once,
 * also while one writes or syncs it. Several may read and write the SSD at once: each slot by one writer, and by nobody else meanwhile.
 *
 * The files may be opened with O_DIRECT, which wants sizes, places and memory at multiples of the device's logical block. The bytes of
 * all requests stand in memory at a multiple of 4096, and the requests are:
 * - to the store, whole pages: multiples of 8192 bytes at multiples of 8192;
 * - to the SSD, multiples of ssd_block bytes at multiples of ssd_block: 4096 serves each device;
 * - to the control file, its one sector: 512 bytes at 0. On a device of larger blocks that is opened without O_DIRECT.
 * What is left of a request that moved fewer bytes is the next request: it begins where that one ended, in the file and in memory. So
 * it keeps to the blocks of a file that moves whole blocks. At the end of a file a read must give what is there, and then 0.
 *
 * What they may do, and the cache still keeps its promises below:
 * - A sector of 512 bytes is written whole or not at all, so a short write moves a multiple of 512; a larger write may leave
 *   any of its sectors.
 * - A write that fails may have written any of its sectors, and these may become durable.
 * - What was written, and not synced, may or may not be there after a power loss, sector by sector. Until then reads give
 *   what was written last.
 * - A sync that fails makes any of the sectors durable that were written before. The others may become so later, or never,
 *   though reads give them, and though the next sync returns 0: Linux calls the pages clean after a failed fsync. (That it
 *   then drops them from its cache, and reads give older contents without a power loss, is not among these.)
 * - What a sync that returned 0 has covered is durable, except what an earlier, failed sync has covered.
 * - Store and control keep what is durable. Reads of them may fail, now and then or always.
 * - The SSD may fail any request, and give bytes that its checksums find wrong. Between two opens any of its
 *   sectors may be damaged; it may be empty, another store's, or, as a whole, as it was at any one earlier moment (but see
 *   below). Nothing tells a single slot that is older than the rest: an SSD that drops some of the writes that a sync has
 *   covered, and keeps others, may bring old contents back.
 */
typedef struct pgq_tiercache_files {
    void *context;
    int64_t (*read)(void *context, int file, void *bytes, uint64_t size, uint64_t offset);
    int64_t (*write)(void *context, int file, const void *bytes, uint64_t size, uint64_t offset);
    int (*sync)(void *context, int file);
    int (*random)(void *context, void *bytes, uint64_t size);
} pgq_tiercache_files;

/* The operations on three open file descriptors, by pgq_tiercache_file; fds must outlive the cache. */
pgq_tiercache_files pgq_tiercache_descriptors(int fds[3]);

/* ---- eviction policies ---- */

/*
 * Replays n references to pages in a cache of `frames` pages (1 to 2^28) that is empty at first, and counts those that
 * find their page there into *hits. Refused: PGQ_NULL if a pointer is NULL, PGQ_TIERCACHE_OPTIONS if frames is out of
 * range, PGQ_MEMORY; index is 0, and *hits stays. It allocates 130 to 230 bytes a frame.
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
    uint32_t batch;     /* blocks that a write-back gathers at once, up to 512, each 128 KiB of memory */
    const char *policy; /* a variant of tiercache_policy; NULL: the dispatched one */
    uint32_t
        ssd_block; /* the unit of reads and writes of the SSD: 512 (0: the same) or 4096; a slot has 8.5 or 12 KiB */
    bool write_through; /* who calls write has written the page to the store before: no page is ever dirty */
} pgq_tiercache_options;

/*
 * Opens a cache over files, which are copied, and mounts its SSD: slots whose checksum and versions are right are used
 * again, all else is discarded. *cache is for pgq_tiercache_close. Store, control file and SSD
 * belong together by a random id, control file and SSD by a random number of each open. One cache at a time may be open over
 * them; this is not checked.
 *
 * What it reads and writes: the control file's sector; the store's trailers (24 KiB); the blocks that a write-back before a crash
 * may have left unsure are read and written again (all blocks, if there were too many to be listed), and the store is synced. Of the
 * SSD one block; and, if it is this store's, of its last mount, each slot whole: 8.5 or 12 KiB times `slots`, one after another.
 *
 * All memory is allocated here. With the default policy that is about 240 bytes for each slot, whether it is in use or not, 8.4 KB for each
 * frame, and 128 KiB for each block of `batch`.
 *
 * A control file of zeros, or an empty one, is a new one: the store gets an id, unless it has one, and what is on the SSD
 * is not used. The pages of a store without an id are taken as they are. To put an older copy of a store in its place,
 * empty the control file, too.
 *
 * An SSD that is not of the last successful open of this store, or with write_through on either side, counts as empty: another store's, one of other slots or ssd_block, an
 * older copy, a new one. One that cannot be read or written is left aside until the next open. pgq_tiercache_count says
 * which.
 *
 * Refused, with index 0, and *cache stays: PGQ_NULL (also for read, write or sync); PGQ_TIERCACHE_OPTIONS; PGQ_VARIANT if there
 * is no such policy; PGQ_MEMORY; PGQ_TIERCACHE_RANDOM if random failed; PGQ_TIERCACHE_CONTROL if the control file cannot be
 * read or written, has a damaged record, or is of another number of pages; PGQ_TIERCACHE_STORE if the store is not the control file's: it was
 * truncated so far that none of its trailers is left, or exchanged, or there are other bytes in the place of its id; PGQ_TIERCACHE_READ if the place of its id cannot
 * be read; PGQ_TIERCACHE_WRITE_BACK if the store cannot be written or synced, or what a
 * failed sync may have dropped cannot be read again. After a refusal open may be called again.
 */
pgq_status pgq_tiercache_open(const pgq_tiercache_files *files, const pgq_tiercache_options *options,
                              pgq_tiercache **cache);

/*
 * Frees the memory. No other call on the cache may be under way or come later: end the threads that clean, read or write first.
 * Nothing is written or synced: what no fsync has covered is as after a crash, so call fsync before if it must stay. The files stay
 * open; they are the caller's. NULL is allowed.
 */
void pgq_tiercache_close(pgq_tiercache *cache);

/*
 * The calls below may be made by several threads at once; each is refused with PGQ_NULL or PGQ_TIERCACHE_PAGE, and
 * index 0; then no output is touched. If a call fails, the cache stays usable.
 *
 * read: copies the newest contents of a page, 8192 bytes. Fails with PGQ_TIERCACHE_READ, or with PGQ_TIERCACHE_LOST:
 * what was written since the last fsync stood on the SSD alone, and cannot be read. *contents is then undefined.
 *
 * write: replaces the contents of a page. Fails with PGQ_TIERCACHE_WRITE_BACK if there is no room: every page that could
 * make room is dirty, and this call has tried to write it back, and failed: the store failed, or neither the SSD nor the
 * control file, which must say that the SSD is given up, could be written. Then the page keeps its contents. While another
 * page can make room, a page whose last write-back has failed is not tried again.
 *
 * With write_through the store gives the new contents before write is called, and no read or write of that page runs between: then write does
 * not fail for want of room, and a page whose contents do not come to memory is read from the store. What is durable is the
 * caller's affair, and the next open, whatever its options, counts the SSD as OLD.
 *
 * write_back: writes what is dirty in a block of 16 pages to the durable store, and syncs the store. Fails with
 * PGQ_TIERCACHE_WRITE_BACK: what was not written, or not synced, stays dirty, and the next fsync gives the error too.
 *
 * Each write-back writes neighbouring pages by one request. If that fails, each dirty page of it is a request: so only those that the
 * store does not take alone stay dirty (pgq_tiercache_failed), and a store that takes nothing costs 17 writes a block at most.
 *
 * fsync: makes durable all that was written before the call. It fails with PGQ_TIERCACHE_WRITE_BACK if that did not
 * succeed, or if a write-back has failed since the last fsync, be it one that only made room. What is still dirty is tried
 * again by the next fsync.
 *
 * clean: makes room before it is needed, so that a read or write finds a free frame and does not wait for the SSD, or for a
 * write-back. Threads of the caller's call it in a loop, beside the other calls; the cache has none of its own.
 *
 * - `frames`: so many are to be free from the first call on (0 to half of the cache's). With fewer than before, and with 0, which
 *   ends it, what is to leave already still leaves. Refused: PGQ_TIERCACHE_OPTIONS if it is out of range.
 * - `steps`: a call makes so many at most. In a step a page leaves; or one write to the SSD is made, or one write-back of a batch; or
 *   reads of a page that is to leave end their copies; or, before a write-back, an fsync begins that has waited. So an fsync has one
 *   batch of each cleaner at most to wait for. That the SSD cannot take a page is no step: the rest of the call does without
 *   the SSD, and what is dirty is written back.
 * - `*pages_left`: how many pages are to leave still. If it is not 0, call again at once; otherwise sleep, for less time than it takes
 *   to use `frames` frames up.
 * - Which page leaves: whenever a page is to come, the policy says which one is to leave in its place. That one leaves in the next call of
 *   clean, in the way in which it would have left; or it stays, if it is used before, and a frame less is free until the next page
 *   comes. If none is free then, and none is to leave, the policy chooses anew in the next call.
 * - Of the eight pages that are to leave first, clean takes one that is to be written, to the SSD or the store. Reads and writes take one that
 *   is not, if there is one. Where too few frames are free they make room themselves, as without a cleaner; a read in a sequential
 *   scan needs up to 16.
 * - Failure: PGQ_TIERCACHE_WRITE_BACK if `frames` is not 0, no frame is free, and no page can leave: all are dirty, and could not be
 *   written back when it was tried last; *pages_left is 0. It does not try them again: a write that needs room, an fsync or a
 *   write_back does. So a loop of calls makes no requests to a store that fails. A page that cannot be written back, while
 *   others leave, does not make it fail: it stays, and the next fsync gives the error.
 * - Its cost in hits: what a cache of `frames` fewer frames loses. With LRU this is so for each reference that is not read ahead: such a
 *   cache has no page that this one lacks. With the other policies it was so within half a point of hits, on six traces.
 * - PostgreSQL's background writer does it otherwise: it writes dirty buffers ahead, as many as were needed of late,
 *   bgwriter_lru_maxpages a round at most, and lets all pages stay. Upstream: src/backend/storage/buffer/bufmgr.c, BgBufferSync.
 *
 * No lock that other reads or writes need is held while a file is read, written or synced. A read of a page that is in memory takes
 * none: the policy hears of it later, before it is asked next. A write to that page waits until it is copied, and so does a call that
 * takes its frame to make room; meanwhile other reads of the page copy it under the lock of the maps. A thread that needs a page which
 * another thread is reading waits for that thread alone, if the page comes to memory; if that read fails, each tries by itself. A
 * page on its way to the SSD is read and written in memory. write_back and fsync wait for each other. A read or write waits for
 * them only if it needs room, and only a write-back makes it.
 *
 * What holds after a crash. A crash is a kill of the process (what was written stays where it is, synced or not), a power
 * loss (what was not synced may be lost, sector by sector), or a close without an fsync; there may be several in a row, with
 * or without a successful open between them, each with an SSD as said above.
 *
 * - Once an open succeeds, each sector of each page holds what it held at the last fsync that returned PGQ_OK, or what was
 *   written later. Sectors differ, since the store may tear a page that was being written.
 * - What such an open has left is the pages' contents from then on, as if it had been written: reads give it until the
 *   page is written again or a crash comes, and the next fsync that returns PGQ_OK makes it durable.
 * - After an fsync that returned PGQ_OK, no read gives PGQ_TIERCACHE_LOST of a page that was not written since, until the cache
 *   is opened again. A slot of the SSD that was dirty before the fsync still says so then. If it cannot be read, nobody knows
 *   whether the store has the page: PGQ_TIERCACHE_LOST. The store has it, and an open without slots reads it there.
 *
 * Not promised: if a power loss comes in the middle of a write-back, and then the SSD is, at the open, as it was at an earlier
 * moment since the write-back before (a copy of it was put back), old contents may come back. An older copy of the same
 * mount is detected by its epoch, which stands in the store, too, and becomes durable with the pages. To detect this copy as well,
 * each write-back that takes something off the SSD would have to sync the store once more, before it writes the pages.
 */
pgq_status pgq_tiercache_read(pgq_tiercache *cache, uint64_t page, void *contents);
pgq_status pgq_tiercache_write(pgq_tiercache *cache, uint64_t page, const void *contents);
pgq_status pgq_tiercache_write_back(pgq_tiercache *cache, uint64_t block);
pgq_status pgq_tiercache_fsync(pgq_tiercache *cache);
pgq_status pgq_tiercache_clean(pgq_tiercache *cache, uint32_t frames, uint32_t steps, uint32_t *pages_left);

/* Where a page is: bits, 0 if the store alone has it. A page is dirty while the store may have older contents. */
enum {
    PGQ_TIERCACHE_IN_MEMORY = 1,
    PGQ_TIERCACHE_MEMORY_DIRTY = 2,
    PGQ_TIERCACHE_ON_SSD = 4,
    PGQ_TIERCACHE_SSD_DIRTY = 8
};
uint32_t pgq_tiercache_where(pgq_tiercache *cache, uint64_t page);

/* Why a write-back has left a page dirty. */
typedef enum pgq_tiercache_failure {
    PGQ_TIERCACHE_FAILED_NONE = 0,
    PGQ_TIERCACHE_FAILED_STUCK = 1, /* it could not be written or synced */
    PGQ_TIERCACHE_FAILED_LOST = 2,  /* it stood on the SSD alone, and could not be read there */
} pgq_tiercache_failure;

/*
 * The first page from one on that is dirty since its last write-back failed, and the reason. NONE: there is none, or a pointer is NULL;
 * then *page stays. Who asks from 0 on, and then from *page + 1 on, sees all, in order. No file is read or written.
 *
 * After an fsync that failed these are all that it has left dirty, but for pages that were on their way to the SSD. A page is one of
 * them until a write-back has written and synced it; a lost one, until it is written again; and each, until a write that finds no other
 * room brings all of them back, to try them again.
 */
pgq_tiercache_failure pgq_tiercache_failed(pgq_tiercache *cache, uint64_t from, uint64_t *page);

/* What open found in the SSD's place. */
typedef enum pgq_tiercache_ssd_found {
    PGQ_TIERCACHE_SSD_NONE = 0,    /* no slots were asked for */
    PGQ_TIERCACHE_SSD_EMPTY = 1,   /* nothing of this library's, or it is damaged */
    PGQ_TIERCACHE_SSD_FOREIGN = 2, /* another store's, or one of other options; it counts as empty */
    PGQ_TIERCACHE_SSD_OLD = 3,     /* this store's, but not of its last mount; it counts as empty */
    PGQ_TIERCACHE_SSD_OURS = 4,    /* its slots are used again */
    PGQ_TIERCACHE_SSD_FAILED = 5,  /* it cannot be read or written */
} pgq_tiercache_ssd_found;

/* Reads by the tier that answered, since open; whether the SSD is in use now; what open found. */
typedef struct pgq_tiercache_counts {
    uint64_t memory_hits, ssd_hits, store_reads;
    uint64_t ssd_taken_over; /* pages that open found on the SSD, and uses again */
    bool ssd_in_use;
    pgq_tiercache_ssd_found ssd_found;
} pgq_tiercache_counts;
pgq_tiercache_counts pgq_tiercache_count(pgq_tiercache *cache);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
