/* SPDX-License-Identifier: PostgreSQL */
/*
 * Purge of long arrays. What stays and what goes mostly lies together: XIDs come in commit order, so the oldest come first.
 * So the array goes to the kernel in spans, and after a span of which all stayed blocks are looked at as a whole, and
 * copied, as long as all stay, or not even that where they are in place; after a span of which none did, they are passed
 * over as long as all go. Vectors are as wide as the file that includes this is compiled for.
 */
#ifndef PGQUERN_SNAPBUILD_BLOCKS_H
#define PGQUERN_SNAPBUILD_BLOCKS_H

#include "snapbuild/xid.h"

enum {
    BLOCK = 256,      /* so many XIDs rarely all stay or all go by chance: the branch is predictable */
    SPAN = 1024,      /* and so many hardly ever */
    LONG_ARRAY = 4096 /* in a shorter array, testing one block in vain costs more than blocks save */
};

#if defined(__AVX512F__)
enum { BLOCK_LANES = 16 };
#else
enum { BLOCK_LANES = 8 };
#endif

/* XIDs anywhere in an array; x - xmin has its sign bit set if x precedes xmin. */
typedef uint32_t xids __attribute__((vector_size(BLOCK_LANES * 4), aligned(4), may_alias));

static inline bool all_stay(const uint32_t *block, uint32_t xmin)
{
    xids signs = {0};
    uint32_t any = 0;

#pragma GCC unroll 4
    for (size_t i = 0; i < BLOCK; i += BLOCK_LANES)
        signs |= *(const xids *)(block + i) - xmin;
    for (size_t i = 0; i < BLOCK_LANES; i++)
        any |= signs[i];
    return any < HALF_RING;
}

static inline bool all_go(const uint32_t *block, uint32_t xmin)
{
    xids signs = ~(xids){0};
    uint32_t all = UINT32_MAX;

#pragma GCC unroll 4
    for (size_t i = 0; i < BLOCK; i += BLOCK_LANES)
        signs &= *(const xids *)(block + i) - xmin;
    for (size_t i = 0; i < BLOCK_LANES; i++)
        all &= signs[i];
    return all >= HALF_RING;
}

/* A block down by any distance: four vectors are read before one is stored that may overlap them. */
static inline void copy_block(uint32_t *to, const uint32_t *from)
{
    for (size_t i = 0; i < BLOCK; i += 4 * BLOCK_LANES) {
        xids a = *(const xids *)(from + i), b = *(const xids *)(from + i + BLOCK_LANES);
        xids c = *(const xids *)(from + i + 2 * BLOCK_LANES), d = *(const xids *)(from + i + 3 * BLOCK_LANES);

        *(xids *)(to + i) = a;
        *(xids *)(to + i + BLOCK_LANES) = b;
        *(xids *)(to + i + 2 * BLOCK_LANES) = c;
        *(xids *)(to + i + 3 * BLOCK_LANES) = d;
    }
}

/* A kernel's inner loop: the survivors of [from, end) slide down to `to`; past the last one. */
typedef uint32_t *keep_fn(uint32_t *to, const uint32_t *from, const uint32_t *end, uint32_t xmin);

static inline __attribute__((always_inline)) uint32_t *
keep_blocks(uint32_t *to, const uint32_t *from, const uint32_t *end, uint32_t xmin, keep_fn *keep)
{
    bool stay = true, go = true; /* all of the span before */

    while (from < end) {
        const uint32_t *next;
        uint32_t *begin;

        for (; stay && end - from >= BLOCK && all_stay(from, xmin); from += BLOCK, to += BLOCK)
            if (to != from)
                copy_block(to, from);
        while (go && end - from >= BLOCK && all_go(from, xmin))
            from += BLOCK;
        next = end - from > SPAN ? from + SPAN : end;
        begin = to;
        to = keep(to, from, next, xmin);
        stay = to - begin == SPAN;
        go = to == begin;
        from = next;
    }
    return to;
}

/* DEFINE_PURGE(v): pgq_snapbuild_purge_v by the inner loop keep_v. */
#define DEFINE_PURGE(v)                                                                                      \
    /* A function of its own, that a short array has no registers to save. */                                \
    static __attribute__((noinline))                                                                         \
    pgq_status purge_long_##v(pgq_snapbuild_committed *committed, uint32_t xmin)                             \
    {                                                                                                        \
        uint32_t *xip = committed->xip;                                                                      \
                                                                                                             \
        committed->xcnt = (size_t)(keep_blocks(xip, xip, xip + committed->xcnt, xmin, keep_##v) - xip);      \
        return accepted();                                                                                   \
    }                                                                                                        \
                                                                                                             \
    pgq_status pgq_snapbuild_purge_##v(pgq_snapbuild_committed *committed, uint32_t xmin)                    \
    {                                                                                                        \
        pgq_code code = committed_fault(committed);                                                          \
        uint32_t *xip;                                                                                       \
        size_t n;                                                                                            \
                                                                                                             \
        if (code != PGQ_OK)                                                                                  \
            return refused(code, 0);                                                                         \
        if (!xid_is_normal(xmin) || committed->xcnt == 0)                                                    \
            return accepted();                                                                               \
        xip = committed->xip;                                                                                \
        n = committed->xcnt;                                                                                 \
        if (n >= LONG_ARRAY)                                                                                 \
            return purge_long_##v(committed, xmin);                                                          \
        committed->xcnt = (size_t)(keep_##v(xip, xip, xip + n, xmin) - xip);                                 \
        return accepted();                                                                                   \
    }

#endif
