/* SPDX-License-Identifier: PostgreSQL */
/*
 * Long tuples of one length, out of order: each moves to its place by one copy, where a move through scratch takes two.
 *
 * Such tuples mostly lie in slots of their length, counted from pd_special downwards, and tuple k must move to slot k. If
 * that slot is free, the tuple moves there and leaves its own slot free for the next one. This goes on until the free slot
 * is one to which no tuple must move. The tuples that then are not in place form cycles; one tuple of each is put aside.
 */
#ifndef PGQUERN_COMPACTION_SLOTS_H
#define PGQUERN_COMPACTION_SLOTS_H

#include "compaction/page.h"

enum {
    MAX_SLOTS = 32, /* a set of them is a word */
    SHORTEST_IN_SLOTS = BLCKSZ / MAX_SLOTS + 8
};

typedef struct slots {
    uint8_t *end; /* of slot 0 */
    uint32_t length;
    uint32_t n;              /* tuples found so far */
    uint32_t taken;          /* slots in which they lie */
    uint32_t left;           /* those of them that are not in place */
    uint8_t slot[MAX_SLOTS]; /* where the k-th one lies */
} slots;

/* The next tuple starts at `start`, at least s->length below s->end. False if that is no slot, or another tuple has it. */
static inline bool find_slot(slots *s, const uint8_t *start)
{
    uint32_t below = (uint32_t)(s->end - start);

    HOLDS(s->n < MAX_SLOTS && s->length <= below && below <= BLCKSZ);
    uint32_t slot =
        (below * (65536 / s->length + 1) >> 16) - 1; /* below / s->length - 1, where that has no rest */
    bool own = (slot + 1) * s->length == below && !(s->taken >> slot & 1);

    s->taken |= 1u << slot;
    s->left |= (uint32_t)(slot != s->n) << s->n;
    s->slot[s->n++] = (uint8_t)slot;
    return own;
}

/* Copies a tuple to where no part of it lies. */
typedef void (*copy_fn)(uint8_t *to, const uint8_t *from, uint32_t length);

static inline uint8_t *slot_start(const slots *s, uint32_t slot)
{
    return s->end - (slot + 1) * s->length;
}

/*
 * Fills the free slot, then each slot that becomes free. Ends at a slot to which no tuple must move, or to which the tuple
 * in slot `last` must move. That slot stays free; it is the return value.
 */
static inline __attribute__((always_inline)) uint32_t fill(slots *s, uint32_t free, uint32_t last,
                                                           copy_fn copy)
{
    for (;;) {
        uint32_t from = s->slot[free];

        HOLDS((s->left >> free & 1) != 0); /* a tuple must move there: each step leaves one less */
        s->left &= ~(1u << free);
        if (from == last)
            return free;
        copy(slot_start(s, free), slot_start(s, from), s->length);
        if (from >= s->n)
            return from;
        free = from;
    }
}

/* Moves all: each was found in a slot of its own. */
static inline __attribute__((always_inline)) void permute_slots(slots *s, copy_fn copy)
{
    uint8_t aside[BLCKSZ];

    for (uint32_t free = s->left & ~s->taken; free != 0; free &= free - 1)
        fill(s, (uint32_t)__builtin_ctz(free), MAX_SLOTS, copy);
    while (s->left != 0) {
        uint32_t first = (uint32_t)__builtin_ctz(s->left), free;

        copy(aside, slot_start(s, first), s->length);
        free = fill(s, first, first, copy);
        copy(slot_start(s, free), aside, s->length);
    }
}

#endif
