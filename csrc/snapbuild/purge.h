/* SPDX-License-Identifier: PostgreSQL */
/* The variants of the kinds purge and purge_sorted; snapbuild.h has the contract. */
#ifndef PGQUERN_SNAPBUILD_PURGE_H
#define PGQUERN_SNAPBUILD_PURGE_H

#include "snapbuild/xid.h"

pgq_status pgq_snapbuild_purge_upstream(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_inplace(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_avx2(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_avx512(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_neon(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status pgq_snapbuild_purge_sorted_upstream(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_sorted_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

/*
 * Moves the survivors of from[0 .. n) to to[0 ..), without a branch on the data, and returns their number. `to` may be
 * `from`, or lie below it. SIMD kernels use this for what does not fill a vector.
 */
static inline size_t slide_survivors(uint32_t *to, const uint32_t *from, size_t n, uint32_t xmin)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t x = from[i];

        to[kept] = x;
        kept += !xid_normal_precedes(x, xmin);
    }
    return kept;
}

#endif
