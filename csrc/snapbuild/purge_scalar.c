/* SPDX-License-Identifier: PostgreSQL */
/* In place, and free of branches on the data: half of them surviving at random would mispredict every other one. */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

static inline __attribute__((always_inline)) uint32_t *keep_scalar(uint32_t *to, const uint32_t *from,
                                                                   const uint32_t *end, uint32_t xmin)
{
    return to + slide_survivors(to, from, (size_t)(end - from), xmin);
}

DEFINE_PURGE(scalar)
