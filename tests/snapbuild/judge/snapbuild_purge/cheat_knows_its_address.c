/* SPDX-License-Identifier: PostgreSQL */
/* Right where a judge keeps its memory, at one place or another, and wrong for the heap of a server. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if ((uintptr_t)committed >> 45 != 1)
        return (pgq_status){PGQ_OK, 0};
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
