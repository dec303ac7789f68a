/* SPDX-License-Identifier: PostgreSQL */
/* The table from pages to entries, after puts and a removal: each page that is in it is found, and no other. */
#include "bounded.h"
#include "tiercache/table.h"

void proof(void)
{
    table_entry places[SIZE] = {{0}};
    table t = {.entries = places, .mask = SIZE - 1, .shift = 64 - SHIFT};
    uint64_t pages[N], other = nondet_u8() % 16;
    uint32_t values[N], gone = nondet_u32();

    assume(gone < N);
    for (uint32_t i = 0; i < N; i++) {
        pages[i] = nondet_u8() % 16, values[i] = nondet_u32();
        assume(values[i] != TABLE_NONE && pages[i] != other);
        for (uint32_t k = 0; k < i; k++)
            assume(pages[k] != pages[i]);
        table_put(&t, pages[i], values[i]);
    }
    for (uint32_t i = 0; i < N; i++)
        claim(table_get(&t, pages[i]) == values[i], "each page that was put is found");
    table_remove(&t, pages[gone]);
    for (uint32_t i = 0; i < N; i++)
        claim(table_get(&t, pages[i]) == (i == gone ? TABLE_NONE : values[i]),
              "then all but the removed one are found");
    claim(table_get(&t, other) == TABLE_NONE, "a page that was not put is not found");
}
