/* SPDX-License-Identifier: PostgreSQL */
/*
 * Included before a kernel for AVX2, AVX-512 or NEON, this makes each whole load and store of a vector known to traced.c, and
 * each memcpy and memmove. Masked ones are only used for line pointers.
 */
#ifndef PGQUERN_TESTS_COMPACTION_TRACED_VECTORS_H
#define PGQUERN_TESTS_COMPACTION_TRACED_VECTORS_H

#include "../tests/compaction/traced.h"

const void *traced_load(const void *from, size_t size, const char *function);
void *traced_store(void *to, size_t size, const char *function);

#if defined(__aarch64__)
#include <arm_neon.h>

#define vld1q_u8(from)   vld1q_u8(traced_load(from, 16, __func__))
#define vld1q_u16(from)  vld1q_u16(traced_load(from, 16, __func__))
#define vld2q_u16(from)  vld2q_u16(traced_load(from, 32, __func__))
#define vst1_u8(to, v)   vst1_u8(traced_store(to, 8, __func__), v)
#define vst1q_u8(to, v)  vst1q_u8(traced_store(to, 16, __func__), v)
#define vst1q_u16(to, v) vst1q_u16(traced_store(to, 16, __func__), v)
#else
#include <immintrin.h>

#define _mm_loadu_si128(from)      _mm_loadu_si128(traced_load(from, 16, __func__))
#define _mm256_loadu_si256(from)   _mm256_loadu_si256(traced_load(from, 32, __func__))
#define _mm512_loadu_si512(from)   _mm512_loadu_si512(traced_load(from, 64, __func__))
#define _mm_storeu_si128(to, v)    _mm_storeu_si128(traced_store(to, 16, __func__), v)
#define _mm256_storeu_si256(to, v) _mm256_storeu_si256(traced_store(to, 32, __func__), v)
#define _mm512_storeu_si512(to, v) _mm512_storeu_si512(traced_store(to, 64, __func__), v)
#endif

#endif
