/* SPDX-License-Identifier: PostgreSQL */
/*
 * Sixteen XIDs a step: compare, compress in a register, store the whole register, and step on by the number kept. The
 * store may reach past the survivors, but not past what was read already, since no more is kept than was read. A
 * compressing store would write just the survivors, but is microcoded on Zen 4.
 *
 * In a long array nothing is stored as long as all stay where they are, nor while the oldest, which mostly come first,
 * all go.
 */
#include "snapbuild/purge.h"

#if defined(__AVX512F__)
#include <immintrin.h>

enum {
    BLOCK = 256, /* so many XIDs rarely all stay or all go by chance: the branch is predictable */
    LONG = 4096  /* below, to look at one block in vain costs more than is gained */
};

/*
 * The lanes of v that m names, packed to the bottom, zeroes above. In assembler for the sake of source and destination
 * being one register: on Zen 5 the instruction waits for the old value of its destination even when that is zeroed.
 */
static inline __m512i pack(__mmask16 m, __m512i v)
{
    __asm__("vpcompressd %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

static inline size_t keep(uint32_t *to, __m512i x, __m512i bound, __m512i half)
{
    /* Unsigned x - xmin < 2^31: x does not precede xmin. */
    __mmask16 kept = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(x, bound), half);

    _mm512_storeu_si512(to, pack(kept, x));
    return (size_t)__builtin_popcount(kept);
}

static inline bool all_stay(const uint32_t *block, __m512i bound, __m512i half)
{
    __m512i signs = _mm512_setzero_si512();

    for (size_t i = 0; i < BLOCK; i += 16)
        signs = _mm512_or_si512(signs, _mm512_sub_epi32(_mm512_loadu_si512(block + i), bound));
    return _mm512_test_epi32_mask(signs, half) == 0;
}

static inline bool all_go(const uint32_t *block, __m512i bound, __m512i half)
{
    __m512i signs = half;

    for (size_t i = 0; i < BLOCK; i += 16)
        signs = _mm512_and_si512(signs, _mm512_sub_epi32(_mm512_loadu_si512(block + i), bound));
    return _mm512_cmpeq_epi32_mask(signs, half) == 0xffff;
}

pgq_status pgq_purge_avx512(pgq_committed *committed, uint32_t xmin)
{
    pgq_code code = committed_fault(committed);
    const __m512i bound = _mm512_set1_epi32((int)xmin), half = _mm512_set1_epi32((int)HALF_RING);
    uint32_t *xip, *to;
    size_t n, i = 0;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(xmin) || committed->xcnt == 0)
        return accepted();
    xip = to = committed->xip;
    n = committed->xcnt;
    if (n >= LONG) {
        while (i + BLOCK <= n && all_stay(xip + i, bound, half))
            i += BLOCK;
        to += i;
        while (i + BLOCK <= n && all_go(xip + i, bound, half))
            i += BLOCK;
    }
    for (; i + 64 <= n; i += 64) {
        __m512i a = _mm512_loadu_si512(xip + i), b = _mm512_loadu_si512(xip + i + 16);
        __m512i c = _mm512_loadu_si512(xip + i + 32), d = _mm512_loadu_si512(xip + i + 48);

        to += keep(to, a, bound, half);
        to += keep(to, b, bound, half);
        to += keep(to, c, bound, half);
        to += keep(to, d, bound, half);
    }
    for (; i + 16 <= n; i += 16)
        to += keep(to, _mm512_loadu_si512(xip + i), bound, half);
    if (i < n) {
        __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
        __m512i x = _mm512_maskz_loadu_epi32(rest, xip + i);
        __mmask16 kept = _mm512_mask_cmplt_epu32_mask(rest, _mm512_sub_epi32(x, bound), half);

        _mm512_mask_storeu_epi32(to, rest, pack(kept, x));
        to += __builtin_popcount(kept);
    }
    committed->xcnt = (size_t)(to - xip);
    return accepted();
}
#endif
