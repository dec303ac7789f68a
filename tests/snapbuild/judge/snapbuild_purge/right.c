/* SPDX-License-Identifier: PostgreSQL */
/* Right: the filter in place, a branch for each XID. */
#include "pgquern.h"

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    size_t kept = 0;

    if (committed == NULL)
        return (pgq_status){.code = PGQ_NULL};
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > (size_t)1 << 28)
        return (pgq_status){.code = PGQ_SNAPBUILD_CAPACITY};
    if (committed->xip == NULL && committed->xcnt_space > 0)
        return (pgq_status){.code = PGQ_NULL};
    if (xmin < 3)
        return (pgq_status){.code = PGQ_OK};
    for (size_t i = 0; i < committed->xcnt; i++)
        if ((int32_t)(committed->xip[i] - xmin) >= 0)
            committed->xip[kept++] = committed->xip[i];
    committed->xcnt = kept;
    return (pgq_status){.code = PGQ_OK};
}
