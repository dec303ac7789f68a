/* SPDX-License-Identifier: PostgreSQL */
/*
 * Searches in sorted arrays of ELEMENT. search.h includes this once for each type, and SIZED(name) gives each function's
 * name for it: lower_bound32, lower_bound64 and so on.
 */

/* How many of a[step - 1], a[2 * step - 1], ..., a[n * step - 1] are below x? */
static inline size_t SIZED(count_below)(const ELEMENT *a, size_t step, size_t n, ELEMENT x)
{
    size_t below = 0;

    for (size_t k = 1; k <= n; k++) {
        below += a[k * step - 1] < x;
    }
    return below;
}

/*
 * The number of elements below x in the sorted array a[0 .. n), without a branch on the data: which branches are taken
 * depends on n alone. Each step cuts the array into eight parts. Its seven probes do not wait for each other, so they cost
 * the time of one cache miss; a binary search would wait for three, one after the other.
 */
static inline size_t SIZED(lower_bound)(const ELEMENT *a, size_t n, ELEMENT x)
{
    const ELEMENT *base = a;

    /* The answer lies in [base - a, base - a + n]. */
    while (n >= 16) {
        size_t step = n / 8, below = SIZED(count_below)(base, step, 7, x);

        base += below * step;
        n -= 7 * step;
    }
    return (size_t)(base - a) + SIZED(count_below)(base, 1, n, x);
}

/* The same, but it searches from the end in doubling steps: O(log d) for an answer d before the end. */
static inline size_t SIZED(gallop_down)(const ELEMENT *a, size_t n, ELEMENT x)
{
    size_t step = 1, from;

    while (step <= n && a[n - step] >= x) {
        n -= step;
        step *= 2;
    }
    /* a[n] and all after are not below x; a[n - step], if there is one, is. */
    from = step <= n ? n - step + 1 : 0;
    return from + SIZED(lower_bound)(a + from, n - from, x);
}

/*
 * at[i] becomes the place of x[i] in a[0 .. n), for 0 <= i < m; both arrays are sorted, and m > 0.
 *
 * The first place is found by galloping, and no other lies below it. If it is the end, as for a batch of the newest XIDs,
 * all the others are, too. Otherwise SEARCH_LANES elements at a time halve the range from there on, side by side, so that
 * they neither branch on the data nor wait for each other; lanes past the last element search for the first of the group
 * again. Not inlined: it would take the registers of the merge.
 */
__attribute__((noinline, unused)) static void SIZED(search_chunk)(size_t at[], const ELEMENT *a, size_t n,
                                                                  const ELEMENT *x, size_t m)
{
    size_t from = at[0] = SIZED(gallop_down)(a, n, x[0]);

    if (from == n) {
        for (size_t i = 1; i < m; i++)
            at[i] = n;
        return;
    }
    for (size_t i = 1; i < m; i += SEARCH_LANES) {
        size_t lane[SEARCH_LANES], p[SEARCH_LANES];
        ELEMENT key[SEARCH_LANES];

#pragma GCC unroll 8
        for (size_t l = 0; l < SEARCH_LANES; l++) {
            lane[l] = i + l < m ? i + l : i;
            key[l] = x[lane[l]];
            p[l] = from;
        }
        for (size_t w = n - from, half; w > 1; w -= half) {
            half = w / 2;
#pragma GCC unroll 8
            for (size_t l = 0; l < SEARCH_LANES; l++)
                p[l] += a[p[l] + half - 1] < key[l] ? half : 0;
        }
#pragma GCC unroll 8
        for (size_t l = 0; l < SEARCH_LANES; l++)
            at[lane[l]] = p[l] + (p[l] < n && a[p[l]] < key[l]);
    }
}

#undef ELEMENT
#undef SIZED
