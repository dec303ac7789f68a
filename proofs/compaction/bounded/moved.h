/* SPDX-License-Identifier: PostgreSQL */
/*
 * A page with up to N tuples of any contents, wherever the caller may have found them, and what it must be when they have
 * moved: each tuple's bytes as they were before the first move, at its new place, and no other byte changed. BLCKSZ is
 * smaller here. With IN_UNITS memory is followed by units. The harness includes this before the kernel.
 */
#ifndef PGQUERN_BOUNDED_MOVED_H
#define PGQUERN_BOUNDED_MOVED_H

#include "bounded.h"
#include "compaction/page.h"

#if defined(IN_UNITS)
#include "units.h"
#else
/* The page, and what it was. As structs, they are assigned in one step. */
typedef struct contents {
    uint8_t bytes[BLCKSZ];
} contents;

contents nondet_contents(void);

static contents is, was;
static uint8_t *const page = is.bytes, *const before = was.bytes;

static inline void any_contents(void)
{
    was = is = nondet_contents();
}

static inline uint32_t any_place(void)
{
    return (uint32_t)any_upto(BLCKSZ - 1);
}

/*
 * memcpy and memmove of whole units of 8 bytes, as all tuples are. CBMC's own were seen to leave the target as it was. This
 * reads all before it writes.
 */
typedef uint64_t unit_of_bytes __attribute__((may_alias, aligned(1)));

static inline void *move_units(void *to, const void *from, size_t bytes)
{
    uint64_t units[BLCKSZ / 8];

    __CPROVER_assert(bytes % 8 == 0 && bytes <= BLCKSZ, "whole units, not more than a page");
    for (size_t i = 0; i < bytes / 8; i++)
        units[i] = ((const unit_of_bytes *)from)[i];
    for (size_t i = 0; i < bytes / 8; i++)
        ((unit_of_bytes *)to)[i] = units[i];
    return to;
}
#endif

static inline void *copy_units(void *to, const void *from, size_t bytes)
{
    __CPROVER_assert(!__CPROVER_same_object(to, from) || (const uint8_t *)to + bytes <= (const uint8_t *)from ||
                         (const uint8_t *)from + bytes <= (const uint8_t *)to,
                     "memcpy gets two places that do not overlap");
    return move_units(to, from, bytes);
}

/* Into a number of the kernel's, which is no unit of a tuple. */
static inline void *copy_word(void *to, const void *from, size_t bytes)
{
    __CPROVER_assert(bytes == 8, "a whole number");
    for (size_t i = 0; i < 8; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

#define memmove(to, from, bytes) move_units(to, from, bytes)
#define memcpy(to, from, bytes)  _Generic((to), uint64_t *: copy_word, default: copy_units)(to, from, bytes)

typedef struct moved {
    bounds b;
    uint32_t n, total, longest, shortest;
    uint32_t off[N], len[N], new_off[N];
} moved;

/* n tuples of `least` to `most` bytes. What is refused is left out: tuples outside the bounds, and too many bytes. */
static moved any_tuples(uint32_t n, uint32_t least, uint32_t most)
{
    moved m = {.n = n, .shortest = BLCKSZ};

    any_contents();
    m.b = (bounds){.lower = nondet_u16(), .upper = nondet_u16(), .special = 8u * nondet_u8()};
    assume(SIZE_OF_PAGE_HEADER + 4 <= m.b.lower && m.b.lower <= m.b.upper && m.b.upper <= m.b.special);
    assume(m.b.special <= BLCKSZ);
    for (uint32_t i = 0; i < n; i++) {
        m.off[i] = 8u * nondet_u8(), m.len[i] = least == most ? least : 8u * nondet_u8();
        assume(least <= m.len[i] && m.len[i] <= most);
        assume(m.b.upper <= m.off[i] && m.off[i] + m.len[i] <= m.b.special);
        m.total += m.len[i];
        m.longest = m.len[i] > m.longest ? m.len[i] : m.longest;
        m.shortest = m.len[i] < m.shortest ? m.len[i] : m.shortest;
        m.new_off[i] = m.b.special - m.total;
    }
    assume(m.total <= m.b.special - m.b.lower);
    return m;
}

/* Whether that byte of the page is one of the tuples', when they have moved. */
static bool is_moved(const moved *m, uint32_t at)
{
    return m->b.special - m->total <= at && at < m->b.special;
}

/* Which byte it was before. */
static uint32_t comes_from(const moved *m, uint32_t at)
{
    uint32_t from = at;

    for (uint32_t i = 0; i < m->n; i++)
        if (m->new_off[i] <= at && at < m->new_off[i] + m->len[i])
            from = m->off[i] + (at - m->new_off[i]);
    return from;
}

#endif
