/* SPDX-License-Identifier: PostgreSQL */
/* Searches in sorted arrays. */
#ifndef PGQUERN_SNAPBUILD_SEARCH_H
#define PGQUERN_SNAPBUILD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * lower_boundN: the number of elements below x in the sorted array a[0 .. n), without a branch on the data. A large array
 * is cut into eight at a time: seven probes that don't wait for each other cost one miss of the cache where a binary
 * search would take three, one after the other.
 *
 * gallop_downN: the same, but searching from the end in doubling steps: O(log d) for an answer d before the end.
 */
#define DEFINE_SEARCHES(bits, type)                                                                          \
    static inline size_t lower_bound##bits(const type *a, size_t n, type x)                                  \
    {                                                                                                        \
        const type *base = a;                                                                                \
                                                                                                             \
        /* The answer lies in [base - a, base - a + n]. */                                                   \
        while (n >= 256) {                                                                                   \
            size_t step = n / 8, below = 0;                                                                  \
                                                                                                             \
            for (size_t k = 1; k < 8; k++)                                                                   \
                below += base[k * step - 1] < x;                                                             \
            base += below * step;                                                                            \
            n -= 7 * step;                                                                                   \
        }                                                                                                    \
        while (n > 1) {                                                                                      \
            size_t half = n / 2;                                                                             \
                                                                                                             \
            base += (base[half - 1] < x) * half;                                                             \
            n -= half;                                                                                       \
        }                                                                                                    \
        return (size_t)(base - a) + (n > 0 && *base < x);                                                    \
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
