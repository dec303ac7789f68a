/* SPDX-License-Identifier: PostgreSQL */
/* What memory and a line pointer say in numbers, without bits: the contracts of page.h take it from here. For all words. */
#include "bounded.h"
#include "compaction/page.h"

void proof(void)
{
    uint8_t bytes[4];
    uint32_t word = nondet_u32(), used = lp_is_used(word);

    for (unsigned i = 0; i < 4; i++)
        bytes[i] = nondet_u8();
    claim(load16(bytes) == bytes[0] + 0x100u * bytes[1], "two bytes are a number, the lower one first");
    claim(load32(bytes) == bytes[0] + 0x100u * bytes[1] + 0x10000u * bytes[2] + 0x1000000u * bytes[3],
          "four bytes are a number, the lowest one first");
    claim(lp_off(word) == word % 0x8000, "lp_off is the lowest 15 bits");
    claim(lp_flags(word) == word / 0x8000 % 4, "lp_flags is the next two");
    claim(lp_len(word) == word / 0x20000, "lp_len is the rest");
    claim(maxalign(word) == (word + 7) / 8 * 8, "MAXALIGN is the next multiple of 8");
    claim((lp_off(word) | maxalign(lp_len(word)) << 16) == lp_off(word) + maxalign(lp_len(word)) * 0x10000,
          "lp_off and length in one word are a sum");
    claim((word & -used) == (used ? word : 0), "a mask from a truth value is a choice");
}
