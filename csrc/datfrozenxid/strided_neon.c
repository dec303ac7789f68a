/* SPDX-License-Identifier: PostgreSQL */
/* Two rows a register, XIDs in the even lanes and MultiXactIds in the odd ones: strided_avx2.c for ARM. */
#include "datfrozenxid/kernels.h"

#include <arm_neon.h>

/* Both ids of a row; 0 if its kind holds none. */
ALWAYS_INLINE uint64_t ids_at(const pgq_datfrozenxid_rows *rows, const unsigned char *row)
{
    uint64_t ids;

    memcpy(&ids, row + rows->relfrozenxid_at, sizeof ids);
    return ids & (uint64_t)(int64_t)holds_ids[row[rows->relkind_at]];
}

ALWAYS_INLINE uint32x4_t older(uint32x4_t greatest, uint64_t one, uint64_t other, uint32x4_t last_sane,
                               uint32x4_t first)
{
    uint32x4_t x = vreinterpretq_u32_u64(vcombine_u64(vcreate_u64(one), vcreate_u64(other)));

    return vmaxq_u32(greatest, vsubq_u32(vandq_u32(vcgeq_u32(x, first), last_sane), x));
}

ALWAYS_INLINE uint32x4_t pairs(uint32_t xid, uint32_t multi)
{
    return vreinterpretq_u32_u64(vdupq_n_u64((uint64_t)multi << 32 | xid));
}

ALWAYS_INLINE pgq_datfrozenxid_pair greatest_ages(const pgq_datfrozenxid_rows *rows, size_t from, size_t to,
                                                  const pgq_datfrozenxid_pair *last_sane)
{
    const uint32x4_t sane = pairs(last_sane->xid, last_sane->multi), first = pairs(3, 1);
    const unsigned char *row = record(rows, from);
    uint32x4_t a = vdupq_n_u32(0), b = a;
    size_t stride = rows->stride, left = to - from;
    uint32x2_t both;

    for (; left >= 4; left -= 4, row += 4 * stride) {
        a = older(a, ids_at(rows, row), ids_at(rows, row + stride), sane, first);
        b = older(b, ids_at(rows, row + 2 * stride), ids_at(rows, row + 3 * stride), sane, first);
    }
    for (size_t i = to - left; i < to; i++)
        a = older(a, ids_at(rows, record(rows, i)), 0, sane, first);
    a = vmaxq_u32(a, b);
    both = vmax_u32(vget_low_u32(a), vget_high_u32(a));
    return (pgq_datfrozenxid_pair){vget_lane_u32(both, 0), vget_lane_u32(both, 1)};
}

pgq_status pgq_datfrozenxid_min_frozen_strided_neon(const pgq_datfrozenxid_rows *rows,
                                                    const pgq_datfrozenxid_pair *start,
                                                    const pgq_datfrozenxid_pair *last_sane,
                                                    pgq_datfrozenxid_pair *minimum)
{
    return min_frozen_strided_by_age(rows, start, last_sane, minimum, greatest_ages);
}
