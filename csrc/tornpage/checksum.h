/* SPDX-License-Identifier: PostgreSQL */
/* What the variants of the checksum share. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_TORNPAGE_CHECKSUM_H
#define PGQUERN_TORNPAGE_CHECKSUM_H

#include "common/outcome.h"
#include "tornpage/tornpage.h"

#include <string.h>

enum { LANES = 32, ROW = 4 * LANES, ZERO_ROUNDS = 2 };

#define FNV_PRIME 16777619u
/* The word of the first row that holds pd_checksum in its lower half; that half counts as zero. */
#define CHECKSUM_WORD   2
#define BESIDE_CHECKSUM 0xffff0000u

/* Where each lane's sum starts: checksumBaseOffsets. */
extern const uint32_t pgq_tornpage_base_offsets[LANES];

pgq_status pgq_tornpage_checksum_upstream(const void *pages, size_t count, size_t block_size,
                                          uint32_t first_block, uint16_t checksums[]);
pgq_status pgq_tornpage_checksum_upstream_avx2(const void *pages, size_t count, size_t block_size,
                                               uint32_t first_block, uint16_t checksums[]);
pgq_status pgq_tornpage_checksum_upstream_avx512(const void *pages, size_t count, size_t block_size,
                                                 uint32_t first_block, uint16_t checksums[]);
pgq_status pgq_tornpage_checksum_scalar(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);
pgq_status pgq_tornpage_checksum_avx2(const void *pages, size_t count, size_t block_size,
                                      uint32_t first_block, uint16_t checksums[]);
pgq_status pgq_tornpage_checksum_neon(const void *pages, size_t count, size_t block_size,
                                      uint32_t first_block, uint16_t checksums[]);
pgq_status pgq_tornpage_checksum_avx512(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);

/* PGQ_OK, or why the call is refused. */
static inline pgq_code pages_fault(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                                   const void *result)
{
    if (block_size < 1024 || block_size > 32768 || (block_size & (block_size - 1)) != 0)
        return PGQ_TORNPAGE_BLOCK_SIZE;
    if (count > UINT32_MAX - (size_t)first_block)
        return PGQ_TORNPAGE_BLOCK_NUMBER;
    return count > 0 && (pages == NULL || result == NULL) ? PGQ_NULL : PGQ_OK;
}

/* A word of a page at any address. */
typedef uint32_t __attribute__((may_alias, aligned(1))) page_word;

/* From the xor of a page's sums to its checksum, which is never 0. */
static inline uint16_t finish(uint32_t folded, uint32_t block)
{
    return (uint16_t)((folded ^ block) % 65535 + 1);
}

/* How many of the first pages are done in groups, side by side: none. */
static inline size_t no_groups(const uint8_t *pages, size_t count, size_t block_size, uint32_t first_block,
                               uint16_t checksums[])
{
    (void)pages, (void)count, (void)block_size, (void)first_block, (void)checksums;
    return 0;
}

/*
 * The variant NAME, from FOLD(page, rows): the xor of the 32 sums of a page of `rows` rows; and from GROUPS, which does the
 * first pages and returns how many, as no_groups does.
 */
#define DEFINE_CHECKSUM(NAME, FOLD, GROUPS)                                                                  \
    pgq_status pgq_tornpage_checksum_##NAME(const void *pages, size_t count, size_t block_size,              \
                                            uint32_t first_block, uint16_t checksums[])                      \
    {                                                                                                        \
        pgq_code fault = pages_fault(pages, count, block_size, first_block, checksums);                      \
        const uint8_t *page = pages;                                                                         \
                                                                                                             \
        if (fault != PGQ_OK)                                                                                 \
            return refused(fault, 0);                                                                        \
        for (size_t i = GROUPS(page, count, block_size, first_block, checksums); i < count; i++)             \
            checksums[i] = finish(FOLD(page + i * block_size, block_size / ROW), first_block + (uint32_t)i); \
        return accepted();                                                                                   \
    }

#endif
