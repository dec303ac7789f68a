/* SPDX-License-Identifier: PostgreSQL */
/*
 * Sixteen entries a step, as in purge_avx512.c. The flags, a byte each, become the mask. The loop is printed from its
 * proof.
 */
#include "snapbuild/known_assigned.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "snapbuild/vpcompressd.h"

#include "snapbuild/pack_avx512.h"

#include <string.h>

size_t pgq_snapbuild_known_assigned_avx512(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t n = head > tail ? (size_t)(pack_avx512(xids, xids + tail, xids + head, valid + tail) - xids) : 0;

    if (n > 0)
        memset(valid, true, n);
    return n;
}
#endif
