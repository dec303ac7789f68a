/* SPDX-License-Identifier: PostgreSQL */
/* CRC-32 (the polynomial of zlib and Ethernet, reflected), eight bytes a step. Internal. */
#ifndef PGQUERN_TORNPAGE_CRC_H
#define PGQUERN_TORNPAGE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* of[k][b]: the CRC of the byte b and k zero bytes after it, without the final inversion. */
typedef struct crc_table {
    uint32_t of[8][256];
} crc_table;

void pgq_tornpage_crc_init(crc_table *table);
uint32_t pgq_tornpage_crc(const crc_table *table, const void *bytes, size_t size);

#endif
