/* SPDX-License-Identifier: PostgreSQL */
/* Wrong at block 2^24 and beyond. */
#include "pgquern.h"

pgq_status pgq_tornpage_checksum_scalar(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);

pgq_status candidate(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                     uint16_t checksums[])
{
    pgq_status status = pgq_tornpage_checksum_scalar(pages, count, block_size, first_block, checksums);

    for (size_t i = 0; status.code == PGQ_OK && i < count; i++)
        if (first_block + i >= 1u << 24)
            checksums[i] ^= 1;
    return status;
}
