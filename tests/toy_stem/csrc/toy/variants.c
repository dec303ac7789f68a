/* SPDX-License-Identifier: PostgreSQL */
/* The table of variants, and the dispatched entry. */
#include "common/dispatch.h"
#include "toy/largest.h"

const pgq_toy_largest_variant pgq_toy_largest_variants[] = {
    {"upstream", "a branch for each element", pgq_cpu_any, pgq_toy_largest_upstream},
    {"scalar", "two chains without branches", pgq_cpu_any, pgq_toy_largest_scalar},
};
const size_t pgq_toy_largest_variant_count =
    sizeof pgq_toy_largest_variants / sizeof pgq_toy_largest_variants[0];

PGQ_KIND(toy_largest)

pgq_status pgq_toy_largest(const uint32_t array[], size_t n, uint32_t *largest)
{
    const pgq_toy_largest_variant *variant = toy_largest_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(array, n, largest);
}
