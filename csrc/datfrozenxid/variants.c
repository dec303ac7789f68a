/* SPDX-License-Identifier: PostgreSQL */
/* The tables of variants, from upstream's to the fastest, and the dispatched entries. */
#include "common/dispatch.h"
#include "datfrozenxid/kernels.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const pgq_datfrozenxid_min_frozen_variant pgq_datfrozenxid_min_frozen_variants[] = {
    {"scan", "vac_update_datfrozenxid: a branch for each question", pgq_cpu_any,
     pgq_datfrozenxid_min_frozen_scan},
    {"scalar", "the greatest age, branch-free", pgq_cpu_any, pgq_datfrozenxid_min_frozen_scalar},
#if defined(__x86_64__)
    {"avx2", "8 ages a step", pgq_cpu_avx2, pgq_datfrozenxid_min_frozen_avx2},
    {"avx512", "16 ages a step", pgq_cpu_avx512, pgq_datfrozenxid_min_frozen_avx512},
#elif defined(__aarch64__)
    {"neon", "4 ages a step", pgq_cpu_neon, pgq_datfrozenxid_min_frozen_neon},
#endif
};
const size_t pgq_datfrozenxid_min_frozen_variant_count = COUNT(pgq_datfrozenxid_min_frozen_variants);
PGQ_KIND(datfrozenxid_min_frozen)

const pgq_datfrozenxid_min_frozen_strided_variant pgq_datfrozenxid_min_frozen_strided_variants[] = {
    {"scan", "vac_update_datfrozenxid: a branch for each question", pgq_cpu_any,
     pgq_datfrozenxid_min_frozen_strided_scan},
    {"scalar", "the greatest ages, branch-free", pgq_cpu_any, pgq_datfrozenxid_min_frozen_strided_scalar},
#if defined(__x86_64__)
    {"avx2", "both ages of 4 rows a step", pgq_cpu_avx2, pgq_datfrozenxid_min_frozen_strided_avx2},
#elif defined(__aarch64__)
    {"neon", "both ages of 2 rows a step", pgq_cpu_neon, pgq_datfrozenxid_min_frozen_strided_neon},
#endif
};
const size_t pgq_datfrozenxid_min_frozen_strided_variant_count =
    COUNT(pgq_datfrozenxid_min_frozen_strided_variants);
PGQ_KIND(datfrozenxid_min_frozen_strided)

const pgq_datfrozenxid_need_update_variant pgq_datfrozenxid_need_update_variants[] = {
    {"scan", "vac_update_datfrozenxid: up to three comparisons", pgq_cpu_any,
     pgq_datfrozenxid_need_update_scan},
    {"scalar", "one comparison of ages", pgq_cpu_any, pgq_datfrozenxid_need_update_scalar},
};
const size_t pgq_datfrozenxid_need_update_variant_count = COUNT(pgq_datfrozenxid_need_update_variants);
PGQ_KIND(datfrozenxid_need_update)

pgq_status pgq_datfrozenxid_min_frozen(const uint32_t values[], size_t n,
                                       const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    const pgq_datfrozenxid_min_frozen_variant *variant = datfrozenxid_min_frozen_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(values, n, bounds, minimum);
}

pgq_status pgq_datfrozenxid_min_frozen_strided(const pgq_datfrozenxid_rows *rows,
                                               const pgq_datfrozenxid_pair *start,
                                               const pgq_datfrozenxid_pair *last_sane,
                                               pgq_datfrozenxid_pair *minimum)
{
    const pgq_datfrozenxid_min_frozen_strided_variant *variant = datfrozenxid_min_frozen_strided_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(rows, start, last_sane, minimum);
}

pgq_status pgq_datfrozenxid_need_update(const pgq_datfrozenxid_pair *stored,
                                        const pgq_datfrozenxid_pair *minimum,
                                        const pgq_datfrozenxid_pair *last_sane,
                                        pgq_datfrozenxid_changes *changes)
{
    const pgq_datfrozenxid_need_update_variant *variant = datfrozenxid_need_update_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(stored, minimum, last_sane, changes);
}
