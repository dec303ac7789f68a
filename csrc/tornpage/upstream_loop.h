/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's loop (src/include/storage/checksum_impl.h, pg_checksum_block, PostgreSQL 9.3 to 18): a sum for each of the 32
 * columns, row by row, left to the compiler to vectorise. Each file that includes this compiles it for its own level of
 * the CPU. What differs: the size of a block is not a constant, the page needs no alignment, and its pd_checksum is
 * masked instead of zeroed for a moment.
 */
#include "tornpage/checksum.h"

/* The two flags that upstream's Makefile adds for this loop. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "unroll-loops")
#endif

static inline void mix_row(uint32_t sums[LANES], const page_word words[LANES])
{
    for (size_t lane = 0; lane < LANES; lane++) {
        uint32_t mixed = sums[lane] ^ words[lane];

        sums[lane] = mixed * FNV_PRIME ^ mixed >> 17;
    }
}

static inline uint32_t upstream_fold(const uint8_t *page, size_t rows)
{
    static const page_word zero[LANES];
    page_word first[LANES];
    uint32_t sums[LANES], folded = 0;

    memcpy(sums, pgq_tornpage_base_offsets, sizeof sums);
    memcpy(first, page, sizeof first);
    first[CHECKSUM_WORD] &= BESIDE_CHECKSUM;
    mix_row(sums, first);
    for (size_t row = 1; row < rows; row++)
        mix_row(sums, (const page_word *)(page + row * ROW));
    for (size_t round = 0; round < ZERO_ROUNDS; round++)
        mix_row(sums, zero);
    for (size_t lane = 0; lane < LANES; lane++)
        folded ^= sums[lane];
    return folded;
}
