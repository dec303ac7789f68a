/* SPDX-License-Identifier: PostgreSQL */
/* In an array that is not sorted the searches stay within it, too: a corrupt array of a slot's file costs no memory error. */
#include "bounded.h"
#include "snapbuild/search.h"

static void searches_of(size_t n)
{
    uint32_t a[N + 1], x = nondet_u32();
    size_t guess = nondet_size();

    for (size_t i = 0; i < N; i++)
        a[i] = nondet_u32();
    assume(guess < n || n == 0);
    claim(lower_bound32(a, n, x) <= n, "lower_bound ends in the array, or at its end");
    claim(gallop_down32(a, n, x) <= n, "gallop_down ends in the array, or at its end");
    claim(lower_bound_near32(a, n, x, guess) <= n, "lower_bound_near ends in the array, or at its end");
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        searches_of(n);
}
