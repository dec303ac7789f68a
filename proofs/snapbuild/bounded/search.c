/* SPDX-License-Identifier: PostgreSQL */
/* A search in a sorted array finds how many of its elements are below x. */
#include "bounded.h"
#include "snapbuild/search.h"

static void search_of(size_t n)
{
    uint32_t a[N + 1], x = nondet_u32();
    size_t guess = nondet_size(), found;

    for (size_t i = 0; i < N; i++)
        a[i] = nondet_u32();
    for (size_t i = 1; i < N; i++)
        assume(i >= n || a[i - 1] <= a[i]);
    assume(guess < n || n == 0);
    found = SEARCH;

    claim(found <= n, "the place lies in the array, or at its end");
    claim(found == 0 || a[found - 1] < x, "what is before the place is below x");
    claim(found == n || a[found] >= x, "what is at the place is not below x");
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        search_of(n);
}
