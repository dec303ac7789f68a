# SPDX-License-Identifier: PostgreSQL
"""C that stands in for NEON's header in a changed kernel: its registers are loaded or stored in another way.

The loop around them may be any, also one that is printed from a proof: the changes that name no line of it are these.
"""

UPPER_FIRST = """#include <arm_neon.h>
static inline uint32x4_t upper_first(const uint32_t *from)
{
    uint32x2_t upper = *(const volatile uint32x2_t *)(from + 2);

    return vcombine_u32(*(const volatile uint32x2_t *)from, upper);
}
#define vld1q_u32 upper_first
"""
LOADED_AGAIN = """#include <arm_neon.h>
#define vld1q_u32(from) ((void)*(const volatile uint32_t *)(from), vld1q_u32(from))
"""
STORED_BY_HALVES = """#include <arm_neon.h>
static inline void halves(uint32_t *to, uint32x4_t x)
{
    *(volatile uint32x2_t *)(to + 2) = vget_high_u32(x);
    *(volatile uint32x2_t *)to = vget_low_u32(x);
}
#define vst1q_u32 halves
"""
