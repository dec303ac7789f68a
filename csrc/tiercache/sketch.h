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

/* A block that comes late is halved as often as all. */
static inline void sketch_catch_up(sketch *s, uint64_t block)
{
    uint32_t late = s->halvings - s->halved[block], by = late < 4 ? late : 4;

    for (unsigned r = 0; r < SKETCH_ROWS; r++)
        for (unsigned k = 0; k < SKETCH_ROW; k++)
            s->blocks[block].counters[r][k] = (uint8_t)(s->blocks[block].counters[r][k] >> by);
    s->halved[block] = s->halvings;
}

/* A page's counters, one in each row of its block, and the least count. Written out: a hit pays for it. */
typedef struct sketch_found {
    uint8_t *a, *b, *c, *d;
    uint8_t least;
} sketch_found;

static inline uint8_t sketch_least(uint8_t x, uint8_t y)
{
    return x < y ? x : y;
}

static inline sketch_found sketch_find(sketch *s, uint64_t page)
{
    uint64_t hash = (page + 1) * UINT64_C(0x9E3779B97F4A7C15), block = (hash >> 32) & s->mask;
    uint32_t columns = (uint32_t)(((hash ^ (hash >> 32)) * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
    uint8_t(*rows)[SKETCH_ROW] = s->blocks[block].counters;

    if (s->halved[block] != s->halvings)
        sketch_catch_up(s, block);
    uint8_t *a = &rows[0][columns & 15], *b = &rows[1][columns >> 4 & 15];
    uint8_t *c = &rows[2][columns >> 8 & 15], *d = &rows[3][columns >> 12 & 15];
    return (sketch_found){a, b, c, d, sketch_least(sketch_least(*a, *b), sketch_least(*c, *d))};
}

static inline unsigned sketch_count(sketch *s, uint64_t page)
{
    return sketch_find(s, page).least;
}

static inline void sketch_add(sketch *s, uint64_t page)
{
    sketch_found found = sketch_find(s, page);

    if (found.least == SKETCH_MOST)
        return;
    *found.a = (uint8_t)(*found.a + (*found.a == found.least));
    *found.b = (uint8_t)(*found.b + (*found.b == found.least));
    *found.c = (uint8_t)(*found.c + (*found.c == found.least));
    *found.d = (uint8_t)(*found.d + (*found.d == found.least));
}

#endif
