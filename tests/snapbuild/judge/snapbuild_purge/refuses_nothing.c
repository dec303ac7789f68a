/* SPDX-License-Identifier: PostgreSQL */
/* Right wherever the call is sound: it looks at no pointer and at no capacity. */
#include "snapbuild/snapbuild.h"

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    size_t kept = 0;

    for (size_t i = 0; xmin >= 3 && i < committed->xcnt; i++)
        if ((int32_t)(committed->xip[i] - xmin) >= 0)
            committed->xip[kept++] = committed->xip[i];
    if (xmin >= 3)
        committed->xcnt = kept;
    return (pgq_status){PGQ_OK, 0};
}
