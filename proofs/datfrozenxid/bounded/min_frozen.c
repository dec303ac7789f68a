/* SPDX-License-Identifier: PostgreSQL */
/* The oldest of the values and the start; or the first value that lies in the future, and the output stays as it was. */
#include "bounded.h"
#include "datfrozenxid/kernels.h"

static bool before(uint32_t a, uint32_t b, bool multixact)
{
    return multixact || (a >= 3 && b >= 3) ? normal_precedes(a, b) : a < b;
}

static void minimum_of(size_t n)
{
    uint32_t values[N + 1], was = nondet_u32(), minimum = was, oldest;
    pgq_datfrozenxid_bounds bounds = {nondet_u32(), nondet_u32(), nondet_bool()};
    uint32_t first = bounds.multixact ? 1 : 3;
    size_t future = 0;
    pgq_status status;

    for (size_t i = 0; i < N; i++)
        values[i] = nondet_u32();
    assume(bounds.start >= first && bounds.last_sane >= first && bounds.last_sane - bounds.start < 0x80000000u);
    status = MIN_FROZEN(values, n, &bounds, &minimum);

    oldest = bounds.start;
    for (size_t i = 0; i < n && future == 0; i++) {
        if (values[i] == 0)
            continue;
        if (before(bounds.last_sane, values[i], bounds.multixact))
            future = i + 1;
        else if (before(values[i], oldest, bounds.multixact))
            oldest = values[i];
    }
    claim((status.code == PGQ_OK) == (future == 0), "it is refused if and only if a value lies in the future");
    claim(status.index == future, "the refusal names the first such value");
    claim(minimum == (future == 0 ? oldest : was), "the minimum is the oldest, and is written only if all is well");
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        minimum_of(n);
}
