/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `compaction`: see tools/judge/inputs.h. Pages that a server can have, and those with one or two faults. */
#include "../tools/judge/inputs.h"

#include <stdio.h>

#define ANY_BYTES 0 /* the page */
enum {
    LENT_MOST = 1,
    PAGE_SIZE = 8192,
    HEADER = 24,
    MOST_TUPLES = 291,
    MOST_LINES = (PAGE_SIZE - HEADER) / 4,
    NORMAL = 1,
    REDIRECT = 2,
    DEAD = 3
};
static unsigned long repaired, refused_calls[16];

static void stage(judge_host *host, void *there)
{
    judge_lend(host, &((arguments *)there)->page, PAGE_SIZE, 1);
}

static void put(char *page, size_t at, uint16_t value)
{
    memcpy(page + at, &value, sizeof value);
}

static void put_line(char *page, size_t i, unsigned off, unsigned flags, unsigned len)
{
    uint32_t word = (off & 0x7fff) | flags << 15 | (uint32_t)len << 17;

    memcpy(page + HEADER + 4 * i, &word, sizeof word);
}

/* As a table's page grows: tuples from the special space down, in the order of their numbers or mixed; then some die. */
static void fill(inputs *in, arguments *a)
{
    char *page = take(in, PAGE_SIZE);
    size_t n = in->n >= 0       ? length(in, 0)
               : one_in(in, 64) ? below(in, MOST_LINES + 1)
               : one_in(in, 16) ? 288 + below(in, 6)
                                : below(in, one_in(in, 2) ? 40 : 290);
    unsigned special = PAGE_SIZE - (one_in(in, 4) ? 8 * (unsigned)below(in, 4) : 0), upper = special;
    unsigned lower = HEADER + 4 * (unsigned)n,
             tuples = n < MOST_TUPLES + 2 ? (unsigned)n : (unsigned)below(in, MOST_TUPLES);
    unsigned room = tuples == 0 || lower > special ? 0 : (special - lower) / tuples / 8 * 8;
    unsigned live = in->percent >= 0 ? (unsigned)in->percent : (unsigned)below(in, 101);
    bool mixed = one_in(in, 2), shuffled = one_in(in, 3), gaps = one_in(in, 4);

    for (size_t i = 0; i < PAGE_SIZE; i += 8) {
        uint64_t word = judge_random(&in->random);
        memcpy(page + i, &word, sizeof word);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned len = room == 0 || i >= tuples ? 0
                       : mixed                  ? 1 + (unsigned)below(in, room)
                                                : room - (unsigned)below(in, 8);
        bool gone = below(in, 100) >= live;
        unsigned aligned = (len + 7) / 8 * 8;

        upper -= aligned;
        if (len == 0 || (gone && one_in(in, 2)))
            put_line(page, i, one_in(in, 8) ? (unsigned)below(in, 1 << 15) : 0, 0,
                     one_in(in, 8) ? (unsigned)below(in, 1 << 15) : 0);
        else if (gone)
            put_line(page, i, (unsigned)below(in, 200), one_in(in, 2) ? DEAD : REDIRECT, 0);
        else
            put_line(page, i, upper, one_in(in, 64) ? DEAD : NORMAL, len);
        upper -= gaps && upper >= lower + 64 && room > 16 && one_in(in, 8) && aligned + 8 <= room ? 8 : 0;
        if (upper < lower)
            upper = lower;
    }
    for (size_t i = 1; shuffled && i < n; i++) {
        size_t with = below(in, i + 1);
        char line[4];
        memcpy(line, page + HEADER + 4 * i, 4);
        memcpy(page + HEADER + 4 * i, page + HEADER + 4 * with, 4);
        memcpy(page + HEADER + 4 * with, line, 4);
    }
    put(page, 10, (uint16_t)(one_in(in, 2) ? below(in, 8) : edge(in, 16)));
    put(page, 12, (uint16_t)lower);
    put(page, 14, (uint16_t)(upper & ~7u));
    put(page, 16, (uint16_t)special);
    for (size_t faults = in->n >= 0 || !one_in(in, 6) ? 0 : 1 + below(in, 2); faults > 0; faults--)
        if (n > 0 && one_in(in, 2))
            put_line(page, below(in, n), (unsigned)edge(in, 15), (unsigned)below(in, 4),
                     (unsigned)edge(in, 15));
        else if (n > 0 && one_in(in, 2))
            put(page, HEADER + 4 * below(in, n) + 2 * below(in, 2), (uint16_t)edge(in, 16));
        else
            put(page, 12 + 2 * below(in, 3), (uint16_t)edge(in, 16));
    a->page = odd(in) ? NULL : page;
    a->truncate = one_in(in, 2);
}

static void settle(arguments *a, char *const lent[], const size_t size[])
{
    (void)a, (void)lent, (void)size;
}

static void tally(const arguments *a)
{
    repaired += a->result.code == PGQ_OK;
    refused_calls[(unsigned)a->result.code % 16]++;
}

static void print_tally(void)
{
    printf("tally: repaired=%lu", repaired);
    for (unsigned i = 1; i < 16; i++)
        if (refused_calls[i] > 0)
            printf(" refused_%u=%lu", i, refused_calls[i]);
    printf("\n");
}
