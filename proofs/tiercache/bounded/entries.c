/* SPDX-License-Identifier: PostgreSQL */
/* A set of entries: after any adds and removes it has those that were added last, each once among its members. */
#include "bounded.h"
#include "tiercache/entries.h"

void proof(void)
{
    uint32_t members[N], places[N];
    entries set = {members, places, 0};
    bool is_in[N] = {false};
    uint32_t count = 0;

    for (uint32_t i = 0; i < N; i++)
        places[i] = 0, members[i] = nondet_u32();
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t entry = nondet_u32();

        assume(entry < N);
        is_in[entry] = nondet_bool();
        if (is_in[entry])
            entries_add(&set, entry);
        else
            entries_remove(&set, entry);
    }
    for (uint32_t i = 0; i < N; i++) {
        claim(entries_has(&set, i) == is_in[i], "it has what was added, and not removed since");
        claim(!is_in[i] || (places[i] <= set.count && members[places[i] - 1] == i),
              "a member stands at its place");
        count += is_in[i];
    }
    claim(set.count == count, "it counts its members");
}
