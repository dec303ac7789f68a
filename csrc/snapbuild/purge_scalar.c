/* SPDX-License-Identifier: PostgreSQL */
/*
 * In place, by groups of 16 XIDs. If all of a group stay, it is copied as a whole. Otherwise its survivors slide down one
 * by one without a branch on the data: where half survive at random, upstream mispredicts every other one. Whether all of
 * a group stay is predictable where a branch for each XID would be, too: where nearly all stay.
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

/* A group down by any distance: all of it is read before any is stored. */
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
