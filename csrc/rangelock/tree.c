/* SPDX-License-Identifier: PostgreSQL */
#include "rangelock/tree.h"

#include "common/holds.h"

static uint8_t height(const node *tree)
{
    if (tree == NULL)
        return 0;
    return (uint8_t)(1 + (tree->left_height > tree->right_height ? tree->left_height : tree->right_height));
}

static uint64_t max_of(const node *tree)
{
    return tree == NULL ? 0 : later(tree->hi, later(tree->left_max, tree->right_max));
}

static void set_left(node *tree, node *child)
{
    tree->left = child;
    tree->left_height = height(child);
    tree->left_max = max_of(child);
}

static void set_right(node *tree, node *child)
{
    tree->right = child;
    tree->right_height = height(child);
    tree->right_max = max_of(child);
}

/* The child in the middle changes its parent, and with it what is known of it. */
static node *rotate_right(node *tree)
{
    node *top = tree->left;

    tree->left = top->right;
    tree->left_height = top->right_height;
    tree->left_max = top->right_max;
    set_right(top, tree);
    return top;
}

static node *rotate_left(node *tree)
{
    node *top = tree->right;

    tree->right = top->left;
    tree->right_height = top->left_height;
    tree->right_max = top->left_max;
    set_left(top, tree);
    return top;
}

/* The left one is higher by 2. Rare, and so not a part of who asks. */
static __attribute__((noinline)) node *turn_right(node *tree)
{
    HOLDS(tree->left_height == tree->right_height + 2);
    if (tree->left->left_height < tree->left->right_height)
        set_left(tree, rotate_left(tree->left));
    tree = rotate_right(tree);
    HOLDS(is_balanced(tree) && is_balanced(tree->left) && is_balanced(tree->right));
    return tree;
}

static __attribute__((noinline)) node *turn_left(node *tree)
{
    HOLDS(tree->right_height == tree->left_height + 2);
    if (tree->right->right_height < tree->right->left_height)
        set_right(tree, rotate_right(tree->right));
    tree = rotate_left(tree);
    HOLDS(is_balanced(tree) && is_balanced(tree->left) && is_balanced(tree->right));
    return tree;
}

/* The children are balanced, and their heights differ by 2 at most. */
static inline node *balance(node *tree)
{
    int leans = tree->left_height - tree->right_height;

    if (leans > 1)
        return turn_right(tree);
    if (leans < -1)
        return turn_left(tree);
    return tree;
}

static bool precedes(const node *a, const node *b)
{
    return a->lo < b->lo || (a->lo == b->lo && a->ticket < b->ticket);
}

node *pgq_rangelock_tree_insert(node *tree, node *x)
{
    if (tree == NULL) {
        set_left(x, NULL);
        set_right(x, NULL);
        return x;
    }
    /* Tickets differ: two of one place could not be distinguished later. */
    HOLDS(precedes(x, tree) || precedes(tree, x));
    if (precedes(x, tree))
        set_left(tree, pgq_rangelock_tree_insert(tree->left, x));
    else
        set_right(tree, pgq_rangelock_tree_insert(tree->right, x));
    return balance(tree);
}

/* The tree without its first node, which goes to *first. */
static node *remove_first(node *tree, node **first)
{
    if (tree->left == NULL) {
        *first = tree;
        return tree->right;
    }
    set_left(tree, remove_first(tree->left, first));
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
    HOLDS(precedes(x->left, first) && (right == NULL || precedes(first, right)));
    first->left = x->left;
    first->left_height = x->left_height;
    first->left_max = x->left_max;
    set_right(first, right);
    return balance(first);
}

node *pgq_rangelock_tree_remove(node *tree, node *x)
{
    HOLDS(tree != NULL); /* x is in it */
    if (tree == x)
        return without_top(x);
    if (precedes(x, tree))
        set_left(tree, pgq_rangelock_tree_remove(tree->left, x));
    else
        set_right(tree, pgq_rangelock_tree_remove(tree->right, x));
    return balance(tree);
}
