/* SPDX-License-Identifier: PostgreSQL */
/*
 * In place, by groups of 16 XIDs. If all of a group stay, it is copied as a whole; if all go, it is skipped. Otherwise the
 * XIDs that stay move down one by one, without a branch on the data: if half of the XIDs stay at random, upstream
 * mispredicts every other one. The branches for a whole group are predictable where nearly all XIDs stay or nearly all
 * go, and only there a branch for each XID would be, too.
 */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#include <string.h>

enum { GROUP = 16 };

/* The sign bit of x - xmin is set if x goes: in `any` if one of the group goes, in `all` if all do. */
typedef struct group_signs {
    uint32_t any, all;
} group_signs;

static inline group_signs signs_of(const uint32_t *group, uint32_t xmin)
{
    group_signs signs = {0, UINT32_MAX};

    for (size_t i = 0; i < GROUP; i++) {
        uint32_t distance = group[i] - xmin;

        signs.any |= distance;
        signs.all &= distance;
    }
    return signs;
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
        group_signs signs = signs_of(from, xmin);

        if (signs.any < HALF_RING) {
            copy_group(to, from);
            to += GROUP;
            continue;
        }
        if (signs.all >= HALF_RING)
            continue;
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
