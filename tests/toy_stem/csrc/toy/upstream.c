/* SPDX-License-Identifier: PostgreSQL */
/* A branch for each element. */
#include "toy/largest.h"

pgq_status pgq_toy_largest_upstream(const uint32_t array[], size_t n, uint32_t *largest)
{
    pgq_code fault = toy_fault(array, n, largest);

    if (fault != PGQ_OK)
        return refused(fault, 0);
    *largest = array[0];
    for (size_t i = 1; i < n; i++)
        if (array[i] > *largest)
            *largest = array[i];
    return accepted();
}
