// SPDX-License-Identifier: PostgreSQL
//
// What no way to compact a page can avoid, as two yardsticks:
//   limit       each tuple's new lp_off and the new pd_upper are stored (no checks, no list of tuples, unused line pointers left
//               alone), and the bytes that must move are moved as one piece: one memmove if presorted, else two memcpy.
//   moves-only  the same moves; the line pointers are only read.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <vector>

#include "pages.h"

namespace limit
{
constexpr size_t HEADER = 24, PD_UPPER = 14;
constexpr uint32_t LP_OFF_MASK = 0x7fff, LP_FLAGS = 3 << 15, LP_LEN_ONE = 1 << 17;

inline size_t maxalign(size_t len)
{
    return (len + 7) & ~size_t{7};
}

inline uint32_t line_pointer(const uint8_t *page, size_t item)
{
    uint32_t word;
    std::memcpy(&word, page + HEADER + 4 * item, 4);
    return word;
}

inline uint16_t pd_upper(const uint8_t *page)
{
    uint16_t upper;
    std::memcpy(&upper, page + PD_UPPER, 2);
    return upper;
}

// Bytes of the n line pointers' tuples that are not yet where PostgreSQL 14 puts them.
inline uint16_t bytes_to_move(const uint8_t *page, size_t n)
{
    size_t upper = PAGE_SIZE, moved = 0;
    bool in_place = true;
    for (size_t item = 0; item < n; item++) {
        uint32_t word = line_pointer(page, item);
        if (word < LP_LEN_ONE)
            continue;
        size_t len = maxalign(word >> 17);
        upper -= len;
        in_place = in_place && (word & LP_OFF_MASK) == upper;
        moved += in_place ? 0 : len;
    }
    return static_cast<uint16_t>(moved);
}

// Stores each tuple's new lp_off in its line pointer; returns the new pd_upper.
inline uint32_t new_offsets(uint8_t *page, size_t n)
{
    uint32_t upper = PAGE_SIZE;
    for (size_t item = 0; item < n; item++) {
        uint32_t word = line_pointer(page, item);
        if ((word & LP_FLAGS) == 0 || word < LP_LEN_ONE)
            continue;
        upper -= static_cast<uint32_t>(maxalign(word >> 17));
        word = (word & ~LP_OFF_MASK) | upper;
        std::memcpy(page + HEADER + 4 * item, &word, 4);
    }
    return upper;
}

__attribute__((target("avx2"))) inline uint32_t new_offsets_avx2(uint8_t *page, size_t n)
{
    const __m256i zero = _mm256_setzero_si256(), last = _mm256_set1_epi32(7);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i upper = _mm256_set1_epi32(PAGE_SIZE);
    for (size_t item = 0; item < n; item += 8) {
        auto *at = reinterpret_cast<__m256i *>(page + HEADER + 4 * item);
        __m256i words = _mm256_loadu_si256(at), len = _mm256_srli_epi32(words, 17);
        __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n - item)), lanes);
        __m256i unused = _mm256_cmpeq_epi32(_mm256_and_si256(words, _mm256_set1_epi32(LP_FLAGS)), zero);
        __m256i empty = _mm256_or_si256(unused, _mm256_cmpeq_epi32(len, zero));
        __m256i stored = _mm256_andnot_si256(empty, there);
        __m256i sums = _mm256_and_si256(_mm256_add_epi32(len, last), _mm256_set1_epi32(~7));
        sums = _mm256_and_si256(sums, stored);
        sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 4));
        sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 8));
        __m256i low = _mm256_shuffle_epi32(_mm256_permute2x128_si256(sums, sums, 0x08), 0xff);
        __m256i offs = _mm256_sub_epi32(upper, _mm256_add_epi32(sums, low));
        upper = _mm256_permutevar8x32_epi32(offs, last);
        __m256i moved = _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(LP_OFF_MASK), words), offs);
        _mm256_storeu_si256(at, _mm256_blendv_epi8(words, moved, stored));
    }
    return static_cast<uint32_t>(_mm256_cvtsi256_si32(upper));
}

__attribute__((target("avx512f,avx512bw"))) inline uint32_t new_offsets_avx512(uint8_t *page, size_t n)
{
    constexpr __mmask16 ALL = 0xffff; // the forms without a mask draw warnings from gcc 12's own header
    const __m512i zero = _mm512_setzero_si512(), off_mask = _mm512_set1_epi32(LP_OFF_MASK);
    __m512i upper = _mm512_set1_epi32(PAGE_SIZE);
    for (size_t item = 0; item < n; item += 16) {
        uint8_t *at = page + HEADER + 4 * item;
        auto there = static_cast<__mmask16>(n - item < 16 ? (1u << (n - item)) - 1 : 0xffff);
        __m512i words = _mm512_loadu_si512(at);
        __mmask16 stored = _mm512_mask_test_epi32_mask(there, words, _mm512_set1_epi32(LP_FLAGS));
        stored = _mm512_mask_cmpge_epu32_mask(stored, words, _mm512_set1_epi32(LP_LEN_ONE));
        __m512i sums =
            _mm512_maskz_add_epi32(stored, _mm512_maskz_srli_epi32(ALL, words, 17), _mm512_set1_epi32(7));
        sums = _mm512_and_si512(sums, _mm512_set1_epi32(~7));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 15));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 14));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 12));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 8));
        __m512i offs = _mm512_sub_epi32(upper, sums);
        upper = _mm512_maskz_permutexvar_epi32(ALL, _mm512_set1_epi32(15), offs);
        _mm512_storeu_si512(at, _mm512_mask_ternarylogic_epi32(words, stored, offs, off_mask, 0xd8));
    }
    return static_cast<uint32_t>(_mm512_cvtsi512_si32(upper));
}

inline void move_in_one_piece(uint8_t *page, size_t upper, size_t bytes, bool random)
{
    static uint8_t scratch[PAGE_SIZE];
    if (random) {
        std::memcpy(scratch, page + upper, bytes);
        benchmark::ClobberMemory();
        std::memcpy(page + PAGE_SIZE - bytes, scratch, bytes);
    } else
        std::memmove(page + PAGE_SIZE - bytes, page + upper, bytes);
}

using Scan = uint32_t (*)(uint8_t *page, size_t n);

// The scans that this CPU can run, the fastest one last.
inline std::vector<Scan> scans()
{
    std::vector<Scan> found = {new_offsets};
    if (__builtin_cpu_supports("avx2"))
        found.push_back(new_offsets_avx2);
    if (__builtin_cpu_supports("avx512bw"))
        found.push_back(new_offsets_avx512);
    return found;
}

// The yardstick `limit`.
inline void scan_and_move(uint8_t *page, size_t bytes, const page_shape &shape)
{
    static const Scan scan = scans().back();
    uint16_t upper = pd_upper(page);
    auto new_upper = static_cast<uint16_t>(scan(page, static_cast<size_t>(shape.n)));
    std::memcpy(page + PD_UPPER, &new_upper, 2);
    move_in_one_piece(page, upper, bytes, shape.random);
}

// The yardstick `moves-only`.
inline void move_only(uint8_t *page, size_t bytes, const page_shape &shape)
{
    uint32_t sum = 0;
    for (size_t item = 0; item < static_cast<size_t>(shape.n); item++)
        sum += line_pointer(page, item);
    benchmark::DoNotOptimize(sum);
    move_in_one_piece(page, pd_upper(page), bytes, shape.random);
}
} // namespace limit
