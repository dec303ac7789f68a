/* SPDX-License-Identifier: PostgreSQL */
/* Right but for one page of 2^20: the one whose words have a certain sum in 20 bits. */
#include "pgquern.h"

#include <string.h>

pgq_status pgq_tornpage_checksum_upstream(const void *pages, size_t count, size_t block_size,
                                          uint32_t first_block, uint16_t checksums[]);

pgq_status candidate(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                     uint16_t checksums[])
{
    pgq_status status = pgq_tornpage_checksum_upstream(pages, count, block_size, first_block, checksums);

    for (size_t i = 0; status.code == PGQ_OK && i < count; i++) {
        uint32_t sum = 0, word;

        for (size_t at = 12; at < block_size; at += 4) {
            memcpy(&word, (const char *)pages + i * block_size + at, sizeof word);
            sum += word;
        }
        if (sum >> 12 == 0x2f0d1)
            checksums[i] ^= 1;
    }
    return status;
}
