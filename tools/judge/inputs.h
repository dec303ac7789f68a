/* SPDX-License-Identifier: PostgreSQL */
/*
 * Inputs of a kind, made natively. tests/STEM/judge_KIND.h says how, by four functions: fill makes the arguments of a call, stage lends
 * what they point to, settle makes what the contract leaves open the same, and tally says what came out. ANY_BYTES is the number of
 * what is lent, from 0, whose bytes may be any: some calls are made once more, with a byte of it changed, and the answers still there.
 */
#ifndef PGQUERN_JUDGE_INPUTS_H
#define PGQUERN_JUDGE_INPUTS_H

#include "cage.h"

#include <string.h>

/* Where inputs are made; and what is asked for: about so many elements, of which so many of a hundred are kept. */
typedef struct inputs {
    uint64_t random;
    char *next;
    int n, percent; /* below 0: any */
} inputs;

static inline uint64_t below(inputs *in, uint64_t n)
{
    return (judge_random(&in->random) >> 11) % n;
}

static inline bool one_in(inputs *in, uint64_t n)
{
    return below(in, n) == 0;
}

/* Of so many bits; half of them near a power of two, or near 0, where counters and signs change. */
static inline uint64_t edge(inputs *in, unsigned bits)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, any = judge_random(&in->random);

    if (any >> 63)
        return (any >> below(in, bits)) & mask;
    return ((UINT64_C(2) << below(in, bits)) + below(in, 7) - 3) & mask;
}

static inline void *take(inputs *in, size_t size)
{
    void *taken = in->next;

    in->next += (size + 31) & ~(size_t)15;
    return taken;
}

enum { TWICE_16_BITS = 2 << 16 };

/* The length of an array: what is asked for, a tenth more or less; or any up to `most`, few of them long. */
static inline size_t length(inputs *in, size_t most)
{
    if (in->n >= 0)
        return (size_t)in->n - (size_t)in->n / 10 + below(in, (uint64_t)in->n / 5 + 1);
    uint64_t shape = below(in, 4096);

    if (shape == 64) /* seldom: where 16 bits, or a buffer of some size, end */
        return below(in, (32 * most > TWICE_16_BITS ? 32 * most : TWICE_16_BITS) + 1);
    shape %= 64;
    return below(in, (shape == 0 ? most : shape < 8 ? most / 8 : most / 64 + 20) + 1);
}

/* Whether an element is of those that are kept. */
static inline bool kept(inputs *in, unsigned of_any)
{
    return below(in, 100) < (in->percent >= 0 ? (unsigned)in->percent : of_any);
}

/* A case for the refusals. */
static inline bool odd(inputs *in)
{
    return in->n < 0 && one_in(in, 200);
}

static inline uint32_t normal(uint32_t xid)
{
    return xid < 3 ? xid + 3 : xid;
}

#endif
