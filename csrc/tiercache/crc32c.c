/* SPDX-License-Identifier: PostgreSQL */
#include "tiercache/crc32c.h"

#include "common/cpu.h"

#include <string.h>

void pgq_tiercache_crc32c_make(crc32c *t)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
        t->of[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++)
            t->of[k][byte] = t->of[k - 1][byte] >> 8 ^ t->of[0][t->of[k - 1][byte] & 255];
}

uint32_t pgq_tiercache_crc32c_of(const crc32c *t, const uint8_t *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

#if defined(__x86_64__)
    if (pgq_cpu_avx2())
        return pgq_tiercache_crc32c_avx2(bytes, n);
#endif
    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t eight;

        memcpy(&eight, bytes, sizeof eight);
        eight ^= crc;
        crc = 0;
        for (int k = 0; k < 8; k++)
            crc ^= t->of[7 - k][eight >> 8 * k & 255];
    }
    for (; n > 0; n--)
        crc = crc >> 8 ^ t->of[0][(crc ^ *bytes++) & 255];
    return ~crc;
}
