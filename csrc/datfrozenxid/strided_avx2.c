/* SPDX-License-Identifier: PostgreSQL */
/*
 * Four rows a step: relfrozenxid and relminmxid of a row lie side by side, so one vector holds both of four rows, XIDs in the even
 * lanes and MultiXactIds in the odd ones. A table says which kinds of rows count; the ids of the others become invalid.
 */
#include "datfrozenxid/kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>

/* Both ids of a row; 0 if its kind holds none. */
ALWAYS_INLINE long long ids_at(const pgq_datfrozenxid_rows *rows, const unsigned char *row)
{
    long long ids;

    memcpy(&ids, row + rows->relfrozenxid_at, sizeof ids);
    return ids & holds_ids[row[rows->relkind_at]];
}

ALWAYS_INLINE __m256i older(__m256i greatest, __m256i x, __m256i last_sane, __m256i first)
{
    __m256i normal = _mm256_cmpeq_epi32(_mm256_max_epu32(x, first), x);

    return _mm256_max_epu32(greatest, _mm256_sub_epi32(_mm256_and_si256(normal, last_sane), x));
}

ALWAYS_INLINE pgq_datfrozenxid_pair greatest_ages(const pgq_datfrozenxid_rows *rows, size_t from, size_t to,
                                                  const pgq_datfrozenxid_pair *last_sane)
{
    const __m256i sane = _mm256_set1_epi64x((long long)((uint64_t)last_sane->multi << 32 | last_sane->xid));
    const __m256i first = _mm256_set1_epi64x((long long)((uint64_t)1 << 32 | 3));
    __m256i a = _mm256_setzero_si256(), b = a;
    const unsigned char *row = record(rows, from);
    size_t stride = rows->stride, left = to - from;
    __m128i m;

    for (; left >= 8; left -= 8, row += 8 * stride) {
        const unsigned char *half = row + 4 * stride;

        a = older(a,
                  _mm256_setr_epi64x(ids_at(rows, row), ids_at(rows, row + stride),
                                     ids_at(rows, row + 2 * stride), ids_at(rows, row + 3 * stride)),
                  sane, first);
        b = older(b,
                  _mm256_setr_epi64x(ids_at(rows, half), ids_at(rows, half + stride),
                                     ids_at(rows, half + 2 * stride), ids_at(rows, half + 3 * stride)),
                  sane, first);
    }
    for (size_t i = to - left; i < to; i++)
        a = older(a, _mm256_setr_epi64x(ids_at(rows, record(rows, i)), 0, 0, 0), sane, first);
    a = _mm256_max_epu32(a, b);
    m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(1, 0, 3, 2)));
    return (pgq_datfrozenxid_pair){(uint32_t)_mm_cvtsi128_si32(m), (uint32_t)_mm_extract_epi32(m, 1)};
}

pgq_status pgq_datfrozenxid_min_frozen_strided_avx2(const pgq_datfrozenxid_rows *rows,
                                                    const pgq_datfrozenxid_pair *start,
                                                    const pgq_datfrozenxid_pair *last_sane,
                                                    pgq_datfrozenxid_pair *minimum)
{
    return min_frozen_strided_by_age(rows, start, last_sane, minimum, greatest_ages);
}
#endif
