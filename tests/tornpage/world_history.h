/* SPDX-License-Identifier: PostgreSQL */
/*
 * What may be found: the pages as they were when all was covered the last time, and the changes since, in their order. Bytes are
 * those from 24 on; the header of a page is the store's.
 */
#ifndef PGQUERN_TESTS_TORNPAGE_WORLD_HISTORY_H
#define PGQUERN_TESTS_TORNPAGE_WORLD_HISTORY_H

#include "tornpage/tornpage.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 24 };

typedef struct change {
    uint32_t page, offset, size;
    uint8_t *bytes;
} change;

typedef struct history {
    bool exists;
    pgq_tornpage_config shape;
    uint8_t *covered, *now;
    change *changes;
    size_t n, room;
} history;

static void *allocated(size_t size)
{
    void *bytes = calloc(size, 1);

    if (bytes == NULL)
        abort();
    return bytes;
}

static size_t history_bytes(const history *h)
{
    return (size_t)h->shape.pages * h->shape.block_size;
}

static void apply(const history *h, uint8_t *pages, const change *c)
{
    memcpy(pages + (size_t)c->page * h->shape.block_size + c->offset, c->bytes, c->size);
}

/* What was found, or covered: the first k changes. The others never come back. */
static void history_cover(history *h, size_t k)
{
    for (size_t i = 0; i < h->n; i++) {
        if (i < k)
            apply(h, h->covered, &h->changes[i]);
        free(h->changes[i].bytes);
    }
    h->n = 0;
    memcpy(h->now, h->covered, history_bytes(h));
}

static void history_free(history *h)
{
    if (h->exists)
        history_cover(h, 0);
    free(h->covered);
    free(h->now);
    free(h->changes);
    *h = (history){.exists = false};
}

static void history_begin(history *h, const pgq_tornpage_config *shape)
{
    history_free(h);
    h->exists = true;
    h->shape = *shape;
    h->covered = allocated(history_bytes(h));
    h->now = allocated(history_bytes(h));
}

static void history_add(history *h, uint32_t page, uint32_t offset, const uint8_t *bytes, uint32_t size)
{
    if (h->n == h->room) {
        h->room = h->room == 0 ? 64 : 2 * h->room;
        h->changes = realloc(h->changes, h->room * sizeof *h->changes);
        if (h->changes == NULL)
            abort();
    }
    change *c = &h->changes[h->n++];
    *c = (change){page, offset, size, memcpy(allocated(size), bytes, size)};
    apply(h, h->now, c);
}

static bool same_page(const uint8_t *page, const uint8_t *other, size_t size)
{
    return page != NULL && memcmp(page + HEADER_BYTES, other + HEADER_BYTES, size - HEADER_BYTES) == 0;
}

/* The first page of the open store that is not as in pages; the number of pages if there is none. */
static uint32_t first_other(const pgq_tornpage_store *store, const pgq_tornpage_config *shape,
                            const uint8_t *pages)
{
    uint32_t page = 0;

    while (page < shape->pages && same_page(pgq_tornpage_page(store, page),
                                            pages + (size_t)page * shape->block_size, shape->block_size))
        page++;
    return page;
}

/* The number of changes that were found in the open store; -1 if it is a mixture, or lacks what was covered. */
static long history_find(const history *h, const pgq_tornpage_store *store)
{
    uint8_t *pages = memcpy(allocated(history_bytes(h)), h->covered, history_bytes(h));
    long found = -1;

    for (size_t k = 0; k <= h->n && found < 0; k++) {
        if (first_other(store, &h->shape, pages) == h->shape.pages)
            found = (long)k;
        else if (k < h->n)
            apply(h, pages, &h->changes[k]);
    }
    free(pages);
    return found;
}

static bool finds_empty(const pgq_tornpage_store *store, const pgq_tornpage_config *shape)
{
    uint8_t *empty = allocated((size_t)shape->pages * shape->block_size);
    bool same = first_other(store, shape, empty) == shape->pages;

    free(empty);
    return same;
}

#endif
