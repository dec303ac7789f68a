/* SPDX-License-Identifier: PostgreSQL */
/*
 * The filters in upstream's own structures, as a baseline: a hash table of chains that grows by a bucket at a time, and a
 * doubly linked list of its entries, the newest first.
 *
 * Upstream: src/backend/access/transam/xlogprefetcher.c, XLogPrefetcherAddFilter, XLogPrefetcherCompleteFilters,
 * XLogPrefetcherIsFiltered; src/backend/utils/hash/dynahash.c, hash_create, hash_search, expand_table;
 * src/common/hashfn.c, hash_bytes. As of PostgreSQL 15; hash_bytes is after Bob Jenkins. And ilist.h.
 * Written anew from what they do. It differs in that memory comes from malloc, and that a table which cannot grow its
 * directory any more goes on with longer chains.
 */
#include "prefetch/upstream.h"

#include <stdlib.h>
#include <string.h>

/* BUCKETS to start with (hash_create is asked for 1024 elements), SEGMENT of them in an array; CHUNK elements at once. */
enum { BUCKETS = 1024, SEGMENT = 256, DIRECTORY = 1 << 14, CHUNK = 36 };

typedef struct node {
    struct node *prev, *next;
} node;

/* A HASHELEMENT, and behind it the filter, whose key comes first. */
typedef struct element {
    struct element *link;
    uint32_t hash;
    pgq_prefetch_relation key;
    uint64_t until;
    uint32_t from_block;
    node link_in_queue;
} element;

struct pgq_prefetch_upstream {
    uint32_t (*hash)(const void *key, uint32_t size);
    int (*match)(const void *key1, const void *key2, size_t size);
    element ***directory;
    uint32_t max_bucket, high_mask, low_mask;
    uint32_t entries;
    element *free_list;
    void **chunks; /* all that was allocated for elements */
    size_t chunk_count;
    node queue; /* its head: next is the newest filter, prev the oldest */
};

/* ---- hash_bytes ---- */

static uint32_t rotated(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

/* For a key whose size is a multiple of 12 bytes: three words a turn. */
static uint32_t hash_words(const void *key, uint32_t size)
{
    uint32_t a = 0x9e3779b9u + size + 3923095, b = a, c = a;

    for (const char *at = key, *end = at + size; at != end; at += 12) {
        uint32_t words[3];

        memcpy(words, at, sizeof words);
        a += words[0];
        b += words[1];
        c += words[2];
        a = (a - c) ^ rotated(c, 4), c += b;
        b = (b - a) ^ rotated(a, 6), a += c;
        c = (c - b) ^ rotated(b, 8), b += a;
        a = (a - c) ^ rotated(c, 16), c += b;
        b = (b - a) ^ rotated(a, 19), a += c;
        c = (c - b) ^ rotated(b, 4), b += a;
    }
    c = (c ^ b) - rotated(b, 14);
    a = (a ^ c) - rotated(c, 11);
    b = (b ^ a) - rotated(a, 25);
    c = (c ^ b) - rotated(b, 16);
    a = (a ^ c) - rotated(c, 4);
    b = (b ^ a) - rotated(a, 14);
    return (c ^ b) - rotated(b, 24);
}

/* ---- ilist ---- */

static void list_delete(node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
}

static void list_push_head(node *head, node *n)
{
    n->next = head->next;
    n->prev = head;
    n->next->prev = n;
    head->next = n;
}

static element *element_of(node *n)
{
    return (element *)((char *)n - offsetof(element, link_in_queue));
}

/* ---- dynahash ---- */

static uint32_t bucket_of(const pgq_prefetch_upstream *t, uint32_t hash)
{
    uint32_t bucket = hash & t->high_mask;

    return bucket > t->max_bucket ? bucket & t->low_mask : bucket;
}

static element **chain_of(const pgq_prefetch_upstream *t, uint32_t bucket)
{
    return &t->directory[bucket / SEGMENT][bucket % SEGMENT];
}

static bool add_segment(pgq_prefetch_upstream *t, uint32_t number)
{
    if (number == DIRECTORY)
        return false;
    t->directory[number] = calloc(SEGMENT, sizeof *t->directory[number]);
    return t->directory[number] != NULL;
}

/* One bucket more: the elements of the one that it is split from, whose hash says so, move there. */
static void expand_table(pgq_prefetch_upstream *t)
{
    uint32_t added = t->max_bucket + 1, old = added & t->low_mask;
    element **keep, **move, *next;

    if (added % SEGMENT == 0 && !add_segment(t, added / SEGMENT))
        return;
    t->max_bucket = added;
    if (added > t->high_mask) {
        t->low_mask = t->high_mask;
        t->high_mask = added | t->low_mask;
    }
    keep = chain_of(t, old);
    move = chain_of(t, added);
    for (element *e = *keep; e != NULL; e = next) {
        next = e->link;
        if (bucket_of(t, e->hash) == old) {
            *keep = e;
            keep = &e->link;
        } else {
            *move = e;
            move = &e->link;
        }
    }
    *keep = *move = NULL;
}

static bool add_chunk(pgq_prefetch_upstream *t)
{
    void **chunks = realloc(t->chunks, (t->chunk_count + 1) * sizeof *chunks);
    element *chunk = malloc(CHUNK * sizeof *chunk);

    if (chunks != NULL)
        t->chunks = chunks;
    if (chunks == NULL || chunk == NULL) {
        free(chunk);
        return false;
    }
    t->chunks[t->chunk_count++] = chunk;
    for (size_t i = 0; i < CHUNK; i++) {
        chunk[i].link = t->free_list;
        t->free_list = &chunk[i];
    }
    return true;
}

/* Where the element that has the key is linked, or NULL where it would be. */
static element **search(const pgq_prefetch_upstream *t, const pgq_prefetch_relation *key, uint32_t *hash)
{
    element **at;

    *hash = t->hash(key, sizeof *key);
    at = chain_of(t, bucket_of(t, *hash));
    while (*at != NULL && ((*at)->hash != *hash || t->match(&(*at)->key, key, sizeof *key) != 0))
        at = &(*at)->link;
    return at;
}

static element *find(const pgq_prefetch_upstream *t, const pgq_prefetch_relation *key)
{
    uint32_t hash;

    return *search(t, key, &hash);
}

/* The element of the key, and whether it was there. NULL: no memory. */
static element *enter(pgq_prefetch_upstream *t, const pgq_prefetch_relation *key, bool *found)
{
    uint32_t hash;
    element **at, *e;

    if (t->entries > t->max_bucket)
        expand_table(t);
    at = search(t, key, &hash);
    *found = *at != NULL;
    if (*found)
        return *at;
    if (t->free_list == NULL && !add_chunk(t))
        return NULL;
    e = t->free_list;
    t->free_list = e->link;
    *e = (element){.hash = hash, .key = *key};
    *at = e;
    t->entries++;
    return e;
}

static void take_out(pgq_prefetch_upstream *t, const pgq_prefetch_relation *key)
{
    uint32_t hash;
    element **at = search(t, key, &hash), *e = *at;

    *at = e->link;
    e->link = t->free_list;
    t->free_list = e;
    t->entries--;
}

/* ---- filters ---- */

pgq_prefetch_upstream *pgq_prefetch_upstream_make(void)
{
    pgq_prefetch_upstream *t = calloc(1, sizeof *t);
    bool whole;

    if (t == NULL)
        return NULL;
    t->hash = hash_words;
    t->match = memcmp;
    t->max_bucket = t->low_mask = BUCKETS - 1;
    t->high_mask = 2 * BUCKETS - 1;
    t->queue.prev = t->queue.next = &t->queue;
    t->directory = calloc(DIRECTORY, sizeof *t->directory);
    whole = t->directory != NULL;
    for (uint32_t i = 0; whole && i < BUCKETS / SEGMENT; i++)
        whole = add_segment(t, i);
    if (whole)
        return t;
    pgq_prefetch_upstream_free(t);
    return NULL;
}

void pgq_prefetch_upstream_free(pgq_prefetch_upstream *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; t->directory != NULL && i < DIRECTORY; i++)
        free(t->directory[i]);
    for (size_t i = 0; i < t->chunk_count; i++)
        free(t->chunks[i]);
    free(t->directory);
    free(t->chunks);
    free(t);
}

size_t pgq_prefetch_upstream_filters(const pgq_prefetch_upstream *t, pgq_prefetch_filter *filters,
                                     size_t space)
{
    size_t count = 0;

    for (node *n = t->queue.prev; n != &t->queue; n = n->prev, count++)
        if (count < space)
            filters[count] = (pgq_prefetch_filter){.key = element_of(n)->key,
                                                   .from_block = element_of(n)->from_block,
                                                   .until = element_of(n)->until};
    return count;
}

static void drop(pgq_prefetch_upstream *t, element *e)
{
    list_delete(&e->link_in_queue);
    take_out(t, &e->key);
}

void pgq_prefetch_upstream_clear(pgq_prefetch_upstream *t)
{
    while (t->queue.prev != &t->queue)
        drop(t, element_of(t->queue.prev));
}

bool pgq_prefetch_upstream_add(pgq_prefetch_upstream *t, pgq_prefetch_relation key, uint32_t block,
                               uint64_t lsn)
{
    bool found;
    element *e = enter(t, &key, &found);

    if (e == NULL)
        return false;
    if (found)
        list_delete(&e->link_in_queue);
    e->until = lsn;
    e->from_block = found && e->from_block < block ? e->from_block : block;
    list_push_head(&t->queue, &e->link_in_queue);
    return true;
}

bool pgq_prefetch_upstream_find(const pgq_prefetch_upstream *t, pgq_prefetch_relation relation,
                                uint32_t block)
{
    const element *e = find(t, &relation);

    if (e != NULL && e->from_block <= block)
        return true;
    relation.tablespace = relation.number = 0;
    return find(t, &relation) != NULL;
}

void pgq_prefetch_upstream_drop(pgq_prefetch_upstream *t, uint64_t replayed_up_to)
{
    while (t->queue.prev != &t->queue && element_of(t->queue.prev)->until < replayed_up_to)
        drop(t, element_of(t->queue.prev));
}

bool pgq_prefetch_upstream_is_empty(const pgq_prefetch_upstream *t)
{
    return t->queue.next == &t->queue;
}
