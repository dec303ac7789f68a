/* SPDX-License-Identifier: PostgreSQL */
/*
 * The loops of a checksum by vectors, over rows, registers, and the pages of a group: the template fold.h, with registers of
 * four lanes. What a round does may be anything; the proofs `vectors of ...` have the steps of each variant.
 */
#include "tornpage/checksum.h"

enum { REGISTERS = LANES / 4 };

uint32_t __CPROVER_uninterpreted_spread0(uint32_t mixed);
uint32_t __CPROVER_uninterpreted_spread1(uint32_t mixed);
uint32_t __CPROVER_uninterpreted_spread2(uint32_t mixed);
uint32_t __CPROVER_uninterpreted_spread3(uint32_t mixed);

typedef uint32_t vec __attribute__((vector_size(16)));

/* Each of a register's lanes has a function of its own: CBMC compares each value of a function with every other one. */
static inline uint32_t spread(size_t lane, uint32_t mixed)
{
    switch (lane % 4) {
    case 0:
        return __CPROVER_uninterpreted_spread0(mixed);
    case 1:
        return __CPROVER_uninterpreted_spread1(mixed);
    case 2:
        return __CPROVER_uninterpreted_spread2(mixed);
    default:
        return __CPROVER_uninterpreted_spread3(mixed);
    }
}
#define SPREAD spread

static inline vec next(vec mixed, vec words, vec prime)
{
    (void)prime;
    for (size_t i = 0; i < 4; i++)
        mixed[i] = spread(i, mixed[i]) ^ words[i];
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
