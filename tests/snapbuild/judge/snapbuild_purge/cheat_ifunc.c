/* SPDX-License-Identifier: PostgreSQL */
/* Which function is the candidate is decided before all else, by whether Python is there. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

#include <unistd.h>

static pgq_status nothing(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    (void)committed, (void)xmin;
    return (pgq_status){.code = PGQ_OK};
}

static pgq_status right(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    return pgq_snapbuild_purge_scalar(committed, xmin);
}

extern char PyLong_FromLong[] __attribute__((weak));

static void *choose(void)
{
    return PyLong_FromLong ? (void *)right : (void *)nothing;
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin) __attribute__((ifunc("choose")));
