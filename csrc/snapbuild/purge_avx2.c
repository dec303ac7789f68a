/* SPDX-License-Identifier: PostgreSQL */
/*
 * The AVX-512 variant's algorithm with eight XIDs a step. Eight bits say which XIDs are kept; they are the index of the
 * permutation that packs these XIDs. The loop over registers is printed from its proof.
 */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#if defined(__AVX2__)
#include "common/left_pack.h"

#include "snapbuild/keep_avx2.h"

static inline __attribute__((always_inline)) uint32_t *keep_avx2(uint32_t *to, const uint32_t *from,
                                                                 const uint32_t *end, uint32_t xmin)
{
    size_t rest = (size_t)(end - from) % 8;

    to = keep_registers_avx2(to, from, end, xmin);
    return to + slide_survivors(to, end - rest, rest, xmin);
}

DEFINE_PURGE(avx2)
#endif
