/* SPDX-License-Identifier: PostgreSQL */
/* A node comes into a tree, at each place: all are in it, in their order, and it is balanced. */
#include "tree.h"

static void insert_into(const char *shape, size_t place)
{
    const node *in_order[PLACES];
    node *tree = with_notes(make_tree(shape)), *x = make_node(place);
    size_t n = 0, listed = 0;

    for (size_t i = 0; i < PLACES; i++)
        if (nodes[i].ticket != 0)
            in_order[n++] = &nodes[i];
    tree = pgq_rangelock_tree_insert(tree, x);
    claim(is_listed(tree, in_order, &listed), "the nodes stand in their order");
    claim(listed == n, "all nodes are in the tree");
    claim(look(tree).sound, "the tree is balanced, and its nodes know their children");
}

void proof(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t place = 0; place <= 2 * strlen(shapes[i]); place += 2) {
            memset(nodes, 0, sizeof nodes);
            insert_into(shapes[i], place);
        }
}
