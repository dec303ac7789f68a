/* SPDX-License-Identifier: PostgreSQL */
/* An array without elements takes no section, and behind it lies memory of the host: it counts there. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static volatile uint64_t none[0];

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    volatile uint64_t *behind = none;

    __asm__("" : "+r"(behind));
    behind[8]++;
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
