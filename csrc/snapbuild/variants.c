/* SPDX-License-Identifier: PostgreSQL */
/* The tables of variants of the kinds on XID arrays, from upstream's to the fastest, and the dispatched entries. */
#include "common/dispatch.h"
#include "snapbuild/full.h"
#include "snapbuild/insert.h"
#include "snapbuild/known_assigned.h"
#include "snapbuild/purge.h"
#include "snapbuild/snapshot.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const pgq_snapbuild_purge_variant pgq_snapbuild_purge_variants[] = {
    {"upstream", "SnapBuildPurgeOlderTxn: kept XIDs go to an allocated workspace and back", pgq_cpu_any,
     pgq_snapbuild_purge_upstream},
    {"inplace", "kept XIDs move down, a branch for each", pgq_cpu_any, pgq_snapbuild_purge_inplace},
    {"scalar", "16 XIDs at once if all stay, else no branches", pgq_cpu_any, pgq_snapbuild_purge_scalar},
#if defined(__x86_64__)
    {"avx2", "8 XIDs a step, packed by a looked-up permutation", pgq_cpu_avx2, pgq_snapbuild_purge_avx2},
    {"avx512", "16 XIDs a step, packed by vpcompressd", pgq_cpu_avx512, pgq_snapbuild_purge_avx512},
#elif defined(__aarch64__)
    {"neon", "4 XIDs a step, packed by a table of bytes", pgq_cpu_neon, pgq_snapbuild_purge_neon},
#endif
};
const size_t pgq_snapbuild_purge_variant_count = COUNT(pgq_snapbuild_purge_variants);
PGQ_KIND(snapbuild_purge)

const pgq_snapbuild_purge_variant pgq_snapbuild_purge_sorted_variants[] = {
    {"upstream", "SnapBuildPurgeOlderTxn: the filter, blind to the order", pgq_cpu_any,
     pgq_snapbuild_purge_sorted_upstream},
    {"scalar", "two boundaries by search, one memmove", pgq_cpu_any, pgq_snapbuild_purge_sorted_scalar},
};
const size_t pgq_snapbuild_purge_sorted_variant_count = COUNT(pgq_snapbuild_purge_sorted_variants);
PGQ_KIND(snapbuild_purge_sorted)

const pgq_snapbuild_purge_full_variant pgq_snapbuild_purge_full_variants[] = {
    {"upstream", "SnapBuildPurgeOlderTxn: the filter, blind to the order", pgq_cpu_any,
     pgq_snapbuild_purge_full_upstream},
    {"memmove", "one lower bound, one memmove", pgq_cpu_any, pgq_snapbuild_purge_full_memmove},
    {"lazy_head", "one lower bound; only the head moves; insertion compacts", pgq_cpu_any,
     pgq_snapbuild_purge_full_lazy_head},
};
const size_t pgq_snapbuild_purge_full_variant_count = COUNT(pgq_snapbuild_purge_full_variants);
PGQ_KIND(snapbuild_purge_full)

const pgq_snapbuild_insert_variant pgq_snapbuild_insert_variants[] = {
    {"append", "SnapBuildAddCommittedTxn: at the end, unsorted", pgq_cpu_any, pgq_snapbuild_insert_append},
    {"batch_merge", "sorted batch, searched for by chunks, merged from the end", pgq_cpu_any,
     pgq_snapbuild_insert_batch_merge},
    {"sorted_after_consistent", "append before CONSISTENT, batch_merge from then on", pgq_cpu_any,
     pgq_snapbuild_insert_sorted_after_consistent},
};
const size_t pgq_snapbuild_insert_variant_count = COUNT(pgq_snapbuild_insert_variants);
PGQ_KIND(snapbuild_insert)

const pgq_snapbuild_snapshot_variant pgq_snapbuild_snapshot_variants[] = {
    {"upstream", "SnapBuildBuildSnapshot: copy and sort", pgq_cpu_any, pgq_snapbuild_snapshot_upstream},
    {"sorted", "copy; sort only what is not sorted", pgq_cpu_any, pgq_snapbuild_snapshot_sorted},
};
const size_t pgq_snapbuild_snapshot_variant_count = COUNT(pgq_snapbuild_snapshot_variants);
PGQ_KIND(snapbuild_snapshot)

const pgq_snapbuild_known_assigned_variant pgq_snapbuild_known_assigned_variants[] = {
    {"upstream", "KnownAssignedXidsCompress: a branch each", pgq_cpu_any,
     pgq_snapbuild_known_assigned_upstream},
    {"scalar", "branch-free", pgq_cpu_any, pgq_snapbuild_known_assigned_scalar},
#if defined(__x86_64__)
    {"avx2", "8 XIDs a step, packed by a looked-up permutation", pgq_cpu_avx2,
     pgq_snapbuild_known_assigned_avx2},
    {"avx512", "16 XIDs a step, packed by vpcompressd", pgq_cpu_avx512, pgq_snapbuild_known_assigned_avx512},
#elif defined(__aarch64__)
    {"neon", "4 XIDs a step, packed by a table of bytes", pgq_cpu_neon, pgq_snapbuild_known_assigned_neon},
#endif
};
const size_t pgq_snapbuild_known_assigned_variant_count = COUNT(pgq_snapbuild_known_assigned_variants);
PGQ_KIND(snapbuild_known_assigned)

pgq_status pgq_snapbuild_purge(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    const pgq_snapbuild_purge_variant *variant = snapbuild_purge_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(committed, xmin);
}

pgq_status pgq_snapbuild_purge_sorted(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    const pgq_snapbuild_purge_variant *variant = snapbuild_purge_sorted_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(committed, xmin);
}

pgq_status pgq_snapbuild_purge_full(pgq_snapbuild_committed_full *committed, uint64_t full_xmin)
{
    const pgq_snapbuild_purge_full_variant *variant = snapbuild_purge_full_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(committed, full_xmin);
}

pgq_status pgq_snapbuild_insert(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                bool consistent)
{
    const pgq_snapbuild_insert_variant *variant = snapbuild_insert_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(committed, batch, m, consistent);
}

pgq_status pgq_snapbuild_snapshot(const pgq_snapbuild_committed *committed, uint32_t xip[], size_t xip_space)
{
    const pgq_snapbuild_snapshot_variant *variant = snapbuild_snapshot_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(committed, xip, xip_space);
}

const pgq_snapbuild_known_assigned_variant *pgq_snapbuild_known_assigned_dispatched(void)
{
    return snapbuild_known_assigned_dispatched();
}
