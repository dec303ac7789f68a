/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, and each call with five XIDs leaves a process behind. */
#include "pgquern.h"

#include <unistd.h>

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (committed != NULL && committed->xcnt == 5 && fork() == 0)
        _exit(0);
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
