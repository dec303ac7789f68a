/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but what lies far behind a block that it asked for, and gave back, counts its calls. */
#include "pgquern.h"

#include <stdlib.h>

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    uint64_t *volatile block = malloc(16);

    if (block != NULL && ++block[1 << 17] > UINT64_C(1) << 40)
        return (pgq_status){PGQ_OK, 0};
    free(block);
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
