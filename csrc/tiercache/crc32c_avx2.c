/* SPDX-License-Identifier: PostgreSQL */
/* By the CPU's own instruction, which every CPU with AVX2 has: it is of SSE 4.2. */
#include "tiercache/crc32c.h"

#if defined(__AVX2__)
#include <nmmintrin.h>
#include <string.h>

static inline uint64_t step(uint64_t crc, const uint8_t *bytes)
{
    uint64_t eight;

    memcpy(&eight, bytes, sizeof eight);
    return _mm_crc32_u64(crc, eight);
}

uint32_t pgq_tiercache_crc32c_avx2(const uint8_t *bytes, size_t n)
{
    uint64_t crc = UINT32_MAX;

    for (; n >= 64; n -= 64)
        for (int k = 0; k < 8; k++, bytes += 8)
            crc = step(crc, bytes);
    for (; n >= 8; n -= 8, bytes += 8)
        crc = step(crc, bytes);
    for (; n > 0; n--)
        crc = _mm_crc32_u8((uint32_t)crc, *bytes++);
    return ~(uint32_t)crc;
}
#endif
