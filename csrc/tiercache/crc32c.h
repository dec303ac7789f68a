/* SPDX-License-Identifier: PostgreSQL */
/* CRC-32C (Castagnoli), eight bytes a step: the checksum that PostgreSQL's log uses. Internal. */
#ifndef PGQUERN_TIERCACHE_CRC32C_H
#define PGQUERN_TIERCACHE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

typedef struct crc32c {
    uint32_t of[8][256]; /* the effect of a byte that 0 to 7 bytes follow */
} crc32c;

void pgq_tiercache_crc32c_make(crc32c *tables);

/* The checksum of n bytes: by the tables, or by the CPU where it has AVX2. */
uint32_t pgq_tiercache_crc32c_of(const crc32c *tables, const uint8_t *bytes, size_t n);

uint32_t pgq_tiercache_crc32c_avx2(const uint8_t *bytes, size_t n);

#endif
