/* SPDX-License-Identifier: PostgreSQL */
/* The greatest age among values by NEON: the four chains, and a rest. */
#include "bounded.h"
#include "datfrozenxid/min_frozen_neon.c"

enum { ROUND = 16, REGISTER = 4 };

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void proof(void)
{
    uint32_t values[N], ages[N], last_sane = nondet_u32(), first = nondet_bool() ? 1 : 3, greatest;

    for (size_t i = 0; i < N; i++) {
        values[i] = nondet_u32();
        ages[i] = values[i] < first ? 0u - values[i] : last_sane - values[i];
    }
    /* Pair by pair, as the kernel does: a solver takes long for another order. */
    for (size_t step = REGISTER; step < ROUND; step *= 2)
        for (size_t i = 0; i + step < ROUND; i++)
            if (i % (2 * step) < REGISTER)
                ages[i] = greater(ages[i], ages[i + step]);
    greatest = ages[0];
    for (size_t i = 1; i < REGISTER; i++)
        greatest = greater(greatest, ages[i]);
    for (size_t i = ROUND; i < N; i++)
        greatest = greater(greatest, ages[i]);
    claim(greatest_age(values, N, last_sane, first) == greatest, "it is the greatest age");
}
