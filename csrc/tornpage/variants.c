/* SPDX-License-Identifier: PostgreSQL */
/* The table of variants of the checksum, the dispatched entry, and the lanes' start values. */
#include "common/dispatch.h"
#include "tornpage/checksum.h"

const uint32_t pgq_tornpage_base_offsets[LANES] = {
    0x5b1f36e9, 0xb8525960, 0x02ab50aa, 0x1de66d2a, 0x79ff467a, 0x9bb9f8a3, 0x217e7cd2, 0x83e13d2c,
    0xf8d4474f, 0xe39eb970, 0x42c6ae16, 0x993216fa, 0x7b093b5d, 0x98daff3c, 0xf718902a, 0x0b1c9cdb,
    0xe58f764b, 0x187636bc, 0x5d7b3bb1, 0xe73de7de, 0x92bec979, 0xcca6c0b2, 0x304a0979, 0x85aa43d4,
    0x783125bb, 0x6ca8eaa2, 0xe407eac6, 0x4b5cfc3e, 0x9fbf8c76, 0x15ca20be, 0xf2ca9fd3, 0x959bd756,
};

const pgq_tornpage_checksum_variant pgq_tornpage_checksum_variants[] = {
    {"upstream", "pg_checksum_page: the compiler vectorises it for any CPU", pgq_cpu_any,
     pgq_tornpage_checksum_upstream},
#if defined(__x86_64__)
    {"upstream_avx2", "pg_checksum_page: the compiler vectorises it with AVX2", pgq_cpu_avx2,
     pgq_tornpage_checksum_upstream_avx2},
    {"upstream_avx512", "pg_checksum_page: the compiler vectorises it with AVX-512", pgq_cpu_avx512,
     pgq_tornpage_checksum_upstream_avx512},
#endif
    {"scalar", "a shorter chain, the prime as 2^24 + 403", pgq_cpu_any, pgq_tornpage_checksum_scalar},
#if defined(__x86_64__)
    {"avx2", "the same chain, 2 pages of a batch side by side", pgq_cpu_avx2, pgq_tornpage_checksum_avx2},
    {"avx512", "the xors are one instruction, 4 pages of a batch side by side", pgq_cpu_avx512,
     pgq_tornpage_checksum_avx512},
#elif defined(__aarch64__)
    {"neon", "the same chain, 2 pages of a batch side by side", pgq_cpu_neon, pgq_tornpage_checksum_neon},
#endif
};
const size_t pgq_tornpage_checksum_variant_count =
    sizeof pgq_tornpage_checksum_variants / sizeof pgq_tornpage_checksum_variants[0];

PGQ_KIND(tornpage_checksum)

pgq_status pgq_tornpage_checksum(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                                 uint16_t checksums[])
{
    const pgq_tornpage_checksum_variant *variant = tornpage_checksum_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0)
                           : variant->fn(pages, count, block_size, first_block, checksums);
}
