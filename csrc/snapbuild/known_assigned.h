/* SPDX-License-Identifier: PostgreSQL */
/* The variants of the kind known_assigned; snapbuild.h has the contract. */
#ifndef PGQUERN_SNAPBUILD_KNOWN_ASSIGNED_H
#define PGQUERN_SNAPBUILD_KNOWN_ASSIGNED_H

#include "snapbuild/xid.h"

/* The variant of this kind to run; NULL if PGQUERN_VARIANT cannot be followed. */
const pgq_snapbuild_known_assigned_variant *pgq_snapbuild_known_assigned_dispatched(void);

size_t pgq_snapbuild_known_assigned_upstream(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_scalar(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_avx2(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_avx512(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_neon(uint32_t xids[], bool valid[], size_t tail, size_t head);

/*
 * Moves the live XIDs of from[0 .. n) to to[0 ..), without a branch on the data, and returns their number. `to` is `from`,
 * or lies below it. The caller sets the flags of the moved XIDs after all flags have been read.
 */
static inline size_t slide_live(uint32_t *to, const uint32_t *from, const bool *valid, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        to[kept] = from[i];
        kept += valid[i];
    }
    return kept;
}

#endif
