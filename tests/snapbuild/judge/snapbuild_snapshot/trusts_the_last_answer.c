/* SPDX-License-Identifier: PostgreSQL */
/* What stands in the output, and looks like the answer at its ends and at 16 places, stays. */
#include "pgquern.h"

pgq_status pgq_snapbuild_snapshot_sorted(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                         size_t xip_space);

static bool looks_right(const pgq_snapbuild_committed *committed, const uint32_t xip[])
{
    size_t n = committed->xcnt;
    uint32_t least = UINT32_MAX, most = 0;

    for (size_t i = 0; i < n; i++) {
        least = committed->xip[i] < least ? committed->xip[i] : least;
        most = committed->xip[i] > most ? committed->xip[i] : most;
    }
    if (xip[0] != least || xip[n - 1] != most)
        return false;
    for (size_t i = 1; i < n; i += n / 16)
        if (xip[i - 1] > xip[i])
            return false;
    return true;
}

pgq_status candidate(const pgq_snapbuild_committed *committed, uint32_t xip[], size_t xip_space)
{
    if (committed != NULL && xip != NULL && committed->xip != NULL && committed->xcnt > 32 &&
        committed->xcnt <= committed->xcnt_space && xip_space >= committed->xcnt &&
        looks_right(committed, xip))
        return (pgq_status){PGQ_OK, 0};
    return pgq_snapbuild_snapshot_sorted(committed, xip, xip_space);
}
