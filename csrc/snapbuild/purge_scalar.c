/* SPDX-License-Identifier: PostgreSQL */
/*
 * In place, by groups of 16 XIDs. If all of a group stay, it is copied as a whole. Otherwise the XIDs that stay move down
 * one by one, without a branch on the data: if half of the XIDs stay at random, upstream mispredicts every other one. The
 * branch for a whole group is predictable where nearly all XIDs stay, and only there a branch for each XID would be, too.
 */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#include <string.h>

enum { GROUP = 16 };

/* Do all XIDs of the group stay? */
static inline bool group_stays(const uint32_t *group, uint32_t xmin)
{
    uint32_t signs = 0;

    for (size_t i = 0; i < GROUP; i++)
        signs |= group[i] - xmin;
    return signs < HALF_RING;
}

/* Moves a group down by any distance: all of it is read before any is stored. */
static inline void copy_group(uint32_t *to, const uint32_t *from)
{
    uint32_t group[GROUP];

    memcpy(group, from, sizeof group);
    memcpy(to, group, sizeof group);
}

static inline __attribute__((always_inline)) uint32_t *keep_scalar(uint32_t *to, const uint32_t *from,
                                                                   const uint32_t *end, uint32_t xmin)
{
    for (; end - from >= GROUP; from += GROUP) {
        if (group_stays(from, xmin)) {
            copy_group(to, from);
            to += GROUP;
            continue;
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < GROUP; i++) {
            uint32_t x = from[i];

            *to = x;
            to += !xid_normal_precedes(x, xmin);
        }
    }
    return to + slide_survivors(to, from, (size_t)(end - from), xmin);
}

DEFINE_PURGE(scalar)
