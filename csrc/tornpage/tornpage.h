/* SPDX-License-Identifier: PostgreSQL */
/* Torn pages: PostgreSQL's page checksum, as the kind `tornpage_checksum`, and the check of a relation's pages. */
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

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
