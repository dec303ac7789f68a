/* SPDX-License-Identifier: PostgreSQL */
/* The table behind left_pack(): the proofs of kernels that use it have packed() in its place. */
#include "bounded.h"
#include "packed.h"

extern const uint64_t pgq_left_pack[256];

void proof(void)
{
    uint8_t m = nondet_u8();

    claim(pgq_left_pack[m] == packed(m), "an entry lists the bits set in its number, one a byte");
}
