/* SPDX-License-Identifier: PostgreSQL */
/*
 * Included before a kernel, this makes each memcpy, memmove and memset of it known to accesses.c, each array that it
 * allocates, and each lane of a masked load or store. The compiler makes all other accesses known.
 */
#ifndef PGQUERN_TESTS_TRACED_CALLS_H
#define PGQUERN_TESTS_TRACED_CALLS_H

#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#include <stdlib.h>
#include <string.h>

void *traced_copy(void *to, const void *from, size_t size);
void *traced_move(void *to, const void *from, size_t size);
void *traced_setting(void *to, int byte, size_t size);
void *traced_allocation(size_t size);
void traced_free(void *bytes);

#define memcpy(to, from, size)  traced_copy(to, from, size)
#define memmove(to, from, size) traced_move(to, from, size)
#define memset(to, byte, size)  traced_setting(to, byte, size)
#define malloc(size)            traced_allocation(size)
#define free(bytes)             traced_free(bytes)

#if defined(__AVX512F__)
/* To the compiler these are calls. Lanes that the mask does not have are not touched. */
void traced_lanes_read(unsigned mask, const void *lanes, size_t width);
void traced_lanes_written(unsigned mask, const void *lanes, size_t width);

static inline __m512i traced_masked_load(__mmask16 mask, const void *from)
{
    traced_lanes_read(mask, from, 4);
    return _mm512_maskz_loadu_epi32(mask, from);
}

static inline void traced_masked_store(void *to, __mmask16 mask, __m512i x)
{
    traced_lanes_written(mask, to, 4);
    _mm512_mask_storeu_epi32(to, mask, x);
}

#define _mm512_maskz_loadu_epi32(mask, from)  traced_masked_load(mask, from)
#define _mm512_mask_storeu_epi32(to, mask, x) traced_masked_store(to, mask, x)
#endif

#endif
