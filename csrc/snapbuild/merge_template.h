/* SPDX-License-Identifier: PostgreSQL */
/*
 * Insertion of a batch into a sorted array of ELEMENT, in place. merge.h includes this once for each type, and SIZED(name)
 * gives each function's name for it: merge_batch32, merge_batch64 and so on.
 */

typedef ELEMENT SIZED(vector) __attribute__((vector_size(16)));

/* Sorted, and free of duplicates. */
static inline bool SIZED(rises)(const ELEMENT *a, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (a[i - 1] >= a[i])
            return false;
    return true;
}

static inline void SIZED(move_run)(ELEMENT *to, const ELEMENT *from, size_t n)
{
    if (n > 0)
        memmove(to, from, n * sizeof(ELEMENT));
}

/*
 * Closes the holes in a[0 .. n). Their places, from the highest to the lowest, are the last `holes` of used[0 .. m).
 * Returns how many elements are left.
 */
static inline size_t SIZED(close_holes)(ELEMENT *a, size_t n, const ELEMENT *used, size_t m, size_t holes)
{
    size_t to = (size_t)used[m - holes];

    for (size_t k = holes; k > 0; k--) {
        size_t from = (size_t)used[m - k] + 1;
        size_t end = k > 1 ? (size_t)used[m - k + 1] : n;

        SIZED(move_run)(a + to, a + from, end - from);
        to += end - from;
    }
    return to;
}

/*
 * a[0 .. n) becomes the union with batch[0 .. m). Both are sorted and free of duplicates, and a has space for n + m.
 * Returns the new n; the batch is undefined afterwards.
 *
 * From the end on, the places of a chunk of the batch are searched for, and the run above each of its elements is moved
 * to its final place at once, so that no element of the array is moved twice. If an element was in the array already, its
 * place stays open as a hole. The hole's place is noted in the part of the batch that has been used; all holes are closed
 * at the end.
 */
static inline size_t SIZED(merge_batch)(ELEMENT *a, size_t n, ELEMENT *batch, size_t m)
{
    size_t at[CHUNK], top = n, low = m, holes = 0;

    for (size_t j = m; j-- > 0;) {
        ELEMENT x = batch[j];
        size_t here;
        bool there;

        if (j < low) {
            low = j < CHUNK ? 0 : j - CHUNK + 1;
            SIZED(search_chunk)(at, a, top, batch + low, j - low + 1);
        }
        /* Never past the top, not even in an array that isn't sorted. */
        here = at[j - low] < top ? at[j - low] : top;
        there = here < top && a[here] == x;
        HOLDS(holes < m - j); /* a note of a hole goes over no element that is still to come */
        SIZED(move_run)(a + here + j + 1, a + here, top - here);
        if (there)
            batch[m - ++holes] = (ELEMENT)(here + j);
        else
            a[here + j] = x;
        top = here;
    }
    return holes == 0 ? n + m : SIZED(close_holes)(a, n + m, batch, m, holes);
}

/*
 * rank[i] becomes the number of elements of key[0 .. m) that are below key[i], without a branch. key and rank have CHUNK
 * elements, and those of key from m on are 0.
 */
static inline void SIZED(rank_chunk)(ELEMENT *rank, const ELEMENT *key, size_t m)
{
    for (size_t i = 0; i < m; i += VECTORS * sizeof(SIZED(vector)) / sizeof(ELEMENT)) {
        SIZED(vector) x[VECTORS], below[VECTORS] = {{0}};

        memcpy(x, key + i, sizeof(x));
        for (size_t j = 0; j < m; j++) {
            SIZED(vector) y = key[j] - (SIZED(vector)){0};

#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                below[v] -= (SIZED(vector))(y < x[v]);
        }
        memcpy(rank + i, below, sizeof(below));
    }
}

/*
 * Sorts chunk[0 .. m), m <= CHUNK, and drops duplicates; returns how many are left. Each element's place is its rank. Of
 * equal ones all but one leave a 0, InvalidTransactionId, behind.
 */
static inline size_t SIZED(sort_chunk)(ELEMENT *chunk, size_t m)
{
    ELEMENT key[CHUNK] = {0}, rank[CHUNK];
    size_t n = 0;

    memcpy(key, chunk, m * sizeof(ELEMENT));
    SIZED(rank_chunk)(rank, key, m);
    memset(chunk, 0, m * sizeof(ELEMENT));
    for (size_t i = 0; i < m; i++)
        chunk[rank[i]] = key[i];
    for (size_t i = 0; i < m; i++) {
        ELEMENT x = chunk[i];

        chunk[n] = x;
        n += x != 0;
    }
    return n;
}

/*
 * The same for a batch of any size. The XIDs of a transaction mostly come in rising order, except the top-level one, which
 * comes last and is the lowest. Then the others stay in place. Any other batch is sorted by chunks, and each chunk is merged
 * into those before it: O(m log m) steps, and for each chunk a memmove of those before it.
 */
static inline size_t SIZED(sort_batch)(ELEMENT *batch, size_t m)
{
    ELEMENT next[CHUNK];
    size_t n = m > 0;

    while (n < m && batch[n - 1] < batch[n])
        n++;
    if (n == m)
        return n;
    if (n + 1 == m) {
        next[0] = batch[n];
        return SIZED(merge_batch)(batch, n, next, 1);
    }
    n = SIZED(sort_chunk)(batch, m < CHUNK ? m : CHUNK);
    for (size_t i = CHUNK; i < m; i += CHUNK) {
        size_t c = m - i < CHUNK ? m - i : CHUNK;

        memcpy(next, batch + i, c * sizeof(ELEMENT));
        n = SIZED(merge_batch)(batch, n, next, SIZED(sort_chunk)(next, c));
    }
    return n;
}

#undef ELEMENT
#undef SIZED
