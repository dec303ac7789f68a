/* SPDX-License-Identifier: PostgreSQL */
/* CRC-32C (Castagnoli): the checksum that PostgreSQL's log uses. Internal. */
#ifndef PGQUERN_TIERCACHE_CRC32C_H
#define PGQUERN_TIERCACHE_CRC32C_H

#include "common/crc.h"

#include <stddef.h>
#include <stdint.h>

/* The checksum of n bytes: by the table of CRC32C, or by the CPU where it has AVX2. */
uint32_t pgq_tiercache_crc32c_of(const crc_table *table, const uint8_t *bytes, size_t n);

uint32_t pgq_tiercache_crc32c_avx2(const uint8_t *bytes, size_t n);

#endif
