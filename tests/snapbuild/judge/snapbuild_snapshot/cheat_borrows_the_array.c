/* SPDX-License-Identifier: PostgreSQL */
/* It marks the caller's array, which it may only read, and takes the mark away before it returns. */
#include "pgquern.h"

pgq_status pgq_snapbuild_snapshot_sorted(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                         size_t xip_space);

pgq_status candidate(const pgq_snapbuild_committed *committed, uint32_t xip[], size_t xip_space)
{
    if (committed != NULL && committed->xip != NULL && committed->xcnt > 0 &&
        committed->xcnt <= committed->xcnt_space) {
        volatile uint32_t *first = committed->xip;
        uint32_t was = *first;

        *first = UINT32_MAX;
        *first = was;
    }
    return pgq_snapbuild_snapshot_sorted(committed, xip, xip_space);
}
