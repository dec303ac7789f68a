/* SPDX-License-Identifier: PostgreSQL */
/* Trees of a given shape with any ends of ranges, and what a tree must be. LARGE: shapes of more nodes. */
#include "bounded.h"
#include "rangelock/tree.c"

#include <string.h>

enum {
    PLACES = 15
}; /* in their order: of the trees' nodes, at odd numbers, and of those that come, at even ones */

static node nodes[PLACES];

typedef struct seen {
    int height;
    uint64_t max;
    bool sound; /* each node knows its children's heights and maxima; the heights differ by 1 at most */
} seen;

static seen look(const node *tree)
{
    seen l, r;

    if (tree == NULL)
        return (seen){0, 0, true};
    l = look(tree->left);
    r = look(tree->right);
    return (seen){
        .height = 1 + (l.height > r.height ? l.height : r.height),
        .max = later(tree->hi, later(l.max, r.max)),
        .sound = l.sound && r.sound && tree->left_height == l.height && tree->right_height == r.height &&
                 tree->left_max == l.max && tree->right_max == r.max && l.height <= r.height + 1 &&
                 r.height <= l.height + 1,
    };
}

/* Whether these are the tree's nodes, from left to right. *n: how many were met before. */
static bool is_listed(const node *tree, const node *const *in_order, size_t *n)
{
    return tree == NULL || (is_listed(tree->left, in_order, n) && tree == in_order[(*n)++] &&
                            is_listed(tree->right, in_order, n));
}

/*
 * The node at a place: two have the same lo, and the ticket tells them apart. Any hi below 8: ends are only compared,
 * and there are no more nodes.
 */
static node *make_node(size_t place)
{
    nodes[place] = (node){.lo = place / 2, .hi = nondet_u8() % 8, .ticket = 9 - place / 2 + place % 2};
    return &nodes[place];
}

/* Nodes at the given places ('b' is 1), each hung below those that stand before it in the string. */
static node *make_tree(const char *places)
{
    node *root = NULL;

    for (size_t i = 0; places[i] != 0; i++) {
        node *x = make_node((size_t)(places[i] - 'a')), **at = &root;

        while (*at != NULL)
            at = x < *at ? &(*at)->left : &(*at)->right;
        *at = x;
    }
    return root;
}

/* What each node knows of its children. */
static node *with_notes(node *tree)
{
    if (tree != NULL) {
        seen l = look(with_notes(tree->left)), r = look(with_notes(tree->right));

        tree->left_height = (uint8_t)l.height, tree->left_max = l.max;
        tree->right_height = (uint8_t)r.height, tree->right_max = r.max;
    }
    return tree;
}

/* All balanced trees of up to 4 nodes, and LARGE ones. */
static const char *const shapes[] = {"", "b", "bd", "db", "dbf", "dbfh", "dbhf", "fbhd", "fdbh", LARGE};
