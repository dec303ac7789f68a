/* SPDX-License-Identifier: PostgreSQL */
/* Insertion of a sorted batch into a sorted array, in place; for XIDs and FullTransactionIds alike. */
#ifndef PGQUERN_SNAPBUILD_MERGE_H
#define PGQUERN_SNAPBUILD_MERGE_H

#include "snapbuild/search.h"

#include <stdbool.h>
#include <string.h>

/*
 * sort_batchN: sorts batch[0 .. m) and drops duplicates; what is left of it. A transaction's XIDs come in rising order
 * but for the top one, which comes last and is the lowest: insertion of each into the sorted run before it costs
 * nothing for those that are in place and one memmove for the last; the search keeps any order at O(m log m) steps.
 *
 * merge_batchN: a[0 .. n) becomes the union with batch[0 .. m), both sorted and free of duplicates, a with space for
 * n + m; the new n. From the end, each XID of the batch is searched for by galloping and the run above it moved to its
 * final place at once, so that near-ordered XIDs cost a few steps each and no XID of the array is moved twice. Where a
 * XID was in the array already, its place stays open as a hole; the holes, noted in the part of the batch that has been
 * used up, are closed at the end.
 */
#define DEFINE_MERGE(bits, type)                                                                             \
    static inline size_t sort_batch##bits(type *batch, size_t m)                                             \
    {                                                                                                        \
        size_t n = m > 0;                                                                                    \
                                                                                                             \
        for (size_t i = 1; i < m; i++) {                                                                     \
            type x = batch[i];                                                                               \
            size_t at = n;                                                                                   \
                                                                                                             \
            if (batch[n - 1] >= x) {                                                                         \
                at = lower_bound##bits(batch, n, x);                                                         \
                if (batch[at] == x)                                                                          \
                    continue;                                                                                \
                memmove(batch + at + 1, batch + at, (n - at) * sizeof(type));                                \
            }                                                                                                \
            batch[at] = x;                                                                                   \
            n++;                                                                                             \
        }                                                                                                    \
        return n;                                                                                            \
    }                                                                                                        \
                                                                                                             \
    static inline void move_run##bits(type *to, const type *from, size_t n)                                  \
    {                                                                                                        \
        if (n > 0)                                                                                           \
            memmove(to, from, n * sizeof(type));                                                             \
    }                                                                                                        \
                                                                                                             \
    static inline size_t merge_batch##bits(type *a, size_t n, type *batch, size_t m)                         \
    {                                                                                                        \
        size_t top = n, holes = 0, to;                                                                       \
                                                                                                             \
        for (size_t j = m; j-- > 0;) {                                                                       \
            type x = batch[j];                                                                               \
            size_t at = gallop_down##bits(a, top, x);                                                        \
            bool there = at < top && a[at] == x;                                                             \
                                                                                                             \
            move_run##bits(a + at + j + 1, a + at, top - at);                                                \
            if (there)                                                                                       \
                batch[m - ++holes] = (type)(at + j);                                                         \
            else                                                                                             \
                a[at + j] = x;                                                                               \
            top = at;                                                                                        \
        }                                                                                                    \
        if (holes == 0)                                                                                      \
            return n + m;                                                                                    \
        /* The lowest hole was noted last. */                                                                \
        to = (size_t)batch[m - holes];                                                                       \
        for (size_t k = holes; k > 0; k--) {                                                                 \
            size_t from = (size_t)batch[m - k] + 1;                                                          \
            size_t end = k > 1 ? (size_t)batch[m - k + 1] : n + m;                                           \
                                                                                                             \
            move_run##bits(a + to, a + from, end - from);                                                    \
            to += end - from;                                                                                \
        }                                                                                                    \
        return to;                                                                                           \
    }

DEFINE_MERGE(32, uint32_t)
DEFINE_MERGE(64, uint64_t)

#endif
