// SPDX-License-Identifier: PostgreSQL
//
// What the benchmarks share: values as tables have them, and the yardstick `limit`: a bare vector read of the bytes, as wide as
// the CPU and PGQUERN_CPU allow, in four chains.
#pragma once

#include <cstring>
#include <immintrin.h>

#include "harness.h"

namespace datfrozenxid
{
constexpr uint32_t LAST_SANE_YOUNG = 3000000000u; // the wrap lies 1.3e9 ids ahead
constexpr uint32_t LAST_SANE_WRAPPED = 1000000u;  // most values lie before the wrap
constexpr uint32_t OLDEST = 200000000u;           // the age at which autovacuum freezes a table

// Ids up to `OLDEST` old, in no order; of one table in eight the vacuum is recent.
inline uint32_t value(uint32_t last_sane, std::mt19937_64 &random)
{
    uint64_t bits = random();
    uint32_t x = last_sane - static_cast<uint32_t>((bits >> 8) % (bits % 8 == 0 ? 1000 : OLDEST));
    return std::max(x, 3u);
}

__attribute__((target("avx512f"))) inline void read_avx512(const uint32_t *values, size_t n)
{
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    size_t i = 0;
    for (; n - i >= 64; i += 64) {
        a = _mm512_or_si512(a, _mm512_loadu_si512(values + i));
        b = _mm512_or_si512(b, _mm512_loadu_si512(values + i + 16));
        c = _mm512_or_si512(c, _mm512_loadu_si512(values + i + 32));
        d = _mm512_or_si512(d, _mm512_loadu_si512(values + i + 48));
    }
    for (; n - i >= 16; i += 16)
        a = _mm512_or_si512(a, _mm512_loadu_si512(values + i));
    a = _mm512_or_si512(a, _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << (n - i)) - 1), values + i));
    a = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    __asm__ volatile("" : : "x"(a) : "memory");
}

__attribute__((target("avx2"))) inline void read_avx2(const uint32_t *values, size_t n)
{
    auto at = [values](size_t i) __attribute__((target("avx2"), always_inline))
    {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(values + i));
    };
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        a = _mm256_or_si256(a, at(i));
        b = _mm256_or_si256(b, at(i + 8));
        c = _mm256_or_si256(c, at(i + 16));
        d = _mm256_or_si256(d, at(i + 24));
    }
    for (; n - i >= 8; i += 8)
        a = _mm256_or_si256(a, at(i));
    uint32_t rest = 0;
    for (; i < n; i++)
        rest |= values[i];
    a = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    __asm__ volatile("" : : "x"(a), "r"(rest) : "memory");
}

inline void read_words(const uint32_t *values, size_t n)
{
    uint64_t all = 0, word;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        std::memcpy(&word, values + i, sizeof word);
        all |= word;
    }
    all |= i < n ? values[i] : 0;
    benchmark::DoNotOptimize(all);
}

using Read = void (*)(const uint32_t *values, size_t n);

// The widest read at the level in use.
inline Read widest_read()
{
    std::string level = pgq_cpu();
    return level == "none" ? read_words : level == "avx2" ? read_avx2 : read_avx512;
}
} // namespace datfrozenxid
