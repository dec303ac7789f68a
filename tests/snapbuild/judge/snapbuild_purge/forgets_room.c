/* SPDX-License-Identifier: PostgreSQL */
/* Wrong if the array has room for nine more: those of a server have. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (committed != NULL && committed->xip != NULL && committed->xcnt > 10 &&
        committed->xcnt_space > committed->xcnt + 8)
        return (pgq_status){PGQ_OK, 0};
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
