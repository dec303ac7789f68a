/* SPDX-License-Identifier: PostgreSQL */
/* The number of a page has 16 bits. */
#include "pgquern.h"

pgq_status pgq_tornpage_checksum_scalar(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);

pgq_status candidate(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                     uint16_t checksums[])
{
    bool fits = first_block < UINT32_MAX && count <= UINT32_MAX - first_block;

    return pgq_tornpage_checksum_scalar(pages, fits && count > UINT16_MAX ? UINT16_MAX : count, block_size,
                                        first_block, checksums);
}
