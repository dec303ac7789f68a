/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, a tenth of a millisecond late. */
#include "pgquern.h"

#include <time.h>

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    const struct timespec late = {.tv_nsec = 100000};

    nanosleep(&late, NULL);
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
