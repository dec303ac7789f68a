/* SPDX-License-Identifier: PostgreSQL */
/* Searches in sorted arrays. */
#ifndef PGQUERN_SNAPBUILD_SEARCH_H
#define PGQUERN_SNAPBUILD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    SEARCH_LANES = 8 /* so many XIDs are searched for side by side */
};

/* Unrolled, so that what the lanes hold stays in registers. */
#define EACH_LANE(l) _Pragma("GCC unroll 8") for (size_t l = 0; l < SEARCH_LANES; l++)

/*
 * lower_boundN: the number of elements below x in the sorted array a[0 .. n), without a branch on the data. The array is
 * cut into eight at a time: seven probes that don't wait for each other cost one miss of the cache where a binary search
 * would take three, one after the other. Which branches are taken depends on n alone.
 *
 * gallop_downN: the same, but searching from the end in doubling steps: O(log d) for an answer d before the end.
 *
 * search_chunkN: where each of x[0 .. m), m > 0, belongs in a[0 .. n), both sorted. None lies below the first, which is
 * galloped for; in a batch of the newest XIDs that is the end, for all. Else SEARCH_LANES at a time halve the range from there on,
 * side by side, so that they neither branch on the data nor wait for each other; past the last one the first of them is
 * searched for again. A function of its own: inlined, it takes the registers of the merge.
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
    }                                                                                                        \
                                                                                                             \
    __attribute__((noinline, unused)) static void search_chunk##bits(size_t at[], const type *a, size_t n,   \
                                                                     const type *x, size_t m)                \
    {                                                                                                        \
        size_t from = at[0] = gallop_down##bits(a, n, x[0]);                                                 \
                                                                                                             \
        if (from == n) {                                                                                     \
            for (size_t i = 1; i < m; i++)                                                                   \
                at[i] = n;                                                                                   \
            return;                                                                                          \
        }                                                                                                    \
        for (size_t i = 1; i < m; i += SEARCH_LANES) {                                                       \
            size_t lane[SEARCH_LANES], p[SEARCH_LANES];                                                      \
            type key[SEARCH_LANES];                                                                          \
                                                                                                             \
            EACH_LANE(l) lane[l] = i + l < m ? i + l : i, key[l] = x[lane[l]], p[l] = from;                  \
            for (size_t w = n - from, half; w > 1; w -= half) {                                              \
                half = w / 2;                                                                                \
                EACH_LANE(l) p[l] += a[p[l] + half - 1] < key[l] ? half : 0;                                 \
            }                                                                                                \
            EACH_LANE(l) at[lane[l]] = p[l] + (p[l] < n && a[p[l]] < key[l]);                                \
        }                                                                                                    \
    }

DEFINE_SEARCHES(32, uint32_t)
DEFINE_SEARCHES(64, uint64_t)

/*
 * lower_bound32 where somebody has a guess, below n unless n is 0: two probes each at 16, 128, 1024, ... on both sides of it,
 * which don't wait for each other, leave the less to search the better the guess is. A bad one costs these O(log n) probes
 * and no more. In disorder, too, what is left lies inside: low <= max(guess, 1), and high is no less.
 */
static inline size_t lower_bound_near32(const uint32_t *a, size_t n, uint32_t x, size_t guess)
{
    size_t low = 0, high = n;

    for (size_t d = 16; d < n; d *= 8) {
        size_t i = d < guess ? guess - d : 0, j = guess + d < n ? guess + d : n - 1;
        size_t above = a[i] < x ? i + 1 : 0, upto = a[j] < x ? n : j;

        low = above > low ? above : low;
        high = upto < high ? upto : high;
    }
    return low + lower_bound32(a + low, high - low, x);
}

#endif
