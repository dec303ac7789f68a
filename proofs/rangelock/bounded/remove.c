/* SPDX-License-Identifier: PostgreSQL */
/* A node leaves a tree, from each place: all others are in it, in their order, and it is balanced. */
#include "tree.h"

static void remove_from(const char *shape, size_t place)
{
    const node *in_order[PLACES];
    node *tree = with_notes(make_tree(shape));
    size_t n = 0, listed = 0;

    for (size_t i = 0; i < PLACES; i++)
        if (nodes[i].ticket != 0 && i != place)
            in_order[n++] = &nodes[i];
    tree = pgq_rangelock_tree_remove(tree, &nodes[place]);
    claim(is_listed(tree, in_order, &listed), "the other nodes stand in their order");
    claim(listed == n, "the other nodes are in the tree");
    claim(look(tree).sound, "the tree is balanced, and its nodes know their children");
}

void proof(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t place = 1; place < 2 * strlen(shapes[i]); place += 2) {
            memset(nodes, 0, sizeof nodes);
            remove_from(shapes[i], place);
        }
}
