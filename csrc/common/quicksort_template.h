/* SPDX-License-Identifier: PostgreSQL */
/*
 * The algorithm of src/port/qsort.c (src/include/lib/sort_template.h) on arrays of ELEMENT: quicksort after Bentley and
 * McIlroy, "Engineering a Sort Function" (1993), with a check for presorted input before each partition, and insertion
 * sort below seven. Written from that description. It differs in that the element type is known here, where upstream
 * swaps byte by byte: this one is the faster. Not stable. Among the proofs, Quicksort.v has each function.
 */
typedef int (*comparator)(const void *, const void *);

static void swap(ELEMENT *a, ELEMENT *b)
{
    ELEMENT t = *a;

    *a = *b;
    *b = t;
}

static void swap_runs(ELEMENT *a, ELEMENT *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        swap(a + i, b + i);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static ELEMENT *median(ELEMENT *a, ELEMENT *b, ELEMENT *c, comparator compare)
{
    if (compare(a, b) < 0)
        return compare(b, c) < 0 ? b : compare(a, c) < 0 ? c : a;
    return compare(b, c) > 0 ? b : compare(a, c) < 0 ? a : c;
}

static bool is_sorted(const ELEMENT *a, size_t n, comparator compare)
{
    for (size_t i = 1; i < n; i++)
        if (compare(a + i - 1, a + i) > 0)
            return false;
    return true;
}

static void insertion_sort(ELEMENT *a, size_t n, comparator compare)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && compare(a + j - 1, a + j) > 0; j--)
            swap(a + j - 1, a + j);
}

/* The pivot: the middle element; of more than 7 the median of three; of more than 40 the median of three medians. */
static ELEMENT *pivot(ELEMENT *a, size_t n, comparator compare)
{
    ELEMENT *low = a, *middle = a + n / 2, *high = a + n - 1;

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

static void quicksort(ELEMENT *a, size_t n, comparator compare)
{
    while (n >= 7 && !is_sorted(a, n, compare)) {
        ELEMENT *left, *right, *equal_left, *equal_right, *end;
        size_t below, above, d;

        /* Equal elements gather at both ends while the two scans approach each other. */
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

        /* The equal ones go to the middle. */
        end = a + n;
        below = (size_t)(left - equal_left);
        above = (size_t)(equal_right - right);
        d = min_size((size_t)(equal_left - a), below);
        swap_runs(a, left - d, d);
        d = min_size(above, (size_t)(end - equal_right) - 1);
        swap_runs(left, end - d, d);

        /* Recursion into the smaller part bounds the depth by log2(n). */
        if (below <= above) {
            quicksort(a, below, compare);
            a = end - above;
            n = above;
        } else {
            quicksort(end - above, above, compare);
            n = below;
        }
    }
    if (n < 7)
        insertion_sort(a, n, compare);
}
