/* SPDX-License-Identifier: PostgreSQL */
/*
 * Purge of long arrays. XIDs come in commit order, so the oldest come first: those that stay mostly lie together, and so
 * do those that go. The kernel works on one span at a time. After a span of which all XIDs stayed, whole blocks are tested;
 * as long as all their XIDs stay, they are copied, or left alone if they are already in place. After a span of which no
 * XID stayed, whole blocks are skipped as long as all their XIDs go. Vectors are as wide as the instruction set for which
 * the including file is compiled.
 */
#ifndef PGQUERN_SNAPBUILD_BLOCKS_H
#define PGQUERN_SNAPBUILD_BLOCKS_H

#include "snapbuild/xid.h"

enum {
    BLOCK = 256,      /* 256 XIDs rarely all stay or all go by chance: the branch is predictable */
    SPAN = 1024,      /* 1024 XIDs hardly ever do */
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

/* Moves a block down by any distance. Four vectors are read before the first store, which may overlap them. */
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

/* A kernel's inner loop: moves the survivors of [from, end) down to `to`, and returns where the last one ends. */
typedef uint32_t *keep_fn(uint32_t *to, const uint32_t *from, const uint32_t *end, uint32_t xmin);

static inline __attribute__((always_inline)) uint32_t *
keep_blocks(uint32_t *to, const uint32_t *from, const uint32_t *end, uint32_t xmin, keep_fn *keep)
{
    bool stay = true, go = true; /* whether all XIDs of the previous span stayed, or went */

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

/* DEFINE_PURGE(v) defines pgq_snapbuild_purge_v, which runs the inner loop keep_v. */
#define DEFINE_PURGE(v)                                                                                      \
    /* Not inlined: a short array then has no registers to save. */                                          \
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
