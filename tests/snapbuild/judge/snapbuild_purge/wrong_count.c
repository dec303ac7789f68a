/* SPDX-License-Identifier: PostgreSQL */
/* The right XIDs, and a count that is one too high if any was dropped. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    size_t before = committed == NULL ? 0 : committed->xcnt;
    pgq_status status = pgq_snapbuild_purge_scalar(committed, xmin);

    if (status.code == PGQ_OK && committed->xcnt < before)
        committed->xcnt++;
    return status;
}
