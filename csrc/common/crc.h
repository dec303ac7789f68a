/* SPDX-License-Identifier: PostgreSQL */
/* CRCs of 32 bits, reflected, eight bytes a step, by tables that the caller keeps. Internal. */
#ifndef PGQUERN_COMMON_CRC_H
#define PGQUERN_COMMON_CRC_H

#include <stddef.h>
#include <stdint.h>

#define CRC32  0xEDB88320u /* the polynomial of zlib and Ethernet */
#define CRC32C 0x82F63B78u /* Castagnoli's, which PostgreSQL's log has */

/* of[k][b]: the CRC of the byte b and k zero bytes after it, without the final inversion. */
typedef struct crc_table {
    uint32_t of[8][256];
} crc_table;

void pgq_crc_make(crc_table *table, uint32_t polynomial);
uint32_t pgq_crc(const crc_table *table, const void *bytes, size_t size);

#endif
