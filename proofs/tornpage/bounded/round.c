/* SPDX-License-Identifier: PostgreSQL */
/* Our round of a lane's sum is upstream's: that of CHECKSUM_COMP, with the next word's xor taken into it. */
#include "bounded.h"
#include "tornpage/scalar.c"

void proof(void)
{
    uint32_t mixed = nondet_u32(), word = nondet_u32(), folded = nondet_u32(), block = nondet_u32();
    uint32_t sum = mixed * 16777619u ^ mixed >> 17;

    claim(next(mixed, word) == (sum ^ word), "a round is upstream's, whatever the sum and the word");
    claim(finish(folded, block) == (folded ^ block) % 65535 + 1, "the end is upstream's");
}
