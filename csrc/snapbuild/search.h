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
