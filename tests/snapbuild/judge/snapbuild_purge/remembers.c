/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but it remembers the last xmin: the next call could answer from it. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static uint32_t last;

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (last != xmin)
        last = xmin;
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
