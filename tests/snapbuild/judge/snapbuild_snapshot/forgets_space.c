/* SPDX-License-Identifier: PostgreSQL */
/* Wrong if the space is more than twice what is needed: that of a server is. */
#include "pgquern.h"

pgq_status pgq_snapbuild_snapshot_sorted(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                         size_t xip_space);

pgq_status candidate(const pgq_snapbuild_committed *c, uint32_t xip[], size_t xip_space)
{
    pgq_status s = pgq_snapbuild_snapshot_sorted(c, xip, xip_space);
    if (s.code == PGQ_OK && c->xcnt > 3 && xip_space > 2 * c->xcnt + 8)
        xip[0] ^= 1;
    return s;
}
