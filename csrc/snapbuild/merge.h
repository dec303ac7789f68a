/* SPDX-License-Identifier: PostgreSQL */
/* Insertion of a sorted batch into a sorted array, in place; for XIDs and FullTransactionIds alike. */
#ifndef PGQUERN_SNAPBUILD_MERGE_H
#define PGQUERN_SNAPBUILD_MERGE_H

#include "snapbuild/search.h"

#include <stdbool.h>
#include <string.h>

enum {
    CHUNK = 64, /* so many XIDs are sorted, or searched for, at a time */
    VECTORS = 4 /* so many vectors of them are ranked at a time */
};

typedef uint32_t vector32 __attribute__((vector_size(16)));
typedef uint64_t vector64 __attribute__((vector_size(16)));

/*
 * merge_batchN: a[0 .. n) becomes the union with batch[0 .. m), both sorted and free of duplicates, a with space for
 * n + m; the new n. From the end, a chunk of the batch at a time is searched for, and the run above each of its XIDs moved
 * to its final place at once, so that no XID of the array is moved twice. Where a XID was in the array already, its place
 * stays open as a hole; the holes, noted in the part of the batch that has been used up, are closed at the end.
 *
 * sort_chunkN: sorts chunk[0 .. m), m <= CHUNK, and drops duplicates; what is left of it. The place of each XID is the
 * number of those below it, so all are compared with all, without a branch. Of equal ones all but one leave a 0,
 * InvalidTransactionId, behind.
 *
 * sort_batchN: the same for a batch of any size. A transaction's XIDs come in rising order but for the top one, which
 * comes last and is the lowest: the others stay where they are. Any other batch is sorted by chunks, each merged into
 * those before it: O(m log m) steps, and a memmove of what is there for each chunk.
 */
#define DEFINE_MERGE(bits, type)                                                                             \
    static inline void move_run##bits(type *to, const type *from, size_t n)                                  \
    {                                                                                                        \
        if (n > 0)                                                                                           \
            memmove(to, from, n * sizeof(type));                                                             \
    }                                                                                                        \
                                                                                                             \
    static inline size_t merge_batch##bits(type *a, size_t n, type *batch, size_t m)                         \
    {                                                                                                        \
        size_t at[CHUNK], top = n, low = m, holes = 0, to;                                                   \
                                                                                                             \
        for (size_t j = m; j-- > 0;) {                                                                       \
            type x = batch[j];                                                                               \
            size_t here;                                                                                     \
            bool there;                                                                                      \
                                                                                                             \
            if (j < low) {                                                                                   \
                low = j < CHUNK ? 0 : j - CHUNK + 1;                                                         \
                search_chunk##bits(at, a, top, batch + low, j - low + 1);                                    \
            }                                                                                                \
            /* Never past the top, not even in an array that isn't sorted. */                                \
            here = at[j - low] < top ? at[j - low] : top;                                                    \
            there = here < top && a[here] == x;                                                              \
            move_run##bits(a + here + j + 1, a + here, top - here);                                          \
            if (there)                                                                                       \
                batch[m - ++holes] = (type)(here + j);                                                       \
            else                                                                                             \
                a[here + j] = x;                                                                             \
            top = here;                                                                                      \
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
    }                                                                                                        \
                                                                                                             \
    static inline size_t sort_chunk##bits(type *chunk, size_t m)                                             \
    {                                                                                                        \
        type key[CHUNK] = {0}, rank[CHUNK];                                                                  \
        size_t n = 0;                                                                                        \
                                                                                                             \
        memcpy(key, chunk, m * sizeof(type));                                                                \
        for (size_t i = 0; i < m; i += VECTORS * sizeof(vector##bits) / sizeof(type)) {                      \
            vector##bits x[VECTORS], below[VECTORS] = {{0}};                                                 \
                                                                                                             \
            memcpy(x, key + i, sizeof(x));                                                                   \
            for (size_t j = 0; j < m; j++) {                                                                 \
                vector##bits y = key[j] - (vector##bits){0};                                                 \
                                                                                                             \
                _Pragma("GCC unroll 4") for (size_t v = 0; v < VECTORS; v++) below[v] -=                     \
                    (vector##bits)(y < x[v]);                                                                \
            }                                                                                                \
            memcpy(rank + i, below, sizeof(below));                                                          \
        }                                                                                                    \
        memset(chunk, 0, m * sizeof(type));                                                                  \
        for (size_t i = 0; i < m; i++)                                                                       \
            chunk[rank[i]] = key[i];                                                                         \
        for (size_t i = 0; i < m; i++) {                                                                     \
            type x = chunk[i];                                                                               \
                                                                                                             \
            chunk[n] = x;                                                                                    \
            n += x != 0;                                                                                     \
        }                                                                                                    \
        return n;                                                                                            \
    }                                                                                                        \
                                                                                                             \
    static inline size_t sort_batch##bits(type *batch, size_t m)                                             \
    {                                                                                                        \
        type next[CHUNK];                                                                                    \
        size_t n = m > 0;                                                                                    \
                                                                                                             \
        while (n < m && batch[n - 1] < batch[n])                                                             \
            n++;                                                                                             \
        if (n == m)                                                                                          \
            return n;                                                                                        \
        if (n + 1 == m) {                                                                                    \
            next[0] = batch[n];                                                                              \
            return merge_batch##bits(batch, n, next, 1);                                                     \
        }                                                                                                    \
        n = sort_chunk##bits(batch, m < CHUNK ? m : CHUNK);                                                  \
        for (size_t i = CHUNK; i < m; i += CHUNK) {                                                          \
            size_t c = m - i < CHUNK ? m - i : CHUNK;                                                        \
                                                                                                             \
            memcpy(next, batch + i, c * sizeof(type));                                                       \
            n = merge_batch##bits(batch, n, next, sort_chunk##bits(next, c));                                \
        }                                                                                                    \
        return n;                                                                                            \
    }

DEFINE_MERGE(32, uint32_t)
DEFINE_MERGE(64, uint64_t)

#endif
