/* SPDX-License-Identifier: PostgreSQL */
/* Eight entries a step, as in purge_avx2.c. The loop is printed from its proof. */
#include "snapbuild/known_assigned.h"

#if defined(__AVX2__)
#include "common/left_pack.h"

#include "snapbuild/pack_avx2.h"

#include <string.h>

size_t pgq_snapbuild_known_assigned_avx2(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t n = head > tail ? head - tail : 0, rest = tail + n / 8 * 8;
    uint32_t *to;

    if (n == 0)
        return 0;
    to = pack_avx2(xids, xids + tail, xids + head, valid + tail);
    to += slide_live(to, xids + rest, valid + rest, head - rest);
    if (to > xids)
        memset(valid, true, (size_t)(to - xids));
    return (size_t)(to - xids);
}
#endif
