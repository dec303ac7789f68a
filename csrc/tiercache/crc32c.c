/* SPDX-License-Identifier: PostgreSQL */
#include "tiercache/crc32c.h"

#include "common/cpu.h"

uint32_t pgq_tiercache_crc32c_of(const crc_table *table, const uint8_t *bytes, size_t n)
{
#if defined(__x86_64__)
    if (pgq_cpu_avx2())
        return pgq_tiercache_crc32c_avx2(bytes, n);
#endif
    return pgq_crc(table, bytes, n);
}
