/* SPDX-License-Identifier: PostgreSQL */
/* Searches in sorted arrays. */
#ifndef PGQUERN_SNAPBUILD_SEARCH_H
#define PGQUERN_SNAPBUILD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * lower_boundN: the number of elements below x in the sorted array a[0 .. n). No branch on the data, and both elements
 * that the next step may need are fetched ahead: what it costs is memory, not mispredictions.
 *
 * gallop_downN: the same, but searching from the end in doubling steps: O(log d) for an answer d before the end.
 */
#define DEFINE_SEARCHES(bits, type)                                                                          \
    static inline size_t lower_bound##bits(const type *a, size_t n, type x)                                  \
    {                                                                                                        \
        const type *base = a;                                                                                \
                                                                                                             \
        if (n == 0)                                                                                          \
            return 0;                                                                                        \
        while (n > 1) {                                                                                      \
            size_t half = n / 2;                                                                             \
                                                                                                             \
            n -= half;                                                                                       \
            __builtin_prefetch(base + n / 2 - (n > 1));                                                      \
            __builtin_prefetch(base + half + n / 2 - (n > 1));                                               \
            base += (base[half - 1] < x) * half;                                                             \
        }                                                                                                    \
        return (size_t)(base - a) + (*base < x);                                                             \
    }                                                                                                        \
                                                                                                             \
    static inline size_t gallop_down##bits(const type *a, size_t n, type x)                                  \
    {                                                                                                        \
        size_t step = 1;                                                                                     \
                                                                                                             \
        while (step <= n && a[n - step] >= x) {                                                              \
            n -= step;                                                                                       \
            step *= 2;                                                                                       \
        }                                                                                                    \
        /* a[n] and all after are not below x; a[n - step], if there is one, is. */                          \
        if (step > n)                                                                                        \
            return lower_bound##bits(a, n, x);                                                               \
        return n - step + 1 + lower_bound##bits(a + n - step + 1, step - 1, x);                              \
    }

DEFINE_SEARCHES(32, uint32_t)
DEFINE_SEARCHES(64, uint64_t)

#endif
