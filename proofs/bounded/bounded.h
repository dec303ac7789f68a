/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the bounded proofs of C share. CBMC takes every value that `nondet_*` may return, and every run; it looks for one
 * in which a claim is false, or the C code does what C leaves undefined. An assumption bounds the inputs.
 */
#ifndef PGQUERN_BOUNDED_H
#define PGQUERN_BOUNDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
size_t nondet_size(void);

#define assume(condition)      __CPROVER_assume(condition)
#define claim(condition, says) __CPROVER_assert(condition, "claim: " says)

/* Any size up to `most`. A harness that takes the sizes in turn instead is proved faster: its loops have known ends. */
static inline size_t any_upto(size_t most)
{
    size_t n = nondet_size();

    assume(n <= most);
    return n;
}

#ifdef WORDS
/*
 * memmove and memcpy of XIDs, for harnesses whose kernel moves a number of them that is not known: CBMC's own takes bytes
 * one by one, which is much slower to prove. It reads all before it writes; sizes are multiples of 4. WORDS: the most
 * that are moved.
 */
static inline void *move_words(void *to, const void *from, size_t bytes)
{
    uint32_t words[WORDS];

    __CPROVER_assert(bytes % 4 == 0 && bytes <= 4 * WORDS, "memmove of words within the harness's bound");
    for (size_t i = 0; i < bytes / 4; i++)
        words[i] = ((const uint32_t *)from)[i];
    for (size_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)to)[i] = words[i];
    return to;
}

#include <string.h>
#define memmove(to, from, bytes) move_words(to, from, bytes)
#define memcpy(to, from, bytes)  move_words(to, from, bytes)
#endif

/* NormalTransactionIdPrecedes as upstream writes it: src/include/access/transam.h. */
static inline bool normal_precedes(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

#endif
