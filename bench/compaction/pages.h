/* SPDX-License-Identifier: PostgreSQL */
/*
 * The one maker of heap pages for benchmarks: pages on which some tuples have died. The benchmarks and the instruction
 * counts use it, and Python code uses it through pages.py.
 */
#ifndef BENCH_COMPACTION_PAGES_H
#define BENCH_COMPACTION_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * n: line pointers, 1 to 291. Every tuple ever inserted still has its space: lengths drawn from len_min to len_max (1 to
 * 8144) until all fit; presorted, or placed at random. live: percent. Of the dead line pointers half are UNUSED, a
 * quarter DEAD, a quarter REDIRECT, none with storage, at random places. All bytes of the tuple area are random.
 */
typedef struct page_shape {
    int n;
    int len_min, len_max;
    int live;
    bool random;
} page_shape;

enum { PAGE_SIZE = 8192 };

/* The state of the random numbers to start from. */
#define PAGES_FIRST_STATE 88172645463325252u

/*
 * Writes `count` pages of 8192 bytes to `pages`; *state moves on, so that the next call makes other pages. False, and
 * nothing is done, if the shape is out of range or its tuples cannot fit.
 */
bool make_pages(uint8_t *pages, size_t count, const page_shape *shape, uint64_t *state);

#ifdef __cplusplus
}
#endif

#endif
