/* SPDX-License-Identifier: PostgreSQL */
#include "pages.h"

#include <string.h>

enum { HEADER = 24, MAX_LINES = 291, LP_UNUSED = 0, LP_NORMAL = 1, LP_REDIRECT = 2, LP_DEAD = 3 };

/* xorshift64 */
static uint32_t next_random(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 33) % below;
}

static void shuffle(int *a, int n, uint64_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)next_random(state, (uint32_t)i + 1), t = a[i];

        a[i] = a[j];
        a[j] = t;
    }
}

static int maxalign(int len)
{
    return (len + 7) / 8 * 8;
}

static void put16(uint8_t *page, int at, int value)
{
    uint16_t v = (uint16_t)value;

    memcpy(page + at, &v, sizeof v);
}

static void put_line_pointer(uint8_t *page, int item, int off, uint32_t flags, int len)
{
    uint32_t word = (uint32_t)off | flags << 15 | (uint32_t)len << 17;

    memcpy(page + HEADER + 4 * item, &word, sizeof word);
}

static bool fits(const page_shape *s)
{
    return s->n >= 1 && s->n <= MAX_LINES && s->len_min >= 1 && s->len_max >= s->len_min && s->live >= 0 &&
           s->live <= 100 && s->n * maxalign(s->len_min) <= PAGE_SIZE - HEADER - 4 * s->n;
}

/* Lengths that fit on a page together. */
static void draw_lengths(int *len, const page_shape *s, uint64_t *state)
{
    int total;

    do {
        total = 0;
        for (int i = 0; i < s->n; i++) {
            len[i] = s->len_min + (int)next_random(state, (uint32_t)(s->len_max - s->len_min + 1));
            total += maxalign(len[i]);
        }
    } while (total > PAGE_SIZE - HEADER - 4 * s->n);
}

static void make_page(uint8_t *page, const page_shape *s, uint64_t *state)
{
    static const uint32_t dead_flags[] = {LP_UNUSED, LP_DEAD, LP_UNUSED, LP_REDIRECT};
    int place[MAX_LINES], dead[MAX_LINES], len[MAX_LINES], upper = PAGE_SIZE;

    for (int i = 0; i < PAGE_SIZE; i++)
        page[i] = (uint8_t)next_random(state, 256);
    memset(page, 0, HEADER);
    for (int i = 0; i < s->n; i++)
        place[i] = dead[i] = i;
    if (s->random)
        shuffle(place, s->n, state);
    shuffle(dead, s->n, state);
    draw_lengths(len, s, state);
    for (int k = 0; k < s->n; k++) {
        upper -= maxalign(len[place[k]]);
        put_line_pointer(page, place[k], upper, LP_NORMAL, len[place[k]]);
    }
    for (int k = 0; k < s->n * (100 - s->live) / 100; k++) {
        uint32_t flags = dead_flags[k % 4];

        put_line_pointer(page, dead[k], flags == LP_REDIRECT ? 1 : 0, flags, 0);
    }
    put16(page, 12, HEADER + 4 * s->n); /* pd_lower */
    put16(page, 14, upper);             /* pd_upper */
    put16(page, 16, PAGE_SIZE);         /* pd_special */
    put16(page, 18, PAGE_SIZE | 4);     /* pd_pagesize_version */
}

bool make_pages(uint8_t *pages, size_t count, const page_shape *shape, uint64_t *state)
{
    if (!fits(shape))
        return false;
    for (size_t i = 0; i < count; i++)
        make_page(pages + i * PAGE_SIZE, shape, state);
    return true;
}
