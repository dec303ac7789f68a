/* SPDX-License-Identifier: PostgreSQL */
/* Drops what lies below xmin by its number, found by one search: wrong once the array crosses the wrap. */
#include "pgquern.h"

#include <string.h>

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    size_t low = 0, high;

    if (committed == NULL)
        return (pgq_status){.code = PGQ_NULL};
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > (size_t)1 << 28)
        return (pgq_status){.code = PGQ_SNAPBUILD_CAPACITY};
    if (committed->xip == NULL && committed->xcnt_space > 0)
        return (pgq_status){.code = PGQ_NULL};
    if (!committed->sorted)
        return (pgq_status){.code = PGQ_SNAPBUILD_UNSORTED};
    if (xmin < 3)
        return (pgq_status){.code = PGQ_OK};
    high = committed->xcnt;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (committed->xip[middle] < xmin)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        memmove(committed->xip, committed->xip + low, (committed->xcnt - low) * sizeof(uint32_t));
    committed->xcnt -= low;
    return (pgq_status){.code = PGQ_OK};
}
