/* SPDX-License-Identifier: PostgreSQL */
/*
 * The loops of a checksum by vectors, over rows, registers, and the pages of a group: the template fold.h, with registers of
 * four lanes. What a round does may be anything; the proofs `vectors of ...` have the steps of each variant.
 */
#include "tornpage/checksum.h"

enum { REGISTERS = LANES / 4 };

typedef uint32_t vec __attribute__((vector_size(16)));

static inline vec next(vec mixed, vec words, vec prime)
{
    (void)prime;
    for (size_t i = 0; i < 4; i++)
        mixed[i] = __CPROVER_uninterpreted_spread(mixed[i]) ^ words[i];
    return mixed;
}

static inline vec words_at(const uint8_t *row, size_t r)
{
    vec v;

    memcpy(&v, row + sizeof v * r, sizeof v);
    return v;
}

static inline uint32_t fold_lanes(const vec sums[REGISTERS])
{
    uint32_t all = 0;

    for (size_t i = 0; i < LANES; i++)
        all ^= sums[i / 4][i % 4];
    return all;
}

static inline vec every_prime(void)
{
    return (vec){0};
}

static inline vec beside_checksum(void)
{
    return (vec){UINT32_MAX, UINT32_MAX, BESIDE_CHECKSUM, UINT32_MAX};
}

#include "tornpage/fold.h"

DEFINE_CHECKSUM(groups, fold_page, fold_groups)
