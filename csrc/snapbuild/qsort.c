/* SPDX-License-Identifier: PostgreSQL */
#include "snapbuild/qsort.h"

typedef int (*comparator)(const void *, const void *);

int pgq_snapbuild_xid_comparator(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t t = *a;

    *a = *b;
    *b = t;
}

static void swap_runs(uint32_t *a, uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        swap(a + i, b + i);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint32_t *median(uint32_t *a, uint32_t *b, uint32_t *c, comparator compare)
{
    if (compare(a, b) < 0)
        return compare(b, c) < 0 ? b : compare(a, c) < 0 ? c : a;
    return compare(b, c) > 0 ? b : compare(a, c) < 0 ? a : c;
}

static int is_sorted(const uint32_t *a, size_t n, comparator compare)
{
    for (size_t i = 1; i < n; i++)
        if (compare(a + i - 1, a + i) > 0)
            return 0;
    return 1;
}

static void insertion_sort(uint32_t *a, size_t n, comparator compare)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && compare(a + j - 1, a + j) > 0; j--)
            swap(a + j - 1, a + j);
}

/* The pivot: the middle element; of more than 7 the median of three; of more than 40 the median of three medians. */
static uint32_t *pivot(uint32_t *a, size_t n, comparator compare)
{
    uint32_t *low = a, *middle = a + n / 2, *high = a + n - 1;

    if (n <= 7)
        return middle;
    if (n > 40) {
        size_t d = n / 8;

        low = median(low, low + d, low + 2 * d, compare);
        middle = median(middle - d, middle, middle + d, compare);
        high = median(high - 2 * d, high - d, high, compare);
    }
    return median(low, middle, high, compare);
}

void pgq_snapbuild_qsort32(uint32_t *a, size_t n, comparator compare)
{
    while (!is_sorted(a, n, compare)) {
        uint32_t *left, *right, *equal_left, *equal_right, *end;
        size_t below, above, d;

        if (n < 7) {
            insertion_sort(a, n, compare);
            return;
        }
        swap(a, pivot(a, n, compare));
        left = equal_left = a + 1;
        right = equal_right = a + n - 1;
        for (;;) {
            int order;

            for (; left <= right && (order = compare(left, a)) <= 0; left++)
                if (order == 0)
                    swap(equal_left++, left);
            for (; left <= right && (order = compare(right, a)) >= 0; right--)
                if (order == 0)
                    swap(right, equal_right--);
            if (left > right)
                break;
            swap(left++, right--);
        }

        /* The equal ones wait at both ends: bring them to the middle. */
        end = a + n;
        below = (size_t)(left - equal_left);
        above = (size_t)(equal_right - right);
        d = min_size((size_t)(equal_left - a), below);
        swap_runs(a, left - d, d);
        d = min_size(above, (size_t)(end - equal_right) - 1);
        swap_runs(left, end - d, d);

        /* Recursion into the smaller part keeps the stack within log n. */
        if (below <= above) {
            pgq_snapbuild_qsort32(a, below, compare);
            a = end - above;
            n = above;
        } else {
            pgq_snapbuild_qsort32(end - above, above, compare);
            n = below;
        }
    }
}
