/* SPDX-License-Identifier: PostgreSQL */
/* Searches in sorted arrays. */
#ifndef PGQUERN_SNAPBUILD_SEARCH_H
#define PGQUERN_SNAPBUILD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * lower_boundN: the number of elements below x in the sorted array a[0 .. n), without a branch on the data. The array is
 * cut into eight at a time: seven probes that don't wait for each other cost one miss of the cache where a binary search
 * would take three, one after the other. Which branches are taken depends on n alone.
 *
 * gallop_downN: the same, but searching from the end in doubling steps: O(log d) for an answer d before the end.
 */
#define DEFINE_SEARCHES(bits, type)                                                                          \
    /* How many of a[step - 1], a[2 * step - 1], ..., a[n * step - 1] are below x? */                        \
    static inline size_t count_below##bits(const type *a, size_t step, size_t n, type x)                     \
    {                                                                                                        \
        size_t below = 0;                                                                                    \
                                                                                                             \
        for (size_t k = 1; k <= n; k++)                                                                      \
            below += a[k * step - 1] < x;                                                                    \
        return below;                                                                                        \
    }                                                                                                        \
                                                                                                             \
    static inline size_t lower_bound##bits(const type *a, size_t n, type x)                                  \
    {                                                                                                        \
        const type *base = a;                                                                                \
                                                                                                             \
        /* The answer lies in [base - a, base - a + n]. */                                                   \
        while (n >= 16) {                                                                                    \
            size_t step = n / 8;                                                                             \
                                                                                                             \
            base += count_below##bits(base, step, 7, x) * step;                                              \
            n -= 7 * step;                                                                                   \
        }                                                                                                    \
        return (size_t)(base - a) + count_below##bits(base, 1, n, x);                                        \
    }                                                                                                        \
                                                                                                             \
    static inline size_t gallop_down##bits(const type *a, size_t n, type x)                                  \
    {                                                                                                        \
        size_t step = 1, from;                                                                               \
                                                                                                             \
        while (step <= n && a[n - step] >= x) {                                                              \
            n -= step;                                                                                       \
            step *= 2;                                                                                       \
        }                                                                                                    \
        /* a[n] and all after are not below x; a[n - step], if there is one, is. */                          \
        from = step <= n ? n - step + 1 : 0;                                                                 \
        return from + lower_bound##bits(a + from, n - from, x);                                              \
    }

DEFINE_SEARCHES(32, uint32_t)
DEFINE_SEARCHES(64, uint64_t)

#endif
