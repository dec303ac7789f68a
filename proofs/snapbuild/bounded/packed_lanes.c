/* SPDX-License-Identifier: PostgreSQL */
/* Packing four lanes by NEON's table: those that are kept, in their order, and zeros behind them. */
#include "bounded.h"
#include "common/left_pack_neon.h"

void proof(void)
{
    uint32_t lanes[4], packed[4], kept = nondet_u32(), n = 0;
    uint32x4_t x;

    assume(kept < 16);
    for (size_t i = 0; i < 4; i++)
        x[i] = lanes[i] = nondet_u32();
    vst1q_u32(packed, packed_lanes(x, kept));
    for (size_t i = 0; i < 4; i++)
        if (kept >> i & 1)
            claim(packed[n++] == lanes[i], "each lane that is kept is there, in its order");
    for (size_t i = 0; i < 4; i++)
        claim(i < n || packed[i] == 0, "behind them are zeros");
}
