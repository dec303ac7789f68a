/* SPDX-License-Identifier: PostgreSQL */
/*
 * Upstream's sums in another grouping. Between two rows a lane keeps m = sum ^ word instead of its sum, and the next one
 * is (m * prime) ^ ((m >> 17) ^ word): the shift and one xor do not wait for the multiplication. The prime is 2^24 + 403.
 * Without a vector multiplication (SSE2 has none of 32 bits) a compiler adds shifted values, and so it adds fewer.
 */
#include "tornpage/checksum.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "unroll-loops")
#endif

static inline uint32_t next(uint32_t mixed, uint32_t word)
{
    return (mixed * (FNV_PRIME - (1u << 24)) + (mixed << 24)) ^ (mixed >> 17 ^ word);
}

static inline uint32_t fold_scalar(const uint8_t *page, size_t rows)
{
    uint32_t mixed[LANES], folded = 0;

    memcpy(mixed, page, sizeof mixed);
    mixed[CHECKSUM_WORD] &= BESIDE_CHECKSUM;
    for (size_t lane = 0; lane < LANES; lane++)
        mixed[lane] ^= pgq_tornpage_base_offsets[lane];
    for (size_t row = 1; row < rows; row++) {
        const page_word *words = (const page_word *)(page + row * ROW);

        for (size_t lane = 0; lane < LANES; lane++)
            mixed[lane] = next(mixed[lane], words[lane]);
    }
    /* The last row's own round, and those of zeroes. */
    for (size_t round = 0; round < 1 + ZERO_ROUNDS; round++)
        for (size_t lane = 0; lane < LANES; lane++)
            mixed[lane] = next(mixed[lane], 0);
    for (size_t lane = 0; lane < LANES; lane++)
        folded ^= mixed[lane];
    return folded;
}

DEFINE_CHECKSUM(scalar, fold_scalar, no_groups)
