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
 * Upstream: src/include/storage/checksum_impl.h, pg_checksum_block and pg_checksum_page, PostgreSQL 9.3 to 18.
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
 * Upstream: src/backend/storage/page/bufpage.c, PageIsVerified (13: without Extended), with checksums enabled.
 */
pgq_status pgq_tornpage_check(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                              uint8_t verdicts[]);

/* ---- the store ---- */

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
 * sector, in any order; it is durable once a sync of its file that began later has returned. Read gives what was written
 * last; what was never written may have any value. All bytes of a call are read or written, at positions in bytes.
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
    uint32_t pages;        /* at least 1 */
    uint32_t slots;        /* pages of the double-write area, 1 to 255 */
    uint64_t log_capacity; /* bytes, a multiple of 8, at least 2 * (block_size + 32) */
} pgq_tornpage_config;

/* Holds all pages and the log in memory; one thread at a time. */
typedef struct pgq_tornpage_store pgq_tornpage_store;

/* Makes a store that is not open yet. Allocates; PGQ_MEMORY, PGQ_NULL, PGQ_TORNPAGE_CONFIG, PGQ_TORNPAGE_BLOCK_SIZE. */
pgq_status pgq_tornpage_create(const pgq_tornpage_config *config, const pgq_tornpage_device *device,
                               pgq_tornpage_store **store);

/* Frees the memory; writes nothing. NULL is allowed. */
void pgq_tornpage_destroy(pgq_tornpage_store *store);

/* Makes the files of a new store, all pages empty, and opens it. All of it is durable when this returns. */
pgq_status pgq_tornpage_format(pgq_tornpage_store *store);

/*
 * Opens what a crash, or an orderly end, has left: of the changes made before, some first ones in their order, at least
 * those that a flush made durable. It may crash itself, and be repeated. PGQ_TORNPAGE_WRONG_PAGE with index 1 + page: a page
 * is torn, and the protection cannot restore it; the store is not open then, and its files are as before but for pages
 * restored from the area. PGQ_TORNPAGE_AHEAD, with the same index: the log is damaged. PGQ_TORNPAGE_NO_STORE: the files hold none.
 */
pgq_status pgq_tornpage_recover(pgq_tornpage_store *store);

/*
 * Replaces bytes [offset, offset + size) of a page; 24 <= offset < offset + size <= block_size, otherwise
 * PGQ_TORNPAGE_RANGE. PGQ_TORNPAGE_LOG_FULL: nothing has changed. The change is in memory only.
 */
pgq_status pgq_tornpage_change(pgq_tornpage_store *store, uint32_t page, uint32_t offset, const void *bytes,
                               uint32_t size);

/* The page in memory, block_size bytes, until the next call; NULL if there is no such page or the store is not open. */
const void *pgq_tornpage_page(const pgq_tornpage_store *store, uint32_t page);

/* Makes all changes durable. */
pgq_status pgq_tornpage_flush(pgq_tornpage_store *store);

/* Writes those of the pages that have changed to their places, by the protection, and before that the log. */
pgq_status pgq_tornpage_write_back(pgq_tornpage_store *store, const uint32_t pages[], size_t count);

/* A checkpoint: begin takes the point where replay will begin; end writes back what was changed before it. Between them all
 * other calls are allowed. */
pgq_status pgq_tornpage_checkpoint_begin(pgq_tornpage_store *store);
pgq_status pgq_tornpage_checkpoint_end(pgq_tornpage_store *store);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
