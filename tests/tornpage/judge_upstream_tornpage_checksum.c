/* SPDX-License-Identifier: PostgreSQL */
/* pg_checksum_page of a tree of PostgreSQL's, as a kernel: upstream.h is what was cut out of it. */
#include "tornpage/checksum.h"

#include <assert.h>
#include <string.h>

#define BLCKSZ                               8192
#define Assert(holds)                        assert(holds)
#define PageIsNew(page)                      false
#define checksumBaseOffsets                  pgq_tornpage_base_offsets
#define pg_attribute_no_sanitize_alignment() __attribute__((no_sanitize("alignment")))

typedef uint8_t uint8;
typedef uint16_t uint16;
typedef uint32_t uint32;
typedef uint32 BlockNumber;
typedef char *Page;
typedef struct PageHeaderData {
    uint32 pd_lsn[2];
    uint16 pd_checksum, pd_flags, pd_lower, pd_upper, pd_special, pd_pagesize_version;
    uint32 pd_prune_xid;
} PageHeaderData;
typedef PageHeaderData *PageHeader;

#include "upstream.h"

/* Upstream has one size of a block, and its pages are aligned; what else the contract has, ours answers. */
pgq_status candidate(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                     uint16_t checksums[])
{
    _Alignas(64) char copy[BLCKSZ];

    if (block_size != BLCKSZ || pages == NULL || checksums == NULL ||
        count > UINT32_MAX - (uint64_t)first_block)
        return pgq_tornpage_checksum_scalar(pages, count, block_size, first_block, checksums);
    for (size_t i = 0; i < count; i++) {
        memcpy(copy, (const char *)pages + i * BLCKSZ, BLCKSZ);
        checksums[i] = pg_checksum_page(copy, first_block + (uint32_t)i);
    }
    return (pgq_status){PGQ_OK, 0};
}
