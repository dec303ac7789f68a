/* SPDX-License-Identifier: PostgreSQL */
/* It sets pd_checksum to zero in the page, as upstream does, and puts it back. */
#include "pgquern.h"

#include <string.h>

pgq_status pgq_tornpage_checksum_scalar(const void *pages, size_t count, size_t block_size,
                                        uint32_t first_block, uint16_t checksums[]);

pgq_status candidate(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                     uint16_t checksums[])
{
    static const uint16_t zero;
    pgq_status status = pgq_tornpage_checksum_scalar(pages, count, block_size, first_block, checksums);

    for (size_t i = 0; status.code == PGQ_OK && i < count; i++) {
        char *at = (char *)pages + i * block_size + 8;
        uint16_t was;

        memcpy(&was, at, sizeof was);
        memcpy(at, &zero, sizeof zero);
        status = pgq_tornpage_checksum_scalar((char *)pages + i * block_size, 1, block_size,
                                              first_block + (uint32_t)i, checksums + i);
        memcpy(at, &was, sizeof was);
    }
    return status;
}
