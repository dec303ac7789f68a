/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but memory from before the first call holds the last xmin: no static ever changes. */
#include "pgquern.h"

#include <stdlib.h>

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static uint32_t *last;

__attribute__((constructor)) static void begin(void)
{
    last = calloc(1, sizeof *last);
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (last != NULL)
        *last = xmin;
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
