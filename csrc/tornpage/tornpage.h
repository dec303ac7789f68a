/* SPDX-License-Identifier: PostgreSQL */
/*
 * Torn pages: PostgreSQL's page checksum, as the kind `tornpage_checksum`; the check of a relation's pages; and a store of
 * pages that survives a crash which leaves any subset of a page's sectors.
 */
#ifndef PGQUERN_TORNPAGE_H
#define PGQUERN_TORNPAGE_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * Writes pg_checksum_page of each of `count` pages to checksums[0 .. count). The pages lie one after the other, each of
 * block_size bytes, at any address; the first one is block first_block of its relation. What stands in a page's
 * pd_checksum does not count, and no page is changed. Little-endian machines only, as PostgreSQL's own checksums differ
 * between byte orders.
 *
 * block_size: 1024, 2048, 4096, 8192, 16384 or 32768, otherwise PGQ_TORNPAGE_BLOCK_SIZE. first_block + count <= 2^32 - 1,
 * otherwise PGQ_TORNPAGE_BLOCK_NUMBER. PGQ_NULL if count > 0 and a pointer is NULL. A refusal has index 0 and writes
 * nothing. With count 0 nothing is read or written.
 *
 * Upstream: src/include/storage/checksum_impl.h, pg_checksum_block, pg_checksum_page, CHECKSUM_COMP;
 * src/include/storage/checksum_block_internal.h, pg_checksum_block, CHECKSUM_COMP. PostgreSQL 9.3 to 18.
 */
typedef pgq_status (*pgq_tornpage_checksum_fn)(const void *pages, size_t count, size_t block_size,
                                               uint32_t first_block, uint16_t checksums[]);

typedef struct pgq_tornpage_checksum_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_tornpage_checksum_fn fn;
} pgq_tornpage_checksum_variant;

extern const pgq_tornpage_checksum_variant pgq_tornpage_checksum_variants[];
extern const size_t pgq_tornpage_checksum_variant_count;

/* By the dispatched variant. */
pgq_status pgq_tornpage_checksum(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                                 uint16_t checksums[]);

/* What PageIsVerified says of a page, in a cluster with data checksums. */
typedef enum pgq_tornpage_verdict {
    PGQ_TORNPAGE_SOUND = 0,
    PGQ_TORNPAGE_NEW = 1,      /* all bytes are zero: the relation was extended, and the page never written */
    PGQ_TORNPAGE_CHECKSUM = 2, /* pd_checksum is not the checksum */
    PGQ_TORNPAGE_HEADER =
        3, /* the checksum is right and the header is not; or pd_upper is 0, other bytes are not */
} pgq_tornpage_verdict;

/*
 * Judges the pages, which are given as for the checksum, by the dispatched variant. verdicts[i] becomes the
 * pgq_tornpage_verdict of page i. The status is PGQ_OK if all are sound or new; otherwise PGQ_TORNPAGE_WRONG_PAGE, and
 * index is 1 + the number of the first wrong page (2^32 - 1 pages at most, so that it fits). With verdicts NULL the check ends at
 * the first wrong page. Refused as the checksum is, and with PGQ_VARIANT; verdicts then stay as they were.
 *
 * Upstream: src/backend/storage/page/bufpage.c, PageIsVerified, PageIsVerifiedExtended. With checksums enabled; 13
 * has the first.
 */
pgq_status pgq_tornpage_check(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                              uint8_t verdicts[]);

/* ---- the store ---- */

/*
 * What is promised. A change is covered once pgq_tornpage_flush, pgq_tornpage_checkpoint_end or pgq_tornpage_recover
 * has returned PGQ_OK after it. With PGQ_TORNPAGE_IMAGES, _DOUBLE_WRITE and _ATOMIC, whatever happens of the faults
 * below, in whatever order and number, also in a format or a recovery:
 *
 *  - A recovery that returns PGQ_OK finds the pages as some first changes have left them, in their order, all that were
 *    covered among them. What it found is covered then, and the changes that it did not find never come back.
 *  - A recovery returns PGQ_OK, or PGQ_TORNPAGE_IO because a file operation failed in it; then it may be repeated. This
 *    holds from the first format that returned PGQ_OK, until the next format begins.
 *
 * With PGQ_TORNPAGE_NONE the same, but a recovery may also refuse with PGQ_TORNPAGE_WRONG_PAGE; and of 65,535 torn
 * pages one is not seen.
 *
 * The faults:
 *
 *  - The process ends anywhere, and the machine goes on. The write that it was in lands wholly, in part, or not at all.
 *    Files then read as they were written.
 *  - The power fails anywhere. Each sector by itself then holds what was durable, or any content that it has had since.
 *    A sector has 512 bytes or a multiple of them, is aligned, and is never a mixture of two contents.
 *  - A read fails.
 *  - A write fails. It lands wholly, in part (any of its bytes), or not at all.
 *  - A sync fails. Each sector that it was for becomes durable, or stays as if no sync had been called, or is
 *    forgotten: it is never made durable any more, though it is read as it was written, until from some moment on it is
 *    read as what is durable. This is what Linux does: it marks the pages clean. The same may happen unseen to what an
 *    earlier process has written.
 *
 * So recovery needs no restart of the machine after a failed sync: it writes again all that it relies on, before it
 * syncs.
 *
 * With PGQ_TORNPAGE_ATOMIC a block of the data file, at a multiple of block_size, is a sector in all that was said,
 * also where a write lands in part.
 *
 * What is not promised: anything about bytes that something else has changed, beside these cases. Each store has a
 * random number, drawn by format, which is in its control file, its log, its area and each of its pages. Any one file
 * may be lost (it reads as zeros or as garbage), or exchanged for that of another store of the same shape, or of the
 * same files before the last format: recovery then returns PGQ_OK with a state as promised above, or refuses:
 *
 *  - without its control file, with PGQ_TORNPAGE_NO_STORE; with another one's, with PGQ_TORNPAGE_OTHER_LOG;
 *  - without its log, or with another one's, with PGQ_TORNPAGE_OTHER_LOG;
 *  - without its data file, or with another one's, with PGQ_TORNPAGE_WRONG_PAGE, unless log or area have every page
 *    whole;
 *  - without its area, or with another one's, with PGQ_TORNPAGE_WRONG_PAGE if a page is torn, and never otherwise.
 *
 * A data file that was cut, and reads as zeros from there on, is as one that was lost from there on. Older copies of
 * this store's own files, and a log that was cut or changed after its checkpoint's record, are not always noticed. The
 * random number has 32 bits in records and pages, and a CRC has 32: what they tell apart, they tell apart but for one
 * case in 2^32.
 */

typedef enum pgq_tornpage_file {
    PGQ_TORNPAGE_DATA = 0, /* the pages, in their places */
    PGQ_TORNPAGE_LOG = 1,  /* a ring of log_capacity bytes */
    PGQ_TORNPAGE_AREA = 2, /* the double-write area: 4096 bytes that list its pages, then the pages */
    PGQ_TORNPAGE_CONTROL =
        3, /* two sectors of 4096 bytes, of which the one with the higher generation counts */
} pgq_tornpage_file;

typedef enum pgq_tornpage_protection {
    PGQ_TORNPAGE_NONE = 0,   /* a torn page can only be detected, and one of 65,535 is not */
    PGQ_TORNPAGE_IMAGES = 1, /* full_page_writes: the first change after a checkpoint's start logs the page */
    PGQ_TORNPAGE_DOUBLE_WRITE = 2, /* a page is durable in the area before it is written in place */
    PGQ_TORNPAGE_ATOMIC = 3,       /* the device writes an aligned block whole or not at all */
} pgq_tornpage_protection;

/*
 * File operations; each returns 0, or anything else if it failed. A write may become durable at any time, sector by
 * sector, in any order. A sync that returns 0 has made durable all that this process has written to the file, and that
 * was written after the last sync of the file that failed; of other writes it need say nothing. Read gives what was
 * written last, but see above for a sync that failed; what was never written may have any value. All bytes of a call
 * are read or written, at positions in bytes. The sizes of the files: pages * block_size, log_capacity, 4096 + slots *
 * block_size, 8192.
 */
typedef struct pgq_tornpage_device {
    void *context;
    int (*read)(void *context, int file, uint64_t at, void *bytes, size_t size);
    int (*write)(void *context, int file, uint64_t at, const void *bytes, size_t size);
    int (*sync)(void *context, int file);
} pgq_tornpage_device;

/* What does not change in a store's life. */
typedef struct pgq_tornpage_config {
    int protection;        /* a pgq_tornpage_protection */
    uint32_t block_size;   /* bytes, as for the checksum */
    uint32_t pages;        /* 1 to 2^32 - 2 */
    uint32_t slots;        /* pages of the double-write area, 1 to 255 */
    uint64_t log_capacity; /* bytes, a multiple of 8, at least 2 * (block_size + 32), below 2^63 */
} pgq_tornpage_config;

/* Holds all pages and the log in memory; one thread at a time. */
typedef struct pgq_tornpage_store pgq_tornpage_store;

/*
 * Makes a store that is not open yet, in memory; no file is touched. Allocates; PGQ_MEMORY, PGQ_NULL (also if the device lacks
 * a call), PGQ_TORNPAGE_CONFIG, PGQ_TORNPAGE_BLOCK_SIZE. A refusal leaves *store as it was.
 */
pgq_status pgq_tornpage_create(const pgq_tornpage_config *config, const pgq_tornpage_device *device,
                               pgq_tornpage_store **store);

/* Frees the memory; writes nothing. NULL is allowed. */
void pgq_tornpage_destroy(pgq_tornpage_store *store);

/*
 * Makes the files of a new store, all pages empty (bytes from 24 on are zero), and opens it; what the files held is
 * gone. All of it is durable when this returns PGQ_OK. Refused with PGQ_TORNPAGE_IO if an operation failed, or the
 * system gave no random number. If it fails or is interrupted, a recovery finds the store that the files held before,
 * as that was; or the new one, empty; or refuses with PGQ_TORNPAGE_NO_STORE. Which of them may change after each fault,
 * until a recovery or a format has returned PGQ_OK.
 */
pgq_status pgq_tornpage_format(pgq_tornpage_store *store);

/*
 * Opens what a fault, or an orderly end, has left, as promised above. What the store had in memory is dropped. It may
 * be interrupted, and repeated. It refuses, and the store is not open then, with
 *  - PGQ_TORNPAGE_IO: an operation failed.
 *  - PGQ_TORNPAGE_NO_STORE: the files hold no store, or one whose format has not ended.
 *  - PGQ_TORNPAGE_SHAPE: the store was made with another pgq_tornpage_config.
 *  - PGQ_TORNPAGE_OTHER_LOG: the log lacks the record with which the last checkpoint begins.
 *  - PGQ_TORNPAGE_WRONG_PAGE, with index 1 + page: the first page that is torn, or another store's, and that neither
 *    log nor area gives back.
 *  - PGQ_TORNPAGE_AHEAD, with index 1 + page: the first page that is newer than the end of the log.
 *
 * It is the first of them that holds, in this order; PGQ_TORNPAGE_IO when it happens. All but PGQ_TORNPAGE_IO have
 * written nothing.
 */
pgq_status pgq_tornpage_recover(pgq_tornpage_store *store);

/*
 * The calls below refuse a store that is not open: with PGQ_TORNPAGE_IO if an operation has failed since the last
 * format or recovery began, now or earlier, and with PGQ_TORNPAGE_NO_STORE otherwise. After PGQ_TORNPAGE_IO only
 * format, recover and destroy do anything: what is durable is unknown. A refusal with another code has changed nothing.
 */

/*
 * Replaces bytes [offset, offset + size) of a page; 24 <= offset < offset + size <= block_size, otherwise
 * PGQ_TORNPAGE_RANGE. PGQ_TORNPAGE_LOG_FULL: begin and end a checkpoint, and repeat it. The change is in memory only. PGQ_NULL.
 */
pgq_status pgq_tornpage_change(pgq_tornpage_store *store, uint32_t page, uint32_t offset, const void *bytes,
                               uint32_t size);

/*
 * The page in memory, block_size bytes, until the next call; NULL if there is no such page or the store is not open.
 * Its first 24 bytes are PostgreSQL's header: the position in the log, a checksum that is right only in the file, and
 * in pd_prune_xid the store's number.
 */
const void *pgq_tornpage_page(const pgq_tornpage_store *store, uint32_t page);

/* Makes all changes durable. */
pgq_status pgq_tornpage_flush(pgq_tornpage_store *store);

/*
 * Writes those of the pages that have changed to their places, by the protection, and before that the log. A page may
 * be named more than once. PGQ_TORNPAGE_RANGE with index 1 + the first position in pages[] that has no such page:
 * nothing is written. PGQ_NULL if count > 0 and pages is NULL.
 */
pgq_status pgq_tornpage_write_back(pgq_tornpage_store *store, const uint32_t pages[], size_t count);

/*
 * A checkpoint: begin takes the point where replay will begin; end writes back what was changed before it, and makes
 * the changes before it and after it durable. Between them all other calls are allowed, also begin, which then takes a
 * later point; end without begin keeps the last one's.
 */
pgq_status pgq_tornpage_checkpoint_begin(pgq_tornpage_store *store);
pgq_status pgq_tornpage_checkpoint_end(pgq_tornpage_store *store);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
