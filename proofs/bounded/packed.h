/* SPDX-License-Identifier: PostgreSQL */
/* What an entry of pgq_left_pack is, for proofs to which the table is too large; the proof `left_pack` is about the table. */
#ifndef PGQUERN_BOUNDED_PACKED_H
#define PGQUERN_BOUNDED_PACKED_H

#include <stdint.h>

/* The numbers of the bits set in m, one a byte, from the lowest on. */
static inline uint64_t packed(uint32_t m)
{
    uint64_t entry = 0;
    unsigned n = 0;

    for (unsigned bit = 0; bit < 8; bit++)
        if (m >> bit & 1)
            entry |= (uint64_t)bit << 8 * n++;
    return entry;
}

#endif
