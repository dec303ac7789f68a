/* SPDX-License-Identifier: PostgreSQL */
/* A purge by blocks with the plainest inner loop, so that the blocks around any are all that is to be proved. */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

static uint32_t *keep_plain(uint32_t *to, const uint32_t *from, const uint32_t *end, uint32_t xmin)
{
    return to + slide_survivors(to, from, (size_t)(end - from), xmin);
}

pgq_status pgq_snapbuild_purge_plain(pgq_snapbuild_committed *committed, uint32_t xmin);

DEFINE_PURGE(plain)
