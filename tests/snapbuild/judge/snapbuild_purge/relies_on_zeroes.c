/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: it takes memory of its own that it has not set for zeroes, as a fresh stack has them. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    volatile uint32_t deep[16384];

    if (committed != NULL && deep[xmin % 1024] != 0)
        return (pgq_status){PGQ_MEMORY, 0};
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
