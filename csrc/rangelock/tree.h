/* SPDX-License-Identifier: PostgreSQL */
/*
 * A balanced (AVL) tree of ranges, ordered by lo and then by ticket; each node knows the height of each child, and the
 * largest hi of it and below. The nodes are the callers' holds. Insertion and removal take O(log n), a walk over the k
 * ranges that overlap one O((k + 1) log n). proofs/rangelock/Tree.v has the same functions.
 */
#ifndef PGQUERN_RANGELOCK_TREE_H
#define PGQUERN_RANGELOCK_TREE_H

#include "rangelock/lock.h"

typedef pgq_rangelock_hold node;

/* The tree with x in it; x has lo, hi and ticket. */
node *pgq_rangelock_tree_insert(node *tree, node *x);

/* The tree without x, which is in it. */
node *pgq_rangelock_tree_remove(node *tree, node *x);

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What an AVL tree is at each node. */
static inline bool is_balanced(const node *tree)
{
    return tree->left_height <= tree->right_height + 1 && tree->right_height <= tree->left_height + 1;
}

static inline bool overlap(const node *a, const node *b)
{
    return a->lo < b->hi && b->lo < a->hi;
}

#endif
