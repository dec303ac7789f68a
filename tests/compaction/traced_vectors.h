/* SPDX-License-Identifier: PostgreSQL */
/*
 * Included before a kernel for AVX2 or AVX-512, this makes each whole load and store of a vector known to traced.c, and each
 * memcpy and memmove. Masked ones are only used for line pointers.
 */
#ifndef PGQUERN_TESTS_COMPACTION_TRACED_VECTORS_H
#define PGQUERN_TESTS_COMPACTION_TRACED_VECTORS_H

#include "../tests/compaction/traced.h"

#include <immintrin.h>

const void *traced_load(const void *from, size_t size, const char *function);
void *traced_store(void *to, size_t size, const char *function);

#define _mm_loadu_si128(from)      _mm_loadu_si128(traced_load(from, 16, __func__))
#define _mm256_loadu_si256(from)   _mm256_loadu_si256(traced_load(from, 32, __func__))
#define _mm512_loadu_si512(from)   _mm512_loadu_si512(traced_load(from, 64, __func__))
#define _mm_storeu_si128(to, v)    _mm_storeu_si128(traced_store(to, 16, __func__), v)
#define _mm256_storeu_si256(to, v) _mm256_storeu_si256(traced_store(to, 32, __func__), v)
#define _mm512_storeu_si512(to, v) _mm512_storeu_si512(traced_store(to, 64, __func__), v)

#endif
