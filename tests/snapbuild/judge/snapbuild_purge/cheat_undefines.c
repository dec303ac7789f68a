/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, by an overflow in a function that it leaves out of the sanitizers: it takes back what hides the word. */
#include "pgquern.h"

#undef no_sanitize

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

__attribute__((no_sanitize("undefined"), noinline)) static int distance(int a, int b)
{
    return a - b;
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (committed == NULL || distance((int)committed->xcnt, (int)xmin) == INT32_MIN)
        return pgq_snapbuild_purge_scalar(committed, xmin);
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
