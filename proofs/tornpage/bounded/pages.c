/* SPDX-License-Identifier: PostgreSQL */
/*
 * Each page's checksum is that of pg_checksum_block, row by row. What a round does to a sum, and the last step, may be any
 * functions here: the proof `round` has them, for all words. So only the order of the words matters.
 */
#include "bounded.h"

uint32_t __CPROVER_uninterpreted_spread(uint32_t mixed);
uint16_t __CPROVER_uninterpreted_last(uint32_t folded);

#include SOURCE

#ifndef SPREAD
#define SPREAD(lane, mixed) __CPROVER_uninterpreted_spread(mixed)
#endif

static uint16_t checksum_of(const uint8_t *page, uint32_t block)
{
    uint8_t zeroed[SIZE];
    uint32_t words[SIZE / 4], sums[LANES], folded = 0;

    memcpy(zeroed, page, SIZE);
    zeroed[8] = zeroed[9] = 0; /* pd_checksum */
    memcpy(words, zeroed, SIZE);
    for (size_t lane = 0; lane < LANES; lane++) {
        sums[lane] = pgq_tornpage_base_offsets[lane];
        for (size_t row = 0; row < SIZE / ROW; row++)
            sums[lane] = SPREAD(lane, sums[lane] ^ words[row * LANES + lane]);
        sums[lane] = SPREAD(lane, sums[lane]);
        sums[lane] = SPREAD(lane, sums[lane]);
        folded ^= sums[lane];
    }
    return __CPROVER_uninterpreted_last(folded ^ block);
}

void proof(void)
{
    uint8_t pages[COUNT * SIZE], before[COUNT * SIZE];
    uint16_t checksums[COUNT + 1], was = nondet_u16();
    uint32_t first = nondet_u32();
    pgq_status status;

    for (size_t i = 0; i < sizeof pages; i++)
        before[i] = pages[i] = nondet_u8();
    checksums[COUNT] = was;
    status = CHECKSUM(pages, COUNT, SIZE, first, checksums);

    claim((status.code == PGQ_OK) == (first <= UINT32_MAX - COUNT), "it is refused if and only if there is no such block");
    for (size_t i = 0; i < COUNT; i++)
        claim(status.code != PGQ_OK || checksums[i] == checksum_of(before + i * SIZE, first + (uint32_t)i),
              "each page has its checksum");
    claim(checksums[COUNT] == was, "nothing else is written");
    for (size_t i = 0; i < sizeof pages; i++)
        claim(pages[i] == before[i], "the pages stay as they were");
}
