/* SPDX-License-Identifier: PostgreSQL */
/* Who comes counts the ranges that overlap its own; who leaves takes itself off the counts of the later ones. */
#include "tree.h"

#include "rangelock/interval.c"

/* Any range: lo is below hi. */
static void any_range(node *x)
{
    x->lo = nondet_u8(), x->hi = nondet_u8();
    assume(x->lo < x->hi);
}

static bool meet(const node *a, const node *b)
{
    return later(a->lo, b->lo) < (a->hi < b->hi ? a->hi : b->hi);
}

static void leaves_a_tree(const char *shape)
{
    node *root = make_tree(shape), before[PLACES], x = {.ticket = nondet_u8()};
    interval lock = {.waiting = 1};
    size_t overlapping = 0;
    wakes w = {.n = 0};

    any_range(&x);
    for (size_t i = 1; i < 2 * strlen(shape); i += 2) {
        any_range(&nodes[i]);
        assume(i == 1 || nodes[i - 2].lo <= nodes[i].lo);
        nodes[i].ticket = nondet_u8();
        nodes[i].blockers = nondet_u8();
        nodes[i].state = WAITS;
        overlapping += meet(&nodes[i], &x);
        /* Whom x blocks it counts. */
        assume(!meet(&nodes[i], &x) || nodes[i].ticket <= x.ticket || nodes[i].blockers > 0);
        lock.waiting += meet(&nodes[i], &x) && nodes[i].ticket > x.ticket && nodes[i].blockers == 1;
        before[i] = nodes[i];
    }
    with_notes(root);
    claim(count(root, &x) == overlapping, "who comes counts each range that overlaps its own");
    unblock(&lock, root, &x, &w);
    claim(lock.waiting == 1, "who is granted waits no more");
    for (size_t i = 1; i < 2 * strlen(shape); i += 2) {
        bool was = meet(&before[i], &x) && before[i].ticket > x.ticket;

        claim(nodes[i].blockers == before[i].blockers - was, "who leaves is off each later count");
        claim(nodes[i].state == (was && nodes[i].blockers == 0 ? HELD : WAITS),
              "who has no blockers is granted");
    }
}

void proof(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        leaves_a_tree(shapes[i]);
}
