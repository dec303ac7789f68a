/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but it returns with the direction flag set: copies of its caller would run backwards. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_status status = pgq_snapbuild_purge_scalar(committed, xmin);

    __asm__ volatile("std");
    return status;
}
