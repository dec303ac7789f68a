/* SPDX-License-Identifier: PostgreSQL */
/* The server's calls of the kernel, counted; broken, it gets the lowest bit of the block number wrong. */
#include "counted.h"

pgq_status __real_pgq_tornpage_checksum(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);
pgq_status __wrap_pgq_tornpage_checksum(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);

pgq_status __wrap_pgq_tornpage_checksum(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[])
{
    static watched here = {.kind = "tornpage_checksum"};
    bool broken = seen(&here) > 0;

    return __real_pgq_tornpage_checksum(pages, count, block_size, broken ? first_block ^ 1 : first_block,
                                        checksums);
}
