/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but what lies far before its array, in the same mapping, counts its calls. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    volatile uint64_t *before = (uint64_t *)((uintptr_t)committed & ~(uintptr_t)4095);

    if (committed != NULL && before != (uint64_t *)committed && ++*before > UINT64_C(1) << 40)
        return (pgq_status){PGQ_OK, 0};
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
