/* SPDX-License-Identifier: PostgreSQL */
/*
 * Four XIDs a step, packed by a table look-up: purge_avx2.c for ARM. The loop over registers is printed from its proof. Lane
 * i of those that stay adds its bit, and 16 to the count; one sum over the lanes gives both.
 */
#include "common/left_pack_neon.h"
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#include "snapbuild/keep_neon.h"

static inline __attribute__((always_inline)) uint32_t *keep_neon(uint32_t *to, const uint32_t *from,
                                                                 const uint32_t *end, uint32_t xmin)
{
    size_t rest = (size_t)(end - from) % 4;

    to = keep_registers_neon(to, from, end, xmin);
    return to + slide_survivors(to, end - rest, rest, xmin);
}

DEFINE_PURGE(neon)
