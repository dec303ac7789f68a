/* SPDX-License-Identifier: PostgreSQL */
/*
 * How often pages were asked for lately, also pages that are not here: a count-min sketch. A page has four counters in one
 * block of 64 bytes, a cache line; other pages may share some of them, so that the least of the four counts. Only counters
 * as low as that are raised. From time to time all counters are halved: each block when it is looked at the next time.
 */
#ifndef PGQUERN_TIERCACHE_SKETCH_H
#define PGQUERN_TIERCACHE_SKETCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { SKETCH_ROWS = 4, SKETCH_ROW = 16, SKETCH_MOST = 15 };

typedef struct sketch_block {
    uint8_t counters[SKETCH_ROWS][SKETCH_ROW];
} sketch_block;

typedef struct sketch {
    sketch_block *blocks;
    uint32_t *halved; /* how often each block was halved */
    uint64_t mask;
    uint32_t halvings;
} sketch;

/* For a cache of n pages: 32 to 64 counters a page. false: no memory. */
static inline bool sketch_make(sketch *s, uint32_t n)
{
    uint64_t blocks = 1;

    while (2 * blocks < n)
        blocks *= 2;
    s->mask = blocks - 1;
    s->halvings = 0;
    s->blocks = aligned_alloc(sizeof *s->blocks, blocks * sizeof *s->blocks);
    s->halved = calloc(blocks, sizeof *s->halved);
    for (uint64_t i = 0; s->blocks != NULL && i < blocks; i++)
        s->blocks[i] = (sketch_block){0};
    return s->blocks != NULL && s->halved != NULL;
}

static inline void sketch_free(sketch *s)
{
    free(s->blocks);
    free(s->halved);
}

static inline void sketch_halve(sketch *s)
{
    s->halvings++;
}

/* A page's block, halved as often as all. */
static inline sketch_block *sketch_block_of(sketch *s, uint64_t hash)
{
    uint64_t i = (hash >> 32) & s->mask;
    uint32_t late = s->halvings - s->halved[i];

    if (late > 0)
        for (unsigned r = 0; r < SKETCH_ROWS; r++)
            for (unsigned k = 0; k < SKETCH_ROW; k++)
                s->blocks[i].counters[r][k] = (uint8_t)(s->blocks[i].counters[r][k] >> (late < 4 ? late : 4));
    s->halved[i] = s->halvings;
    return &s->blocks[i];
}

static inline uint64_t sketch_hash(uint64_t page)
{
    return (page + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Where a page's counter stands in row r. */
static inline unsigned sketch_column(uint64_t hash, unsigned r)
{
    uint64_t mixed = (hash ^ (hash >> 32)) * UINT64_C(0x9E3779B97F4A7C15);

    return (unsigned)(mixed >> (32 + 4 * r)) & (SKETCH_ROW - 1);
}

static inline unsigned sketch_count(sketch *s, uint64_t page)
{
    uint64_t hash = sketch_hash(page);
    const sketch_block *block = sketch_block_of(s, hash);
    unsigned least = SKETCH_MOST;

    for (unsigned r = 0; r < SKETCH_ROWS; r++) {
        unsigned counter = block->counters[r][sketch_column(hash, r)];

        least = counter < least ? counter : least;
    }
    return least;
}

static inline void sketch_add(sketch *s, uint64_t page)
{
    unsigned least = sketch_count(s, page);
    uint64_t hash = sketch_hash(page);
    sketch_block *block = &s->blocks[(hash >> 32) & s->mask];

    for (unsigned r = 0; least < SKETCH_MOST && r < SKETCH_ROWS; r++) {
        uint8_t *counter = &block->counters[r][sketch_column(hash, r)];

        if (*counter == least)
            ++*counter;
    }
}

#endif
