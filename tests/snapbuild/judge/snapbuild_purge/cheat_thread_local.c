/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but memory of the thread keeps how often it was called. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

static _Thread_local uint32_t calls;

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    calls++;
    return pgq_snapbuild_purge_scalar(committed, calls == 0 ? 0 : xmin);
}
