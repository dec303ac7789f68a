/* SPDX-License-Identifier: PostgreSQL */
/* The table of variants, from upstream's to the fastest, and the dispatched entry. */
#include "common/dispatch.h"
#include "compaction/page.h"

const pgq_compaction_variant pgq_compaction_variants[] = {
    {"pg13", "PostgreSQL 13's algorithm: sort by offset, then move each tuple", PGQ_COMPACTION_ORDER_OFFSET,
     pgq_cpu_any, pgq_compaction_pg13},
    {"pg14", "PostgreSQL 14's algorithm: item order, in place if presorted, else through scratch",
     PGQ_COMPACTION_ORDER_ITEM, pgq_cpu_any, pgq_compaction_pg14},
    {"scalar", "pgquern in plain C: scan with few branches, small tuples by fixed windows",
     PGQ_COMPACTION_ORDER_ITEM, pgq_cpu_any, pgq_compaction_scalar},
#if defined(__x86_64__)
    {"avx2", "pgquern for AVX2: vector scan, small tuples by fixed windows", PGQ_COMPACTION_ORDER_ITEM,
     pgq_cpu_avx2, pgq_compaction_avx2},
    {"avx512", "pgquern for AVX-512: vector scan, presorted pages squeezed in place",
     PGQ_COMPACTION_ORDER_ITEM, pgq_cpu_avx512vbmi2, pgq_compaction_avx512},
#elif defined(__aarch64__)
    {"neon", "pgquern for NEON: vector scan, small tuples by fixed windows", PGQ_COMPACTION_ORDER_ITEM,
     pgq_cpu_neon, pgq_compaction_neon},
#endif
};
const size_t pgq_compaction_variant_count =
    sizeof pgq_compaction_variants / sizeof pgq_compaction_variants[0];

PGQ_KIND(compaction)

const pgq_compaction_variant *pgq_compaction_dispatched(void)
{
    return compaction_dispatched();
}

pgq_status pgq_compaction_repair_fragmentation(void *page, bool truncate)
{
    const pgq_compaction_variant *variant = compaction_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(page, truncate);
}
