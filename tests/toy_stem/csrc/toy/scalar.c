/* SPDX-License-Identifier: PostgreSQL */
/* Without branches: the largest numbers at even and at odd places are two chains, which the CPU follows side by side. */
#include "toy/largest.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

pgq_status pgq_toy_largest_scalar(const uint32_t array[], size_t n, uint32_t *largest)
{
    pgq_code fault = toy_fault(array, n, largest);

    if (fault != PGQ_OK)
        return refused(fault, 0);
    uint32_t even = array[0], odd = array[n - 1];
    for (size_t i = 1; i + 1 < n; i += 2) {
        odd = larger(odd, array[i]);
        even = larger(even, array[i + 1]);
    }
    *largest = larger(even, odd);
    return accepted();
}
