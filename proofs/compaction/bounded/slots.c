/* SPDX-License-Identifier: PostgreSQL */
/* Tuples of LENGTH bytes in slots move to their places, by the kernel's copy. Where they lie is taken in turn. */
#include "moved.h"
#include "packed.h"

#include SOURCE

enum {
    SLOTS = 4,
    STEPS = 4 /* places of pd_special */
};

/* n tuples; each digit of `places`, to the base SLOTS, is the slot of one. */
static void move(uint32_t special, uint32_t n, uint32_t places)
{
    uint32_t at = any_place(), from = at, taken = 0;
    slots s = {.end = page + special, .length = LENGTH};

    any_contents();
    for (uint32_t k = 0; k < n; k++, places /= SLOTS) {
        uint32_t slot = places % SLOTS, off = special - (slot + 1) * LENGTH, to = special - (k + 1) * LENGTH;
        bool own = !(taken >> slot & 1);

        claim(find_slot(&s, page + off) == own, "it knows whether a tuple has a slot of its own");
        if (!own)
            return;
        taken |= 1u << slot;
        from = to <= at && at < to + LENGTH ? off + (at - to) : from;
    }
    permute_slots(&s, COPY);
    claim(page[at] == before[from], "each tuple lies where it must, and no other byte changes");
}

void proof(void)
{
    for (uint32_t step = 0; step < STEPS; step++)
        for (uint32_t n = 1, ways = SLOTS; n <= N; n++, ways *= SLOTS)
            for (uint32_t places = 0; places < ways; places++)
                move(BLCKSZ - 8 * step, n, places);
}
