/* SPDX-License-Identifier: PostgreSQL */
#include "common/crc.h"

#include <string.h>

void pgq_crc_make(crc_table *table, uint32_t polynomial)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        table->of[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; k++)
        for (size_t byte = 0; byte < 256; byte++) {
            uint32_t before = table->of[k - 1][byte];

            table->of[k][byte] = before >> 8 ^ table->of[0][before & 0xff];
        }
}

uint32_t pgq_crc(const crc_table *table, const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    uint32_t crc = UINT32_MAX;

    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word, next = 0;

        memcpy(&word, p, sizeof word);
        word ^= crc;
        for (size_t k = 0; k < 8; k++)
            next ^= table->of[7 - k][word >> 8 * k & 0xff];
        crc = (uint32_t)next;
    }
    for (; size > 0; size--)
        crc = crc >> 8 ^ table->of[0][(crc ^ *p++) & 0xff];
    return ~crc;
}
