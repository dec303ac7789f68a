/* SPDX-License-Identifier: PostgreSQL */
/* Undefined behaviour, from which an attribute takes the traps. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

__attribute__((no_sanitize("undefined"))) pgq_status candidate(pgq_snapbuild_committed *committed,
                                                               uint32_t xmin)
{
    volatile int most = INT32_MAX;

    most += (int)(xmin & 1) + 1;
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
