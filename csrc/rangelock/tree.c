/* SPDX-License-Identifier: PostgreSQL */
#include "rangelock/tree.h"

static int height(const node *tree)
{
    return tree == NULL ? 0 : tree->height;
}

static uint64_t max_of(const node *tree)
{
    return tree == NULL ? 0 : tree->max;
}

/* Sets what a node knows of those below it. */
static void update(node *tree)
{
    int l = height(tree->left), r = height(tree->right);

    tree->height = (uint8_t)(1 + (l > r ? l : r));
    tree->max = later(tree->hi, later(max_of(tree->left), max_of(tree->right)));
}

static node *rotate_right(node *tree)
{
    node *top = tree->left;

    tree->left = top->right;
    top->right = tree;
    update(tree);
    update(top);
    return top;
}

static node *rotate_left(node *tree)
{
    node *top = tree->right;

    tree->right = top->left;
    top->left = tree;
    update(tree);
    update(top);
    return top;
}

/* The children are balanced, and their heights differ by 2 at most. */
static node *balance(node *tree)
{
    int l = height(tree->left), r = height(tree->right);

    if (l > r + 1) {
        if (height(tree->left->left) < height(tree->left->right))
            tree->left = rotate_left(tree->left);
        return rotate_right(tree);
    }
    if (r > l + 1) {
        if (height(tree->right->right) < height(tree->right->left))
            tree->right = rotate_right(tree->right);
        return rotate_left(tree);
    }
    update(tree);
    return tree;
}

static bool precedes(const node *a, const node *b)
{
    return a->lo < b->lo || (a->lo == b->lo && a->ticket < b->ticket);
}

node *rangelock_tree_insert(node *tree, node *x)
{
    if (tree == NULL) {
        x->left = x->right = NULL;
        update(x);
        return x;
    }
    if (precedes(x, tree))
        tree->left = rangelock_tree_insert(tree->left, x);
    else
        tree->right = rangelock_tree_insert(tree->right, x);
    return balance(tree);
}

/* The tree without its first node, which goes to *first. */
static node *remove_first(node *tree, node **first)
{
    if (tree->left == NULL) {
        *first = tree;
        return tree->right;
    }
    tree->left = remove_first(tree->left, first);
    return balance(tree);
}

/* x goes: the first node on its right takes its place. */
static node *without_top(node *x)
{
    node *first, *right;

    if (x->left == NULL)
        return x->right;
    if (x->right == NULL)
        return x->left;
    right = remove_first(x->right, &first);
    first->left = x->left;
    first->right = right;
    return balance(first);
}

node *rangelock_tree_remove(node *tree, node *x)
{
    if (tree == x)
        return without_top(x);
    if (precedes(x, tree))
        tree->left = rangelock_tree_remove(tree->left, x);
    else
        tree->right = rangelock_tree_remove(tree->right, x);
    return balance(tree);
}
