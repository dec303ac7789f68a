/* SPDX-License-Identifier: PostgreSQL */
/*
 * Memory in units of 8 bytes, as all tuples are: a register, or a copy, moves the first byte of each unit. The seven behind
 * it would go the same way, since each access begins with a unit and is of whole ones. A solver needs an eighth of the
 * variables, or less.
 */
#ifndef PGQUERN_BOUNDED_UNITS_H
#define PGQUERN_BOUNDED_UNITS_H

#include "bounded.h"

static uint8_t page[BLCKSZ], before[BLCKSZ];

static inline void any_contents(void)
{
    for (size_t i = 0; i < BLCKSZ; i += 8)
        before[i] = page[i] = nondet_u8();
}

/* Any byte of the page: the first one of any unit. */
static inline uint32_t any_place(void)
{
    return 8 * (uint32_t)any_upto(BLCKSZ / 8 - 1);
}

#define BEGINS_WITH_UNIT(p) __CPROVER_assert(__CPROVER_POINTER_OFFSET(p) % 8 == 0, "an access begins with a unit")

static inline void *move_units(void *to, const void *from, size_t bytes)
{
    uint8_t units[BLCKSZ / 8];

    BEGINS_WITH_UNIT(to);
    BEGINS_WITH_UNIT(from);
    __CPROVER_assert(bytes % 8 == 0 && bytes <= BLCKSZ, "whole units, not more than a page");
    for (size_t i = 0; i < bytes / 8; i++)
        units[i] = ((const uint8_t *)from)[8 * i];
    for (size_t i = 0; i < bytes / 8; i++)
        ((uint8_t *)to)[8 * i] = units[i];
    return to;
}

/* Each lane of 64 bits is a unit. */
#define UNITS_LOADED(name, type)                                                                            \
    static inline type name(const void *p)                                                                  \
    {                                                                                                       \
        type v = {0};                                                                                       \
                                                                                                            \
        BEGINS_WITH_UNIT(p);                                                                                \
        for (size_t i = 0; i < sizeof v / 8; i++)                                                           \
            v[i] = ((const uint8_t *)p)[8 * i];                                                             \
        return v;                                                                                           \
    }
#define UNITS_STORED(name, type)                                                                            \
    static inline void name(void *p, type v)                                                                \
    {                                                                                                       \
        BEGINS_WITH_UNIT(p);                                                                                \
        for (size_t i = 0; i < sizeof v / 8; i++)                                                           \
            ((uint8_t *)p)[8 * i] = (uint8_t)v[i];                                                          \
    }

#if defined(__AVX2__)
#include <immintrin.h>
UNITS_LOADED(load_units128, __m128i)
UNITS_STORED(store_units128, __m128i)
UNITS_LOADED(load_units256, __m256i)
UNITS_STORED(store_units256, __m256i)
#define _mm_loadu_si128     load_units128
#define _mm_storeu_si128    store_units128
#define _mm256_loadu_si256  load_units256
#define _mm256_storeu_si256 store_units256
#endif

/* By the pointer's type: what the scan has found stands in arrays of other types. */
#if defined(__AVX512F__)
static inline __m512i load_bytes512(const void *p)
{
    return _mm512_loadu_si512(p);
}

static inline void store_bytes512(void *p, __m512i v)
{
    _mm512_storeu_si512(p, v);
}

UNITS_LOADED(load_units512, __m512i)
UNITS_STORED(store_units512, __m512i)
#define BY_TYPE(p, units, bytes)  _Generic((p), uint8_t *: units, const uint8_t *: units, default: bytes)
#define _mm512_loadu_si512(p)     BY_TYPE(p, load_units512, load_bytes512)(p)
#define _mm512_storeu_si512(p, v) BY_TYPE(p, store_units512, store_bytes512)(p, v)
#define _mm512_store_si512        store_units512
#endif

#if defined(__ARM_NEON)
#include <arm_neon.h>
typedef uint64_t units_of_16 __attribute__((vector_size(16)));
UNITS_LOADED(load_units, units_of_16)
UNITS_STORED(store_units, units_of_16)
#define vld1q_u8(p)    ((uint8x16_t)load_units(p))
#define vst1q_u8(p, v) store_units(p, (units_of_16)(v))
#endif

#endif
