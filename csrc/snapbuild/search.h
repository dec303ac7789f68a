/* SPDX-License-Identifier: PostgreSQL */
/* Searches in sorted arrays: lower_bound32 and others for XIDs, lower_bound64 and others for FullTransactionIds. */
#ifndef PGQUERN_SNAPBUILD_SEARCH_H
#define PGQUERN_SNAPBUILD_SEARCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    SEARCH_LANES =
        8 /* elements that are searched for side by side; loops over them are unrolled, to stay in registers */
};

#define ELEMENT     uint32_t
#define SIZED(name) name##32
#include "snapbuild/search_template.h"

#define ELEMENT     uint64_t
#define SIZED(name) name##64
#include "snapbuild/search_template.h"

/*
 * lower_bound32 with a guess, which is below n unless n is 0. Two probes each at distance 16, 128, 1024, ... on both sides
 * of the guess leave a range to search; they do not wait for each other. The better the guess, the smaller the range. A
 * bad guess costs these O(log n) probes and no more. Also in an array that is not sorted the range lies inside:
 * low <= max(guess, 1), and high is no less.
 */
/*@ requires n <= SIZE_MAX / 8 && (guess < n || (n == 0 && guess == 0)) && \valid_read(a + (0 .. n - 1));
    assigns \nothing;
    ensures within: 0 <= \result <= n;
    behavior sorted:
      assumes \forall integer i, j; 0 <= i <= j < n ==> a[i] <= a[j];
      ensures before: \forall integer i; 0 <= i < \result ==> a[i] < x;
      ensures first: (0 < \result ==> a[\result - 1] < x) && (\result < n ==> x <= a[\result]); */
static inline size_t lower_bound_near32(const uint32_t *a, size_t n, uint32_t x, size_t guess)
{
    size_t low = 0, high = n;

    /*@ loop assigns d, low, high;
        loop invariant distance: 16 <= d;
        loop invariant within: low <= high <= n && (low <= guess || low <= 1) && guess <= high && (0 < n ==> 1 <= high);
        for sorted: loop invariant before: 0 < low ==> a[low - 1] < x;
        for sorted: loop invariant after: high < n ==> x <= a[high];
        loop variant n - d; */
    for (size_t d = 16; d < n; d *= 8) {
        size_t i = d < guess ? guess - d : 0, j = guess + d < n ? guess + d : n - 1;
        size_t above = a[i] < x ? i + 1 : 0, upto = a[j] < x ? n : j;

        low = above > low ? above : low;
        high = upto < high ? upto : high;
    }
    return low + lower_bound32(a + low, high - low, x);
}

#endif
