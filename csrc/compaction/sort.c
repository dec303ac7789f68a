/* SPDX-License-Identifier: PostgreSQL */
/*
 * A stand-in for src/port/qsort.c (pg_qsort) of PostgreSQL 13: Bentley and McIlroy, "Engineering a Sort Function"
 * (1993), with a check for input that is already sorted at each level. Written from that description. It differs from
 * upstream's in being typed: items are swapped whole, not byte by byte.
 */
#include "compaction/page.h"

#include "common/holds.h"

typedef int (*compare_fn)(const item *, const item *);

static void swap(item *a, item *b)
{
    item t = *a;

    *a = *b;
    *b = t;
}

static void swap_blocks(item *a, item *b, ptrdiff_t n)
{
    for (; n > 0; n--)
        swap(a++, b++);
}

static item *median3(item *a, item *b, item *c, compare_fn compare)
{
    if (compare(a, b) < 0)
        return compare(b, c) < 0 ? b : compare(a, c) < 0 ? c : a;
    return compare(b, c) > 0 ? b : compare(a, c) < 0 ? a : c;
}

static bool is_sorted(const item *a, ptrdiff_t n, compare_fn compare)
{
    for (ptrdiff_t i = 1; i < n; i++)
        if (compare(&a[i - 1], &a[i]) > 0)
            return false;
    return true;
}

static void insertion_sort(item *a, ptrdiff_t n, compare_fn compare)
{
    for (ptrdiff_t i = 1; i < n; i++)
        for (ptrdiff_t j = i; j > 0 && compare(&a[j - 1], &a[j]) > 0; j--)
            swap(&a[j - 1], &a[j]);
}

static item *pivot(item *a, ptrdiff_t n, compare_fn compare)
{
    item *low = a, *middle = a + n / 2, *high = a + n - 1;

    if (n > 40) {
        ptrdiff_t d = n / 8;

        low = median3(low, low + d, low + 2 * d, compare);
        middle = median3(middle - d, middle, middle + d, compare);
        high = median3(high - 2 * d, high - d, high, compare);
    }
    return n > 7 ? median3(low, middle, high, compare) : middle;
}

static ptrdiff_t min(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static void sort(item *a, ptrdiff_t n, compare_fn compare)
{
    while (n >= 7 && !is_sorted(a, n, compare)) {
        item *left_equal, *left, *right, *right_equal;
        ptrdiff_t less, greater, width;

        /* Equal elements gather at both ends while the two scans approach each other. */
        swap(a, pivot(a, n, compare));
        left_equal = left = a + 1;
        right = right_equal = a + n - 1;
        for (;;) {
            int r;

            for (; left <= right && (r = compare(left, a)) <= 0; left++)
                if (r == 0)
                    swap(left_equal++, left);
            for (; left <= right && (r = compare(right, a)) >= 0; right--)
                if (r == 0)
                    swap(right, right_equal--);
            if (left > right)
                break;
            swap(left++, right--);
        }

        /* The equal ones go to the middle. */
        less = left - left_equal;
        greater = right_equal - right;
        width = min(left_equal - a, less);
        swap_blocks(a, left - width, width);
        width = min(greater, a + n - right_equal - 1);
        swap_blocks(left, a + n - width, width);

        /* Recursion into the smaller side bounds the depth by log2(n). */
        if (less <= greater) {
            sort(a, less, compare);
            a += n - greater;
            n = greater;
        } else {
            sort(a + n - greater, greater, compare);
            n = less;
        }
    }
    if (n < 7)
        insertion_sort(a, n, compare);
}

void pgq_compaction_sort_items(item *items, uint32_t n, int (*compare)(const item *, const item *))
{
    sort(items, n, compare);
    HOLDS(is_sorted(items, n, compare));
}
