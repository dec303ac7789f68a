/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but it returns with r15, which is its caller's, changed. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_status status = pgq_snapbuild_purge_scalar(committed, xmin);

    __asm__ volatile("xor %r15d, %r15d");
    return status;
}
