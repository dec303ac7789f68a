/* SPDX-License-Identifier: PostgreSQL */
/* Its refusals name an element, where the fault belongs to none. */
#include "snapbuild/snapbuild.h"

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    size_t kept = 0;

    if (committed == NULL || (committed->xip == NULL && committed->xcnt_space > 0))
        return (pgq_status){PGQ_NULL, 1};
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > (size_t)1 << 28)
        return (pgq_status){PGQ_SNAPBUILD_CAPACITY, 1};
    for (size_t i = 0; xmin >= 3 && i < committed->xcnt; i++)
        if ((int32_t)(committed->xip[i] - xmin) >= 0)
            committed->xip[kept++] = committed->xip[i];
    if (xmin >= 3)
        committed->xcnt = kept;
    return (pgq_status){PGQ_OK, 0};
}
