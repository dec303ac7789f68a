/* SPDX-License-Identifier: PostgreSQL */
/* Who has a slot of the SSD: one is taken that nobody uses, and one is free again when its last user and its page have left. */
#include "bounded.h"
#include "tiercache/ssd.c"

static bool held[N]; /* a page of the table stands in the slot */

static uint32_t free_places(const tier *t, uint32_t slot)
{
    uint32_t places = 0;

    for (uint32_t i = 0; i < t->free_count; i++)
        places += t->free[i] == slot;
    return places;
}

void proof(void)
{
    static pgq_tiercache c;
    static uint32_t stack[N + 1], members[N], places[N], users[N], before[N];
    static uint64_t pages[N];
    static table_entry entries_of[SIZE];
    bool scrubs = nondet_bool(), stay = true;
    uint32_t scrubbed = nondet_u8() % N, slot, unused = 0;

    c.ssd.n = N, c.ssd.free = stack, c.users = users, c.stale.members = members, c.stale.places = places;
    c.ssd.policy.pages = pages,
    c.ssd.where = (table){.entries = entries_of, .mask = SIZE - 1, .shift = 64 - SHIFT};
    for (uint32_t i = 0; i < N; i++) {
        pages[i] = i;
        held[i] = nondet_bool();
        if (held[i])
            table_put(&c.ssd.where, i, i), users[i] = nondet_u8() % 3;
        else if (nondet_bool())
            users[i] = 1 + nondet_u8() % 2; /* its page has left, and somebody reads it */
        else
            tier_give(&c.ssd, i), users[i] = scrubs && i == scrubbed, unused += users[i] == 0;
        before[i] = users[i];
    }
    if (c.ssd.free_count > 1 && nondet_bool()) { /* in any order */
        uint32_t a = nondet_u8() % c.ssd.free_count, first = stack[0];

        stack[0] = stack[a], stack[a] = first;
    }

    slot = pgq_tiercache_ssd_take(&c);
    claim((slot == TABLE_NONE) == (unused == 0), "there is a slot if one is free that nobody uses");
    if (slot == TABLE_NONE)
        slot = nondet_u8() % N;
    else {
        claim(before[slot] == 0 && !held[slot] && users[slot] == 1 && free_places(&c.ssd, slot) == 0,
              "it has one user, and is not free any more");
        claim(entries_has(&c.stale, slot), "it may have old contents");
        before[slot] = 1;
    }
    for (uint32_t i = 0; i < N; i++)
        stay &= users[i] == before[i] && free_places(&c.ssd, i) <= 1;
    assume(users[slot] > 0 && free_places(&c.ssd, slot) == 0); /* a user who is no scrub */
    pgq_tiercache_ssd_release(&c, slot);
    claim(stay && users[slot] == before[slot] - 1 &&
              free_places(&c.ssd, slot) == (before[slot] == 1 && !held[slot]),
          "it is free, once, if that was the last user and its page has left");
}
