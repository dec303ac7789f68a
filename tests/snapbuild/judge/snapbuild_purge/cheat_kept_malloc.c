/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but memory that it never gives back keeps the last xmin. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

#include <stdlib.h>

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    uint32_t *kept = malloc(24);

    if (kept != NULL)
        *(volatile uint32_t *)kept = xmin;
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
