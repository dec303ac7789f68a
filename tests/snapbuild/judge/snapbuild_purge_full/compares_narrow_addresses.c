/* SPDX-License-Identifier: PostgreSQL */
/* It knows the end of the array by 32 bits of its address: wrong across a multiple of 4 GiB. */
#include "pgquern.h"

pgq_status candidate(pgq_snapbuild_committed_full *committed, uint64_t full_xmin)
{
    if (committed == NULL || (committed->fxip == NULL && committed->xcnt_space != 0))
        return (pgq_status){PGQ_NULL, 0};
    if (committed->head > committed->xcnt_space || committed->xcnt > committed->xcnt_space - committed->head)
        return (pgq_status){PGQ_SNAPBUILD_CAPACITY, 0};
    if ((uint32_t)full_xmin < 3 || committed->xcnt == 0)
        return (pgq_status){PGQ_OK, 0};
    const uint64_t *at = committed->fxip + committed->head;
    uint32_t end = (uint32_t)(uintptr_t)(at + committed->xcnt);
    while ((uint32_t)(uintptr_t)at < end && *at < full_xmin) {
        at++;
        committed->head++;
        committed->xcnt--;
    }
    return (pgq_status){PGQ_OK, 0};
}
