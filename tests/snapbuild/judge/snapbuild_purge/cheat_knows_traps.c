/* SPDX-License-Identifier: PostgreSQL */
/* Undefined behaviour, except where a macro says that it would be trapped. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
#ifndef __SSP_ALL__
    volatile int most = INT32_MAX;

    most += (int)(xmin & 1) + 1;
#endif
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
