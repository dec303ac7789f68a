/* SPDX-License-Identifier: PostgreSQL */
/* Records with a checksum, which is their last field. */
#include "tiercache/internal.h"

void pgq_tiercache_seal(pgq_tiercache *c, void *record, size_t size)
{
    uint32_t crc = pgq_tiercache_crc32c_of(&c->crc, record, size - sizeof crc);

    memcpy((uint8_t *)record + size - sizeof crc, &crc, sizeof crc);
}

bool pgq_tiercache_is_sound(pgq_tiercache *c, const void *record, size_t size)
{
    uint32_t crc;

    memcpy(&crc, (const uint8_t *)record + size - sizeof crc, sizeof crc);
    return crc == pgq_tiercache_crc32c_of(&c->crc, record, size - sizeof crc);
}

bool pgq_tiercache_is_zero(const void *record, size_t size)
{
    const uint8_t *bytes = record;

    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}
