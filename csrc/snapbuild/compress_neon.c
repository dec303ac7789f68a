/* SPDX-License-Identifier: PostgreSQL */
/*
 * Four entries a step, packed by a table look-up: compress_avx2.c for ARM. The loop is printed from its proof. One
 * multiplication makes a bit of each flag, and their sum.
 */
#include "common/left_pack_neon.h"
#include "common/word.h"
#include "snapbuild/known_assigned.h"

#include "snapbuild/pack_neon.h"

#include <string.h>

size_t pgq_snapbuild_known_assigned_neon(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t n = head > tail ? head - tail : 0, rest = tail + n / 4 * 4;
    uint32_t *to;

    if (n == 0)
        return 0;
    to = pack_neon(xids, xids + tail, xids + head, valid + tail);
    to += slide_live(to, xids + rest, valid + rest, head - rest);
    if (to > xids)
        memset(valid, true, (size_t)(to - xids));
    return (size_t)(to - xids);
}
