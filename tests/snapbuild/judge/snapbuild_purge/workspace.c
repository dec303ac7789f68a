/* SPDX-License-Identifier: PostgreSQL */
/* Right: the kept XIDs go to a workspace and back, as upstream's do. */
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    uint32_t *workspace;
    size_t kept = 0;

    if (committed == NULL)
        return (pgq_status){.code = PGQ_NULL};
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > (size_t)1 << 28)
        return (pgq_status){.code = PGQ_SNAPBUILD_CAPACITY};
    if (committed->xip == NULL && committed->xcnt_space > 0)
        return (pgq_status){.code = PGQ_NULL};
    if (xmin < 3 || committed->xcnt == 0)
        return (pgq_status){.code = PGQ_OK};
    workspace = malloc(committed->xcnt * sizeof *workspace);
    if (workspace == NULL)
        return (pgq_status){.code = PGQ_MEMORY};
    for (size_t i = 0; i < committed->xcnt; i++)
        if ((int32_t)(committed->xip[i] - xmin) >= 0)
            workspace[kept++] = committed->xip[i];
    memcpy(committed->xip, workspace, kept * sizeof *workspace);
    free(workspace);
    committed->xcnt = kept;
    return (pgq_status){.code = PGQ_OK};
}
